"""Human similarity judgements that need no hub: Lee's documents, SimLex-999 and WordSim-353, from gensim's wheel.

    lee      50 news documents, 1225 pairs i < j, mean human similarity in [0, 1] (Lee, Pincombe & Welsh 2005)
    simlex   999 word pairs, similarity 0..10 (Hill et al. 2015)
    wordsim  353 word pairs, relatedness 0..10 (Finkelstein et al. 2002)

Small, and words are not sentences: good to see that training moves, not to compare with a paper.
"""

import hashlib
import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy.stats import spearmanr

from cse.errors import MissingResource, UserError
from cse.eval.score import AVERAGE
from cse.eval.sts import SPEARMAN, cosines
from cse.provenance import DataFile, Items, ItemScores, Provenance
from cse.types import Encode, Evaluator, Nature

LEE_DOCUMENTS = 50
WORD_PAIRS = {"simlex": ("simlex999.txt", 999), "wordsim": ("wordsim353.tsv", 353)}


class Demo(Evaluator):
    """Spearman x100 of cosines with human scores on each set, and their plain average."""

    splits = ("dev",)
    natures: ClassVar[Mapping[str, Nature]] = {"spearman": replace(SPEARMAN, kind="other"), "average": AVERAGE}

    def __init__(self) -> None:
        self.texts_read: list[str] = []
        self.sets: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}  # name -> left, right, gold
        self.files: dict[str, DataFile] = {}
        self.scored: dict[str, np.ndarray] = {}  # name -> cosines

    def prepare(self) -> None:
        """Read the three sets from gensim's wheel. Raises MissingResource where it is not installed."""
        if self.sets:
            return
        folder = _gensim_data()
        documents = self._read(folder / "lee.cor", "latin-1")
        human_NN = np.array([line.split("\t") for line in self._read(folder / "similarities0-1.txt", "utf-8")], float)
        _expect(folder / "lee.cor", len(documents), LEE_DOCUMENTS)
        _expect(folder / "similarities0-1.txt", len(human_NN), LEE_DOCUMENTS)
        left, right = np.triu_indices(LEE_DOCUMENTS, 1)
        self.texts_read = list(documents)
        sets = {"lee": (left, right, human_NN[left, right])}
        for name, (file, official) in WORD_PAIRS.items():
            rows = [line.split("\t") for line in self._read(folder / file, "utf-8") if not line.startswith("#")]
            _expect(folder / file, len(rows), official)
            first = len(self.texts_read) + np.arange(official)
            self.texts_read += [row[0] for row in rows] + [row[1] for row in rows]
            sets[name] = (first, first + official, np.array([float(row[2]) for row in rows]))
        self.sets = sets

    def scores(self, split: str) -> tuple[str, ...]:
        """One of each set, and the average."""
        return (*(f"{name}/spearman" for name in ("lee", *WORD_PAIRS)), "average")

    def __call__(self, encode: Encode, split: str) -> dict[str, float]:
        """`<set>/spearman` and `average`; all texts go to `encode` in one call."""
        self.prepare()
        vectors_ND = encode(self.texts_read)
        self.scored = {
            name: cosines(vectors_ND[left], vectors_ND[right]) for name, (left, right, _) in self.sets.items()
        }
        scores = {
            f"{name}/spearman": 100 * float(spearmanr(cosines_N, self.sets[name][2])[0])
            for name, cosines_N in self.scored.items()
        }
        return scores | {"average": float(np.mean(list(scores.values())))}

    def items(self, split: str) -> ItemScores:
        """The pairs of each set; Lee's share their documents."""
        items: ItemScores = {}
        for name, cosines_N in self.scored.items():
            left, right, gold_N = self.sets[name]
            units_UN = np.stack([left, right]) if name == "lee" else None
            items[f"{name}/spearman"] = Items("spearman", cosines_N, gold_N, units_UN)
        return items | {"average": list(items)}

    def texts(self) -> list[str]:
        """The documents and the words."""
        return self.texts_read

    def cosines(self, encode: Encode, split: str) -> tuple[np.ndarray, np.ndarray]:
        """(cosines_N, gold_N) of the pairs of Lee's documents, for pictures."""
        self.prepare()
        left, right, gold_N = self.sets["lee"]
        vectors_ND = encode(self.texts_read[:LEE_DOCUMENTS])
        return cosines(vectors_ND[left], vectors_ND[right]), gold_N

    def provenance(self) -> Provenance:
        """Pairs of each set, and the files with their checksums."""
        return {
            "protocol": "Spearman x100 of cosines with human scores; average of 3",
            "rows": {name: len(gold) for name, (_, _, gold) in self.sets.items()},
            "source": "gensim/test/test_data",
            "files": self.files,
        }

    def _read(self, path: Path, encoding: str) -> list[str]:
        if not path.is_file():
            raise MissingResource(f"{path} is missing: reinstall gensim (pip install -e '.[demo]').")
        data = path.read_bytes()
        self.files[path.name] = {"sha256": hashlib.sha256(data).hexdigest()}
        return data.decode(encoding).splitlines()


def _gensim_data() -> Path:
    # found without importing gensim, which takes seconds and is needed for nothing else
    spec = importlib.util.find_spec("gensim")
    if spec is None or spec.origin is None:
        raise MissingResource(
            "eval=demo scores on the human judgements in gensim's wheel, and gensim is not installed: "
            "pip install -e '.[demo]'."
        )
    return Path(spec.origin).parent / "test" / "test_data"


def _expect(path: Path, rows: int, official: int) -> None:
    if rows != official:
        raise UserError(f"{path} holds {rows} rows, not {official}: reinstall gensim (pip install -e '.[demo]').")
