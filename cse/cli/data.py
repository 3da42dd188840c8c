"""cse-data: list the datasets that the configurations use, fetch them, and check whether a copy is whole."""

import argparse
import logging
import os
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cse.cli import exits
from cse.config.compose import composed, nearest, resolved
from cse.config.groups import OWN
from cse.errors import MissingResource, UserError, check_loads
from cse.files import make_folder, replaced_file
from cse.run import startup
from cse.run.build import make
from cse.sources.catalogue import ANY_LANGUAGE, DATASETS, where
from cse.sources.check import check, write_sums

if TYPE_CHECKING:  # imported only to read a sweep's jobs
    from cse.sweep.needs import Need

EXAMPLES = """\
  cse-data list                              every dataset: size, licence, what reads it, and whether it is here
  cse-data list nli imagenet                 these alone; cse-data check sweep=PAPER/TABLE: what a sweep needs
  cse-data fetch wiki1m senteval             into the hub's cache, where runs look
  cse-data fetch wikipedia:de --to FOLDER    as plain files into FOLDER/wikipedia, with their checksums
  cse-data fetch sweep=whitenedcse/table4 to=FOLDER     all that its jobs read, encoders too, to copy elsewhere
  cse-data check sweep=whitenedcse/table4    whether all of it is here
  cse-data check FOLDER                      whole, altered or missing, file by file; or the NAME of a dataset

Exit codes: 0 whole, 1 something is missing, altered or cannot be fetched, 2 a mistake on the command line.
"""
LATER = {"mteb": "; the data of its tasks comes from the hub when they are first scored"}
BY_CHARACTERS = ("zh", "ja")  # languages without blanks between words; the values are in conf/data/wikipedia.yaml


def main() -> None:
    """The console script. Exit codes: 0 whole, 1 something missing or altered, 2 the user's mistake."""
    with exits.exit_on_error():
        arguments = parser().parse_args()
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
        sys.exit(arguments.run(arguments))


