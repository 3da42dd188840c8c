"""The documents build without a warning, and no page loads anything from another host."""

import json
import re
import subprocess
import sys
from pathlib import Path

import chromium
import pytest

ROOT = Path(__file__).resolve().parents[2]
LOADS = re.compile(  # what a browser fetches by itself, unlike a link
    r"<(?:script|img|iframe|source|video|audio|embed|object|link)\b[^>]*?\b(?:src|href|data)=[\"'](?:https?:)?//[^\"']*"
)
STYLE_LOADS = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^\"')]*")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The pages, built like `make docs`: every warning is an error, and so is a broken link.

    The build is a process of its own, because autodoc changes the signatures of the functions that it documents.
    """
    pytest.importorskip("sphinx", reason="needs the extra docs")
    place = tmp_path_factory.mktemp("site")
    words = ["-q", "-W", "--keep-going", "-d", place / "trees", ROOT / "docs", place / "html"]
    subprocess.run([sys.executable, "-m", "sphinx", *words], check=True)
    return place / "html"


def test_no_page_loads_from_another_host(site):
    pages, styles = list(site.rglob("*.html")), list(site.rglob("*.css"))
    assert len(pages) > 10
    assert styles
    loaded = [found for page in pages for found in LOADS.findall(page.read_text(encoding="utf-8"))]
    loaded += [found for style in styles for found in STYLE_LOADS.findall(style.read_text(encoding="utf-8"))]
    assert loaded == []


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("train on my own data", "own-text"), ("temperature", "settings"), ("learning rate", "settings"),
        ("resume", "runs"), ("multiple gpus", "devices"), ("out of memory", "trouble"),
        ("custom loss", "adding/objective"), ("hyperparameter search", "sweeps"), ("save model", "own-encoder"),
        ("wandb", "tracking"), ("simcse", "papers/simcse"), ("oom", "trouble"), ("memory", "planning"),
        ("not reproduced", "measured"), ("reproduced", "measured"), ("reproduce", "sweeps"),
        ("mine_hard_negatives", "own-text"), ("tripletevaluator", "evaluation"), ("ndcg", "evaluation"),
        ("use trained encoder", "own-encoder"), ("load model in another program", "own-encoder"),
        ("p value", "sweeps"), ("multiple seeds", "sweeps"), ("paper table", "sweeps"), ("overfitting", "trouble"),
        ("compare objectives", "first-study"), ("compare two runs", "runs"), ("image folder", "images-and-sound"),
        ("folder of images", "images-and-sound"), ("early stopping", "settings"), ("hard negatives", "own-text"),
        ("max length", "settings"), ("multi gpu", "devices"), ("fp16", "devices"), ("prompt", "own-text"),
        ("matryoshka", "papers/matryoshka"), ("save best model", "own-encoder"), ("csv", "own-text"),
        ("offline", "offline"), ("lora", "own-encoder"), ("pooling", "own-encoder"),
        ("dropout", "own-encoder"), ("push to hub", "sharing"), ("batch size out of memory", "trouble"),
        ("evaluate my own pairs", "evaluation"), ("significance", "sweeps"), ("latex table", "sweeps"),
        ("verdict", "sweeps"), ("holm", "sweeps"), ("smoke", "settings"), ("smoke test", "sweeps"),
        ("dry run", "planning"), ("dry_run", "settings"), ("flat folder of images", "images-and-sound"),
        ("picture", "images-and-sound"), ("avg_first_last", "own-encoder"), ("fasttest", "coming-from"),
    ],
)  # fmt: skip
def test_the_search_leads_first_to_the_section_that_answers(site, query, page):
    """Sphinx' search shows first the term of the index that the query is the largest part of."""
    index = json.loads((site / "searchindex.js").read_text(encoding="utf-8").partition("(")[2].rpartition(")")[0])
    found = {entry: places for entry, places in index["indexentries"].items() if query in entry}
    nearest = min(found, key=len)
    assert [index["docnames"][file] for file, _, is_main in found[nearest] if is_main] == [page]


def test_the_search_leads_to_the_row_of_a_setting_or_of_another_trainers_argument(site):
    index = json.loads((site / "searchindex.js").read_text(encoding="utf-8").partition("(")[2].rpartition(")")[0])
    for name, page in (("pooler_type", "coming-from"), ("TripletLoss", "coming-from"), ("trainer.clip", "settings")):
        ((file, anchor, is_main),) = index["indexentries"][name.lower()]
        assert (index["docnames"][file], anchor, is_main) == (page, name, True)
        assert f'id="{name}"' in (site / f"{page}.html").read_text(encoding="utf-8")


