"""trackio: W&B's calls into a local database (TRACKIO_DIR), shown by `trackio show`, without account or network.

If TRACKIO_SPACE_ID is set, it names a Space of the hub that shows the runs instead.
"""

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path

from cse.dotted import Json, flattened
from cse.ranges import Name
from cse.tracking.about import About


class Trackio:
    """One trackio run, named after the run and its folder; a resumed run continues it. group: a sweep's name."""

    def __init__(
        self,
        folder: str | Path,
        about: About,
        project: Name,
        resume_step: int | None = None,
        group: Name | None = None,
    ):
        import trackio

        self.trackio, self.patience = trackio, 60.0
        with contextlib.redirect_stdout(io.StringIO()):  # it prints five lines
            self.run = trackio.init(
                project=project,
                name=f"{about.name}-{Path(folder).resolve().name}",
                group=group,
                config=flattened({**about.config, "command": about.command, "commit": about.commit}),
                resume="never" if resume_step is None else "allow",
                embed=False,
            )
        trackio.context_vars.current_run.set(None)  # or it finishes the run again, and prints, when the process exits

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Log the metrics of one step, by name."""
        self.run.log(metrics, step=step)

    def image(self, name: str, path: Path, step: int) -> None:
        """Log a picture in a PNG file."""
        self.run.log({name: self.trackio.Image(str(path))}, step=step)

    def table(self, name: str, columns: list[str], rows: Sequence[Sequence[object]]) -> None:
        """Log a table; each row has a value for each column."""
        import pandas as pd

        self.run.log({name: self.trackio.Table(dataframe=pd.DataFrame(rows, columns=columns))})

    def finish(self, exit_code: int, summary: Json) -> None:
        """Log the scores as metrics of the last step, and the status."""
        scores = {name: value for name, value in summary.items() if isinstance(value, int | float)}
        self.run.log({**scores, "exit_code": exit_code})
        with contextlib.redirect_stdout(io.StringIO()):
            self.run.finish()

    def abandon(self) -> None:
        """Do nothing: trackio's thread ends with the process."""