def parser() -> argparse.ArgumentParser:
    """The command line: a verb and its arguments."""
    whole = argparse.ArgumentParser(
        "cse-data", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = whole.add_subparsers(required=True, metavar="list | fetch | check")
    one = verbs.add_parser("list", help="every dataset that the configurations can use")
    one.add_argument("names", nargs="*", metavar="NAME", help="these alone")
    one.set_defaults(run=list_datasets)
    one = verbs.add_parser("fetch", help="get datasets, or what a sweep reads")
    one.add_argument("names", nargs="+", metavar="NAME", help="wiki1m, senteval, wikipedia:de, sweep=PAPER/TABLE, ...")
    one.add_argument("--to", type=Path, metavar="FOLDER", help="plain files there; without it, where runs look")
    one.set_defaults(run=fetch_all)
    one = verbs.add_parser("check", help="is a copy whole?")
    one.add_argument("place", metavar="FOLDER|NAME|sweep=PAPER/TABLE")
    one.set_defaults(run=check_copy)
    return whole


def parse(word: str) -> tuple[str, str | None]:
    """(name, language) of NAME or NAME:LANGUAGE. Raises UserError for a dataset or language that does not exist."""
    name, _, language = word.partition(":")
    if name not in DATASETS:
        raise UserError(f"there is no dataset {name}{nearest(name, list(DATASETS))}; cse-data list shows them all")
    known = DATASETS[name].languages
    if language and language not in known and known != (ANY_LANGUAGE,):
        raise UserError(f"{word}: {name} has {', '.join(known) or 'one language alone'}")
    return name, language or None


def config_paths() -> dict[str, str | None]:
    """The config's paths, which environment variables set."""
    return dict(resolved(composed("train", []).paths))


def list_datasets(arguments: argparse.Namespace) -> int:
    """Print all datasets, or those that are named."""
    from cse.sweep.needs import place_of

    asked, paths = [parse(name)[0] for name in arguments.names], config_paths()
    width = max(40, shutil.get_terminal_size((120, 24)).columns)
    for name in asked or DATASETS:
        about, place = DATASETS[name], place_of(name, paths)
        size = "size shown when it is fetched" if about.bytes is None else f"about {in_bytes(about.bytes)}"
        lines = [
            about.about,
            f"{size}; {about.licence}",
            f"needed by {' '.join(about.reads)}",
            f"here: {place}" if place else f"not here: {how_to_get(name)}",
        ]
        for head, line in zip([name, "", "", ""], lines, strict=True):
            first, rest = f"{head:<15}", " " * 15
            print(textwrap.fill(line, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False))
    return 0


def in_bytes(size: float) -> str:
    """A number of bytes in words: 440 MB."""
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def how_to_get(name: str) -> str:
    """The command that gets a dataset, and what the user must do first."""
    about = DATASETS[name]
    if about.package and not about.files:
        return f"pip install '{about.package}'"
    return f"cse-data fetch {name}" + (f"; gated: only you can {about.person}" if about.person else "")


def fetch_all(arguments: argparse.Namespace) -> int:
    """Fetch and check each dataset, or what a sweep reads. If one fails, the others are still fetched."""
    from cse.sweep.needs import needs_of_table

    words = [name for name in arguments.names if not name.startswith("to=")]
    folder = next((Path(name[3:]) for name in arguments.names if name.startswith("to=")), arguments.to)
    sweep = next((word.removeprefix("sweep=") for word in words if word.startswith("sweep=")), None)
    if not words or "to=" in arguments.names:
        raise UserError("fetch NAME... to=FOLDER: what, and where to? cse-data list shows what there is")
    if sweep and len(words) > 1:
        raise UserError(f"{' '.join(words)}: fetch one sweep at a time, and datasets on a line of their own")
    if sweep and folder:
        return fetch_elsewhere(sweep, folder.absolute())
    wanted: list[tuple[str, Callable[[], Path | str | None]]]
    if sweep:
        wanted = [(need.name, partial(fetch_need, need)) for need in needs_of_table(sweep)]
    else:  # check all names before any work
        wanted = [(name, partial(fetch, name, language, folder)) for name, language in map(parse, words)]
    startup.settle_hub()
    startup.quiet()
    code = 0
    for name, get in wanted:
        about = DATASETS.get(name)
        try:
            place = get()
        except MissingResource as error:
            by_hand = (
                about and about.person and f"; only you can {about.person}, or name a copy, {about.setting}=FOLDER"
            )
            code = max(code, exits.report_error(f"{error}{by_hand or ''}", 1))
            continue
        except UserError as error:  # such as a damaged archive
            code = exits.report_error(str(error), 2)
            continue
        print(f"{name} is {'' if isinstance(place, str) else 'in '}{place}{LATER.get(name, '')}")
        if about and not sweep and (folder or about.repo is None):
            print(f"  use it with {about.setting}={place}")
    return code


def fetch_need(need: "Need") -> Path | str | None:
    """Fetch what a sweep reads as a run would, to where a run looks. Returns the place."""
    # a run also finds Debian's WordNet, but that cannot be copied to another machine
    place = where("wordnet", config_paths()) if need.name == "wordnet" else need.place()
    if place is None and need.dataset == "wikipedia":
        make(need.config.data).prepare()
    if place is None and (need.is_encoder or need.dataset == "wikipedia"):
        return need.find()
    return fetch(*parse(need.name), None) if place is None else place


def fetch_elsewhere(sweep: str, folder: Path) -> int:
    """Fetch what a sweep reads into a folder, in a process that has its caches there, and print how to use it."""
    make_folder(folder, "to")
    own = {key: value for key, value in os.environ.items() if not key.startswith("CSE_") or key == OWN}
    caches = {"HF_HUB_CACHE": "hub", "HF_DATASETS_CACHE": "datasets", "CSE_CACHE": "cache"}
    start = "import sys; sys.argv[0] = 'cse-data'; from cse.cli.data import main; main()"
    command = [sys.executable, "-P", "-c", start, "fetch", f"sweep={sweep}"]
    code = subprocess.run(command, env=own | {key: str(folder / name) for key, name in caches.items()}).returncode
    if code == 0:
        print(f"copy {folder} with its links (rsync -a); on the other machine:")
        print(f"  export HF_HOME=FOLDER CSE_CACHE=FOLDER/cache; cse-data check sweep={sweep}; cse-train sweep={sweep}")
    return code


def fetch(name: str, language: str | None, folder: Path | None) -> Path:
    """Fetch a dataset into FOLDER/NAME, or without a folder to where runs look. Returns the place.

    Raises MissingResource.
    """
    from cse.sources import fetch as sources

    cache = Path(str(config_paths()["cache"]))
    if name == "wikipedia":
        return fetch_wikipedia(language or "en", folder, cache)
    if name in ("imagenet", "librispeech"):
        from cse.data import hub_images, librispeech
        from cse.data.audio import TORCHAUDIO

        modality = {"imagenet": "visual", "librispeech": "audio"}[name]
        data = composed("train", [f"aux_modality={modality}"]).aux_modality.data
        if name == "librispeech":
            check_loads("torchaudio.functional", TORCHAUDIO)
            return librispeech.librispeech(folder or cache, data.split)
        columns = data.image_column, data.label_column
        part = {"classes": data.classes, "per_class": data.per_class, "seed": data.subset_seed}
        return hub_images.class_subset(data.hub, data.split, *columns, **part, cache=folder or cache)
    languages: list[str] = [language] if language else []
    if name == "stsb_multi" and not languages:
        languages = list(composed("evaluate", ["eval=stsb_multi"]).eval.stsb_multi.languages)
    return sources.fetch(name, folder and folder / name, cache / "datasets" / name, languages)


def fetch_wikipedia(language: str, folder: Path | None, cache: Path) -> Path:
    """Fetch the sentences of one language that data=wikipedia draws: as text, or without a folder into its cache."""
    words = [f"data.rows.language={language}", f"paths.cache={cache}"]
    if language in BY_CHARACTERS:
        words += ["data.rows.unit=characters", "data.rows.min_units=6", "data.rows.max_units=100"]
    text = make(composed("train", ["data=wikipedia", *words]).data)
    text.prepare()
    if folder is None:
        return text.cache / text.digest
    target = folder / "wikipedia" / f"{language}.txt"
    with replaced_file(target) as temporary, temporary.open("w", encoding="utf-8") as lines:
        lines.writelines(f"{text.text(row)}\n" for row in range(len(text)))
    write_sums(target.parent, [target])
    return target


def check_copy(arguments: argparse.Namespace) -> int:
    """Print the state of each file of a folder, or of a dataset where runs look."""
    from cse.sweep.needs import place_of

    place = Path(arguments.place)
    if arguments.place.startswith("sweep="):
        return check_sweep(arguments.place.removeprefix("sweep="))
    if arguments.place in DATASETS and not place.exists():
        found = place_of(arguments.place, config_paths())
        if not isinstance(found, Path):
            raise UserError(f"{arguments.place} is not here: {how_to_get(arguments.place)}")
        place = found
    return print_states(str(place), "whole", [(state, str(file)) for file, state in check(place).items()])


def check_sweep(name: str) -> int:
    """Print for each thing that a sweep's jobs read whether it is here and, if its checksum is known, whole."""
    from cse.sweep.needs import needs_of_table

    startup.quiet()
    found = []
    for need in needs_of_table(name):
        place = need.place()
        state = "missing" if place is None else "altered" if need.altered() else "here"
        found.append((state, f"{need.name}  {place or ''}{LATER.get(need.name, '')}"))
    return print_states(f"sweep={name} (cse-data fetch gets what is missing)", "here", found)


def print_states(title: str, good: str, found: Sequence[tuple[str, str]]) -> int:
    """Print each (state, item), and how many items have each state. Returns 0 if all are good, else 1."""
    for state, what in found:
        print(f"{state:<8} {what}")
    counts = Counter(state for state, _ in found)
    print(f"{title}: {', '.join(f'{counts[state]} {state}' for state in (good, 'altered', 'missing'))}")
    return int(counts[good] < len(found))


if __name__ == "__main__":
    main()
