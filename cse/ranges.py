"""Types of settings with their ranges, for the signatures of parts: `lr: Positive`, `p: Share`, `seed: Seed`.

Only the signature of a part declares the valid values. cse.lab checks a config against the signature before any work. A
setting that is one of several names is a Literal, or a OneOf if a table has the names. NaN and infinity are refused.

A signature also declares the purpose of a setting (cse.lab.settings.roles). A setting without a mark of purpose is
science: it determines training or scores. Any other setting has such a mark beside its type, as in `workers:
Annotated[Natural, Mark.MACHINE]`, or in its type, as in Cache.
"""

import math
import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import AfterValidator, ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class Mark(Enum):
    """A fact that a setting's annotation gives in addition to the type. The value of a mark is its meaning.

    A key without marks, or with only VALUE_MARKS, also has the marks of its parent key: `hydra.launcher.n_jobs` has the
    marks of `hydra.launcher`.
    """

    # The purpose of a setting that is not science
    MACHINE = "where data is, and the hardware"
    LOGGING = "what is logged, and where"
    BOOKKEEPING = "how a run is started, and where its folder is"

    # Further facts of a setting that is science
    UNFIXED = "a resumed run may change it, for example the number of steps"
    HARMLESS = "it does not change any number in a table"

    # Further facts of any other setting
    NAMED = "part of the name of a job's folder, by which finished jobs are found"
    REPEATED = "part of the command that repeats a run"
    START = "in a command that starts several jobs, it belongs to the command, not to the jobs"
    ONCE = "a resumed run forgets it"
    RECORDED = "set by the run itself: no command and no file sets it"

    # Facts about the value, for a setting of any purpose: VALUE_MARKS
    VERBATIM = "used exactly as given, and never parsed: a path, a name on the hub, a sentence"
    ENCODER = "an encoder, or a file of word vectors"
    SUMMED = "the record of a run keeps the checksum of the named file"


VALUE_MARKS = frozenset({Mark.VERBATIM, Mark.ENCODER, Mark.SUMMED})
"""The marks that describe a value. A key with only such marks keeps the purpose of its parent key:
`card.data_licence` is a Sentence, and its purpose is the purpose of `card`, logging."""

Count = Annotated[int, Ge(1)]
Several = Annotated[int, Ge(2)]
Natural = Annotated[int, Ge(0)]
Seed = Annotated[int, Ge(0), Lt(2**32)]  # the range of numpy's generators
Positive = Annotated[float, Gt(0)]
NonNegative = Annotated[float, Ge(0)]
Exponent = Annotated[float, Ge(-38), Le(38)]  # float32 can represent ten to this power
Share = Annotated[float, Ge(0), Le(1)]
PositiveShare = Annotated[float, Gt(0), Le(1)]
BelowOne = Annotated[float, Ge(0), Lt(1)]  # a dropout or a momentum: with 1, nothing would remain
Name = Annotated[str, MinLen(1)]
File = Annotated[Name, Mark.VERBATIM]
Folder = Annotated[Name, Mark.VERBATIM]
Cache = Annotated[Folder, Mark.MACHINE, Mark.NAMED]  # a folder that a run fills
EncoderName = Annotated[Name, Mark.VERBATIM, Mark.ENCODER, Mark.SUMMED]  # a name on the hub, or a folder
HubName = Annotated[Name, Mark.VERBATIM]  # the name of a dataset on the hub
Sentence = Annotated[str, Mark.VERBATIM]
Split = Literal["dev", "test"]
Pooling = Literal["cls", "mean", "last", "mask", "avg_top2", "avg_first_last", "avg_first_last_0"]
AnyPooling = Literal[Pooling, "pooler"]  # pooler: CLS through the checkpoint's pooler; not for training
WhiteningKind = Literal["pca", "zca"]  # the whitening of finished embeddings

STRICT = ConfigDict(extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)
"""Pydantic's rules for the check of every group of settings."""


def no_word_for_null(value: object) -> object:
    """Return the value. Raises ValueError for a word that means null elsewhere: cse would read this word as text."""
    if isinstance(value, str) and value.lower() in ("none", "null", "~"):
        raise ValueError("would be read as text: for no value, give null")
    return value


class OneOf:
    """The annotation of a setting that is one of the names in a table: `Annotated[str, OneOf(TASKS)]`."""

    def __init__(self, names: Iterable[str]):
        self.names = list(names)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(self.names)


def check_ascending(values: Sequence[float]) -> Sequence[float]:
    """Return the values. Raises ValueError if a value is smaller than the value before it."""
    if list(values) != sorted(values):
        raise ValueError("must be in ascending order")
    return values


Ascending = AfterValidator(check_ascending)


def check_distinct(values: Sequence[int]) -> Sequence[int]:
    """Return the values. Raises ValueError if a value occurs twice."""
    if len(set(values)) < len(values):
        raise ValueError("must be different from each other")
    return values


Widths = Annotated[list[Count], AfterValidator(check_distinct)]  # w: a vector's first w numbers are an embedding too


def check_scale(ends: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of a scale. Raises ValueError unless the first end is lower and the distance is finite."""
    if not 0 < ends[1] - ends[0] < math.inf:
        raise ValueError("must be the lower end and the upper end of a scale, such as [0,5]")
    return ends


Ends = Annotated[tuple[float, float], AfterValidator(check_scale)]


def check_device(name: str) -> str:
    """Return the name of a device for training a classifier. Raises ValueError for any other name."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
        raise ValueError("must be auto, cpu, cuda or cuda:N")
    return name


Device = Annotated[str, AfterValidator(check_device)]


def text_encoding(name: str) -> str:
    """Return the name of a text encoding that leaves ASCII unchanged. Raises ValueError for any other name."""
    ascii = "".join(map(chr, range(32, 127))) + "\\x41\n"  # idna and unicode_escape are encodings too
    try:
        if ascii.encode(name) == ascii.encode() and ascii.encode().decode(name) == ascii:
            return name
    except (LookupError, UnicodeError):  # UnicodeError: idna takes at most 63 letters a word
        pass
    raise ValueError("must be the name of a text encoding that keeps ASCII unchanged, such as utf-8 or latin-1")


Encoding = Annotated[str, AfterValidator(text_encoding)]
