"""Search in a folder with the layout of BEIR (arXiv:2104.08663): eval=beir eval.folder=FOLDER.

    corpus.jsonl       {"_id": "d1", "title": "", "text": "..."}; the title is optional, and comes before the text
    queries.jsonl      {"_id": "q1", "text": "..."}
    qrels/SPLIT.tsv    query-id, corpus-id, score: a header, then a line for each judged document; SPLIT is dev or test

Each query ranks all documents by cosine. The measures are trec_eval's, which BEIR computes with pytrec_eval. Documents
with equal cosines are ranked by id, in descending byte order, as in trec_eval. A document with the same id as the query
stays in the ranking.

Q is the number of queries, N of documents, K of ranks, and B of queries in a chunk. D is the embedding width.
"""

import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from cse.errors import UserError
from cse.eval.files import DataFolder
from cse.eval.geometry import cosines_in_chunks, unit_rows
from cse.needs import FileNeed, Need, Settings
from cse.ranges import Folder
from cse.score import Items, Score, Source, digest_of
from cse.types import Document, Encode, Evaluator, Query

log = logging.getLogger(__name__)

Judged = dict[str, dict[int, int]]
"""{query id: {index of a judged document in the corpus: relevance}}. A relevance of 1 or more means relevant."""

SPLITS = ("dev", "test")
QRELS = "qrels/{}.tsv"
HEADER = ["query-id", "corpus-id", "score"]
DEPTH = 100  # ranks
MEASURES = ("ndcg@10", "mrr@10", "recall@10", "recall@100")


class Beir(Evaluator):
    """An evaluator of search with the MEASURES, in percent.

    folder: see the module. Raises UserError if `folder` is None.
    """

    primary = "ndcg@10"
    searches = True

    def __init__(self, folder: Folder | None):
        if folder is None:
            raise UserError("eval=beir needs a folder: `folder`=FOLDER with corpus.jsonl, queries.jsonl and qrels/")
        what = "a folder in BEIR's layout: corpus.jsonl, queries.jsonl, and qrels/dev.tsv, qrels/test.tsv or both"
        place = Path(folder).expanduser()
        self.folder = DataFolder(str(place), "folder", what, allow_partial=None)
        self.splits = tuple(split for split in SPLITS if (place / QRELS.format(split)).is_file()) or SPLITS
        self.corpus: dict[str, str] = {}
        self.queries: dict[str, str] = {}
        self.judged: dict[str, Judged] = {}

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return the folder as a Need."""
        return [FileNeed(settings["folder"], "folder")] if settings.get("folder") else []

    def score_names(self, split: str) -> tuple[str, ...]:
        """Return the names of the measures."""
        return MEASURES

    def prepare(self) -> None:
        """Read the folder. Raises MissingResource or UserError."""
        texts = self._texts("corpus.jsonl")
        self.corpus = dict(sorted(texts.items(), key=lambda item: item[0].encode(), reverse=True))  # for equal cosines
        self.queries = self._texts("queries.jsonl")
        places = {name: number for number, name in enumerate(self.corpus)}
        for split in self.splits:
            self.judged[split] = judged = self._judged(QRELS.format(split), places)
            about = len(judged), len(self.queries) - len(judged)
            log.info("%-10s %s: %d queries; %d more, without a judged document, are left out", "beir", split, *about)

    def __call__(self, encode: Encode, split: str) -> list[Score]:
        """Return the scores of a split. One call of `encode` encodes the split's queries and the corpus."""
        judged = self.judged[split]
        queries, documents = [self.queries[name] for name in judged], [*self.corpus.values()]
        vectors = encode([*map(Query, queries), *map(Document, documents)])
        found_QK = ranking(vectors[: len(queries)], vectors[len(queries) :])
        relevant_Q = np.array([sum(score > 0 for score in scores.values()) for scores in judged.values()])
        digest = digest_of([*queries, *documents, json.dumps(list(judged.values()))])
        scores = []
        for name, value_Q in measures(found_QK, [*judged.values()]).items():
            items = Items("mean", value_Q, relevant_Q, digest=digest)
            value, unit = 100 * float(value_Q.mean()), f"{name.partition('@')[0]}, %"
            scores.append(Score(name, value, len(queries), unit, items=items, headline=name != "recall@10"))
        return scores

    def texts(self) -> Iterator[str]:
        """Yield the queries and the documents."""
        yield from self.queries.values()
        yield from self.corpus.values()

    def source(self) -> Source:
        """Return the protocol and the files."""
        return self.folder.source("trec_eval's measures of rankings by cosine; a document of a query's id stays")

    def _texts(self, name: str) -> dict[str, str]:
        """Return {id: text} of a file. Warns of empty texts. Raises UserError for a repeated id, and for a line without
        an id or a text."""
        path = self.folder.root / name
        texts: dict[str, str] = {}
        empty: list[str] = []
        for line, content in enumerate(self.folder.rows(name, "utf-8", str, None), 1):
            try:
                key, text = text_with_id(content)
            except ValueError as error:
                raise UserError(f"{path}, line {line}: {error}") from error
            if key in texts:
                raise UserError(f"{path}, line {line}: the _id {key} occurs twice")
            if not text:
                empty.append(f"line {line}, _id {key}")
            texts[key] = text
        if empty:
            counts = len(empty), len(texts), empty[0]
            log.warning("%-10s %s: empty texts: %d of %d, the first: %s", "beir", path, *counts)
        return texts

    def _judged(self, name: str, places: dict[str, int]) -> Judged:
        """Return the judgements of a file. Raises UserError for an id that is not in the queries or the corpus."""
        path = self.folder.root / name
        header, *rows = self.folder.rows(name, "utf-8", lambda line: line.split("\t"), None)
        if header != HEADER:
            raise UserError(f"{path}, line 1: the header must be {', '.join(HEADER)}, separated by tabs")
        self.folder.expect(name, len(rows), None)  # without the header
        judged: Judged = {}
        for line, row in enumerate(rows, 2):
            if len(row) != len(HEADER) or not row[2].lstrip("-").isdecimal():
                needed = "a query's id, a document's id and a whole number, separated by tabs"
                raise UserError(f"{path}, line {line}: the line must be {needed}")
            query, document, score = row
            if query not in self.queries or document not in places:
                name, file = (query, "queries.jsonl") if query not in self.queries else (document, "corpus.jsonl")
                raise UserError(f"{path}, line {line}: {file} has no _id {name}")
            judged.setdefault(query, {})[places[document]] = int(score)
        return judged


