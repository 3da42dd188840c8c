"""Count the training texts that occur in the evaluation sets. Case, spaces and punctuation are ignored.

Whole texts are compared, so a test sentence inside a long document is not found. One pass over the training text takes
about three seconds for a million sentences. The counts are kept with the cached text.
"""

import hashlib
import string
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NotRequired, cast

from typing_extensions import TypedDict

from cse.data.duplicates import sharing, text_keys
from cse.data.rows import TextRows
from cse.files import read_json, write_json
from cse.types import Evaluator

COUNT_VERSION = 4
LOWER = bytes.maketrans(string.ascii_uppercase.encode(), string.ascii_lowercase.encode())
OTHER = bytes(byte for byte in range(128) if not chr(byte).isalnum())


class Overlap(TypedDict):
    """The counts of training texts that occur in evaluation sets.

    texts: the number of training texts. found: how many training texts occur in any evaluation set. sets: how many
    occur in each set. unread: the evaluators whose texts are unknown before scoring (MTEB). duplicates: how many rows
    share a text with another row. sources: the counts of each source of a mixture.
    """

    texts: int
    found: int
    sets: dict[str, int]
    unread: list[str]
    duplicates: int
    sources: NotRequired[dict[str, "Overlap"]]


def overlap(text: TextRows, evaluators: Mapping[str, Evaluator]) -> Overlap:
    """Return the counts for prepared text and evaluators, if possible from the cache. Raises RunError (a full disk)."""
    sets = {}
    for name, evaluator in evaluators.items():
        sets[name] = {normalised(scored.encode()) for scored in evaluator.texts()}
    content = hashlib.sha256(repr((COUNT_VERSION, text.digest)).encode())
    content.update(text.chosen_bytes())
    for name in sorted(sets):
        content.update(b"\0\0" + name.encode() + b"\0" + b"\0".join(sorted(sets[name])))
    kept = text.cache / f"{content.hexdigest()[:32]}.overlap.json"
    if before := read_json(kept):  # {} if it is damaged
        return cast(Overlap, before)
    counts = count_overlap(text, sets)
    write_json(kept, counts)
    return counts


def overlap_of_all(texts: Sequence[TextRows], evaluators: Mapping[str, Evaluator]) -> Overlap:
    """Return the counts of several texts together and of each text, by name. For one text, return only its counts."""
    each = {text.name: overlap(text, evaluators) for text in texts}
    counts = list(each.values())
    if len(counts) == 1:
        return counts[0]
    return Overlap(
        texts=sum(own["texts"] for own in counts),
        found=sum(own["found"] for own in counts),
        sets={name: sum(own["sets"][name] for own in counts) for name in counts[0]["sets"]},
        unread=counts[0]["unread"],
        duplicates=sum(own["duplicates"] for own in counts),
        sources=each,
    )


def count_overlap(text: TextRows, sets: Mapping[str, set[bytes]]) -> Overlap:
    """Count in two passes over the text. sets: the normalised texts of each evaluator."""
    owners: dict[bytes, list[str]] = defaultdict(list)
    for name, texts in sets.items():
        for scored in texts - {b""}:
            owners[scored].append(name)
    total = Overlap(
        texts=len(text) * text.num_columns,
        found=0,
        sets={name: 0 for name, members in sets.items() if members},
        unread=[name for name, members in sets.items() if not members],
        duplicates=int(sharing(text_keys(text)).sum()),
    )
    for cell in text.cells() if owners else ():
        if names := owners.get(normalised(cell)):
            total["found"] += 1
            for name in names:
                total["sets"][name] += 1
    return total


def normalised(text: bytes) -> bytes:
    """Return the letters and digits after NFKC and case folding (UTF-8). Other characters, also spaces, are dropped."""
    if text.isascii():
        return text.translate(LOWER, OTHER)
    folded = unicodedata.normalize("NFKC", text.decode()).casefold()
    return "".join(filter(str.isalnum, folded)).encode()


def overlap_in_words(counts: Overlap) -> str:
    """Return the counts in one line of text."""
    line = f"{counts['found']:,} of {counts['texts']:,} training texts occur in the evaluation sets"
    if sets := [f"{name} {count:,}" for name, count in counts["sets"].items() if count]:
        line += f" ({', '.join(sets)})"
    return line + (f"; not checked: {', '.join(counts['unread'])}" if counts["unread"] else "")
