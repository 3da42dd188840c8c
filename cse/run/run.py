"""One training job in one process (or one of several): build, train, score the best step, leave a complete folder."""

import logging
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from cse.errors import RunError
from cse.run.build import build, identity, make, precision_of

log = logging.getLogger("cse")

PATIENCE = timedelta(days=1)  # for one process that tokenises or scores while the others wait


def run(cfg: DictConfig, folder: Path) -> float | None:
    """Train, then score the best step on every split of every evaluator. Returns the selection score."""
    import torch
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, PartialState

    from cse.data.loader import Batches
    from cse.run.summary import announce, preview

    torch.use_deterministic_algorithms(False)  # an earlier job of a multirun may have asked for it
    if cfg.trainer.deterministic:
        from transformers.trainer_utils import enable_full_determinism

        enable_full_determinism(cfg.seed)
    AcceleratorState._reset_state(reset_partial_state=True)  # jobs of a multirun share this process, not their state
    state = PartialState(cpu=not_on_gpu(), timeout=PATIENCE)
    with state.main_process_first():  # what has to be read and tokenised is so once, by the first process
        parts = build(cfg)
    accelerator = Accelerator(mixed_precision=precision_of(cfg.trainer.precision))
    batches = Batches(
        parts.text, parts.encoder.tokenizer, parts.augmentation, parts.objective.num_views, parts.objective.masking,
        parts.mask.masked, cfg.trainer.batch_size, cfg.trainer.max_length, cfg.trainer.drop_last, cfg.seed,
        accelerator.process_index, accelerator.num_processes,
    )  # fmt: skip
    if cfg.data.preview:
        preview(batches, cfg.data.preview)
        return None
    config: dict[str, Any] = OmegaConf.to_container(cfg, resolve=True)  # type: ignore[assignment]
    if accelerator.is_main_process:
        announce(config, parts, batches, accelerator, folder)
    return None if cfg.dry_run else Job(cfg, config, parts, batches, accelerator, folder).run()


class Job:
    """A built run. Only the main process writes."""

    def __init__(
        self, cfg: DictConfig, config: dict[str, Any], parts: Any, batches: Any, accelerator: Any, folder: Path
    ):
        from cse.run.record import Record
        from cse.training.loop import Training

        self.cfg, self.config, self.parts, self.folder = cfg, config, parts, folder
        self.main = accelerator.is_main_process
        self.training = Training(
            parts.trainer, parts.encoder, parts.objective, batches, parts.evaluators, parts.aux, self.trackers,
            self.export, folder, cfg.seed, cfg.resume is not None, identity(cfg), accelerator,
        )  # fmt: skip
        precision = "fp32" if accelerator.mixed_precision == "no" else accelerator.mixed_precision
        self.record = Record(folder, config, str(accelerator.device), precision) if self.main else None

    def run(self) -> float | None:
        """Train and score. A failure is in results.json and in every tracker before it is raised."""
        from cse.eval.cosines import keep_cosines
        from cse.eval.score import remembering, score

        training, evaluators = self.training, self.parts.evaluators
        metrics: dict[str, float] = {}
        try:
            if self.main and training.step == 0:
                keep_cosines(self.folder, "before", evaluators, training.encode())
            outcome = training.run()
            if not self.main:
                return outcome.best_score
            if outcome.best_step == 0:  # nothing was selected: what was trained is the last step
                self.export(outcome.steps, outcome.curve[-1][1] if outcome.curve else {})
            best = self.best()
            encode = remembering(best.encode)
            score(evaluators, {name: list(e.splits) for name, e in evaluators.items()}, encode, into=metrics)
            keep_cosines(self.folder, "after", evaluators, encode)
        except BaseException as error:
            if self.record is not None and training.trackers is not None:
                said = f"{type(error).__name__}: {error}"
                self.record.finish("failed", error=said, steps=training.step, metrics=metrics)
                training.trackers.finish(1, {})
            raise
        self.conclude(outcome, metrics)
        return outcome.best_score

    def conclude(self, outcome: Any, metrics: dict[str, float]) -> None:
        from cse.files import write_text
        from cse.run.record import model_card
        from cse.run.summary import conclude

        assert self.record is not None
        content = self.record.finish(
            "done", metrics=metrics, steps=outcome.steps, best_step=outcome.best_step or outcome.steps,
            seconds=round(outcome.seconds, 1), tokens_per_second=round(outcome.tokens_per_second, 1),
            data={name: evaluator.provenance() for name, evaluator in self.parts.evaluators.items()},
        )  # fmt: skip
        write_text(self.folder / "best" / "README.md", model_card(content, content["best_step"], metrics))
        conclude(content, outcome, self.training.trackers, self.folder)

    def export(self, step: int, scores: dict[str, float]) -> None:
        """Replace best/ by the encoder as it is. A reader never sees half a folder under that name."""
        from safetensors import SafetensorError

        from cse.model.export import save_encoder
        from cse.run.record import model_card

        assert self.record is not None
        temporary, best = self.folder / "best.tmp", self.folder / "best"
        shutil.rmtree(temporary, ignore_errors=True)
        try:
            card = model_card(self.record.content, step, scores)
            save_encoder(self.parts.encoder, temporary, self.parts.objective.test_head(), card)
            shutil.rmtree(best, ignore_errors=True)
            temporary.rename(best)
        except (OSError, SafetensorError) as error:
            shutil.rmtree(temporary, ignore_errors=True)
            raise RunError(f"cannot write {best} ({error}); free space and run again with resume=auto") from error

    def best(self) -> Any:
        """The exported encoder, read back: what is scored is what a user will load."""
        from cse.model.load import load_encoder

        return load_encoder(str(self.folder / "best"), pooling=None).to(self.training.accelerator.device)

    def trackers(self, resume_step: int | None) -> Any:
        from cse.tracking.trackers import Trackers

        return Trackers(self.folder, self.config, [make(node) for node in self.cfg.tracker.values()], resume_step)


def not_on_gpu() -> bool:
    import torch

    return not torch.cuda.is_available()
