"""How many training texts occur in the evaluation sets: exactly, and apart from case, spaces and punctuation; with
datasketch installed, also what share of a sample has a near duplicate there.

Whole texts are compared, so a test sentence inside a long document is not found. It is one pass over the training text,
some three seconds for a million sentences; near duplicates take 0.3 ms per evaluated text. The counts are kept beside
the cached text.
"""

import hashlib
import string
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from importlib.util import find_spec
from itertools import islice
from typing import cast

from typing_extensions import TypedDict

from cse.data.text import Text
from cse.files import read_json, write_json
from cse.types import Evaluator

VERSION = 2
SAMPLE = 2000  # evenly spaced training texts, whose near duplicates are counted
GRAM, NEAR, HASHES = 5, 0.7, 64  # bytes of an n-gram; the least Jaccard similarity; MinHash's permutations
LOWER = bytes.maketrans(string.ascii_uppercase.encode(), string.ascii_lowercase.encode())
OTHER = bytes(byte for byte in range(128) if not chr(byte).isalnum())


class Counts(TypedDict):
    """texts: how many were compared; exact, normalised: how many training texts matched."""

    texts: int
    exact: int
    normalised: int


class Overlap(Counts):
    """The counts over all training texts.

    sets: for each evaluator the number of its distinct texts, and of the training texts among them. unread: evaluators
    whose texts are not known beforehand (MTEB's). near: how many of how many sampled training texts have a near
    duplicate; None without datasketch.
    """

    sets: dict[str, Counts]
    unread: list[str]
    near: tuple[int, int] | None


def overlap(text: Text, evaluators: Mapping[str, Evaluator]) -> Overlap:
    """The counts for prepared text and evaluators, from the cache if possible. Raises RunError for a full disk."""
    sets = {name: {one.encode() for one in evaluator.texts()} for name, evaluator in evaluators.items()}
    content = hashlib.sha256(repr((VERSION, can_sketch(), text.digest)).encode() + text.chosen.tobytes())
    for name in sorted(sets):
        content.update(b"\0\0" + name.encode() + b"\0" + b"\0".join(sorted(sets[name])))
    kept = text.cache / f"{content.hexdigest()[:32]}.overlap.json"
    if before := read_json(kept):  # {} if it is damaged
        return cast(Overlap, before)
    found = counted(text, sets)
    if can_sketch():
        step = max(1, found["texts"] // SAMPLE)
        sample = [normalised(cell) for cell in islice(text.cells(), 0, step * SAMPLE, step)]
        of_sets = {normalised(one) for texts in sets.values() for one in texts}
        found["near"] = near_duplicates(sample, of_sets), len(sample)
    write_json(kept, found)
    return found


def counted(text: Text, sets: Mapping[str, set[bytes]]) -> Overlap:
    """The counts, by one pass over the text."""
    owners: dict[bytes, set[str]] = defaultdict(set)
    for name, texts in sets.items():
        for one in texts:
            owners[normalised(one)].add(name)
    owners.pop(b"", None)
    whole = Counts(texts=0, exact=0, normalised=0)
    each = {name: Counts(texts=len(texts), exact=0, normalised=0) for name, texts in sets.items() if texts}
    for cell in text.cells():
        whole["texts"] += 1
        names = owners.get(normalised(cell), set())
        exact = {name for name in names if cell in sets[name]}
        whole["normalised"] += bool(names)
        whole["exact"] += bool(exact)
        for name in names:
            each[name]["normalised"] += 1
            each[name]["exact"] += name in exact
    return Overlap(**whole, sets=each, unread=[name for name, texts in sets.items() if not texts], near=None)


def can_sketch() -> bool:
    """Whether datasketch, which finds near duplicates, is installed."""
    return find_spec("datasketch") is not None


def near_duplicates(sample: Sequence[bytes], texts: Set[bytes]) -> int:
    """How many of the sample share at least NEAR of their n-grams with one of the texts (Jaccard).

    MinHash with locality-sensitive hashing proposes pairs (Broder 1997; Leskovec et al., Mining of Massive Datasets,
    3.4), and the n-grams themselves decide, so that only real near duplicates are counted.
    """
    from datasketch import MinHash, MinHashLSH

    first = MinHash(num_perm=HASHES)

    def sketch(grams: Set[bytes]) -> MinHash:
        one = MinHash(num_perm=HASHES, permutations=first.permutations, scheme=first.scheme)
        one.update_batch(grams)
        return one

    index, of_sample = MinHashLSH(threshold=NEAR, num_perm=HASHES), [grams_of(text) for text in sample]
    found: set[int] = set()
    for number, grams in enumerate(of_sample):
        index.insert(number, sketch(grams))
    for text in texts - {b""}:
        grams = grams_of(text)
        for number in set(index.query(sketch(grams))) - found:
            if len(grams & of_sample[number]) >= NEAR * len(grams | of_sample[number]):
                found.add(number)
    return len(found)


def grams_of(text: bytes) -> set[bytes]:
    """The n-grams of GRAM bytes; a shorter text is its only one."""
    return {text[start : start + GRAM] for start in range(max(1, len(text) - GRAM + 1))}


def normalised(text: bytes) -> bytes:
    """The letters and digits (UTF-8) after NFKC and case folding: the same for tokenised and plain text."""
    if text.isascii():
        return text.translate(LOWER, OTHER)
    folded = unicodedata.normalize("NFKC", text.decode()).casefold()
    return "".join(filter(str.isalnum, folded)).encode()


def in_words(found: Overlap) -> str:
    """The counts in one line."""
    words = "training texts occur in the evaluation sets word for word"
    line = f"{found['exact']:,} of {found['texts']:,} {words}, {found['normalised']:,} but for case and punctuation"
    if sets := [f"{name} {one['normalised']:,}" for name, one in found["sets"].items() if one["normalised"]]:
        line += f" ({', '.join(sets)})"
    if found["near"]:
        number, of = found["near"]
        line += f"; {number / max(1, of):.2%} of {of:,} sampled have a near duplicate there"
    return line + (f"; not looked into: {', '.join(found['unread'])}" if found["unread"] else "")
