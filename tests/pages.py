"""The documents that `make choices` writes from conf/ and from the table of other trainers' arguments.

choices.md: the table of groups and choices, and tables of objectives and of models. settings.md: a table of each file's
keys, each key with an anchor, and the table of recipes. coming-from.md: a table of each trainer's arguments, each
argument with an anchor.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from cse.lab.commands.help import NO_CHOICE
from cse.lab.settings import lookup
from cse.lab.settings.conf_files import body, first_sentence, keys_of_text, text_of
from cse.lab.settings.groups import (
    CONF_DIR,
    GLOBAL_GROUPS,
    ONE_CHOICE_ONLY,
    choices,
    file_of,
    groups,
    included,
    names_listed,
)
from cse.lab.settings.lookup import Entry, settings_of_file

ARGUMENTS = "\n## Every argument\n"
"""The heading of coming-from.md after which the tables begin."""

RECIPES = """A recipe has the hyper-parameters of one objective with one model, and their sources. Its file is
`conf/recipe/OBJECTIVE_MODEL.yaml`. Some recipes are also for one augmentation or one second modality; they are added to
the recipe of the objective and the model."""
"""The text above the table of recipes in settings.md."""


def choices_table() -> str:
    """The table of groups and choices in docs/choices.md."""
    rows = [
        (f"`{group}=`", with_default(comment, default), " ".join(f"`{choice}`" for choice in choices(group)))
        for group, (default, comment) in groups("train").items()
        if choices(group) != NO_CHOICE and group != "sweep"
    ]
    return table(("group", "what it is", "choices"), rows)


def explained(group: str, papers: Path) -> str:
    """The table of a group's choices in docs/choices.md: the first sentence of each choice's file, and a link.

    papers: the folder of the pages to which choices link.
    """
    rows = []
    for choice in choices(group):
        file = file_of(group, choice)
        pages = [part.stem.strip("_") for part in reversed(included(file))] + [choice.partition("_")[0]]
        page = next((page for page in pages if (papers / f"{page}.md").exists()), "")
        name = f"`{choice}`"
        rows.append((f"[{name}](papers/{page}.md)" if page else name, plain(first_sentence(file))))
    return table((group, "what it is"), rows)


def with_default(comment: str, default: Iterable[str]) -> str:
    """The comment on a group, with the group's default choices."""
    return f"{comment} (default: {' '.join(f'`{choice}`' for choice in default)})".replace("`null`", "none of them")


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    heads = [*heads]
    lines = [heads, ["---"] * len(heads), *([*row] for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in lines)


def every_setting() -> str:
    """The list in docs/settings.md: a heading for each file of conf/ with settings, and the table of its keys.

    The trainer and the other settings of cse-train come first. If a file's keys are not given on the command line, its
    heading ends with .yaml, because a key may have the same name: smoke.
    """
    names = {file.relative_to(CONF_DIR).with_suffix(""): file for file in Path(CONF_DIR).rglob("*.yaml")}
    order = sorted(
        names, key=lambda name: (name.parts[0] != "trainer", name.parts != ("train",), len(name.parts), name)
    )
    order = [name for name in order if name.parts[0] not in GLOBAL_GROUPS]
    places = places_of_keys([names[name] for name in order])
    heads = {name: name.as_posix() if is_typed(names[name]) else f"{name.as_posix()}.yaml" for name in order}
    pages = "".join(f"\n## {heads[name]}\n\n{''.join(settings_page(names[name], places))}" for name in order)
    return f"{pages}{recipes()}"


def places_of_keys(files: Iterable[Path]) -> dict[str, Path]:
    """{key: the file whose row has the key's anchor}: a file of a default choice of cse-train, else the first file."""
    defaults = [
        file
        for group, default in groups("train").items()
        for choice in default.choices
        if group not in GLOBAL_GROUPS
        for file in reversed(included(file_of(group, choice)))  # a later file replaces values of an earlier one
    ]
    places: dict[str, Path] = {}
    for file in (*defaults, *files):
        for one in rows_of(file):
            places.setdefault(one.key, file)
    return places


def rows_of(file: Path) -> list[Entry]:
    """The settings of a file of conf/; [] if they are not given on the command line."""
    group = file.relative_to(CONF_DIR).parts[:-1]
    return [*settings_of_file(file, "".join(group), "")] if is_typed(file) else []


def is_typed(file: Path) -> bool:
    """Whether the keys of a file of conf/ are given on the command line."""
    group = file.relative_to(CONF_DIR).parts[:-1]
    return len(group) == 1 or file.stem in ("train", "evaluate", "reporting", "mining")


def settings_page(file: Path, places: Mapping[str, Path]) -> Iterator[str]:
    """The first comment of a file of conf/, and a table of the file's keys.

    If the keys are not given on the command line, the result is the file itself. places: for each key, the file whose
    row has the key's anchor. Rows of other files link to this row.
    """
    text = text_of(file)
    if not is_typed(file):
        yield f"```yaml\n{text}```\n"
        return
    head = re.match(r"(?:#.*\n)*", text)
    said = [line.strip("# ") for line in (head[0] if head else "").splitlines() if not line.startswith("# @package")]
    if said:
        yield f"{plain(' '.join(said))}\n"
    rows = [setting_row(one, file, places) for one in rows_of(file)]
    if rows:
        yield "\n" * bool(said) + table(("setting", "default", "meaning"), rows)


def recipes() -> str:
    """The table of recipes in docs/settings.md: the values that each file of conf/recipe sets."""
    names = {group: "|".join(choices(group)) for group in ONE_CHOICE_ONLY}
    parts = "(?:({aux_modality})_)?({objective})_({model})(?:_({augmentation}))?".format(**names)
    rows = []
    for file in Path(CONF_DIR, "recipe").rglob("*.yaml"):
        if match := re.fullmatch(parts, file.stem):
            aux, objective, model, augmentation = match.groups("")
            values = " ".join(f"`{key}={value}`" for key, value in recipe_values(file).items())
            own = f"aux_modality/{aux}" if aux else f"objective/{objective}"
            rows.append((objective, model, augmentation or aux, values or f"see [{own}](#{own.replace('/', '')})"))
    return f"\n## recipe\n\n{RECIPES}\n\n{table(('objective', 'model', 'also for', 'values'), sorted(rows))}"


def recipe_values(file: Path) -> dict[str, str]:
    """The values that a recipe and the recipes in its defaults list set, by dotted key."""
    values: dict[str, str] = {}
    for part in (*(file.with_stem(name) for name in names_listed(file)), file):
        keys = keys_of_text("\n".join(body(part)))
        values |= {key: value for key, value, _ in keys if value and not key.endswith("_partial_")}
    return values


def setting_row(one: Entry, file: Path, places: Mapping[str, Path]) -> tuple[str, str, str]:
    """The cells of a key's row.

    The anchor of the row is the key. In another choice's file, the anchor also has the name of the choice, and the row
    links to the key's anchor: objective.adnce.temperature. In another command's file, the row has no link, because the
    key has another meaning there: evaluate.dry_run.
    """
    *group, _ = file.relative_to(CONF_DIR).parts
    is_place = places[one.key] == file
    own = one.key if is_place else ".".join((*group, file.stem, one.key.removeprefix(f"{''.join(group)}.")))
    name = f"`{one.key}`" if is_place or not group else f'<a href="#{one.key}">`{one.key}`</a>'
    name = f'<span id="{own}"></span>{name}'
    return name, f"`{one.value}`".replace("|", r"\|"), plain(one.comment)


def plain(text: str) -> str:
    """The text of a comment, escaped so that Markdown shows it unchanged."""
    return re.sub(r"([*_|<\[\]$])", r"\\\1", text.replace("`", ""))


def every_argument() -> str:
    """The tables in docs/coming-from.md, one for each trainer. The anchor of an argument is in its first row."""
    parts = []
    anchors: set[str] = set()
    for trainer, (about, rows) in lookup.trainers().items():
        cells = []
        for one in rows:
            new = [name for name in one.arguments if name not in anchors]
            anchors.update(new)
            spans = "".join(f'<span id="{name}"></span>' for name in new)
            names = ", ".join(f"`{name}`" for name in one.arguments)
            cells.append((f"{spans}{names}", f"`{one.type}`" if one.type else "", argument_note(one)))
        parts.append(f"\n### {trainer}\n\n{about}\n\n{table(('argument', 'here', 'what differs'), cells)}")
    return "".join(parts)


def argument_note(one: lookup.Answer) -> str:
    """The note of an argument, as a sentence of Markdown."""
    parts = re.split(r"(`[^`]*`)", one.note)
    return "".join(part if part.startswith("`") else plain(part) for part in parts)


def write(folder: Path) -> None:
    """Write the pages into the folder of documents."""
    page, settings, arguments = (folder / name for name in ("choices.md", "settings.md", "coming-from.md"))
    text = page.read_text(encoding="utf-8")
    tables = "\n".join([choices_table(), *(explained(group, folder / "papers") for group in ("objective", "model"))])
    end = "\nSome objectives have another"
    page.write_text(re.sub(rf"\| group \|.*?(?={end})", lambda _: tables, text, count=1, flags=re.DOTALL))
    settings.write_text(settings.read_text(encoding="utf-8").partition("\n## ")[0] + every_setting())
    arguments.write_text(arguments.read_text(encoding="utf-8").partition(ARGUMENTS)[0] + ARGUMENTS + every_argument())


if __name__ == "__main__":
    write(Path(sys.argv[1]))
