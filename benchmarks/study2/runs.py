"""The runs of the second study, from runs.csv: which runs are in the analysis, the claims, and the learning rates.

PROTOCOL.md defines the claims and the tests. A block with a missing run is left out.
"""

from collections.abc import Callable, Sequence
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from cse.files import sha256
from cse.lab.folder.runs import Run, read_run
from cse.lab.folder.status import State
from cse.lab.report.numbers.statistics import Effect, compare_seeds, holm

SEEDS, TUNING = range(21, 31), (101, 102)
LOWEST = (3e-6, 1e-7)  # the lowest learning rates of all grids: for the text, and for a second modality
SCORES = {
    "dev": "dev/stsb/average",
    **{year: f"test/sts/{year}/spearman" for year in ("STS12", "STS13", "STS14", "STS15", "STS16")},
    "STSB": "test/sts/STS-B/spearman", "SICKR": "test/sts/SICK-R/spearman", "average": "test/sts/average",
    "alignment": "test/geometry/alignment", "uniformity": "test/geometry/uniformity",
}  # fmt: skip
COLUMNS = ["arm", "role", "seed", "rate", "encoder", "weights", "precision", "step", *SCORES, "seconds", "commit",
           "state"]  # fmt: skip
THREE = ("simcse", "barlow", "vicreg25")
BLOCKS = [
    [f"{objective}_{views}" for objective in THREE for views in ("dropout", "shuffle")],
    ["whitenedcse_dropout", "whitenedcse_shuffle", *(f"{one}_eda" for one in THREE), "temperature_1", "half", "mlm"],
    ["images", "images_shuffled", "sound", "sound_shuffled"],
    ["documents/declutr", "documents/contrastive", "documents/mlm"],
]
CLAIMS = [
    ("SimCSE with shuffle is better than SimCSE with dropout", "simcse_shuffle", "simcse_dropout"),
    ("with shuffle, Barlow Twins is better than SimCSE", "barlow_shuffle", "simcse_shuffle"),
    ("with shuffle, VICReg is better than SimCSE", "vicreg25_shuffle", "simcse_shuffle"),
    ("Barlow Twins with shuffle is better than SimCSE with dropout", "barlow_shuffle", "simcse_dropout"),
    ("WhitenedCSE is better than SimCSE", "whitenedcse_dropout", "simcse_dropout"),
    ("images help SimCSE", "images", "simcse_dropout"),
    ("sound helps SimCSE", "sound", "simcse_dropout"),
    ("true labels of images help more than shuffled ones", "images", "images_shuffled"),
    ("DeCLUTR's two losses are better than the contrastive one alone", "documents/declutr", "documents/contrastive"),
    ("DeCLUTR's two losses are better than MLM alone", "documents/declutr", "documents/mlm"),
]
REPLICATED = [
    *CLAIMS[:4],
    ("shuffle instead of dropout, Barlow Twins", "barlow_shuffle", "barlow_dropout"),
    ("shuffle instead of dropout, VICReg", "vicreg25_shuffle", "vicreg25_dropout"),
    ("with dropout, Barlow Twins instead of SimCSE", "barlow_dropout", "simcse_dropout"),
    ("with dropout, VICReg instead of SimCSE", "vicreg25_dropout", "simcse_dropout"),
]
"""The differences that RESULTS.md shows for both encoders: four claims, and further differences in the answer."""


class Judged(NamedTuple):
    """A claim with its difference of means, by Welch's t-test. corrected: p, Holm-corrected over all ten claims."""

    says: str
    found: Effect
    corrected: float

    @property
    def verdict(self) -> str:
        """The verdict in the protocol's words."""
        if self.found.size is None:
            return "not complete"
        return "NOT SEEN" if self.corrected > 0.05 else "HOLDS" if self.found.size > 0 else "FAILS"


@cache
def digest(encoder: str) -> str:
    """Return the first eight digits of the sha256 of an encoder's weights. encoder: a folder."""
    return sha256(Path(encoder) / "model.safetensors")[:8]


def row_of(run: Run) -> dict[str, Any]:
    """Return a run's row of runs.csv. An untrained encoder has no seed and no learning rate."""
    config, trained = run.config, "trainer" in run.config
    sweep = run.choices.get("sweep") or ""
    arm = f"documents/{config['case']}" if "documents" in sweep else config["case"]
    name = config["model"]["name"] if trained else config["checkpoint"]
    aux = config.get("aux_modality") or {}
    rate = aux.get("lr", config["trainer"]["lr"]) if trained else None
    seed = config.get("seed") if trained else None
    role = "baseline" if not trained else "tuning" if seed in TUNING else "counted" if seed in SEEDS else "other"
    scores = {column: run.metrics.get(key) for column, key in SCORES.items()}
    about = {key: run.results.get(key) for key in ("precision", "steps", "seconds", "git_commit")}
    values = [arm, role, seed, rate, Path(name).parts[-2], digest(name), about["precision"], about["steps"],
              *scores.values(), about["seconds"], about["git_commit"], run.results["status"]]  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def collect(folders: list[Path], known: pd.DataFrame) -> pd.DataFrame:
    """Return the known rows, and the rows of the runs in the folders. If a run was started again, its old row stays."""
    found = [read_run(file.parent) for folder in folders for file in sorted(folder.glob("*/results.json"))]
    ended = known[known.state != State.RUNNING]
    rows = pd.concat([ended, pd.DataFrame([row_of(run) for run in found], columns=COLUMNS)], ignore_index=True)
    written = read(StringIO(rows.to_csv(index=False))).drop_duplicates()
    return written.sort_values(["arm", "role", "seed", "rate", "encoder"], ignore_index=True, kind="stable")


