"""cse-data: the datasets that the configurations use: which there are, getting them, and whether a copy is whole."""

import argparse
import logging
import os
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cse.cli import exits
from cse.columns import Shown, printable
from cse.config.compose import composed, nearest, resolved
from cse.config.groups import OWN, choices
from cse.errors import MissingResource, UserError, check_loads
from cse.files import replaced_file
from cse.run import startup
from cse.run.build import make
from cse.sources.catalogue import ANY_LANGUAGE, DATASETS, where
from cse.sources.check import check, write_sums
from cse.sources.hub import size_of

if TYPE_CHECKING:  # a sweep's jobs are read where one is named
    from cse.sweep.needs import Need

EXAMPLES = """\
  cse-data list                              every dataset: size, licence, what reads it, and whether it is here
  cse-data list nli imagenet                 these alone, with the sweeps that need them
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
        logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[Shown(sys.stdout)])
        sys.exit(arguments.run(arguments))


def parser() -> argparse.ArgumentParser:
    """The command line: a verb and its words."""
    whole = argparse.ArgumentParser(
        "cse-data", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = whole.add_subparsers(required=True, metavar="list | fetch | check")
    one = verbs.add_parser("list", help="every dataset that the configurations can use")
    one.add_argument("names", nargs="*", metavar="NAME", help="these alone, with the sweeps that need them")
    one.set_defaults(run=list_datasets)
    one = verbs.add_parser("fetch", help="get datasets, or what a sweep reads")
    one.add_argument("names", nargs="+", metavar="NAME", help="wiki1m, senteval, wikipedia:de, sweep=PAPER/TABLE, ...")
    one.add_argument("--to", type=Path, metavar="FOLDER", help="plain files there; without it, where runs look")
    one.set_defaults(run=fetch_datasets)
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
    """Print the datasets, or those that are named with their sweeps."""
    from cse.sweep.needs import place_of

    asked = [parse(name)[0] for name in arguments.names]
    sweeps, paths = sweeps_by_dataset(asked), config_paths()
    width = max(40, shutil.get_terminal_size((120, 24)).columns)
    for name in asked or DATASETS:
        about, place = DATASETS[name], place_of(name, paths)
        size = "size told when it is fetched" if about.bytes is None else f"about {size_of(about.bytes)}"
        lines = [
            about.about,
            f"{size}; {about.licence}",
            f"needed by {' '.join(about.reads)}" + (f"; {' '.join(sweeps[name]) or 'no sweep'}" if asked else ""),
            f"here: {place}" if place else f"not here: {how_to_get(name)}",
        ]
        for head, line in zip([name, "", "", ""], lines, strict=True):
            print(
                textwrap.fill(
                    line, width, initial_indent=f"{head:<15}", subsequent_indent=" " * 15, break_on_hyphens=False
                )
            )
    return 0


def sweeps_by_dataset(names: Sequence[str]) -> dict[str, list[str]]:
    """The sweeps that read each of the datasets. Every sweep is composed for it, which is said."""
    from cse.sweep.jobs import read
    from cse.sweep.needs import datasets_of

    if names:
        print("asking every sweep what it reads: half a minute", file=sys.stderr)
    by_sweep = {sweep: datasets_of(read(sweep)) for sweep in choices("sweep")} if names else {}
    return {name: [sweep for sweep, read in by_sweep.items() if name in read] for name in names}


def how_to_get(name: str) -> str:
    """What gets a dataset, in words."""
    about = DATASETS[name]
    if about.package and not about.files:
        return f"pip install '{about.package}'"
    return f"cse-data fetch {name}" + (f"; gated: only you can {about.person}" if about.person else "")


def fetch_datasets(arguments: argparse.Namespace) -> int:
    """Fetch and check each dataset; one that cannot be had leaves the others to be fetched."""
    words = [name for name in arguments.names if not name.startswith("to=")]
    folder = next((Path(name[3:]) for name in arguments.names if name.startswith("to=")), arguments.to)
    sweeps = [word.removeprefix("sweep=") for word in words if word.startswith("sweep=")]
    if not words or "to=" in arguments.names:
        raise UserError("fetch NAME... to=FOLDER: what, and where to? cse-data list shows what there is")
    if sweeps and len(words) > 1:
        raise UserError(f"{' '.join(words)}: fetch one sweep at a time, and datasets on a line of their own")
    requests = [parse(word) for word in words if not sweeps]  # all names are checked before any work
    if sweeps:
        return fetch_sweep(sweeps[0], folder)
    startup.settle_hub()
    startup.quiet()
    code = 0
    for name, language in requests:
        about = DATASETS[name]
        try:
            place = fetch(name, language, folder)
        except MissingResource as error:
            by_hand = f"; only you can {about.person}, or name a copy, {about.setting}=FOLDER" if about.person else ""
            code = exits.complain(f"{error}{by_hand}", 1)
            continue
        print(f"{name} is in {place}")
        if folder or about.repo is None:
            print(f"  use it with {about.setting}={place}")
    return code


def fetch_sweep(name: str, folder: Path | None) -> int:
    """Fetch what the jobs of a sweep read into where runs look; or into a folder, with the words that use it there."""
    from cse.sweep.needs import needs_of_table

    needs = needs_of_table(name)
    if folder is not None:  # by a process whose clients know no other cache
        folder = folder.absolute()
        own = {key: value for key, value in os.environ.items() if not key.startswith("CSE_") or key == OWN}
        caches = {
            "HF_HUB_CACHE": folder / "hub",
            "HF_DATASETS_CACHE": folder / "datasets",
            "CSE_CACHE": folder / "cache",
        }
        start = "import sys; sys.argv[0] = 'cse-data'; from cse.cli.data import main; main()"
        command = [sys.executable, "-P", "-c", start, "fetch", f"sweep={name}"]
        code = subprocess.run(command, env=own | {key: str(place) for key, place in caches.items()}).returncode
        print(f"copy {folder} as it is, links kept (rsync -a); where it is then:")
        print(f"  export HF_HOME=FOLDER CSE_CACHE=FOLDER/cache; cse-data check sweep={name}; cse-train sweep={name}")
        return code
    startup.settle_hub()
    startup.quiet()
    code = 0
    for need in needs:
        try:
            # Debian's WordNet, which a run finds too, is not what can be carried
            place = where("wordnet", config_paths()) if need.name == "wordnet" else need.place()
            if place is None and (need.is_encoder or need.dataset == "wikipedia"):
                place = fetch_as_run(need)
            elif place is None:
                place = fetch(*parse(need.name), None)
        except UserError as error:
            code = exits.complain(str(error), 1)
            continue
        print(f"{need.name} is {'' if isinstance(place, str) else 'in '}{place}{LATER.get(need.name, '')}")
    return code


def fetch_as_run(need: "Need") -> Path | str | None:
    """What a run itself would fetch: an encoder, or the sentences that data=wikipedia draws with the job's settings."""
    if not need.is_encoder:
        make(need.config.data).prepare()
    return need.find()


