"""cse-data: the datasets that the configurations use: which there are, getting them, and whether a copy is whole."""

import argparse
import logging
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cse.cli import compose, streams
from cse.errors import MissingResource

if TYPE_CHECKING:  # the readers import torch
    from omegaconf import DictConfig

    from cse.sources.checked import CheckedPart

log = logging.getLogger("cse")

EXAMPLES = """\
  cse-data list                              every dataset: size, licence, what reads it, and whether it is here
  cse-data list nli imagenet                 these alone, with the sweeps that need them
  cse-data fetch wiki1m senteval             into the hub's cache, where runs look
  cse-data fetch wikipedia:de --to FOLDER    as plain files into FOLDER/wikipedia, with their checksums
  cse-data check FOLDER                      whole, altered or missing, part by part, with the rows of each

Exit codes: 0 whole, 1 something is missing, altered or cannot be had, 2 a mistake on the command line.
"""


def main() -> None:
    """The console script. Exit codes: 0 whole, 1 something missing or altered, 2 the user's mistake."""
    streams.outlast()
    arguments = parser().parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    try:
        with compose.in_a_sentence():
            sys.exit(arguments.run(arguments))
    except KeyboardInterrupt:
        sys.exit(compose.complain("stopped; run it again to go on", 130))


def parser() -> argparse.ArgumentParser:
    """The command line: a verb and its words."""
    whole = argparse.ArgumentParser(
        "cse-data", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = whole.add_subparsers(required=True, metavar="list | fetch | check")
    one = verbs.add_parser("list", help="every dataset that the configurations can use")
    one.add_argument("names", nargs="*", metavar="NAME", help="these alone, with the sweeps that need them")
    one.set_defaults(run=show_list)
    one = verbs.add_parser("fetch", help="get datasets, and check them")
    one.add_argument("names", nargs="+", metavar="NAME", help="wiki1m, senteval, wikipedia:de, ...")
    one.add_argument("--to", type=Path, metavar="FOLDER", help="plain files there; without it, where runs look")
    one.set_defaults(run=fetch_all)
    one = verbs.add_parser("check", help="is a copy whole?")
    one.add_argument("folder", type=Path, metavar="FOLDER")
    one.set_defaults(run=check_folder)
    return whole


def paths() -> "DictConfig":
    """The config's paths, from the environment's variables."""
    from cse.config.compose import composed

    return composed("train", []).paths


def show_list(arguments: argparse.Namespace) -> int:
    """Print the datasets, or those that are named with their sweeps."""
    from cse.sources.catalogue import DATASETS
    from cse.sources.request import parse
    from cse.sources.where import where
    from cse.sweep.needs import kept

    folders = paths()
    names = [parse(name, None, Path()).name for name in arguments.names] or list(DATASETS)
    sweeps = kept()
    for name in names:
        about = DATASETS[name]
        place = where(name, folders)
        count = len(sweeps[name])
        by = " ".join(sweeps[name]) if arguments.names else f"{count} sweep{'' if count == 1 else 's'}"
        lines = [
            f"{about.about}",
            f"{size_of(about.bytes)}; {about.licence}",
            f"needed by {' '.join(about.reads)}; {by or 'no sweep'}",
            f"here: {place}" if place else f"not here: {how_to_get(name)}",
        ]
        show(f"{name:<13}", lines)
    return 0


def how_to_get(name: str) -> str:
    """What gets a dataset, in words."""
    from cse.sources.catalogue import DATASETS
    from cse.sources.fetch import FETCHES

    about = DATASETS[name]
    if name not in FETCHES:
        return f"pip install '{about.package}'"
    return f"cse-data fetch {name}" + (f"; gated: only you can {about.person}" if about.person else "")


def size_of(size: int | None) -> str:
    """About how much is fetched."""
    from cse.sources.download import size_of as in_words

    return "size told when it is fetched" if size is None else f"about {in_words(size)}"


def show(head: str, lines: Sequence[str]) -> None:
    """Print lines beside a name, as wide as the terminal is."""
    width = max(40, shutil.get_terminal_size((120, 24)).columns)
    text = [part for line in lines for part in textwrap.wrap(line, width - len(head), break_on_hyphens=False) or [""]]
    for number, line in enumerate(text):
        print(f"{head if number == 0 else ' ' * len(head)}{line}")


def fetch_all(arguments: argparse.Namespace) -> int:
    """Fetch and check each dataset; one that cannot be had leaves the others to be fetched."""
    from cse.run import startup

    startup.settle_hub()
    startup.quiet()
    from cse.sources.check import check_folder
    from cse.sources.fetch import fetch
    from cse.sources.request import parse

    cache = Path(paths().cache)
    requests = [parse(name, arguments.to, cache) for name in arguments.names]  # all names are checked before any work
    code = 0
    for request in requests:
        try:
            place = fetch(request)
        except MissingResource as error:
            code = compose.complain(str(error), 1)
            continue
        parts = check_folder(place)
        code = max(code, report([part for part in parts if part.state != "whole"]))
        rows = sum(part.rows or 0 for part in parts)
        count = "1 part" if len(parts) == 1 else f"{len(parts)} parts"
        said = f": {count}, {rows:,} rows" if parts else ""
        print(f"{request.name} is in {place}{said}")
        if arguments.to or request.about.repo is None:
            print(f"  use it with {request.about.setting}={place}")
    return code


def check_folder(arguments: argparse.Namespace) -> int:
    """Print what a folder holds, part by part."""
    from cse.run import startup

    startup.quiet()
    from cse.sources.check import check

    parts = check(arguments.folder)
    code = report(parts)
    states = Counter(part.state for part in parts)
    total = ", ".join(f"{states[state]} {state}" for state in ("whole", "altered", "missing") if states[state])
    print(f"{arguments.folder}: {total}")
    return code


def report(parts: "Sequence[CheckedPart]") -> int:
    """Print parts, a line or two each; 1 where one is not whole."""
    wide = max((len(f"{part.dataset} {part.part}") for part in parts), default=0)
    for part in parts:
        rows = "" if part.rows is None else f"{part.rows:,}"
        show(f"{part.state:<8} {f'{part.dataset} {part.part}':<{wide}} {rows:>9}  ", [part.note])
    return int(any(part.state != "whole" for part in parts))


if __name__ == "__main__":
    main()
