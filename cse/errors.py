"""The errors that end a run early: a user's mistake (exit code 2), a failure (1), a signal (128 + its number)."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module

NOT_SAID = object()
NAME = re.compile(r"`([\w.]+)`")  # a parameter's name in a message


class UserError(Exception):
    """A user's mistake. `str` makes one message from the attributes. Exit code 2.

    why: what is wrong, and where (file, line). key, value: the wrong setting, if any. instead: what to do.

    A part names its own parameters: as `key`, and in backquotes in `why` and `instead`. The caller of the part knows
    the user's names for these parameters, and gives them with `within` or `naming`.
    """

    def __init__(self, why: str, *, key: str = "", value: object = NOT_SAID, instead: str = ""):
        super().__init__(why)
        self.why, self.key, self.value, self.instead = why, key, value, instead

    def __str__(self) -> str:
        return NAME.sub(r"\1", self.in_full())

    def in_full(self) -> str:
        """The message, with the names of parameters still in backquotes."""
        said = self.why
        if self.key:
            said = f"`{self.key}`: {said}" if self.value is NOT_SAID else f"`{self.key}`={self.value}: {said}"
        return f"{said}; {self.instead}" if self.instead else said

    def rename(self, name: Callable[[str], str]) -> None:
        """Replace the name of every parameter in the error: name(old) is the new name."""
        self.key = name(self.key) if self.key else ""
        self.why = NAME.sub(lambda found: f"`{name(found[1])}`", self.why)
        self.instead = NAME.sub(lambda found: f"`{name(found[1])}`", self.instead)


class MissingResource(UserError):
    """Weights or data are not available. The error names them, the searched place, and what to use instead."""


def check_loads(module: str, requirement: str = "") -> None:
    """Raise MissingResource if a package for one kind of data is missing, or does not fit torch.

    requirement: what pip installs; "": the first part of the module's name.
    """
    package = module.partition(".")[0]
    try:
        import_module(module)
    except (ImportError, OSError, RuntimeError) as error:
        raise MissingResource(
            f"{package} cannot be loaded ({first_line(error)}): pip install {requirement or package}"
        ) from error


@contextmanager
def collecting(missing: list[MissingResource]) -> Iterator[None]:
    """A block that makes or finds one thing. A MissingResource ends the block, and is added to `missing`.

    The caller raises `combine(missing)` after all such blocks, if the list is not empty.
    """
    try:
        yield
    except MissingResource as error:
        missing.append(error)


def combine(missing: Iterable[MissingResource]) -> MissingResource:
    """One error for everything that is missing. Each thing is named once, on its own line."""
    return MissingResource("\n".join(dict.fromkeys(line for one in missing for line in one.in_full().splitlines())))


def first_line(error: BaseException) -> str:
    """The first line of a library's error; its class if it has no text."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def class_name(kind: Callable[..., object]) -> str:
    """The dotted name of the class or function, as in the `_target_` of a YAML."""
    return f"{kind.__module__}.{kind.__qualname__}"


def in_short(error: BaseException) -> str:
    """A library's error on one line: its class and the first 300 characters."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}".removesuffix(": ")


@contextmanager
def renaming(name: Callable[[str], str]) -> Iterator[None]:
    """A block whose UserErrors name parameters as `name` does."""
    try:
        yield
    except UserError as error:
        error.rename(name)
        raise


def naming(**names: str) -> AbstractContextManager[None]:
    """A block whose UserErrors use the caller's names of parameters: {name in the called code: the caller's name}."""
    return renaming(lambda key: names.get(key, key))


def within(place: str) -> AbstractContextManager[None]:
    """A block that calls the part at the key `place`. Its UserErrors then name a parameter `lr` as PLACE.lr."""
    return renaming(lambda key: f"{place}.{key}")


class RunError(Exception):
    """A run that started and cannot continue (NaN, collapse, a full disk). Exit code 1."""


class Interrupted(KeyboardInterrupt):
    """A run that a signal stopped. Its message says how to continue. code: 128 + the number of the signal, as in a
    shell.

    Like Ctrl-C it is not an Exception, so code that catches errors does not catch it.
    """

    def __init__(self, sentence: str, code: int):
        super().__init__(sentence)
        self.code = code