def read(file: Path | StringIO) -> pd.DataFrame:
    """Return the rows of runs.csv."""
    return pd.read_csv(file).astype({"seed": "Int64"})


def finished(runs: pd.DataFrame, role: str) -> pd.DataFrame:
    """Return the finished runs of a role. All runs must be on one encoder.

    If a run was repeated, the result has the last repetition. Runs from other weights are no repetition, except in
    tuning.
    """
    assert runs.encoder.nunique() <= 1
    rows = runs[(runs.role == role) & (runs.state == State.DONE)]
    return rows.drop_duplicates(["arm", "seed", "rate", *["weights"] * (role != "tuning")], keep="last")


def alike(runs: pd.DataFrame, arms: Sequence[str]) -> pd.DataFrame:
    """Return the runs by which these arms are compared. For each seed, all arms have a run from the same weights.

    If a seed has such runs from several weights, the result has the last ones.
    """
    counted = finished(runs, "counted")
    mine = counted[counted.arm.isin(arms)].sort_values("arm", key=lambda names: names.map(arms.index), kind="stable")
    shared = mine.groupby(["seed", "weights"]).arm.transform("nunique") == len(arms)
    return mine[shared].drop_duplicates(["arm", "seed"], keep="last")


def on(runs: pd.DataFrame, encoder: str) -> pd.DataFrame:
    """Return the runs that start from an encoder: encoder1, on which the claims are tested, or encoder2."""
    return runs[runs.encoder == encoder]


def seeds_of(counted: pd.DataFrame, arm: str) -> dict[str, float]:
    """Return {seed: score of the arm's run}."""
    mine = counted[counted.arm == arm]
    return {str(int(seed)): value for seed, value in zip(mine.seed, mine.average, strict=True)}


def complete(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the complete blocks: every arm of such a block has all seeds."""
    blocks = [alike(runs, block) for block in BLOCKS]
    return pd.concat([block for block in blocks if block.seed.nunique() == len(SEEDS)] or [runs[:0]])


def compared(runs: pd.DataFrame, more: str, less: str, test: Callable[..., Effect] = compare_seeds) -> Effect:
    """Return the comparison of two arms by a test. It is empty if the arms lack a seed with the same weights."""
    both = alike(runs, (more, less))
    if both.seed.nunique() < len(SEEDS):
        return Effect()
    return test(seeds_of(both, more), seeds_of(both, less), 0.95)


def judged(runs: pd.DataFrame) -> list[Judged]:
    """Return the ten claims. A claim about an incomplete arm has no difference, and has p = 1 in Holm's correction."""
    there = set(complete(runs).arm)
    found = [compared(runs, more, less) if {more, less} <= there else Effect() for _, more, less in CLAIMS]
    corrected = holm([1.0 if effect.size is None else effect.p for effect in found])
    return [Judged(says, effect, p) for (says, *_), effect, p in zip(CLAIMS, found, corrected, strict=True)]


def tuned(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean selection score over the tuning seeds, by arm and learning rate; NaN if a seed is missing."""
    done = finished(runs, "tuning")
    means = done.pivot_table(index="arm", columns="rate", values="dev", aggfunc="mean")
    return means.where(done.pivot_table(index="arm", columns="rate", values="seed", aggfunc="count") == len(TUNING))


def marked(rates: pd.DataFrame) -> dict[str, dict[float, str]]:
    """Return {arm: {learning rate: selection score as text}}.

    If a block has the arm, the score of the chosen rate is bold, or has the mark "(edge)" if the grid needs more rates.
    """
    found = {}
    for arm, scores in rates.iterrows():
        scores = scores.dropna()
        is_read = len(scores) and any(arm in block for block in BLOCKS)
        chosen = scores[scores >= scores.max() - 0.1].index.min() if is_read else None
        ends = {*scores.index[:1], *scores.index[-1:]} - {*LOWEST}
        mark = "{:.2f} (edge)" if chosen in ends else "**{:.2f}**"
        found[arm] = {rate: (mark if rate == chosen else "{:.2f}").format(score) for rate, score in scores.items()}
    return found
