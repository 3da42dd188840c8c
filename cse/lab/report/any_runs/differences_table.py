"""The table of differences: a row for each setting that is compared with the reference.

Start at `differences_section`. The section has the table as text (`differences_table`), notes (`notes_on_tests`), and
the meaning of signs and columns (`legend_of_tests`), which is also in the caption. `differences_frame`
returns the table of differences.csv.
"""

import math
from collections.abc import Callable, Sequence

import pandas as pd

from cse.lab.report.any_runs.differences import Differences, Tested, sides_with_seeds
from cse.lab.report.any_runs.scores import selection_in_words
from cse.lab.report.formats import bounds, capitalised, counted_noun, digits_of, probability, score_in_words, signed
from cse.lab.report.numbers.groups import Group
from cse.lab.report.numbers.notes import detectable_differences
from cse.lab.report.numbers.resampling import OVER_ITEMS
from cse.lab.report.numbers.statistics import TEST_NAMES
from cse.lab.report.show.look import TIED
from cse.lab.sections import Section

PAIRED = (
    "paired: paired t-tests over the seeds. They detect more than unpaired tests only if a seed affects both settings "
    "in the same way. A seed often does so in settings that differ only in precision, and seldom in two methods. They "
    f"do not decide {TIED}, so the LaTeX table leaves them out."
)
DECIDES = f"{TIED} by "
"""The beginning of the name of the p that decides ≈, if the table has a second p. LaTeX has no second p."""
EQUIVALENT = (
    'equivalent: the difference is less than {0:g}, by TOST. In brackets: p, corrected by Holm in each column. "no": '
    "the whole interval is outside -{0:g} to {0:g}."
)
OF_CHECKPOINTS = f"{OVER_ITEMS}: a test of these checkpoints only. It says nothing about training with other seeds."


def differences_section(differences: Differences, label: str = "") -> Section:
    """Return the section with the table of differences. label: the label for LaTeX."""
    comparison, terms = differences.comparison, differences.terms
    sides = [sides_with_seeds(differences.base, line.group) for line in differences.lines]
    notes = [
        *detectable_differences({"": terms.spread}, terms.level, max(1, *sides)),
        f"No verdict: {differences.no_verdict}." if differences.no_verdict else "",
        note_on_pairs(comparison.seed_key, differences.base, [line.group for line in differences.lines]),
        note_on_lower(differences.lower),
    ]
    selection = selection_in_words(comparison.runs, [differences.score], differences.score)
    table = differences_table(differences)
    sizes = [f"{size} seeds" for size in set(table.get("seeds", ()))]  # LaTeX leaves out a column of equal values
    facts = [capitalised(title_of(differences, score_in_words)), *(sizes if len(sizes) == 1 else ()), selection]
    return Section(
        title_of(differences, str),
        table,
        [note for note in (*notes_on_tests(differences), *notes) if note],
        legend_of_tests(differences),
        label_columns=len(comparison.shown_keys),
        caption="; ".join(filter(None, facts)),
        label=label,
        file="differences",
        column_prefix=DECIDES,
    )


def title_of(differences: Differences, named: Callable[[str], str]) -> str:
    """Return the title of the table. named: the function that writes the name of a score."""
    score, best_by = differences.score, str(differences.comparison.scores.best_by)
    best = "the best, " if score == best_by else f"the best by {named(best_by)}, "
    return f"{named(score)}: difference to {best if differences.is_best else ''}{differences.reference.label}"


def differences_table(differences: Differences) -> pd.DataFrame:
    """Return the table of differences as text, without empty columns, and without paired tests that show the same p."""
    lines, keys = differences.lines, differences.comparison.shown_keys
    digits = digits_of(differences.comparison.formats[differences.score], [line.size for line in lines])
    table = pd.DataFrame({key.short: [line.setting.values[key.dotted] for line in lines] for key in keys})
    table["difference"] = [signed(line.size, digits) + (f" {TIED}" if line.tied else "") for line in lines]
    unpaired, paired = [line.unpaired for line in lines], [line.paired for line in lines]
    is_paired = is_paired_shown(differences)
    decides = DECIDES if is_paired and any(line.tied for line in lines) else ""
    for kind, before_p, tests in [("", decides, unpaired), ("paired ", "paired ", paired)][: 1 + is_paired]:
        p = "p (Holm)" if number_of_tests(tests) > 1 else "p"
        table[f"{kind}{differences.terms.confidence:.0%} interval"] = [
            bounds(tested.effect.low, tested.effect.high, digits) for tested in tests
        ]
        table[f"{before_p}{p}"] = [probability(tested.p_holm) for tested in tests]
        table[f"{kind}equivalent"] = [with_p(tested.equivalent, tested.equivalent_p_holm) for tested in tests]
    sizes = [line.unpaired.effect.n for line in lines]
    of_seeds = all(size.endswith(" seeds") for size in sizes)
    table["seeds" if of_seeds else "n"] = [size.removesuffix(" seeds") for size in sizes] if of_seeds else sizes
    table["seeds needed"] = [line.seeds_to_tell for line in lines]
    keep = [*(key.short for key in keys), "difference"]
    filled = [name for name in table if (table[name] != "").any()]
    return table.loc[:, table.columns.isin([*keep, *filled])]