def check_sweep(name: str) -> int:
    """Print of each thing that the jobs of a sweep read whether it is here, and whole where its checksum is known."""
    from cse.sweep.needs import needs_of_table

    startup.quiet()
    code = 0
    for need in needs_of_table(name):
        place = need.place()
        state = "missing" if place is None else "altered" if need.altered() else "here"
        code = max(code, int(state != "here"))
        print(printable(f"{state:<8} {need.name}  {place or ''}{LATER.get(need.name, '')}"))
    print(f"{name}: {f'cse-data fetch sweep={name} gets what is missing' if code else 'all that it reads is here'}")
    return code


def fetch(name: str, language: str | None, folder: Path | None) -> Path:
    """Where the dataset is now: in FOLDER/NAME, or without a folder where runs look. Raises MissingResource."""
    from cse.sources import fetch as sources

    cache = Path(str(config_paths()["cache"]))
    if name == "wikipedia":
        return fetch_wikipedia(language or "en", folder, cache)
    if name == "imagenet":
        return fetch_images(folder or cache)
    if name == "librispeech":
        return fetch_speech(folder or cache)
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


def fetch_images(cache: Path) -> Path:
    """The classes and images that aux_modality=visual uses, in a folder a class."""
    from cse.data import hub_images

    data = composed("train", ["aux_modality=visual"]).aux_modality.data
    columns = hub_images.Columns(data.image_column, data.label_column)
    part = {"classes": data.classes, "per_class": data.per_class, "seed": data.subset_seed}
    return hub_images.class_subset(data.hub, data.split, columns, **part, cache=cache)


def fetch_speech(cache: Path) -> Path:
    """LibriSpeech's split that aux_modality=audio uses."""
    from cse.data.audio import TORCHAUDIO
    from cse.data.librispeech import librispeech

    check_loads("torchaudio.functional", TORCHAUDIO)
    return librispeech(cache, composed("train", ["aux_modality=audio"]).aux_modality.data.split)


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
    files = check(place)
    for one in files:
        print(printable(f"{one.state:<8} {one.path}"))
    counts = Counter(str(one.state) for one in files)
    print(printable(f"{place}: {', '.join(f'{counts[state]} {state}' for state in ('whole', 'altered', 'missing'))}"))
    return int(counts["whole"] < len(files))


if __name__ == "__main__":
    main()
