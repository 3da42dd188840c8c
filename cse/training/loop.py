"""The loop: score the untrained encoder, train, score every N steps, keep the best, be resumable at any moment."""

import logging
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import Tensor, nn

from cse.data.loader import Batches
from cse.errors import RunError, UserError
from cse.eval.geometry import alignment, effective_rank, uniformity
from cse.eval.score import remembering, score
from cse.model.encoder import Encoder
from cse.tracking.trackers import Trackers
from cse.training import checkpoint, optim
from cse.training.distributed import average_gradients, gather_objects, world_size
from cse.training.progress import Progress
from cse.training.settings import Outcome, Trainer, watched
from cse.training.step import chunked_step, plain_step
from cse.types import Batch, Encode, Encoded, Evaluator, Tokens

log = logging.getLogger(__name__)

COLLAPSED_RANK = 1.05  # effective rank of a batch whose embeddings are all but one vector


class Training:
    """One run's state; call `run()` once.

    aux: an AuxModality or None. trackers(resume step) opens the logs. export(step, scores) writes the encoder to
    `best/`. folder: the run's. identity: the settings that a resumed run must share.
    """

    def __init__(
        self,
        trainer: Trainer,
        encoder: Encoder,
        objective: Any,
        batches: Batches,
        evaluators: dict[str, Evaluator],
        aux: Any,
        trackers: Callable[[int | None], Trackers],
        export: Callable[[int, dict[str, float]], None],
        folder: Path,
        seed: int,
        resume: bool,
        identity: dict[str, Any],
        accelerator: Accelerator,
    ):
        self.trainer, self.folder, self.export, self.aux = trainer, folder, export, aux
        self.batches, self.evaluators, self.identity = batches, evaluators, identity
        self.accelerator = accelerator
        self.encoder = encoder.to(accelerator.device)
        self.objective = objective.to(accelerator.device)
        self.modules: dict[str, nn.Module] = {"encoder": self.encoder, "objective": self.objective}
        if aux is not None:
            self.modules["aux"] = aux.to(accelerator.device)
        self.epoch_steps = batches.steps_per_epoch // trainer.accumulate
        if self.epoch_steps == 0:
            raise UserError(f"trainer.accumulate={trainer.accumulate}: an epoch has {batches.steps_per_epoch} batches")
        self.planned = max(1, round(trainer.epochs * self.epoch_steps))
        self.steps = min(trainer.max_steps or self.planned, self.planned)
        self.schedule_steps = trainer.schedule_steps or self.planned
        joint = aux is not None and aux.optimizer == "joint"
        trained = [m for name, m in self.modules.items() if name != "aux" or joint]
        self.optimizers = {"optimizer": self._adamw(trained, trainer.weight_decay, trainer.no_decay)}
        self.decays = {"optimizer": [g["weight_decay"] for g in self.optimizers["optimizer"].param_groups]}
        if aux is not None and not joint:  # NonLing-CSE: two AdamW objects, each with its own moments of the encoder
            self.optimizers["aux_optimizer"] = self._adamw([self.encoder, aux], aux.weight_decay, aux.no_decay)
            self.decays["aux_optimizer"] = [g["weight_decay"] for g in self.optimizers["aux_optimizer"].param_groups]
        self.step, self.best_step = 0, 0
        self.best_score: float | None = None
        self.curve: list[tuple[int, dict[str, float]]] = []
        self.seconds, self.tokens = 0.0, 0
        self.watched = watched(trainer, evaluators)
        self.encoding: tuple[int, Any] = (-1, None)  # (step, its Encode)
        self.trackers: Trackers | None = None
        self._start(seed, resume, trackers)

    def run(self) -> Outcome:
        """Train to the end. Raises RunError on NaN, on collapse and where the disk refuses; `best/` stays whole."""
        trainer = self.trainer
        if self.step == 0:
            self._evaluate()
        first, last = self.step * trainer.accumulate, self.steps * trainer.accumulate
        loader = self.batches.loader(first, last, trainer.workers, self.accelerator.device.type == "cuda")
        processes = self.accelerator.process_index, self.accelerator.num_processes
        aux_batches = self.aux.batches(self.step, *processes) if self.aux is not None else None
        with Progress(self.steps, self.step, self.accelerator.is_main_process) as progress:
            since = self._clocks()
            while self.step < self.steps:
                started = time.perf_counter()
                found = self._update(loader, aux_batches)
                self.step += 1
                logging_now = self.step % trainer.log_every == 0 or self.step == self.steps
                # reading a number waits for the device, so nothing is read on steps that are not logged
                metrics = {f"train/{name}": float(value) for name, value in found.items()} if logging_now else {}
                self.seconds += time.perf_counter() - started
                if logging_now:
                    now = self._clocks()
                    seconds, tokens, waited = (after - before for after, before in zip(now, since, strict=True))
                    since, rate = now, tokens / seconds
                    metrics |= {"train/step": self.step, "train/epoch": self.step / self.epoch_steps}
                    clock = {"train/tokens_per_second": rate}
                    if self.aux is not None:
                        clock["train/aux/waiting_share"] = waited / seconds
                    self._log(metrics | clock)
                    self._check(metrics)
                    progress.update(self.step, metrics["train/loss"], rate)
                if self.step % trainer.eval_every == 0 or self.step == self.steps:
                    progress.score(self._evaluate())
                if self.step % (trainer.save_every or trainer.eval_every) == 0 or self.step == self.steps:
                    self._save()
        rate = self.tokens / self.seconds if self.seconds else 0.0
        return Outcome(self.step, self.best_step, self.best_score, self.seconds, rate, self.curve)

    def _update(self, loader, aux_batches) -> dict[str, Tensor | float]:
        """One step: the auxiliary update first or second (separate optimizers) or in the same update (joint)."""
        metrics: dict[str, Tensor | float] = {}
        joint = self.aux is not None and self.aux.optimizer == "joint"
        if self.aux is not None and not joint and self.aux.order == "aux_first":
            metrics |= self._aux_update(next(aux_batches))
        views: list[Encoded] = []
        totals: dict[str, Tensor] = {}
        for _ in range(self.trainer.accumulate):
            loss, views = self._text_backward(self._to_device(next(loader)))
            for name, part in {"loss": loss.total, **loss.parts}.items():
                totals[name] = totals.get(name, 0.0) + part.detach() / self.trainer.accumulate
        if joint:
            totals |= self._aux_backward(next(aux_batches))
        lr = optim.learning_rate(
            self.trainer.schedule, self.trainer.lr, self.step, self.schedule_steps, self.trainer.warmup
        )
        modules = list(self.modules.values()) if joint else [self.encoder, self.objective]
        norm = self._apply("optimizer", modules, lr, self.trainer.clip)
        if self.aux is not None and not joint and self.aux.order == "text_first":
            metrics |= self._aux_update(next(aux_batches))
        return totals | metrics | {"lr": lr, "grad_norm": norm} | self._geometry(views)

    def _text_backward(self, batch: Batch):
        trainer = self.trainer

        def backward(total: Tensor) -> None:
            self.accelerator.backward(total / trainer.accumulate)

        with self.accelerator.autocast():
            if trainer.chunk:
                return chunked_step(self.encoder, self.objective, batch, backward, trainer.gather_scale, trainer.chunk)
            return plain_step(self.encoder, self.objective, batch, backward, trainer.gather_scale)

    def _aux_backward(self, batch: Any) -> dict[str, Tensor]:
        """Images or sound through the encoder. The loss is this process's own, as published: nothing is gathered."""
        with self.accelerator.autocast():
            x_BTD, labels_B = self.aux.tokens(batch)
            loss = self.aux.loss(self.encoder(x_BTD=x_BTD).pooled_BD, labels_B)
        self.accelerator.backward(loss.total * self.aux.weight)
        return {f"aux/{name}": part.detach() for name, part in {"loss": loss.total, **loss.parts}.items()}

    def _aux_update(self, batch: Any) -> dict[str, Tensor | float]:
        metrics: dict[str, Tensor | float] = {**self._aux_backward(batch)}
        lr = optim.learning_rate(self.aux.schedule, self.aux.lr, self.step, self.schedule_steps, 0)
        norm = self._apply("aux_optimizer", [self.encoder, self.aux], lr, self.aux.clip)
        return metrics | {"aux/lr": lr, "aux/grad_norm": norm}

    def _apply(self, name: str, modules: list[nn.Module], lr: float, clip: float | None) -> Tensor:
        """Average over processes, clip, step. Returns the gradient's norm before clipping."""
        optimizer, trainer = self.optimizers[name], self.trainer
        shrunk = [m for m in modules if m is self.objective and trainer.gather_scale == "paper"]
        # before unscaling: an overflow anywhere is then seen, and skipped, everywhere
        average_gradients(modules, shrunk)
        self.accelerator.unscale_gradients(optimizer)
        norm = optim.clip_gradients(modules, clip)
        optim.set_rates(optimizer.optimizer, self.step, lr, trainer.eps, trainer.bias_correction, self.decays[name])
        optimizer.step()
        for module in self.modules.values():
            module.zero_grad(set_to_none=True)
        return norm

    def _evaluate(self) -> dict[str, float]:
        """Score dev; export where the selecting score is strictly better than at every step before. Returns it."""
        if not self.watched:
            return {}
        scores: dict[str, float] = {}
        if self.accelerator.is_main_process:
            scores = score(self.evaluators, {key: ["dev"] for key in self.watched}, self.encode(), logging.DEBUG)
            self._log(scores | {"train/step": self.step})
            if self.trainer.select is not None:
                self._select(scores)
        self.best_step, self.best_score, scores = gather_objects((self.best_step, self.best_score, scores))[0]
        self.curve.append((self.step, scores))
        shown = self.trainer.select or next(iter(scores))
        return {shown: scores[shown]}

    def _select(self, scores: dict[str, float]) -> None:
        """Keep this step if it is better than all before. Step 0, the untrained encoder, is for comparison only."""
        if self.trainer.select not in scores:
            raise UserError(f"trainer.select={self.trainer.select} is not among {', '.join(scores)}")
        score = scores[self.trainer.select]
        if self.step > 0 and not math.isnan(score) and (self.best_score is None or score > self.best_score):
            self.best_step, self.best_score = self.step, score
            self.export(self.step, scores)

    def _log(self, metrics: dict[str, float]) -> None:
        if self.trackers is not None:
            self.trackers.log(metrics, self.step)

    def _check(self, metrics: dict[str, float]) -> None:
        """Stop, with `best/` and the last checkpoint as they are, where going on is a waste."""
        where = f"best/ holds step {self.best_step}" if self.best_step else "nothing was exported yet"
        if not math.isfinite(metrics["train/loss"]):
            raise RunError(
                f"the loss is {metrics['train/loss']} at step {self.step}; {where}. Lower trainer.lr or use "
                f"trainer.precision=fp32 (now {self.accelerator.mixed_precision})"
            )
        if self.trainer.stop_on_collapse and metrics["train/effective_rank"] < COLLAPSED_RANK:
            raise RunError(
                f"the embeddings collapsed to one direction by step {self.step} (effective rank "
                f"{metrics['train/effective_rank']:.3f}); {where}. Lower trainer.lr, or trainer.stop_on_collapse=false"
            )

    def _geometry(self, views: list[Encoded]) -> dict[str, float]:
        """Alignment of the first two views, uniformity and effective rank of the first, on steps that are logged."""
        if (self.step + 1) % self.trainer.log_every and self.step + 1 != self.steps:
            return {}
        first_BD = views[0].pooled_BD.detach().float()
        if not first_BD.isfinite().all():
            return {"effective_rank": math.nan}
        found = {"uniformity": float(uniformity(first_BD)), "effective_rank": effective_rank(first_BD)}
        if len(views) > 1 and len(views[1].pooled_BD) == len(first_BD):
            found["alignment"] = float(alignment(first_BD, views[1].pooled_BD.detach()))
        return found

    def _to_device(self, batch: Batch) -> Batch:
        self.tokens += int(batch.tokens.mask_BT.sum()) * world_size()
        device = self.accelerator.device
        parts = [batch.tokens.ids_BT, batch.tokens.mask_BT, batch.tokens.labels_BT]
        moved = [None if x is None else x.to(device, non_blocking=True) for x in parts]
        return Batch(Tokens(*moved), batch.sizes)  # type: ignore[arg-type]

    def encode(self) -> Encode:
        """The encoder as it is at this step, with the head that it is tested with; each text is encoded once."""
        if self.encoding[0] != self.step:
            head = self.objective.test_head()
            self.encoding = self.step, remembering(lambda texts: self.encoder.encode(texts, head=head))
        return self.encoding[1]

    def _adamw(self, modules: list[nn.Module], weight_decay: float, no_decay: list[str]):
        trainer = self.trainer
        optimizer = optim.adamw(modules, trainer.lr, trainer.betas, trainer.eps, weight_decay, no_decay)
        return self.accelerator.prepare(optimizer)

    def _clocks(self) -> tuple[float, int, float]:
        """Seconds of training, tokens seen, and seconds waited for the second modality's data, so far."""
        return self.seconds, self.tokens, 0.0 if self.aux is None else self.aux.seconds_waited

    def _start(self, seed: int, resume: bool, trackers: Callable[[int | None], Trackers]) -> None:
        """Fresh, or from last/: weights, moments, random states, the head, the place in the data, the best so far."""
        if not (resume and (self.folder / checkpoint.FILE).exists()):
            set_seed(seed, device_specific=True)  # dropout differs between processes; the weights are already made
            self.trackers = trackers(None) if self.accelerator.is_main_process else None
            return
        tensors, about = checkpoint.read(self.folder)
        changed = sorted(key for key in self.identity if about["identity"].get(key) != self.identity[key])
        if changed:
            before = about["identity"]
            was = ", ".join(f"{key}={before.get(key)} (now {self.identity[key]})" for key in changed)
            raise UserError(f"{self.folder} was run with {was}: resume with the same settings, or use a new folder")
        checkpoint.restore(tensors, self.modules, self._plain_optimizers(), self.folder)
        self.step, self.best_step, self.best_score = about["step"], about["best_step"], about["best_score"]
        self.curve = [(step, scores) for step, scores in about["curve"]]
        self.seconds, self.tokens = about["seconds"], about["tokens"]
        if self.accelerator.scaler is not None and about.get("scaler"):  # fp16
            self.accelerator.scaler.load_state_dict(about["scaler"])
        checkpoint.set_random_state(tensors, about, self.accelerator.process_index)
        self.trackers = trackers(self.step) if self.accelerator.is_main_process else None
        log.info("resuming %s at step %d of %d", self.folder, self.step, self.steps)

    def _save(self) -> None:
        states = gather_objects(checkpoint.random_state())
        if self.accelerator.is_main_process:
            about = {
                "step": self.step, "best_step": self.best_step, "best_score": self.best_score, "curve": self.curve,
                "seconds": self.seconds, "tokens": self.tokens, "identity": self.identity,
                "scaler": None if self.accelerator.scaler is None else self.accelerator.scaler.state_dict(),
            }  # fmt: skip
            checkpoint.save(self.folder, self.modules, self._plain_optimizers(), states, about)

    def _plain_optimizers(self) -> dict[str, torch.optim.Optimizer]:
        return {name: optimizer.optimizer for name, optimizer in self.optimizers.items()}
