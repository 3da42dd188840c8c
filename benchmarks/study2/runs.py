"""The runs of the second study as runs.csv has them: which count, which are compared, the claims, the rates.

PROTOCOL.md says what is judged, and how. A block of which a run is missing is not read.
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
LOWEST = (3e-6, 1e-7)  # where every grid ends: of the text's rate, and of a second modality's
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
"""What is described on both encoders: four claims, and what the answer says beside them."""


class Judged(NamedTuple):
    """A claim: its difference of means with Welch's interval and p, and p by Holm over all ten."""

    says: str
    found: Effect
    corrected: float

    @property
    def verdict(self) -> str:
        """The protocol's word."""
        if self.found.size is None:
            return "not complete"
        return "NOT SEEN" if self.corrected > 0.05 else "HOLDS" if self.found.size > 0 else "FAILS"


@cache
def digest(encoder: str) -> str:
    """The first digits of the sha256 of an encoder's weights, whose folder is relative to the study's."""
    return sha256(Path(encoder) / "model.safetensors")[:8]


def row_of(run: Run) -> dict[str, Any]:
    """A run's row of runs.csv. An untouched encoder has no seed and no rate."""
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
    """The known rows and those of the runs in the folders. A run that was started again keeps its earlier end's row."""
    found = [read_run(file.parent) for folder in folders for file in sorted(folder.glob("*/results.json"))]
    ended = known[known.state != State.RUNNING]
    rows = pd.concat([ended, pd.DataFrame([row_of(run) for run in found], columns=COLUMNS)], ignore_index=True)
    written = read(StringIO(rows.to_csv(index=False))).drop_duplicates()
    return written.sort_values(["arm", "role", "seed", "rate", "encoder"], ignore_index=True, kind="stable")


def read(file: Path | StringIO) -> pd.DataFrame:
    """Rows of runs.csv."""
    return pd.read_csv(file).astype({"seed": "Int64"})


def finished(runs: pd.DataFrame, role: str) -> pd.DataFrame:
    """The finished runs of a role, all on one encoder; of one that was made again, the last. From other weights it is
    another, but in tuning."""
    assert runs.encoder.nunique() <= 1
    rows = runs[(runs.role == role) & (runs.state == State.DONE)]
    return rows.drop_duplicates(["arm", "seed", "rate", *["weights"] * (role != "tuning")], keep="last")


def alike(runs: pd.DataFrame, arms: Sequence[str]) -> pd.DataFrame:
    """The arms' counted runs by which they can be compared: at each seed the last from weights that all of them had."""
    counted = finished(runs, "counted")
    mine = counted[counted.arm.isin(arms)].sort_values("arm", key=lambda names: names.map(arms.index), kind="stable")
    shared = mine.groupby(["seed", "weights"]).arm.transform("nunique") == len(arms)
    return mine[shared].drop_duplicates(["arm", "seed"], keep="last")


def on(runs: pd.DataFrame, encoder: str) -> pd.DataFrame:
    """The runs that start from an encoder: encoder1, on which the claims are judged, or encoder2."""
    return runs[runs.encoder == encoder]


def seeds_of(counted: pd.DataFrame, arm: str) -> dict[str, float]:
    """The outcome of an arm's runs, by seed."""
    mine = counted[counted.arm == arm]
    return {str(int(seed)): value for seed, value in zip(mine.seed, mine.average, strict=True)}


def complete(runs: pd.DataFrame) -> pd.DataFrame:
    """The counted runs of the blocks of which every arm has all its seeds."""
    blocks = [alike(runs, block) for block in BLOCKS]
    return pd.concat([block for block in blocks if block.seed.nunique() == len(SEEDS)] or [runs[:0]])


def compared(runs: pd.DataFrame, more: str, less: str, test: Callable[..., Effect] = compare_seeds) -> Effect:
    """Two arms compared, by Welch's test or another; empty if they have not all seeds from the same weights."""
    both = alike(runs, (more, less))
    if both.seed.nunique() < len(SEEDS):
        return Effect()
    return test(seeds_of(both, more), seeds_of(both, less), 0.95)


def judged(runs: pd.DataFrame) -> list[Judged]:
    """The ten claims. One whose arms are not complete has no difference, and counts as p = 1."""
    there = set(complete(runs).arm)
    found = [compared(runs, more, less) if {more, less} <= there else Effect() for _, more, less in CLAIMS]
    corrected = holm([1.0 if effect.size is None else effect.p for effect in found])
    return [Judged(says, effect, p) for (says, *_), effect, p in zip(CLAIMS, found, corrected, strict=True)]


def tuned(runs: pd.DataFrame) -> pd.DataFrame:
    """The mean selection score over the tuning seeds, by arm and rate; NaN where a seed is missing."""
    done = finished(runs, "tuning")
    means = done.pivot_table(index="arm", columns="rate", values="dev", aggfunc="mean")
    return means.where(done.pivot_table(index="arm", columns="rate", values="seed", aggfunc="count") == len(TUNING))


def marked(rates: pd.DataFrame) -> dict[str, dict[float, str]]:
    """Each arm's selection scores by rate: if a block has the arm, the chosen one in bold, or marked where its grid
    must go on."""
    found = {}
    for arm, scores in rates.iterrows():
        scores = scores.dropna()
        is_read = len(scores) and any(arm in block for block in BLOCKS)
        chosen = scores[scores >= scores.max() - 0.1].index.min() if is_read else None
        ends = {*scores.index[:1], *scores.index[-1:]} - {*LOWEST}
        mark = "{:.2f} (edge)" if chosen in ends else "**{:.2f}**"
        found[arm] = {rate: (mark if rate == chosen else "{:.2f}").format(score) for rate, score in scores.items()}
    return found
