"""The two ways a run ends early. A user's mistake is one sentence and exit code 2; a failed run is exit code 1."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module

AND = "; and "  # between the sentences of several errors


class UserError(Exception):
    """Bad input: what is wrong, where (file, line, key) and what to do, in one sentence. Exit code 2."""


class MissingResource(UserError):
    """Weights or data that cannot be had: names the thing, where it was looked for, and what works here instead."""


def check_loads(module: str, requirement: str = "") -> None:
    """Raise MissingResource where a package that one kind of data alone needs is missing, or does not fit torch.

    requirement: what pip installs; "": the module's first name.
    """
    package = module.partition(".")[0]
    try:
        import_module(module)
    except (ImportError, OSError, RuntimeError) as error:
        raise MissingResource(
            f"{package} cannot be loaded ({first_line(error)}): pip install {requirement or package}"
        ) from error


def combine(missing: Iterable[MissingResource], advice: str = "") -> MissingResource:
    """One error for all that is missing, each thing said once. advice: the end of the sentence for two or more."""
    sentences = dict.fromkeys(sentence for one in missing for sentence in str(one).split(AND))
    return MissingResource(AND.join(sentences) + advice * (len(sentences) > 1))


def first_line(error: BaseException) -> str:
    """The first words of a library's error; its name where it has none."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def in_short(error: BaseException) -> str:
    """A library's error on one line: its kind, and its first 300 characters."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}".removesuffix(": ")


@contextmanager
def renamed(keys: dict[str, str]) -> Iterator[None]:
    """A block whose UserErrors speak of other keys. keys: what each says, and what is to be said instead."""
    try:
        yield
    except UserError as error:
        sentence = str(error)
        for words, own in keys.items():
            sentence = sentence.replace(words, own)
        raise type(error)(sentence) from error


class RunError(Exception):
    """A run that started well and cannot go on (NaN, collapse, a full disk). Exit code 1."""


class Interrupted(KeyboardInterrupt):
    """A run that a signal stopped: what goes on, in one sentence. Exit code 128 + the signal's number, as a shell's.

    Like Ctrl-C it is no Exception, so that nothing that forgives errors takes it for one.
    """

    def __init__(self, sentence: str, code: int):
        super().__init__(sentence)
        self.code = code
