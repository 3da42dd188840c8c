"""Human similarity judgements from gensim's wheel, without a download: Lee's documents, SimLex-999 and WordSim-353.

    lee      50 news documents, 1225 pairs i < j, mean human similarity in [0, 1] (Lee, Pincombe & Welsh 2005)
    simlex   999 word pairs, similarity 0..10 (Hill et al. 2015)
    wordsim  353 word pairs, relatedness 0..10 (Finkelstein et al. 2002)

The sets are small, and words are not sentences. The scores can show that training has an effect. They cannot be
compared with a paper's scores.
"""

from functools import partial

import numpy as np

from cse.eval.files import DataFolder
from cse.eval.senteval.data import Examples, Row, labelled
from cse.eval.sts import Readers, ScoredPairs
from cse.needs import Need, Settings
from cse.sources import fetch
from cse.sources.fetch import DatasetNeed

LEE_DOCUMENTS = 50
WORD_PAIRS = {"simlex": ("simlex999.txt", 999), "wordsim": ("wordsim353.tsv", 353)}


class Demo(ScoredPairs):
    """An evaluator with Spearman x100 of cosines with human scores on each set, and the mean over the three sets."""

    splits = ("dev",)
    primary = "average"
    statistics = ("spearman",)
    protocol = "Spearman x100 of cosines with human scores; average of 3"

    def __init__(self) -> None:
        what, find = "the test data in gensim's wheel: reinstall gensim", partial(fetch.demo, "eval=demo")
        folder = DataFolder("gensim/test/test_data", "eval=demo", what, allow_partial=None, find=find)
        super().__init__(folder, ("lee", *WORD_PAIRS))

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return the package gensim as a Need."""
        return [DatasetNeed("demo")]

    def readers(self, split: str) -> Readers:
        """Return one reader for each of the three sets."""
        words = {
            name: [partial(read_word_pairs, name=file, official=rows)] for name, (file, rows) in WORD_PAIRS.items()
        }
        return {"lee": [read_lee], **words}


def read_lee(folder: DataFolder) -> Examples:
    """Return all pairs of Lee's documents. The units of a pair are its two documents."""
    documents = folder.rows("lee.cor", "latin-1", str, LEE_DOCUMENTS)
    matrix, row = "similarities0-1.txt", lambda line: [float(cell) for cell in line.split("\t")]
    human_NN = np.array(folder.rows(matrix, "utf-8", row, LEE_DOCUMENTS))
    left, right = np.triu_indices(LEE_DOCUMENTS, 1)
    sides = ([documents[i] for i in left], [documents[i] for i in right])
    return Examples(sides, human_NN[left, right], units_UN=np.stack([left, right]))


def read_word_pairs(folder: DataFolder, name: str, official: int) -> Examples:
    """Return the pairs of words in a file. The first two lines of the file are comments."""

    def convert(line: str) -> Row:
        first, second, score = line.split("\t")
        return first, second, float(score)

    return labelled(folder, name, folder.rows(name, "utf-8", convert, official, header=2))
