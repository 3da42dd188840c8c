"""The command line around Hydra: forgiving about order, strict about names, one sentence for a mistake."""

import errno
import io
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import takewhile
from pathlib import Path
from typing import NoReturn

from omegaconf import DictConfig

from cse.cli import cleanup, launched
from cse.config.compose import (
    composed,
    explaining,
    nearest,
    program,
    quoted,
    refuse_additions,
    refuse_choices,
    refuse_sizes,
    valid_keys,
)
from cse.config.groups import PROVIDER, adopted, choices, own_folders
from cse.config.keys import entry, key_of
from cse.config.words import newest_run
from cse.errors import Interrupted, RunError, UserError
from cse.files import NO_PLACE
from cse.sweep.line import INFORM, MULTI
from cse.training.signals import Signals

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a disk, a quota, a file's limit

FLAGS = (
    *("--cfg", "--config-dir", "--config-name", "--config-path", "--experimental-rerun", "--info", "--package"),
    *("--shell-completion", "-c", "-cd", "-cn", "-cp", "-i", "-p", "-sc"),
)
"""Those of Hydra's flags that take a value."""


def undashed(arguments: list[str]) -> list[str]:
    """`--trainer.lr=1e-5`, as W&B's agents start a run, is `trainer.lr=1e-5`; Hydra's own flags stay as they are."""
    return [
        word[2:] if word.startswith("--") and "=" in word and word.partition("=")[0] not in FLAGS else word
        for word in arguments
    ]


def adopt_own_choices() -> None:
    """Take --config-dir, and dashes before settings, out of this process's arguments, before anything reads them."""
    with in_a_sentence():
        sys.argv[1:] = adopted(undashed(sys.argv[1:]))
        if not own_folders():
            adopted(own_choices_of(run_to_resume(sys.argv[1:])))


def sort_arguments(arguments: list[str]) -> list[str]:
    """Overrides first, flags after: Hydra's own parser accepts them in no other order."""
    overrides, flags = [], []
    rest = iter(arguments)
    for argument in rest:
        if argument.startswith("-"):
            flags.append(argument)
            if argument in FLAGS:
                flags += [value for value in [next(rest, None)] if value is not None]
        else:
            argument = argument.replace("=~/", f"={Path.home()}/")  # a shell expands ~ only at a word's start
            # Hydra's functions have no capitals: MTEB(eng, v1) is a name, whose quotes the shell took away
            overrides.append(re.sub(r"=([A-Z]\w*\([^()']*\))$", r"='\1'", argument))
    return overrides + flags


