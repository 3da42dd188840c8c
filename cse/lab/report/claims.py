"""What a paper claims from its table, as data, and what the runs say of it.

A sweep's `report.claims` is a list of these; each has `says` (the claim), `source` (where the paper says so, with a few
of its words) and one form:

    more: PLACE, than: PLACE            less: PLACE, than: PLACE             for metrics where lower is better
    alike: PLACE, to: PLACE, within: 1  they differ by less than this, in the score's unit; of `more`, with `within`:
                                        the left is worse by less than this
    rises: PLACE, along: KEY            or falls: the rank correlation of runs' scores with a config key

    PLACE   {row: NAME, column: NAME}   in the published table; a list means several, a key that is left out means all
                                        that the report fills: `more: {column: shuffled}` is about every row
            {where: {case: small_both}, metric: dev/declutr/average}         runs by their config, for figures; of
                                        another sweep, if `where` names a case that this one lacks, and that sweep
    at: KEY                             with `where`: at each value of this config key

Runs by their config are compared over the settings that both places were run with: the values of the sweep's axes that
the claim does not name and, of lists of one length, the same place in the list. What was tried on one side alone does
not count for it, nor a seed that lacks some of it; a trend has the values of its key at which all of a list was run.

    control: SAYS       of a claim with `within`: one without, in the same report, which must HOLD first
    quantity: TEXT      what the paper measured, if none of our scores is that: such a claim is never judged

A claim is judged (`cse.lab.report.verdicts`) only on its own score, by runs in the paper's setting with at least three
seeds on each trained side: by Welch's test, chosen beforehand. Against an encoder that is only scored, and so has no
seeds, the test is a one-sample t test. Two such encoders are compared by a paired bootstrap over items. `alike` is two
one-sided tests against `within`, `more` with a margin the lower of the two, and both need their control. A trend is a
rank correlation of at least three runs, permuted within each seed and each value of a list; it is judged if its points
could reach a p below the level. Everything else is NOT JUDGED, with the reason.

A claim with several parts (every row, every value) holds if every part does: its p is the largest of theirs. It is
contradicted by its worst part, whose p is multiplied by their number. Each part has a verdict of its own: HOLDS if the
claim does, else by Holm's p within the claim times the number of claims. p is two-sided, except where `alike` holds;
Holm's correction is over all judged claims of the table at once. HOLDS and CONTRADICTED need p below 1 - confidence;
NOT SEEN means that the runs cannot tell. "HOLDS (1 of 3 parts)": the other two could not be judged. The printed
numbers are held to the same claim, by their means alone.
"""

from typing import Any, Literal

from pydantic import BaseModel, model_validator, with_config
from typing_extensions import TypedDict

from cse.lab.report.plot import CLOSED
from cse.lab.settings.dotted import Config

FORMS = {"more": "than", "less": "than", "alike": "to", "rises": "along", "falls": "along"}


@with_config(CLOSED)
class Place(TypedDict, total=False):
    """Cells of the table (row, column), or the metric of runs (where, metric)."""

    row: str | list[str]
    column: str | list[str]
    where: Config
    metric: str


class Claim(BaseModel):
    """One statement. left, right: places (of `less` they change sides, and it is `more`); along: the config key of a
    trend, which has no right; within, control: of a claim with a margin, which would hold for runs that learnt nothing.
    """

    model_config = CLOSED

    says: str
    source: str
    form: Literal["more", "alike", "rises", "falls"]
    left: Place
    right: Place = {}
    along: str = ""
    within: float = 0.0
    at: str | None = None
    control: str = ""
    quantity: str = ""

    @model_validator(mode="before")
    @classmethod
    def from_yaml(cls, entry: Any) -> Any:
        """Read the form, and its left and right, from the two keys that name them."""
        if not isinstance(entry, dict):
            return entry
        forms = [form for form in FORMS if form in entry]
        if len(forms) != 1 or set(FORMS.values()) & set(entry) != {FORMS[forms[0]]}:
            pairs = ", ".join(f"{form} and {other}" for form, other in FORMS.items())
            raise ValueError(f"a claim needs one of: {pairs}")
        form = forms[0]
        if (form == "alike" and "within" not in entry) or (form not in ("alike", "more") and "within" in entry):
            raise ValueError("`alike` needs `within`, and besides it only `more` may have it")
        if "control" in entry and "within" not in entry:
            raise ValueError("`control` belongs to a claim with `within`")
        rest = {key: value for key, value in entry.items() if key not in (form, "than", "to")}
        left, right = entry[form], entry[FORMS[form]]
        if FORMS[form] == "along":
            return {**rest, "form": form, "left": left}
        if form == "less":
            form, left, right = "more", right, left
        return {**rest, "form": form, "left": left, "right": right}

    @property
    def places(self) -> tuple[Place, Place]:
        """left and right."""
        return self.left, self.right

    def is_borne_out(self, size: float) -> bool:
        """Whether a difference or a correlation, ours or the printed one, is as claimed by its size alone."""
        return abs(size) <= self.within if self.form == "alike" else size > (-self.within or 1e-9)


def names(value: object) -> list[str]:
    """A name, a list of names, or None, as a list."""
    if value is None:
        return []
    return [str(name) for name in value] if isinstance(value, list) else [str(value)]
