"""What a paper claims from its table, as data, and what the runs say of it.

A sweep's `report.claims` is a list of these; each has `says` (the claim), `source` (where the paper says so, with a few
of its words) and one form:

    more: PLACE, than: PLACE            less: PLACE, than: PLACE             of metrics of which less is better
    alike: PLACE, to: PLACE, within: 1  the difference is below so much, in the score's own unit
    rises: PLACE, along: KEY            or falls: the rank correlation of a score with a config key, over runs;
                                        along: {column: NAME}, with another column of the table, over its rows

    PLACE   {row: NAME, column: NAME}   of the published table; a list stands for several, one that is left out for all
                                        that the report fills: `more: {column: shuffled}` speaks of every row
            {where: {case: small_both}, metric: dev/declutr/average}         runs by their config, for figures
    at: KEY                             with `where`: at each value of a config key that both sides have

Runs by their config are compared over the settings that both places were run with: the values of the sweep's axes that
the claim does not name. What was tried on one side alone does not speak for it.

A claim of several parts (every row, every value) holds if each part does: its p is the largest of theirs. It is
contradicted by its worst part, whose p is multiplied by their number. p is two-sided: over seeds that both sides share
a paired t test, else Welch's, against an encoder that has no seed (it is only scored) a one-sample t test. Where runs
kept their test items, a paired bootstrap over these has to say the same: p is the larger of the two, and with one run a
side that of the items alone, which judges those two runs and not how they were trained. Holm's correction is over all
claims of the table. HOLDS and CONTRADICTED need p below 1 - confidence; NOT SEEN is the rest:
the runs cannot tell. "HOLDS (1 of 3 parts)": the other two could not be judged, and `missing` says what they lack.
The printed numbers are held to the same claim, by their means alone.
"""

from dataclasses import dataclass, replace

from cse.dotted import Config
from cse.errors import UserError
from cse.report.spec import Spec, is_geometry

FORMS = {"more": "than", "less": "than", "alike": "to", "rises": "along", "falls": "along"}
PLACE = {"row", "column", "where", "metric"}

Place = Config
"""Cells of the table (row, column), or the metric of runs (where, metric)."""


@dataclass(frozen=True)
class Claim:
    """One statement. left, right: places (right of a trend: a config key's name, or a column); within: of `alike`."""

    says: str
    source: str
    form: str
    left: Place
    right: Place | str
    within: float = 0.0
    at: str | None = None

    def scored_by(self, score: str) -> "Claim":
        """The claim of another score than the paper's, where it names runs and not a cell of the table; one of
        geometry stays as it is."""
        places = (self.left, self.right if isinstance(self.right, dict) else {})
        left, right = (
            {**place, "metric": score} if "metric" in place and not is_geometry(place["metric"]) else place
            for place in places
        )
        return replace(self, left=left, right=right if isinstance(self.right, dict) else self.right)

    @property
    def places(self) -> tuple[Place, Place]:
        """left and right, of a claim whose right is not a config key."""
        assert not isinstance(self.right, str)
        return self.left, self.right

    @property
    def is_trend(self) -> bool:
        """Whether it claims a rank correlation and not a difference."""
        return FORMS[self.form] == "along"


def parse(raw: list[Config], spec: Spec, where: str) -> list[Claim]:
    """The claims of a report block. Raises UserError naming the file, the claim and what is wrong with it."""
    claims = [_claim(entry, f"{where}: claim {number}") for number, entry in enumerate(raw, 1)]
    for number, claim in enumerate(claims, 1):
        for place in (claim.left, claim.right):
            for kind, known in (("row", spec.rows), ("column", spec.columns)):
                named = names(place.get(kind)) if isinstance(place, dict) else []
                if unknown := [name for name in named if name not in known]:
                    raise UserError(
                        f"{where}: claim {number} names the {kind} {unknown[0]!r}; the report's are {', '.join(known)}"
                    )
    return claims


def _claim(entry: Config, name: str) -> Claim:
    forms = [form for form in FORMS if form in entry]
    if len(forms) != 1 or not {"says", "source", FORMS[forms[0]]} <= set(entry):
        pairs = ", ".join(f"{form} and {other}" for form, other in FORMS.items())
        raise UserError(f"{name} needs says, source and one of: {pairs}")
    form = forms[0]
    if unknown := set(entry) - {"says", "source", "within", "at", form, FORMS[form]}:
        raise UserError(f"{name} has no key {sorted(unknown)[0]!r}")
    if (form == "alike") != ("within" in entry):
        raise UserError(f"{name}: within belongs to alike, and alike needs it")
    for place in (entry[form], entry[FORMS[form]]):
        if isinstance(place, dict) and (unknown := set(place) - PLACE):
            raise UserError(f"{name}: a place has no key {sorted(unknown)[0]!r}; it has {', '.join(sorted(PLACE))}")
    return Claim(
        says=entry["says"],
        source=entry["source"],
        form=form,
        left=entry[form],
        right=entry[FORMS[form]],
        within=entry.get("within", 0.0),
        at=entry.get("at"),
    )


def names(value: object) -> list[str]:
    """A name, or a list of them, as a list."""
    return [str(name) for name in value] if isinstance(value, list) else [] if value is None else [str(value)]
