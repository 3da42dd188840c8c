"""From words on a command line to a composed config: where conf/ lies, what it gives, and why it does not."""

import difflib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from cse.config import words
from cse.config.groups import CONF_DIR, choices
from cse.config.synonyms import meant
from cse.dotted import flattened
from cse.errors import UserError

LISTED = 20
"""So many choices are listed in a message."""

LAPTOP_TEXT = ("scale.sentences", "scale.pairs", "scale.documents")
"""The text files of scale=laptop."""

TEXT = re.compile(r"(?!.*\s[\w.]+=)[^'\"\[\]{}(),$\\]+", re.DOTALL)
"""A value that can be nothing but text where Hydra cannot read it: no list, no mapping, no second KEY= in it."""

SWITCH = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
"""Words for truth, in small letters."""


def program(config_name: str, task: Callable[[DictConfig], object], arguments: list[str]) -> Callable[[], None]:
    """A call that composes `config_name` with Hydra and hands it to `task`, once or (--multirun) once a job.

    The call raises Hydra's, OmegaConf's and the task's errors whole: what a person reads is the caller's to write.
    """
    import hydra

    os.environ["HYDRA_FULL_ERROR"] = "1"  # or Hydra would print them and exit
    sys.argv = [sys.argv[0], *arguments]
    return hydra.main(version_base="1.3", config_path=CONF_DIR, config_name=config_name)(task)


def composed(config_name: str, arguments: list[str]) -> DictConfig:
    """The config that a process with these arguments would see, with its `hydra` node."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    outer = GlobalHydra.instance().hydra  # inside a Hydra job, its own
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(CONF_DIR, version_base="1.3"):
            return compose(config_name, arguments, return_hydra_config=True)
    except (TypeError, AttributeError) as error:  # Hydra's own, of a list or a number in place of a choice
        raise UserError(f"{' '.join(arguments)}: cannot be composed: {error}") from error
    finally:
        GlobalHydra.instance().hydra = outer


def without_hydra(config: DictConfig) -> DictConfig:
    """A copy of a composed config without its `hydra` node: what is ours of it."""
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def is_group(key: str) -> bool:
    """Whether a key chooses from a folder of conf/, or a sweep."""
    root = key.partition("@")[0].partition("/")[0]
    return root == "sweep" or Path(CONF_DIR, root).is_dir()


def valid_keys(config_name: str, arguments: list[str]) -> list[str]:
    """Every dotted key of the composed config, and the groups; the arguments that choose from groups are followed."""
    groups = {"sweep", *(path.name for path in Path(CONF_DIR).iterdir() if path.is_dir())}
    chosen = [a for a in arguments if a.partition("=")[0] in groups and "," not in a.partition("[")[0]]
    try:
        config = without_hydra(composed(config_name, chosen))
    except Exception:  # a choice that is itself mistyped
        config = without_hydra(composed(config_name, []))
    leaves = [key.split(".") for key in flattened(OmegaConf.to_container(config, resolve=False))]  # type: ignore[arg-type]
    nodes = {".".join(parts[:depth]) for parts in leaves for depth in range(1, len(parts) + 1)}
    return sorted({*nodes, *map(str, config), *groups})


def refuse_additions(arguments: list[str], config_name: str) -> None:
    """`+key=value` adds a key, and no key that is missing is read by anything: it is a typing mistake."""
    for argument in arguments:
        if re.fullmatch("[~+]*([=@].*)?", argument, re.DOTALL):
            raise UserError(f"{argument}: there is no key in it; a setting is KEY=VALUE, without blanks")
        if argument.startswith("+"):
            key = argument.lstrip("+").partition("=")[0].partition("@")[0]
            keys = valid_keys(config_name, arguments)
            if not key.startswith("hydra") and key not in keys:
                raise UserError(f"{argument}: {no_key(key, keys, config_name)}")


def refuse_sizes(arguments: Sequence[str]) -> None:
    """Raise UserError for a size that scale=laptop would replace with its own, and for a text file that is missing."""
    if "scale=laptop" not in arguments:
        return
    sizes = OmegaConf.load(Path(CONF_DIR) / "scale" / "laptop.yaml")
    own = {f"trainer.{key}": f"scale.trainer.{key}" for key in sizes.trainer}
    own |= {"model.name": "scale.model", "aux_modality.data.batch_size": "scale.aux_batch"}
    for argument in arguments:
        key, _, value = argument.lstrip("+").partition("=")
        if key in own:
            raise UserError(f"{key}={value}: scale=laptop has a size of its own for it; give {own[key]}={value}")
        if key in LAPTOP_TEXT and value != "null" and not Path(value).is_file():
            raise UserError(f"{key}={value}: there is no such file")


def refuse_choices(arguments: list[str]) -> None:
    """Raise UserError for a choice that a group does not have; Hydra passes over one that is optional, as recipe=."""
    for argument in arguments:
        key, _, value = argument.partition("=")
        group = key.partition("@")[0]
        if Path(CONF_DIR, group).is_dir() and re.fullmatch(r"[\w,]+", value):
            for choice in value.split(","):
                if choice not in choices(group):
                    raise UserError(no_choice(group, choice))


def no_key(key: str, keys: list[str], config_name: str) -> str:
    """The message for a key that the line's choices do not have: whose it is, or what may have been meant."""
    if ours := meant(key, keys):
        return f"there is no key {key}; did you mean {ours}{words.explained(ours, config_name)}?"
    return f"there is no key {key}{words.elsewhere(key, config_name) or nearest(key, keys)}"


