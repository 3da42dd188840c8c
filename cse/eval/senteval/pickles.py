"""Read the pickles that SentEval's authors publish, without running code.

A pickle names functions, and unpickling calls these functions. Here a pickle may name only the functions that make
numpy's arrays, numpy's scalars and bytes. So a pickle can hold dicts, lists, text, numbers and arrays, but no code.
"""

import io
import pickle
from pathlib import Path

from cse.errors import UserError

ADMITTED = {
    *((f"numpy.{core}.multiarray", name) for core in ("core", "_core") for name in ("_reconstruct", "scalar")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),  # bytes, as Python 3 writes them for Python 2
}


class ArraysOnly(pickle.Unpickler):
    """An unpickler that refuses every name outside ADMITTED."""

    def find_class(self, module: str, name: str) -> object:
        """Return the object with this name. Raises UnpicklingError for a name outside ADMITTED."""
        if (module, name) not in ADMITTED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, neither an array nor text")
        return super().find_class(module, name)


def read_pickle(data: bytes, path: Path) -> object:
    """Return the content of a pickle of dicts, lists, text, numbers and arrays.

    data: the bytes of the file. path: for messages. Raises UserError for a damaged pickle, and for any other content.
    """
    try:
        return ArraysOnly(io.BytesIO(data), encoding="latin-1").load()
    except Exception as error:  # a damaged pickle can raise nearly anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{path} is not a pickle of arrays and text ({reason}): fetch it again") from error
