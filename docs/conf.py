"""Sphinx configuration: `make docs` writes the pages to site/.

A page loads nothing from another host: fonts are the system's, the search runs in the browser, and formulas
become MathML, which a browser draws without a script.
"""

import inspect
import re
import textwrap
from collections.abc import Callable, Collection
from typing import NoReturn

from docutils import nodes
from latex2mathml.converter import convert
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

project = "cse"
copyright = "2026, the cse developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
myst_enable_extensions = ["dollarmath", "deflist", "html_image"]  # <img>, which GitHub shows too
myst_heading_anchors = 3
html_theme = "furo"
html_title = "cse"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_js_files = [("search.js", {"defer": ""}), ("tables.js", {"defer": ""})]
html_show_sphinx = False
html_copy_source = False
html_show_search_summary = True  # a page opened as a file may not fetch others, and has titles only
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 80  # a longer signature has a line for each parameter
smartquotes = False


def renders(display: str) -> Callable[[HTML5Translator, nodes.Element], NoReturn]:
    """A visitor that writes a formula's TeX as MathML, "inline" or as a "block"."""

    def visit(translator: HTML5Translator, node: nodes.Element) -> NoReturn:
        translator.body.append(convert(node.astext(), display=display))
        raise nodes.SkipNode

    return visit


def as_written(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Our docstrings are plain text: indented or tabular paragraphs stay as they are. Elsewhere only `code` and the
    names of parameters are markup."""
    try:
        names = list(inspect.signature(obj).parameters) if callable(obj) else []
    except ValueError:  # a class of errors has none
        names = []
    paragraphs = "\n".join(lines).split("\n\n")
    lines[:] = "\n\n".join(markup(paragraph, names) for paragraph in paragraphs).splitlines()


def markup(paragraph: str, names: Collection[str]) -> str:
    """Turn a paragraph of a docstring into reStructuredText.

    A sentence that begins with the name of a parameter (eps: ...) is an item of a list. Errors are a paragraph.
    """
    if re.search(r"^    |\S  +\S", paragraph, re.MULTILINE):
        language = "pycon" if ">>>" in paragraph else "text"
        return f".. code-block:: {language}\n\n" + textwrap.indent(textwrap.dedent(paragraph), "    ")
    name = "|".join([r"\w+_\w+", *names])
    item = rf"(?:{name})(?:, (?:{name}))*(?=: )"
    parts = re.split(rf"(?<=\.) (?=Raises |{item})", " ".join(paragraph.split()))
    return "\n\n".join(re.sub(rf"^({item})", r"- **\1**", in_code(part)) for part in parts)


def in_code(text: str) -> str:
    """Plain text as reStructuredText: `code` is the only markup."""
    words = re.split(r"(`[^`]+`)", text)
    return "".join(f"`{word}`" if word.startswith("`") else re.sub(r"([*|\\`]|_\b)", r"\\\1", word) for word in words)


def readable(
    app: Sphinx, what: str, name: str, obj: object, options: object, text: str | None, result: str | None
) -> tuple[str, str | None] | None:
    """A signature with {} for an empty dictionary. Sphinx cannot read the sign that Python writes for it."""
    return (text.replace("<factory>", "{}"), result) if text else None


def on_this_site(app: Sphinx, page: str, source: list[str]) -> None:
    """Lead a link to a section of benchmarks/RESULTS.md to the page that includes this file. GitHub shows the file."""
    source[0] = re.sub(r"\((?:\.\./)+benchmarks/RESULTS\.md#", "(/measured.md#", source[0])


def rows_in_index(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Add each row with an anchor, such as `learning_rate`, to the index of the search, if no page has this entry.

    Of two anchors in one row, such as `plot` and `plots`, only the longer is added: a search for `plot` finds it too.
    In a row that has no anchor but links to rows of its page, each word of the first cell leads to the first of these
    rows: `learning rate` to trainer.lr. Sphinx calls this function after it has read every page.
    """
    entries = app.env.get_domain("index").data["entries"].values()
    taken = {entry.lower() for of_page in entries for _, entry, _, main, _ in of_page if main}
    for row in [*doctree.findall(nodes.row)]:
        tags = [tag.astext() for tag in row.findall(nodes.raw)]
        anchors = [name for tag in tags for name in re.findall(r'^<span id="([^"]+)">$', tag)]
        links = [name for tag in tags for name in re.findall(r'^<a href="#([^"]+)">$', tag)]
        words = row[0].astext().split(", ") if links and not anchors else []
        for name in anchors:
            is_start = any(other.startswith(name) and len(name) >= len(other) / 2 for other in anchors if other != name)
            if not is_start and name.lower() not in taken:
                row[0].append(addnodes.index(entries=[("single", name, name, "main", None)]))
        for name in words:
            row[0].append(addnodes.index(entries=[("single", name, links[0], "main", None)]))


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (renders("inline"), None), (renders("block"), None))
    app.connect("source-read", on_this_site)
    app.connect("doctree-resolved", rows_in_index)
    app.connect("autodoc-process-docstring", as_written)
    app.connect("autodoc-process-signature", readable)
