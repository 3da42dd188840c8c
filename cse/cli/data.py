"""cse-data: the datasets that the configurations use: which there are, getting them, and whether a copy is whole."""

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
from cse.columns import PrintableHandler, printable
from cse.config.compose import composed, nearest, resolved
from cse.config.groups import OWN
from cse.errors import MissingResource, UserError, check_loads
from cse.files import make_folder, replaced_file
from cse.run import startup
from cse.run.build import make
from cse.sources.catalogue import ANY_LANGUAGE, DATASETS, where
from cse.sources.check import check, write_sums
from cse.sources.hub import size_of

if TYPE_CHECKING:  # a sweep's jobs are read where one is named
    from cse.sweep.needs import Need

EXAMPLES = """\
  cse-data list                              every dataset: size, licence, what reads it, and whether it is here
  cse-data list nli imagenet                 these alone; cse-data check sweep=PAPER/TABLE: what a sweep needs
  cse-data fetch wiki1m senteval             into the hub's cache, where runs look
  cse-data fetch wikipedia:de --to FOLDER    as plain files into FOLDER/wikipedia, with their checksums
  cse-data fetch sweep=whitenedcse/table4 to=FOLDER     all that its jobs read, encoders too, for carrying over
  cse-data check sweep=whitenedcse/table4    whether all of it is here
  cse-data check FOLDER                      whole, altered or missing, file by file; or the NAME of a dataset

Exit codes: 0 whole, 1 something is missing, altered or cannot be had, 2 a mistake on the command line.
"""
LATER = {"mteb": "; the data of its tasks comes from the hub when they are first scored"}
BY_CHARACTERS = ("zh", "ja")  # languages that put no blanks between words; the values are conf/data/wikipedia.yaml's


def main() -> None:
    """The console script. Exit codes: 0 whole, 1 something missing or altered, 2 the user's mistake."""
    with exits.exit_on_error():
        arguments = parser().parse_args()
        logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[PrintableHandler(sys.stdout)])
        sys.exit(arguments.run(arguments))


def parser() -> argparse.ArgumentParser:
    """The command line: a verb and its words."""
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
    """(name, language) of NAME or NAME:LANGUAGE. Raises UserError for one that the catalogue lacks."""
    name, _, language = word.partition(":")
    if name not in DATASETS:
        raise UserError(f"there is no dataset {name}{nearest(name, list(DATASETS))}; cse-data list shows them all")
    known = DATASETS[name].languages
    if language and language not in known and known != (ANY_LANGUAGE,):
        raise UserError(f"{word}: {name} has {', '.join(known) or 'one language alone'}")
    return name, language or None


def config_paths() -> dict[str, str | None]:
    """The config's paths, from the environment's variables."""
    return dict(resolved(composed("train", []).paths))


def list_datasets(arguments: argparse.Namespace) -> int:
    """Print the datasets, or those that are named."""
    from cse.sweep.needs import place_of

    asked, paths = [parse(name)[0] for name in arguments.names], config_paths()
    width = max(40, shutil.get_terminal_size((120, 24)).columns)
    for name in asked or DATASETS:
        about, place = DATASETS[name], place_of(name, paths)
        size = "size told when it is fetched" if about.bytes is None else f"about {size_of(about.bytes)}"
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


def how_to_get(name: str) -> str:
    """What gets a dataset, in words."""
    about = DATASETS[name]
    if about.package and not about.files:
        return f"pip install '{about.package}'"
    return f"cse-data fetch {name}" + (f"; gated: only you can {about.person}" if about.person else "")


def fetch_all(arguments: argparse.Namespace) -> int:
    """Fetch and check each dataset, or what a sweep reads; one that cannot be had leaves the others to be fetched."""
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
    else:  # all names are checked before any work
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
            code = max(code, exits.complain(f"{error}{by_hand or ''}", 1))
            continue
        except UserError as error:  # as a damaged archive
            code = exits.complain(str(error), 2)
            continue
        print(f"{name} is {'' if isinstance(place, str) else 'in '}{place}{LATER.get(name, '')}")
        if about and not sweep and (folder or about.repo is None):
            print(f"  use it with {about.setting}={place}")
    return code


def fetch_need(need: "Need") -> Path | str | None:
    """Where what a sweep reads is now: where a run would look, and as a run itself would fetch it."""
    # Debian's WordNet, which a run finds too, is not what can be carried
    place = where("wordnet", config_paths()) if need.name == "wordnet" else need.place()
    if place is None and need.dataset == "wikipedia":
        make(need.config.data).prepare()
    if place is None and (need.is_encoder or need.dataset == "wikipedia"):
        return need.find()
    return fetch(*parse(need.name), None) if place is None else place


def fetch_elsewhere(sweep: str, folder: Path) -> int:
    """Fetch what a sweep reads into a folder, by a process whose clients know no other cache, and say how to use it."""
    make_folder(folder, "to")
    own = {key: value for key, value in os.environ.items() if not key.startswith("CSE_") or key == OWN}
    caches = {"HF_HUB_CACHE": "hub", "HF_DATASETS_CACHE": "datasets", "CSE_CACHE": "cache"}
    start = "import sys; sys.argv[0] = 'cse-data'; from cse.cli.data import main; main()"
    command = [sys.executable, "-P", "-c", start, "fetch", f"sweep={sweep}"]
    code = subprocess.run(command, env=own | {key: str(folder / name) for key, name in caches.items()}).returncode
    if code == 0:
        print(f"copy {folder} as it is, links kept (rsync -a); where it is then:")
        print(f"  export HF_HOME=FOLDER CSE_CACHE=FOLDER/cache; cse-data check sweep={sweep}; cse-train sweep={sweep}")
    return code


def fetch(name: str, language: str | None, folder: Path | None) -> Path:
    """Where the dataset is now: in FOLDER/NAME, or without a folder where runs look. Raises MissingResource."""
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
    """The sentences of one language that data=wikipedia draws: as a file, or as it reads them from its cache."""
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
    """Print what became of each file of a folder, or of a dataset where runs look."""
    from cse.sweep.needs import place_of

    place = Path(arguments.place)
    if arguments.place.startswith("sweep="):
        return check_sweep(arguments.place.removeprefix("sweep="))
    if arguments.place in DATASETS and not place.exists():
        found = place_of(arguments.place, config_paths())
        if not isinstance(found, Path):
            raise UserError(f"{arguments.place} is not here: {how_to_get(arguments.place)}")
        place = found
    return told(str(place), "whole", [(state, str(file)) for file, state in check(place).items()])


def check_sweep(name: str) -> int:
    """Print of each thing that the jobs of a sweep read whether it is here, and whole where its checksum is known."""
    from cse.sweep.needs import needs_of_table

    startup.quiet()
    found = []
    for need in needs_of_table(name):
        place = need.place()
        state = "missing" if place is None else "altered" if need.altered() else "here"
        found.append((state, f"{need.name}  {place or ''}{LATER.get(need.name, '')}"))
    return told(f"sweep={name} (cse-data fetch gets what is missing)", "here", found)


def told(title: str, good: str, found: Sequence[tuple[str, str]]) -> int:
    """Print (state, what it is of) of each, and how many there are of each state; 0 where all are good, else 1."""
    for state, what in found:
        print(printable(f"{state:<8} {what}"))
    counts = Counter(state for state, _ in found)
    print(printable(f"{title}: {', '.join(f'{counts[state]} {state}' for state in (good, 'altered', 'missing'))}"))
    return int(counts[good] < len(found))


if __name__ == "__main__":
    main()
