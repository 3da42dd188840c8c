"""The teachers' vectors of the training text. They are computed once, and cached by teacher and text."""

import hashlib
import logging
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from cse.data.cache import cache_columns
from cse.data.rows import TextRows
from cse.data.text import key_of_parts
from cse.errors import UserError, naming
from cse.files import sha256
from cse.model.load import load_encoder
from cse.model.recorded import recorded_modules
from cse.progress import showing
from cse.sources.encoder import local_folder
from cse.types import Objective

log = logging.getLogger(__name__)

TEACHER = "the checkpoint objective.teacher"  # the name of an input, followed by =NAME
OF_CARD = ("README.md", "mteb/")  # files about the encoder in a run's best/; they do not change the vectors
TEXTS_PER_CALL = 8192  # limits the number of vectors in memory


class Teachers:
    """The teachers' vectors of every row and column in use. The vectors of several teachers are concatenated.

    Each teacher's unit vectors are scaled by the root of the teacher's weight. So the dot product of two vectors is the
    weighted mean of the teachers' cosines. dry: whether zeros replace the vectors that are not cached yet.
    """

    def __init__(self, objective: Objective, text: TextRows, device: torch.device, dry: bool):
        self.weights = [math.sqrt(weight) for weight in objective.teachers.values()]
        self.identities = {name: identity_of(name, objective.teacher_pooling) for name in objective.teachers}
        self.tables_CNE = [
            teacher_table(name, identity, text, pooling=objective.teacher_pooling, device=device, dry=dry)
            for name, identity in self.identities.items()
        ]

    def __call__(self, rows_N: np.ndarray, columns_N: np.ndarray) -> np.ndarray:
        """Return the vectors of the texts in these rows and columns, (N, E) float32."""
        parts = zip(self.weights, self.tables_CNE, strict=True)
        return np.concatenate([weight * table[columns_N, rows_N] for weight, table in parts], 1, dtype=np.float32)

    def inputs(self) -> dict[str, str]:
        """Return {name in messages: digest} of the teachers."""
        return {f"{TEACHER}={name}": digest for name, digest in self.identities.items()}


def check_teachers(objective: Objective) -> None:
    """Raise MissingResource for a missing teacher, and UserError if neither teacher nor objective gives a pooling."""
    for name in objective.teachers:
        if recorded_modules(teacher_folder(name)) is None and objective.teacher_pooling is None:
            raise UserError(f"`teacher`={name} records no pooling: give `teacher_pooling`=mean, or cls")


def teacher_folder(name: str) -> Path:
    """Return a teacher's folder. A teacher on the hub is downloaded. Raises MissingResource."""
    with naming(name="teacher"):
        return Path(local_folder(name))


def identity_of(name: str, pooling: str | None) -> str:
    """Return a digest of a checkpoint's files (weights, tokenizer, recorded pooling) and of teacher_pooling."""
    folder = teacher_folder(name)
    names = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
    names = [name for name in names if not name.startswith(OF_CARD)]
    return key_of_parts([(name, sha256(folder / name)) for name in names], pooling)


def teacher_table(
    name: str, identity: str, text: TextRows, *, pooling: str | None, device: torch.device, dry: bool
) -> np.ndarray:
    """Return unit vectors (columns, rows in use, E) float32, memory-mapped. Raises UserError if the teacher changes."""
    shape = (text.num_columns, len(text))
    rows = hashlib.sha256(text.chosen_bytes()).hexdigest()
    reads = ["its cut and its prompt"] if pooling and (teacher_folder(name) / "modules.json").is_file() else []
    folder = text.cache.parent / "teachers" / key_of_parts(identity, text.digest, text.content, rows, *reads)
    if dry and not folder.exists():
        log.info("teacher    %s must read %s texts before the first step", name, f"{math.prod(shape):,}")
        return np.zeros((*shape, 1), np.float32)

    def vectors() -> Iterator[tuple[np.ndarray, ...]]:
        log.info("teacher    %s encodes %s texts, once: %s keeps the vectors", name, f"{math.prod(shape):,}", folder)
        with naming(name="teacher", pooling="teacher_pooling"):
            encoder = load_encoder(name, pooling).to(device)  # type: ignore[arg-type]
        encoder.unit_length = True
        for column in range(text.num_columns):
            for start in range(0, len(text), TEXTS_PER_CALL):
                block = range(start, min(start + TEXTS_PER_CALL, len(text)))
                texts = encoder.tokenizer.of_column([text.text(row, column) for row in block], column)
                yield from zip(encoder.encode(texts), strict=True)
        if identity_of(name, pooling) != identity:
            raise UserError(f"`teacher`={name} changed while it was read: run again once its files no longer change")

    with showing(f"vectors of {text.name} by {name}"):
        (table,) = cache_columns(folder, vectors(), ["vectors"], "float32").columns
    return table.flat.reshape(*shape, -1)