def no_choice(group: str, choice: str) -> str:
    """The message for a choice that the group does not have, with the choices that it has."""
    options = choices_of_hydra(group) if group.startswith("hydra/") else choices(group)
    listed = f"; the choices: {', '.join(options)}" if options else ""
    if len(options) > LISTED:
        listed = f"; --help {group} says the {len(options)} choices"
    beside = words.of_ones_own(group, choice)
    return f"{group}={choice} is not a choice{beside or nearest(choice, options)}{listed}"


def choices_of_hydra(group: str) -> list[str]:
    """What a group of Hydra's own offers, as hydra/launcher."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    GlobalHydra.instance().clear()
    with initialize_config_dir(CONF_DIR, version_base="1.3"):
        return GlobalHydra.instance().config_loader().get_group_options(group)


@contextmanager
def explaining(arguments: list[str], config_name: str) -> Iterator[None]:
    """A block that composes or resolves a config: an error of Hydra or OmegaConf leaves it as a UserError."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(explain(error, arguments, config_name)) from error


def explain(error: Exception, arguments: list[str], config_name: str) -> str:
    """One sentence for an error of Hydra or OmegaConf."""
    text = str(error)
    if match := re.search(r"Could not override '([^']+)'", text) or re.search(r"Key '([^']+)' is not in struct", text):
        key = match.group(1)
        return no_key(key, valid_keys(config_name, arguments), config_name)
    if match := re.search(r"Could not (?:find|load) '([^']+)'", text):
        name = match.group(1)  # GROUP/CHOICE: a sweep is PAPER/TABLE, a group of Hydra's is hydra/GROUP
        group, _, choice = name.rpartition("/") if name.startswith("hydra/") else name.partition("/")
        return no_choice(group, choice)
    if match := re.search(r"call to target '([\w.]+)'.*missing \d+ required positional arguments?: (.*)\"", text, re.S):
        taken = [argument for argument in arguments if argument.startswith("~")]
        return f"{' '.join(taken)} takes away {match[2]}, which {match[1]} needs: leave it as it is, or give it a value"
    if unread := unreadable(arguments, config_name):
        return unread
    if match := re.search(r"Ambiguous value for argument '([^']+)'", text):
        lists = "a list is KEY=[A,B], a run for each value is -m KEY=A,B, text with a comma is 'KEY=\"A,B\"'"
        return f"{match[1]}: several values; {lists}, and a number has a point, no comma"
    if match := re.search(r"Environment variable '([^']+)' not found[\s\S]*full_key: ([\w.]+)", text):
        return f"{match[2]}: the environment variable {match[1]} is not set: set it, or write the value itself"
    if match := re.search(r"does not support sweep type : (\w+)", text):
        ranges = [argument for argument in arguments if "interval(" in argument]
        return f"{' '.join(ranges)}: a range to search in needs a search: hydra/sweeper=smac"
    if match := re.search(r"You must specify '([^']+)'|Missing mandatory value: (\S+)", text):
        return f"{match.group(1) or match.group(2)} is not set: say {match.group(1) or match.group(2)}=..."
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(lines[:2])


def unreadable(arguments: list[str], config_name: str) -> str | None:
    """The message for the first word that Hydra's grammar cannot read; None where it reads them all."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    for argument in (argument for argument in arguments if not argument.startswith("-")):
        try:
            OverridesParser.create().parse_override(argument)
        except HydraException:
            return words.unread(argument, config_name)
    return None


def quoted(arguments: list[str]) -> list[str]:
    """The arguments, with quotes around a value that is text though Hydra's grammar cannot read it: a path with an
    umlaut or with = in it."""
    halves = [(argument, *argument.partition("=")[::2]) for argument in arguments]
    return [
        f'{key}="{value}"' if key and TEXT.fullmatch(value) and unreadable([argument], "train") else argument
        for argument, key, value in halves
    ]


def nearest(key: str, keys: list[str]) -> str:
    """The words `did you mean KEY?` with the closest valid key, or nothing."""
    if ours := meant(key, keys):
        return f"; did you mean {ours}?"
    keys = [known for known in keys if "._" not in f".{known}"]  # _target_ and _partial_ are no one's settings
    if inside := [known for known in keys if known.endswith(f"/{key}")]:  # TABLE of PAPER/TABLE
        return f"; did you mean {' or '.join(inside)}?"
    last = {known.rpartition(".")[2]: known for known in keys}
    close = difflib.get_close_matches(key, keys, 1, 0.6)
    close = close or [last[name] for name in difflib.get_close_matches(key.rpartition(".")[2], list(last), 1, 0.7)]
    return f"; did you mean {close[0]}?" if close else ""