def test_a_row_is_found_once_by_a_word_and_its_plural(site):
    index = json.loads((site / "searchindex.js").read_text(encoding="utf-8").partition("(")[2].rpartition(")")[0])
    found = [entry for entry in index["indexentries"] if entry.startswith("hard_negative")]
    assert sorted(found) == ["hard_negative_weight", "hard_negatives"]


def test_an_anchor_of_the_settings_leads_to_its_row(site):
    """A browser shows the first element with an anchor."""
    page = (site / "settings.html").read_text(encoding="utf-8")
    for name in ("smoke", "dry_run", "trainer.lr"):
        assert re.search(rf'<(\w+)[^>]* id="{re.escape(name)}"', page)[1] == "span"


def test_a_docstring_refers_only_to_entries_of_the_api_page(site):
    page = (site / "api.html").read_text(encoding="utf-8")
    entries = re.findall(r'id="(cse\.[\w.]+)"', page)
    named = re.findall(r"[:;] see ([\w.]*\w)", re.sub(r"<[^>]+>", "", page))
    assert "Encoded" in named
    assert [name for name in named if not any(f".{entry}".endswith(f".{name}") for entry in entries)] == []
    assert {"cse.errors.naming", "cse.errors.within"} <= {*entries}


@chromium.needed
def test_the_search_shows_the_row_of_an_anchor(site, tmp_path):
    with chromium.Page(site / "search.html", tmp_path) as page:
        row = "<table><tr><td><span id='trainer.clip'></span>the largest norm</td></tr></table>"
        html = f"<main role='main'><span id='index-0'></span>{'start ' * 99}{row}</main>"
        call = "Search.makeSearchSummary({}, new Set(['largest']), '{}').textContent"
        assert page.run(call.format(json.dumps(html), "#trainer.clip")) == "the largest norm"
        assert "start start" in page.run(call.format(json.dumps(html), "#index-0"))
        section = f"<main role='main'>{html}<section id='two'><span id='index-1'></span>the second section</section>"
        assert page.run(call.format(json.dumps(section), "#index-1")) == "the second section"


@chromium.needed
def test_the_search_shows_cells_with_lines_between_them_and_whole_words(site, tmp_path):
    with chromium.Page(site / "search.html", tmp_path) as page:
        html = f"<main role='main'>{'before ' * 99}<table><tr><td>lr</td>\n<td>warmup</td></tr></table>{' after' * 99}"
        words = page.run(f"Search.makeSearchSummary({json.dumps(html)}, new Set(['lr']), '').textContent").split()
        assert {*words} == {"...", "before", "lr", "|", "warmup", "after"}


@chromium.needed
def test_the_search_names_the_row_that_it_found(site, tmp_path):
    with chromium.Page(site / "search.html", tmp_path) as page:
        page.run("new Promise((done) => setInterval(() => Search.hasIndex() && done(), 9))")
        titles = page.run("Search._performSearch(...Search._parseQuery('temperature')).map((item) => item[1])")
        assert "Every setting > objective.temperature" in titles


@chromium.needed
def test_the_first_three_results_have_the_row_or_the_section_that_answers(site, tmp_path):
    """An answer is a page, or the anchor of a row or of a heading."""
    answers = {
        "early stopping": "#trainer.stop_early", "evaluation.py": "#evaluation-py",
        "NO_DUPLICATES": "#trainer.no_duplicates", "prompts": "own-text", "label": "evaluation",
        "temperature": "#objective.temperature", "score": "evaluation", "pooling": "#model.pooling",
        "learning rate": "#trainer.lr", "mixed precision": "devices", "checkpoint": "runs", "resume": "runs",
        "seed": "#seed", "multiple seeds": "sweeps", "hard negatives": "own-text", "dev set": "evaluation",
        "best model": "own-encoder", "batch size": "#trainer.batch_size", "max length": "#trainer.max_length",
        "multi gpu": "devices", "wandb": "tracking",
    }  # fmt: skip
    with chromium.Page(site / "search.html", tmp_path) as page:
        page.run("new Promise((done) => setInterval(() => Search.hasIndex() && done(), 9))")
        words = "Search._performSearch(...Search._parseQuery({})).slice(-3).map((item) => [item[0], item[2]])"
        found = {query: page.run(words.format(json.dumps(query))) for query in answers}
    # a row or heading with the answer, or a section of the page; the start of a page that has the word is no answer
    missing = {
        query: found[query]
        for query, answer in answers.items()
        if not any(answer == anchor or (answer == name and anchor) for name, anchor in found[query])
    }
    assert missing == {}


