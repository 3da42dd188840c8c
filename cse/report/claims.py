"""What a paper claims from its table, as data, and what the runs say of it.

A sweep's `report.claims` is a list of these; each has `says` (the claim), `source` (where the paper says so, with a few
of its words) and one form:

    more: PLACE, than: PLACE            less: PLACE, than: PLACE             of metrics of which less is better
    alike: PLACE, to: PLACE, within: 1  the difference is below so much, in the score's own unit
    no_less: PLACE, than: PLACE, within: 1      not worse by so much
    rises: PLACE, along: KEY            or falls: the rank correlation of a score with a config key, over runs;
                                        along: {column: NAME}, with another column of the table, over its rows

    PLACE   {row: NAME, column: NAME}   of the published table; a list stands for several, one that is left out for all
                                        that the report fills: `more: {column: shuffled}` speaks of every row
            {where: {case: small_both}, metric: dev/declutr/average}         runs by their config, for figures
    at: KEY                             with `where`: at each value of a config key that both sides have

Runs by their config are compared over the settings that both places were run with: the values of the sweep's axes that
the claim does not name. What was tried on one side alone does not speak for it.

    control: SAYS       of `alike` and `no_less`: a claim of another form in the same report that has to HOLD first
    quantity: TEXT      what the paper measured, where no score of ours is that: such a claim is never judged

A claim is judged (`cse.report.verdicts`) only on its own score, by runs of the paper's setting, with three seeds or
more of each trained side: Welch's test, chosen beforehand. Against an encoder that is only scored, which has no seeds,
it is a one-sample t test; of two such encoders a bootstrap over their test items, which is otherwise an interval
beside that of the seeds and decides nothing. `alike` is two one-sided tests against `within`, `no_less` the lower of
them, and both need their control. A trend is a rank correlation, permuted within seeds, of three or more of them; it
is judged if the least p that its points can reach is below the level. Everything else is NOT JUDGED, with the reason.

A claim of several parts (every row, every value) holds if each part does: its p is the largest of theirs. It is
contradicted by its worst part, whose p is multiplied by their number. Each part is told with its own verdict: that of a
claim that holds, else by Holm's p within the claim times the number of claims. p is two-sided, but for `alike` that
holds; Holm's correction is over all judged claims of the table at once. HOLDS and CONTRADICTED need p below
1 - confidence; NOT SEEN is the rest: the runs cannot tell. "HOLDS (1 of 3 parts)": the other two could not be judged.
The printed numbers are held to the same claim, by their means alone.
"""

from typing import Any, Literal

from pydantic import BaseModel, model_validator, with_config
from typing_extensions import TypedDict

from cse.dotted import Config
from cse.eval.score import nature
from cse.report.plot import CLOSED

FORMS = {"more": "than", "less": "than", "no_less": "than", "alike": "to", "rises": "along", "falls": "along"}

MARGINS = ("alike", "no_less")  # forms of which runs that learnt nothing would say that they hold


@with_config(CLOSED)
class Place(TypedDict, total=False):
    """Cells of the table (row, column), or the metric of runs (where, metric)."""

    row: str | list[str]
    column: str | list[str]
    where: Config
    metric: str


class Claim(BaseModel):
    """One statement. left, right: places (right of a trend: a config key's name, or a column); within, control: of
    `alike` and `no_less`."""

    model_config = CLOSED

    says: str
    source: str
    form: Literal["more", "less", "no_less", "alike", "rises", "falls"]
    left: Place
    right: Place | str
    within: float = 0.0
    at: str | None = None
    control: str = ""
    quantity: str = ""

    @model_validator(mode="before")
    @classmethod
    def from_yaml(cls, entry: Any) -> Any:
        """The form, its left and its right from the two keys that name it."""
        if not isinstance(entry, dict):
            return entry
        forms = [form for form in FORMS if form in entry]
        if len(forms) != 1 or FORMS[forms[0]] not in entry:
            pairs = ", ".join(f"{form} and {other}" for form, other in FORMS.items())
            raise ValueError(f"a claim needs one of: {pairs}")
        form = forms[0]
        if (form in MARGINS) != ("within" in entry):
            raise ValueError("`within` belongs to `alike` and `no_less`, and they need it")
        if form not in MARGINS and "control" in entry:
            raise ValueError("`control` belongs to `alike` and `no_less`")
        rest = {key: value for key, value in entry.items() if key not in (form, FORMS[form])}
        return {**rest, "form": form, "left": entry[form], "right": entry[FORMS[form]]}

    def scored_by(self, score: str) -> "Claim":
        """The claim of another score than the paper's, where it names runs and not a cell of the table; one of
        geometry stays as it is."""

        def scored(place: Place | str) -> Place | str:
            if isinstance(place, str) or "metric" not in place or nature(place["metric"]).kind == "geometry":
                return place
            return {**place, "metric": score}

        return self.model_copy(update={"left": scored(self.left), "right": scored(self.right)})

    @property
    def places(self) -> tuple[Place, Place]:
        """left and right, of a claim whose right is not a config key."""
        assert not isinstance(self.right, str)
        return self.left, self.right

    @property
    def is_trend(self) -> bool:
        """Whether it claims a rank correlation and not a difference."""
        return FORMS[self.form] == "along"


def names(value: object) -> list[str]:
    """A name, or a list of them, as a list."""
    return [str(name) for name in value] if isinstance(value, list) else [] if value is None else [str(value)]
