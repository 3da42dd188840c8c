"""The errors that end a run early. Exit codes: 2 for a user's mistake, 1 for a failure, 128 + N for the signal N."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module

NOT_SAID = object()
NAME = re.compile(r"`([\w.]+)`")  # a parameter's name in a message


class UserError(Exception):
    """A user's mistake. str(error) is one message made of the attributes. The exit code is 2.

    why: what is wrong, and where (file, line). key, value: the wrong setting, if any. instead: what to do.

    A part names a setting as its own parameter, such as `lr`. It gives this name as `key`, or in backquotes inside
    `why` and `instead`. The caller of the part replaces the name by the user's key, such as trainer.lr, with `within`
    or `naming`.
    """

    def __init__(self, why: str, *, key: str = "", value: object = NOT_SAID, instead: str = ""):
        super().__init__(why)
        self.why, self.key, self.value, self.instead = why, key, value, instead

    def __str__(self) -> str:
        return NAME.sub(r"\1", self.in_full())

    def in_full(self) -> str:
        """Return the message, in which the names of parameters still have backquotes."""
        said = self.why
        if self.key:
            said = f"`{self.key}`: {said}" if self.value is NOT_SAID else f"`{self.key}`={self.value}: {said}"
        return f"{said}; {self.instead}" if self.instead else said

    def rename(self, name: Callable[[str], str]) -> None:
        """Replace the name of every parameter in the error. name(old name) is the new name."""
        self.key = name(self.key) if self.key else ""
        self.why = NAME.sub(lambda found: f"`{name(found[1])}`", self.why)
        self.instead = NAME.sub(lambda found: f"`{name(found[1])}`", self.instead)


class MissingResource(UserError):
    """Weights or data are not available. The message names the resource, the searched place, and what to do."""


def check_loads(module: str, requirement: str = "") -> None:
    """Raise MissingResource if a module cannot be imported: its package is missing, or does not fit torch.

    requirement: what pip must install; "": the first part of the module's name.
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
    """If the block raises a MissingResource, add the error to `missing`. Execution then continues after the block.

    After all such blocks the caller raises `combine(missing)`, if the list is not empty.
    """
    try:
        yield
    except MissingResource as error:
        missing.append(error)


def combine(missing: Iterable[MissingResource]) -> MissingResource:
    """Return one error for everything that is missing. The message has one line for each missing resource."""
    return MissingResource("\n".join(dict.fromkeys(line for one in missing for line in one.in_full().splitlines())))


def did_you_mean(names: Sequence[str]) -> str:
    """Return ` (did you mean NAME or NAME?)`, for the end of an error; "" without names."""
    return f" (did you mean {' or '.join(names)}?)" if names else ""


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text. If there is no text, return the name of the error's class."""
    return next((line.strip() for line in text_of(error).splitlines() if line.strip()), type(error).__name__)


def class_name(kind: Callable[..., object]) -> str:
    """Return the dotted name of the class or function, as in the `_target_` of a YAML."""
    return f"{kind.__module__}.{kind.__qualname__}"


def in_short(error: BaseException) -> str:
    """Return an error on one line: its class and the first 300 characters of its text."""
    return f"{type(error).__name__}: {' '.join(text_of(error).split())[:300]}".removesuffix(": ")


def text_of(error: BaseException) -> str:
    """Return an error's text without backquotes, because UserError.rename renames what is in backquotes."""
    return str(error).replace("`", "")


@contextmanager
def renaming(name: Callable[[str], str]) -> Iterator[None]:
    """Rename the parameters in every UserError of the block; see UserError.rename."""
    try:
        yield
    except UserError as error:
        error.rename(name)
        raise


def naming(**names: str) -> AbstractContextManager[None]:
    """Rename parameters in every UserError of the block. names: {name in the called code: name in the caller}."""
    return renaming(lambda key: names.get(key, key))


def within(place: str) -> AbstractContextManager[None]:
    """Put `place`, a part's key, before the parameters in every UserError of the block: `lr` becomes PLACE.lr."""
    return renaming(lambda key: f"{place}.{key}")


class RunError(Exception):
    """The failure of a run that started and cannot continue (NaN, collapse, a full disk). The exit code is 1."""


class Interrupted(KeyboardInterrupt):
    """The exception of a run that a signal stopped. The message says how to continue the run.

    code: 128 + the number of the signal, as in a shell. Like KeyboardInterrupt, this class is not an Exception, so
    `except Exception` does not catch it.
    """

    def __init__(self, sentence: str, code: int):
        super().__init__(sentence)
        self.code = code