def read_record(record: Path) -> object:
    """One of the files that Hydra leaves in a run's .hydra/. Raises UserError for one that cannot be read."""
    import yaml

    try:
        return yaml.safe_load(record.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(
            f"{record} cannot be read ({' '.join(str(error).split())}): take a copy, or start anew"
        ) from error


def recorded(record: Path) -> list[str]:
    """The words that a run was started with, from Hydra's record. Raises UserError for a file that holds no such."""
    words = read_record(record) or []
    if not isinstance(words, list) or not all(isinstance(word, str) and re.search("[=~]", word) for word in words):
        raise UserError(f"{record} is damaged: it should list the run's words, KEY=VALUE; take a copy, or start anew")
    return words


def run_to_resume(arguments: list[str]) -> Path | None:
    """FOLDER of `resume=FOLDER`."""
    folders = [argument.removeprefix("resume=") for argument in arguments if argument.startswith("resume=")]
    return Path(folders[-1]) if folders and folders[-1] not in ("auto", "null", "") else None


def own_choices_of(run: Path | None) -> list[str]:
    """--config-dir for each folder of own choices that a run was started with. Raises UserError where one is gone."""
    record = Path() if run is None else run / ".hydra" / "hydra.yaml"
    if not record.is_file():
        return []
    match read_record(record):
        case {"hydra": {"runtime": {"config_sources": [*sources]}}}:
            folders = [one["path"] for one in sources if one["provider"] == PROVIDER]
        case _:
            return []
    for folder in folders:
        if not Path(folder).is_dir():
            raise UserError(f"{run} was started with --config-dir {folder}, which is gone: name it where it is now")
    return [f"--config-dir={folder}" for folder in folders]


def resumed(arguments: list[str]) -> list[str]:
    """`resume=FOLDER` becomes that folder's own overrides, with whatever else is given after them."""
    run = run_to_resume(arguments)
    if run is None:
        return arguments
    record = run / ".hydra" / "overrides.yaml"
    if not record.is_file():
        raise UserError(f"resume={run}: this is not a run's folder (no .hydra/overrides.yaml in it){newest_run(run)}")
    before = recorded(record)
    others = [argument for argument in arguments if not argument.startswith("resume=")]
    said = {key_of(argument) for argument in others}
    unchanged = [word for word in before if key_of(word) not in said and not entry(key_of(word)).once]
    return [*unchanged, *others, f"hydra.run.dir={run}", "resume=auto"]


def refuse_flags(arguments: list[str], config_name: str) -> None:
    """Raise UserError for -m with a look at one run, and for a flag that is unknown or lacks its value."""
    from hydra._internal.utils import get_args_parser

    looks = [word for word in arguments if word in INFORM]
    if looks and set(MULTI) & set(arguments):
        raise UserError(f"{looks[0]} shows one run: leave out -m, and give each key one value")
    said = io.StringIO()
    try:
        with redirect_stderr(said), redirect_stdout(io.StringIO()):
            get_args_parser().parse_args(arguments)
    except SystemExit as ended:
        unknown = said.getvalue().strip().rpartition("error: ")[2]
        if flag := re.fullmatch(r"unrecognized arguments: --?([\w.-]+).*", unknown):
            key = flag[1].replace("-", "_")
            hint = nearest(key, valid_keys(config_name, [])).replace("?", "=...?")
            raise UserError(f"{unknown}; a setting is KEY=VALUE{hint}") from None
        if ended.code:
            raise UserError(unknown) from None


def of_the_only_evaluator(arguments: list[str]) -> list[str]:
    """`eval=mteb eval.benchmark=NAME` means eval.mteb.benchmark: a key of the one evaluator that is chosen by name."""
    known = choices("eval")
    evals = [argument.removeprefix("eval=").strip("[]") for argument in arguments if argument.startswith("eval=")]
    if not evals or evals[-1] not in known:
        return arguments
    own = re.compile(rf"^eval\.(?!({'|'.join(known)})[.=])")
    return [own.sub(f"eval.{evals[-1]}.", argument) for argument in arguments]


def without_evaluation(arguments: list[str], config_name: str) -> list[str]:
    """`eval=null` and `eval=[]` score nothing, so nothing selects a step either, unless a person says what does."""
    last = {argument.partition("=")[0]: argument.partition("=")[2] for argument in arguments}
    if last.get("eval") not in ("", "null", "[]"):
        return arguments
    others = [argument for argument in arguments if not argument.startswith("eval=")]
    selection = {"trainer.select": "trainer.select=null", "trainer.watch": "trainer.watch=[]"}
    nothing = selection if config_name == "train" else {}
    return ["eval=[]", *(value for key, value in nothing.items() if key not in last), *others]


def without_null(arguments: list[str]) -> list[str]:
    """`experiment=null` and `sweep=null` choose none, which is the default; Hydra takes null for no group."""
    last = {argument.partition("=")[0]: argument.partition("=")[2] for argument in arguments}
    none = {group for group in ("experiment", "sweep") if last.get(group) in ("", "null")}
    return [argument for argument in arguments if argument.partition("=")[0] not in none]


def spelled(arguments: list[str], config_name: str) -> list[str]:
    """What a person typed, as Hydra wants it."""
    arguments = without_null(sort_arguments(quoted(arguments)))
    return of_the_only_evaluator(without_evaluation(arguments, config_name))


def many(config_name: str, arguments: list[str]) -> NoReturn:
    """Run the jobs of a line with -m or sweep=; exits with 1 where one failed, with 2 after a user's mistake."""
    from cse.sweep import engine

    with exit_codes(config_name, arguments):
        arguments = spelled(arguments, config_name)
        sys.exit(engine.main(arguments, "cse-train" if config_name == "train" else "cse-eval"))


def command(config_name: str, task: Callable[[DictConfig], object], arguments: list[str]) -> None:
    """Compose `config_name` and hand it to `task`; exits with 1 after a failed run, with 2 after a user's mistake."""

    def job(cfg: DictConfig) -> object:
        from cse.config.check import settle

        # inside Hydra's job, or Hydra would print its own lines around an error
        with cleanup.after_mistake(before), exit_codes(config_name, arguments):
            return task(settle(cfg, config_name))

    with exit_codes(config_name, arguments), Signals(lambda: "the same line starts again"):
        launched.refuse_lone_process()
        if "hydra.mode=RUN" not in arguments:  # a sweep's job has the sweep's own words, too
            refuse_sizes(arguments)
        arguments = launched.following(spelled(resumed(arguments), config_name))
        refuse_flags(arguments, config_name)
        refuse_additions(arguments, config_name)
        refuse_choices(arguments)
        before = cleanup.snapshot([]) if set(INFORM) & set(arguments) else checked(config_name, arguments)
        program(config_name, job, arguments)()


def checked(config_name: str, arguments: list[str]) -> cleanup.Snapshot:
    """Check every setting before Hydra makes a folder; returns what stands where it will make it."""
    from cse.run import startup

    startup.settle_hub()  # the parts, whose signatures are read, import the hub's libraries
    startup.quiet()
    from cse.config.check import settle

    overrides = list(takewhile(lambda argument: not argument.startswith("-"), arguments))
    cfg = settle(composed(config_name, overrides), config_name)
    before = cleanup.snapshot([cfg.hydra.run.dir, cfg.hydra.sweep.dir])
    if not cfg.hydra.run.dir:
        raise UserError("hydra.run.dir=: must be a folder; without it, a run makes its own below outputs/")
    cleanup.try_folder(Path(cfg.hydra.run.dir).absolute(), before)
    return before


@contextmanager
def in_a_sentence() -> Iterator[None]:
    """A block whose mistakes (exit code 2) and failures (1) end this process with one sentence on stderr."""
    try:
        yield
    except UserError as error:
        sys.exit(complain(str(error), 2))
    except RunError as error:
        sys.exit(complain(str(error), 1))


@contextmanager
def exit_codes(config_name: str, arguments: list[str]) -> Iterator[None]:
    """An error of ours or of Hydra leaves this block as one sentence on stderr and SystemExit with its code."""
    try:
        with in_a_sentence(), launched.in_turn(), explaining(arguments, config_name):
            yield
    except OSError as error:
        if error.errno in NO_PLACE:
            place = f"cannot write {error.filename}: {error.strerror}"
            sys.exit(complain(f"{place}; set hydra.run.dir to a folder of yours", 2))
        if error.errno not in FULL:
            raise
        where = error.filename or "the run's folder or the cache"
        sys.exit(complain(f"cannot write {where}: {error.strerror}; free space and run again with resume=auto", 1))
    except Interrupted as error:
        sys.exit(complain(str(error), error.code))
    except KeyboardInterrupt:
        sys.exit(complain("stopped", 130))  # as a shell says it of Ctrl-C


def complain(message: str, code: int) -> int:
    """Print one sentence on stderr, for a launcher too, and return the exit code that goes with it."""
    sentence = f"{Path(sys.argv[0]).name}: {message}"
    launched.tell(sentence)
    print(sentence, file=sys.stderr)
    return code