@chromium.needed
def test_the_search_finds_a_setting_by_the_words_of_its_name(site, tmp_path):
    with chromium.Page(site / "search.html", tmp_path) as page:
        page.run("new Promise((done) => setInterval(() => Search.hasIndex() && done(), 9))")
        titles = page.run("Search._performSearch(...Search._parseQuery('batch size')).map((item) => item[1])")
        assert titles[-1] == "Every setting > trainer.batch_size"  # the last one is shown first
        assert "Coming from another trainer > mini_batch_size" in titles


@chromium.needed
def test_the_search_leaves_out_a_letter_beside_a_word(site, tmp_path):
    with chromium.Page(site / "search.html", tmp_path) as page:
        words = "Search._parseQuery('{}').slice(0, 4).map((part) => part.size === undefined ? part : [...part])"
        assert page.run(words.format("p value")) == ["p value", ["valu"], [], ["value"]]
        assert page.run(words.format("p")) == ["p", ["p"], [], ["p"]]


@chromium.needed
def test_the_search_shows_the_place_of_a_word_that_lacks_its_stem(site, tmp_path):
    with chromium.Page(site / "search.html", tmp_path) as page:
        html = f"<main role='main'>{'start ' * 99}memory</main>"
        call = f"Search.makeSearchSummary({json.dumps(html)}, new Set(['memori']), '').textContent"
        assert page.run(call).endswith("memory")


@chromium.needed
def test_a_narrow_screen_shows_every_cell_of_a_row_with_sentences(site, tmp_path):
    with chromium.Page(site / "settings.html", tmp_path, width=400) as page:
        row = "document.getElementById('trainer.clip').closest('tr')"
        boxes = f"[...{row}.children].map((cell) => cell.getBoundingClientRect()).map(({{top, right}}) => [top, right])"
        tops, rights = zip(*page.run(boxes), strict=True)
        assert list(tops) == sorted({*tops})
        assert max(rights) < 400
        head = page.run(f"getComputedStyle({row}.children[2], '::before').content")
        assert head.startswith('"meaning')
    with chromium.Page(site / "own-text.html", tmp_path, width=400) as page:
        empty = "[...document.querySelectorAll('table.stacked td')].filter((cell) => !cell.textContent.trim())"
        heads = page.run(f"{empty}.map((cell) => getComputedStyle(cell, '::before').content)")
        assert {*heads} == {"none"}


@chromium.needed
def test_a_narrow_screen_keeps_a_table_of_numbers(site, tmp_path):
    with chromium.Page(site / "first-study.html", tmp_path, width=400) as page:
        heads = "[...document.querySelectorAll('table th')].map((head) => getComputedStyle(head).display)"
        assert {*page.run(heads)} == {"table-cell"}
        assert page.run("document.querySelectorAll('table.stacked').length") == 0


def test_every_page_is_in_the_contents(site):
    contents = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert page.relative_to(ROOT / "docs").with_suffix(".html").as_posix() in contents or page.stem == "index"


def slugs(document: Path) -> set[str]:
    """The anchors of a document on GitHub: of its headings, and its own (id=)."""
    text = without_blocks(document)
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ +(.+)$", text, re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = found[slug] = found.get(slug, -1) + 1
        found |= {f"{slug}-{count}": 0} if count else {}
    return {*found, *re.findall(r'\bid="([^"]+)"', text)}


def without_blocks(document: Path) -> str:
    """The text of a document without its blocks of code."""
    return re.sub(r"(?ms)^(```+).*?^\1$", "", document.read_text(encoding="utf-8"))


DOCUMENTS = [file for place in ("*.md", "docs/**/*.md", "benchmarks/**/*.md") for file in sorted(ROOT.glob(place))]


@pytest.mark.parametrize("document", [pytest.param(file, id=str(file.relative_to(ROOT))) for file in DOCUMENTS])
def test_links_resolve_on_github(document):
    """To a file of the checkout, and to the heading there, which GitHub names in its own way."""
    links = re.findall(r"""(?:\]\(|href=")([^)\s"]+)[)"]""", without_blocks(document))
    broken = []
    for link in links:
        name, _, anchor = link.partition("#")
        file = (document.parent / name).resolve() if name else document
        if "://" not in link and not (file.exists() and (not anchor or anchor in slugs(file))):
            broken.append(link)
    assert broken == []


def test_every_objective_has_a_page_that_shows_its_command():
    files = [file for file in (ROOT / "docs" / "papers").glob("*.md") if file.stem != "beyond"]
    pages = [file.read_text(encoding="utf-8") for file in files]
    names = [file.stem for file in (ROOT / "conf" / "objective").glob("[a-z]*.yaml")]
    without = [name for name in names if not any(re.search(rf"objective={name}(?!\w)", page) for page in pages)]
    assert without == []
