"""Numbers and names as text. In a format, z drops the sign of a rounded zero."""

import math
from collections.abc import Iterable, Sequence

LONG = 40  # a name has at most this many characters
FEW = 4  # a list shows at most this many names, then the number of further names
WORDS = {
    "sts": "STS",
    "stsb": "STS-B",
    "beir": "BEIR",
    "coco": "COCO",
    "mteb": "MTEB",
    "spearman": "Spearman's correlation",
    "pearson": "Pearson's correlation",
    "f1": "F1",
}
"""{a part of a score's name: the word of a paper}."""


def format_of(values: Iterable[float], sds: Sequence[float] = ()) -> str:
    """Return the format of a column of scores.

    The format has two decimals. It has four decimals if all scores are below 1, or if two decimals would show a score
    as 0, or the standard deviation of scores below 10. It has an exponent if four decimals would show all scores as 0.
    """
    sizes = [abs(value) for value in values if math.isfinite(value)]
    shown = [size for size in sizes if size >= 0.00005]
    if not shown:
        return "z.2e" if any(sizes) else "z.2f"
    hides_sd = max(shown) < 10 and any(0.00005 <= sd < 0.005 for sd in sds)
    return "z.4f" if max(shown) < 1 or min(shown) < 0.005 or hides_sd else "z.2f"


def digits_of(form: str, sizes: Iterable[float]) -> int | None:
    """Return the number of decimals for differences of scores with this format; None: as few as a difference needs."""
    if form == "z.2e":
        return None
    return 4 if form == "z.4f" or max(map(abs, sizes)) < 0.1 else 2


def number(value: float, digits: int | None) -> str:
    """Return a number as text with `digits` decimals. None: as few decimals as the number needs."""
    return f"{value:zg}" if digits is None else f"{value:z.{digits}f}"


def signed(value: float | None, digits: int | None) -> str:
    """Return a difference as text with its sign; "" for None. digits: see `number`."""
    if value is None:
        return ""
    return f"{value:+zg}" if digits is None else f"{value:+z.{digits}f}"


def bounds(low: float | None, high: float | None, digits: int | None) -> str:
    """Return the text "[low, high]"; "" if a bound is None."""
    return "" if low is None or high is None else f"[{signed(low, digits)}, {signed(high, digits)}]"


def probability(p: float | None) -> str:
    """Return a p value without its leading zero; "" for None and NaN."""
    if p is None or math.isnan(p):
        return ""
    return "<.0001" if p < 1e-4 else f"{p:.4f}".lstrip("0")


def first_few(words: Sequence[str]) -> str:
    """Return the first FEW words as text, and how many more there are."""
    shown = ", ".join(words[:FEW])
    return f"{shown}, {len(words) - FEW} more" if len(words) > FEW else shown


def counted_noun(count: int, noun: str) -> str:
    """Return a number with its noun: 1 job, 2 jobs."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def suite_of(name: str) -> str:
    """Return the split and the evaluator of a score's name: dev/stsb for dev/stsb/spearman; "" without them."""
    return "/".join(name.split("/")[:-1][:2])


def score_in_words(name: str) -> str:
    """Return a score's name as a paper writes it. Keys of settings have no "/" and stay the same.

    Spearman's correlation on STS-B dev: dev/stsb/spearman. average on STS test: test/sts/average. training loss:
    train/loss.
    """
    place, _, metric = name.rpartition("/")
    if not place:
        return name
    metric = WORDS.get(metric, metric.replace("_", " "))
    return f"training {metric}" if place == "train" else f"{metric} on {place_in_words(place)}"


def place_in_words(place: str) -> str:
    """Return the split and the data of a score as a paper writes them: STS-B dev for dev/stsb.

    The name of a user's file of pairs is left out: text pairs dev for dev/pairs/my_file.
    """
    split, *parts = place.split("/")
    if parts[:1] == ["pairs"]:
        return f"text pairs {split}"
    if len(parts) > 1 and parts[1].casefold().startswith(parts[0]):  # STS12 of sts
        del parts[0]
    return " ".join([*(WORDS.get(part, part) for part in parts if part != split), split])


def capitalised(text: str) -> str:
    """Return a text with a capital letter at its beginning, for a caption."""
    return text[:1].upper() + text[1:]


def folded(text: str, most: int = LONG) -> str:
    """Return a name without its middle if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most // 2 - 1]}…{text[-most // 2 :]}"
