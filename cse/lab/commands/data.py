"""cse-data: list the datasets that the configurations use, or what a line reads, and fetch them."""

import logging
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cse.errors import MissingResource, UserError
from cse.lab.commands.exits import exit_on_error, report_error
from cse.lab.commands.help import arguments_or_exit
from cse.lab.run import startup
from cse.lab.sections import in_column, to_columns
from cse.lab.settings.command import MULTIRUN
from cse.lab.settings.compose import composed, resolved
from cse.lab.settings.words import shell_line
from cse.needs import Need
from cse.sources.catalogue import DATASETS, Dataset, find_dataset
from cse.sources.fetch import DatasetNeed

HELP = """\
cse-data: list and fetch the datasets that the configurations use, or that one command reads.

  cse-data list                                         every dataset: size, licence, and where it is
  cse-data list nli imagenet                            these two, in full
  cse-data list objective=barlow model=roberta          what this command of cse-train reads, and what is missing
  cse-data list cse-eval checkpoint=FOLDER eval=sts     the same for a command of cse-eval
  cse-data fetch objective=barlow model=roberta         fetch all that the command reads, encoders too
  cse-data fetch sweep=whitenedcse/table4 model=minilm  fetch all that the sweep's jobs read
  cse-data fetch wiki1m senteval                        fetch these datasets
  cse-data fetch wikipedia data.rows.language=de        with the settings of the run that will read it

To carry data to another machine, fetch it into a folder: export HF_HOME=FOLDER CSE_CACHE=FOLDER/cache, here and there.

Exit codes
  0    all is here
  1    something is missing or cannot be fetched
  2    a mistake in the command
"""
LICENCE = 52  # characters of a licence in the list of all datasets


def main() -> None:
    """The console script. Exit codes: 0 all is here, 1 something is missing, 2 the user's mistake."""
    with exit_on_error():
        typed = [word for word in arguments_or_exit(HELP) if word not in MULTIRUN]
        what, words = (typed or [""])[0], typed[1:]
        if what not in ("list", "fetch") or any(word.startswith("-") for word in words):
            raise UserError(f"{' '.join(typed)}: type cse-data list or cse-data fetch, and names or a line (--help)")
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
        if what == "list":
            startup.quiet()
            sys.exit(show(words))
        startup.settle_hub()  # before the hub's client is imported, which would wait for each thing
        startup.quiet()
        sys.exit(fetch(words))


def show(words: Sequence[str]) -> int:
    """Print all datasets, those that are named, or what a line reads. Returns 1 if a line lacks something."""
    from cse.lab.run.needs import look_for
    from cse.lab.sweep.reads import needs_named

    if not words:
        show_all()
        return 0
    needs = needs_named(words)
    if any("=" in word for word in words):
        return show_line(words, needs)
    for name, need in {need.dataset: need for need in needs if isinstance(need, DatasetNeed)}.items():
        place, wrong = look_for(need)
        show_one(name, place, wrong)
    return 0


def show_line(words: Sequence[str], needs: Sequence[Need]) -> int:
    """Print what a line reads, and what of it is here. Returns 1 if something is missing."""
    from cse.lab.run.needs import look_for

    counts: Counter[str] = Counter()
    can_be_fetched = False
    for need in needs:
        place, wrong = look_for(need)
        about = about_of(need)
        if place is None:
            state = "missing"
            can_be_fetched = can_be_fetched or not wrong
        else:
            state = "later" if about and about.fetch == "later" else "here"
        counts[state] += 1
        size = size_of(about) if about else ""
        print(f"{state:<7}  {need.name}  {place or wrong or size}".rstrip())
    gets = f" ({shell_line('cse-data', 'fetch', *words)} gets them)" if can_be_fetched else ""
    later = f", {counts['later']} when it is first scored" if counts["later"] else ""
    print(f"{counts['here']} here, {counts['missing']} missing{gets}{later}")
    return 1 if counts["missing"] else 0


def show_all() -> None:
    """Print a line for each dataset: those that are here, with their places, and the others, with their licences."""
    paths = resolved(composed("train", []).paths)
    copies = {f"paths.{name}": place for name, place in paths.items()}
    cache = Path(paths["cache"])
    places = {name: find_dataset(name, cache, copies.get(str(about.setting))) for name, about in DATASETS.items()}
    here = {name: str(place) for name, place in places.items() if place}
    if here:
        print("here")
        print(to_columns([(f"  {name}", size_of(DATASETS[name]), place) for name, place in here.items()], right=[1]))
    rest = [name for name in places if name not in here]
    rows = []
    for name in rest:
        about = DATASETS[name]
        note = f"pip install '{about.package}'" if about.package else ""
        if about.person:
            note = "gated"
        rows.append((f"  {name}", size_of(about), textwrap.shorten(about.licence, LICENCE, placeholder=" ..."), note))
    if rows:
        print("not here: cse-data fetch NAME; cse-data list NAME: what reads it, and all of its licence")
        print(to_columns(rows, right=[1]))


def show_one(name: str, place: Path | str | None, wrong: str) -> None:
    """Print all that the catalogue has about a dataset. wrong: with a copy that a setting names."""
    about = DATASETS[name]
    size = size_of(about)
    lines = [
        about.about,
        f"{f'about {size}' if size else 'size shown when it is fetched'}; {about.licence}",
        f"needed by {' '.join(about.reads)}",
        f"here: {place}" if place else f"not here: {wrong or how_to_get(name)}",
    ]
    width = max(40, shutil.get_terminal_size((120, 24)).columns)
    for head, line in zip([name, "", "", ""], lines, strict=True):
        print(in_column(f"{head:<15}", line, width))


def about_of(need: Need) -> Dataset | None:
    """A need's entry in the catalogue; None for an encoder and for a file."""
    return need.about if isinstance(need, DatasetNeed) else None


def size_of(about: Dataset) -> str:
    """About how much there is to fetch: 440 MB, 6.3 GB; "" if the catalogue does not know."""
    size = about.bytes
    if size is None:
        return ""
    return f"{size / 1e6:.0f} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"


def how_to_get(name: str) -> str:
    """The command that gets a dataset, and what the user must do first."""
    about = DATASETS[name]
    if about.package:
        return f"pip install '{about.package}'"
    return f"cse-data fetch {name}" + (f"; gated: only you can {about.person}" if about.person else "")


def fetch(words: Sequence[str]) -> int:
    """Fetch each dataset, or what a line reads, to where runs look. If one fails, the others are still fetched."""
    if not words:
        raise UserError("fetch NAME... or fetch LINE: what? cse-data list shows what there is")
    from cse.lab.run.needs import fetch_need
    from cse.lab.sweep.reads import needs_named

    code = 0
    for need in needs_named(words):
        about = about_of(need)
        try:
            place = fetch_need(need)
        except UserError as error:
            by_hand = f"; only you can {about.person}" if about and about.person else ""
            code = max(code, report_error(f"{error}{by_hand}", 1 if isinstance(error, MissingResource) else 2))
            continue
        print(f"{need.name} is {'in ' if isinstance(place, Path) else ''}{place}")
        if about and about.fetch == "server":
            print(f"  use it with {about.setting}={place}")
    if code == 1:
        print("where the network can be reached, this line fetches the rest; what is here is not fetched again")
    return code


if __name__ == "__main__":
    main()
