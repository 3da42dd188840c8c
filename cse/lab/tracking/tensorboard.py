"""TensorBoard: curves, plots and HParams without an account. `tensorboard --logdir SWEEP_FOLDER` shows them."""

from collections.abc import Collection, Sequence
from pathlib import Path

from cse.files import Json
from cse.lab.settings.values import flattened
from cse.lab.tracking.run_info import RunInfo


class Tensorboard:
    """A tracker that writes event files. In a resumed run, TensorBoard hides earlier numbers of steps > resume_step."""

    def __init__(self, folder: str | Path, about: RunInfo, resume_step: int | None = None):
        from torch.utils.tensorboard import SummaryWriter

        purge = None if resume_step is None else resume_step + 1
        self.writer = SummaryWriter(str(Path(folder) / "tensorboard"), purge_step=purge)
        self.patience = 60.0
        self.config = about.config
        self.step = resume_step or 0

    def log(self, metrics: dict[str, float], step: int, lower_is_better: Collection[str] = ()) -> None:
        """Log the metrics of one step, by name."""
        self.step = max(self.step, step)
        for name, value in metrics.items():
            self.writer.add_scalar(name, value, step)

    def image(self, name: str, path: Path, step: int) -> None:
        """Log a picture in a PNG file."""
        from matplotlib.image import imread

        self.writer.add_image(name, imread(path), step, dataformats="HWC")

    def table(self, name: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
        """Log a table; each row has a value for each column."""
        lines = [columns, ["---"] * len(columns), *rows]
        self.writer.add_text(name, "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines), self.step)

    def finish(self, exit_code: int, summary: Json) -> None:
        """Write the run's row in HParams: the settings, and the numbers in `summary`."""
        numbers = {name: value for name, value in summary.items() if isinstance(value, (int, float))}
        scores = {f"hparam/{name}": float(value) for name, value in numbers.items()}  # no curve has these names
        settings = flattened(self.config).items()  # HParams holds numbers and text
        hparams = {key: value if isinstance(value, (bool, int, float, str)) else str(value) for key, value in settings}
        hparams["status"] = "failed" if exit_code else "done"
        self.writer.add_hparams(hparams, scores, run_name=".", global_step=self.step)
        self.writer.close()

    def abandon(self) -> None:
        """Do nothing: numbers that are not written yet are lost."""