def text_with_id(line: str) -> tuple[str, str]:
    """Return the id and the text of a line. Raises ValueError if the line is not JSON, or lacks the id or text."""
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError(f"not JSON ({error})") from error
    if not isinstance(row, dict):
        raise ValueError('not a JSON object: write {"_id": "...", "text": "..."}')
    if missing := [key for key in ("_id", "text") if key not in row]:
        raise ValueError(f"there is no key {missing[0]}, only {', '.join(row)}: each line needs an _id and a text")
    if not isinstance(row["text"], str):
        raise ValueError(f"text holds {row['text']!r:.40}, not text")
    return str(row["_id"]), f"{row.get('title') or ''} {row['text']}".strip()


def ranking(queries_QD: np.ndarray, corpus_ND: np.ndarray, depth: int = DEPTH) -> np.ndarray:
    """Return the indices of each query's nearest documents, (Q, K) int, nearest first.

    If two cosines are equal, the lower index is first. K is `depth`, or N if N is less than `depth`.
    """
    unit_QD, unit_ND = unit_rows(queries_QD), unit_rows(corpus_ND)
    depth = min(depth, len(unit_ND))
    found = []
    for _, cosines_BN in cosines_in_chunks(unit_QD, unit_ND):
        cosines_BN = cosines_BN.nan_to_num(-1)
        last_B = cosines_BN.topk(depth).values[:, -1]  # topk does not order equal values
        for cosine_N, last in zip(cosines_BN, last_B, strict=True):
            near = (cosine_N >= last).nonzero()[:, 0]
            found.append(near[cosine_N[near].argsort(descending=True, stable=True)][:depth])
    return torch.stack(found).numpy()


def measures(found_QK: np.ndarray, judged: Sequence[dict[int, int]]) -> dict[str, np.ndarray]:
    """Return {measure: values (Q,) from 0 to 1}. judged: for each query, {index of a document: relevance}.

    For example, two documents are relevant, and document 7 is ranked first:

        >>> {name: value_Q.round(3).tolist() for name, value_Q in measures(np.array([[7, 3]]), [{7: 1, 5: 1}]).items()}
        {'ndcg@10': [0.613], 'mrr@10': [1.0], 'recall@10': [0.5], 'recall@100': [0.5]}
    """
    named: dict[str, list[float]] = {name: [] for name in MEASURES}
    discounts = 1 / np.log2(np.arange(2, 12))
    for found_K, scores in zip(found_QK.tolist(), judged, strict=True):
        gains = np.array([max(0, scores.get(number, 0)) for number in found_K])
        relevant = np.array(sorted((score for score in scores.values() if score > 0), reverse=True))
        ideal = float(relevant[:10] @ discounts[: len(relevant)])
        named["ndcg@10"].append(float(gains[:10] @ discounts[: len(gains)]) / (ideal or 1))
        first = np.flatnonzero(gains[:10])
        named["mrr@10"].append(1 / (1 + int(first[0])) if len(first) else 0.0)
        for depth in (10, 100):
            named[f"recall@{depth}"].append(np.count_nonzero(gains[:depth]) / max(1, len(relevant)))
    return {name: np.array(values) for name, values in named.items()}
