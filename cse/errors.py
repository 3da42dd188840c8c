"""The ways in which a run ends early: a user's mistake (exit code 2), a failure (1), a signal (128 + its number)."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module


class UserError(Exception):
    """Bad input: what is wrong, where (file, line, key) and what to do, in one sentence. Exit code 2."""


class MissingResource(UserError):
    """Weights or data that are not available: names them, where they were looked for, and what to use instead."""


def check_loads(module: str, requirement: str = "") -> None:
    """Raise MissingResource if a package that only one kind of data needs is missing, or does not fit torch.

    requirement: what pip installs; "": the first part of the module's name.
    """
    package = module.partition(".")[0]
    try:
        import_module(module)
    except (ImportError, OSError, RuntimeError) as error:
        raise MissingResource(
            f"{package} cannot be loaded ({first_line(error)}): pip install {requirement or package}"
        ) from error


def combine(missing: Iterable[MissingResource]) -> MissingResource:
    """One error for everything that is missing, each thing once, on a line of its own."""
    return MissingResource("\n".join(dict.fromkeys(line for one in missing for line in str(one).splitlines())))


def first_line(error: BaseException) -> str:
    """The first line of a library's error; its class if it has no text."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def class_name(kind: Callable[..., object]) -> str:
    """The class, or function, as a YAML's `_target_` names it."""
    return f"{kind.__module__}.{kind.__qualname__}"


def in_short(error: BaseException) -> str:
    """A library's error on one line: its class and the first 300 characters."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}".removesuffix(": ")


@contextmanager
def renaming_keys(keys: dict[str, str]) -> Iterator[None]:
    """A block whose UserErrors name the keys of another command. keys: {what they say: what to say instead}."""
    try:
        yield
    except UserError as error:
        sentence = str(error)
        for old, new in keys.items():
            sentence = sentence.replace(old, new)
        raise type(error)(sentence) from error


class RunError(Exception):
    """A run that started and cannot continue (NaN, collapse, a full disk). Exit code 1."""


class Interrupted(KeyboardInterrupt):
    """A run that a signal stopped: one sentence that says how to continue. code: 128 + the signal's number, as in a
    shell.

    Like Ctrl-C it is no Exception, so that code which catches errors lets it through.
    """

    def __init__(self, sentence: str, code: int):
        super().__init__(sentence)
        self.code = code