def is_paired_shown(differences: Differences) -> bool:
    """Return whether a table has columns of paired tests: if a paired test has another p than the unpaired test."""
    lines = [line for line in differences.lines if line.paired.effect.is_tested]
    return any(probability(line.paired.p_holm) != probability(line.unpaired.p_holm) for line in lines)


def differences_frame(differences: Differences) -> pd.DataFrame:
    """Return the table of differences.csv: a row for each compared setting.

    p: the p of one comparison; empty without a test. p_holm: p, Holm-corrected over all rows. tied: whether p_holm
    detects no difference; "" without a verdict. seeds_to_tell: see `Difference`. equivalent: whether the difference is
    less than `within=`, by equivalent_p_holm. paired_NAME: the column NAME, by a paired test.
    """
    rows = []
    for line in differences.lines:
        effect = line.unpaired.effect
        row: dict[str, object] = {key.dotted: line.setting.values[key.dotted] for key in differences.comparison.keys}
        row |= {"score": differences.score, "reference": differences.reference.label}
        row |= {"difference": effect.size, "of": effect.n, "test": effect.test}
        for kind, tested in (("", line.unpaired), ("paired_", line.paired)):
            row |= {f"{kind}low": tested.effect.low, f"{kind}high": tested.effect.high}
            row |= {f"{kind}p": tested.effect.p, f"{kind}p_holm": tested.p_holm}
            row |= {f"{kind}equivalent_p": tested.equivalent_p, f"{kind}equivalent_p_holm": tested.equivalent_p_holm}
        row |= {"equivalent": line.unpaired.equivalent, "paired_equivalent": line.paired.equivalent}
        row["tied"] = "" if line.tied is None else line.tied
        row["seeds_to_tell"] = line.seeds_to_tell
        rows.append(row)
    return pd.DataFrame(rows, dtype=object)


def with_p(word: str, p: float) -> str:
    """Return a word with its p in brackets; "" without a test."""
    return "" if math.isnan(p) else f"{word} ({probability(p)})".strip()


def number_of_tests(tests: Sequence[Tested]) -> int:
    """Return the number of settings with a test."""
    return sum(tested.effect.is_tested for tested in tests)


def note_on_lower(lower: int) -> str:
    """Return a note if some settings rank too low to be compared; else ""."""
    if not lower:
        return ""
    verbs = "which ranks lower, is" if lower == 1 else "which rank lower, are"
    return f"{counted_noun(lower, 'further setting')}, {verbs} not compared."


def note_on_pairs(seed_key: str, base: Group, others: Sequence[Group]) -> str:
    """Return a note if settings have no paired test because they share only some seeds with the reference; else ""."""
    base_seeds = base.value_by_seed.keys()
    other_seeds = [group.value_by_seed.keys() for group in others]
    shared = [base_seeds & seeds for seeds in other_seeds if seeds != base_seeds]
    most = max(shared, key=len, default=set())
    if len(most) < 2:
        return ""
    same = f"where={seed_key}={','.join(sorted(most))}"
    return f"No paired test where seed sets differ; {same} restricts the report to shared seeds."


def legend_of_tests(differences: Differences) -> list[str]:
    """Return the meaning of the sign, of p and of `seeds needed` in one sentence; [] without all three."""
    tested = [line.unpaired for line in differences.lines if line.unpaired.effect.is_tested]
    names = ", ".join(dict.fromkeys(TEST_NAMES.get(test.effect.test, test.effect.test) for test in tested))
    of_p = f"{names}, corrected by Holm for {len(tested)} comparisons" if len(tested) > 1 else names
    is_tied = any(line.tied for line in differences.lines)
    parts = [f"{TIED}: not significantly different (p by {of_p})" if is_tied else f"p: {of_p}"] if tested else []
    if any(line.seeds_to_tell for line in differences.lines):
        parts.append("seeds needed: the number per setting for 80% power")
    return [f"{'; '.join(parts)}."] if parts else []


def notes_on_tests(differences: Differences) -> list[str]:
    """Return notes on intervals, on tests over items, on paired tests, and on tests of equivalence."""
    lines = differences.lines
    notes = []
    if number_of_tests([line.unpaired for line in lines]) > 1:
        notes.append("Intervals and the column p of differences.csv are not corrected.")
    if any(line.unpaired.effect.test == OVER_ITEMS for line in lines):
        notes.append(OF_CHECKPOINTS)
    if is_paired_shown(differences):
        notes.append(PAIRED)
    if not all(math.isnan(line.unpaired.equivalent_p) for line in lines):
        notes.append(EQUIVALENT.format(differences.terms.within))
    return notes
