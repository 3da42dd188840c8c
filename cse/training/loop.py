"""The loop: score the untrained encoder, train, score every N steps, keep the best, be resumable at any moment."""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn

from cse.device import data_workers, is_gpu
from cse.errors import Interrupted, UserError
from cse.eval.items import keep_cosines
from cse.eval.score import MemoizedEncode, score
from cse.score import Scores, values
from cse.training import checkpoint
from cse.training.distributed import Agreement, follow_encoding, gather_objects, lead_encoding, world_size
from cse.training.momentum import MomentumEncoder
from cse.training.progress import steps_shown
from cse.training.settings import Outcome, Parts, in_steps, no_such_score, watched
from cse.training.signals import Signals
from cse.training.update import Metrics, Update, check_settings, geometry
from cse.training.watch import Watch
from cse.types import Batch

log = logging.getLogger(__name__)

Numbers = dict[str, float]
SHOWN = {
    "train/loss": "loss",
    "train/aux/loss": "aux loss",
    "train/tokens_per_second": "tokens/s",
    "train/seconds_per_step": "s/step",
}
"""What the progress shows of a logged step, by the name of its number."""


class Callback(Protocol):
    """Called with a step and its numbers, on the main process only; see cse.tracking.trackers.Tracker.log."""

    def __call__(self, step: int, metrics: Numbers, lower_is_better: Collection[str] = ()) -> None: ...


OnBest = Callable[[int, Scores], str | None]
"""Called with a step and its scores, on the main process only. Returns the checksum of what it exported."""


class Training:
    """A run's state and its loop. Call `start` once, then `run`; the constructor neither reads nor writes a file.

    folder: the run's. identity: the settings that a resumed run must share (cse.config.keys.identity).
    """

    def __init__(self, parts: Parts, accelerator: Accelerator, folder: Path, identity: dict[str, object]):
        trainer, batches = parts.trainer, parts.batches
        self.parts, self.trainer, self.accelerator = parts, trainer, accelerator
        self.folder, self.identity = folder, identity
        self.modules: dict[str, nn.Module] = {"encoder": parts.encoder, "objective": parts.objective}
        if parts.aux is not None:
            self.modules["aux"] = parts.aux
        if parts.objective.momentum is not None:
            self.modules["momentum"] = MomentumEncoder(parts.encoder, parts.objective.momentum)
        for module in self.modules.values():
            module.to(accelerator.device)
        self.epoch_steps = batches.steps_per_epoch // trainer.accumulate
        if self.epoch_steps == 0:
            raise UserError(f"trainer.accumulate={trainer.accumulate}: an epoch has {batches.steps_per_epoch} batches")
        self.planned = max(1, round(trainer.epochs * self.epoch_steps))
        self.steps = min(trainer.max_steps or self.planned, self.planned)
        check_settings(trainer, parts.encoder, accelerator.mixed_precision)
        schedule = trainer.schedule_steps or self.planned
        self.update = Update(parts, self.modules, accelerator, steps=schedule, seed=batches.seed)
        self.eval_every = in_steps(trainer.eval_every, schedule)
        self.watched = watched(trainer, parts.evaluators)
        self.dev_data = {name: parts.evaluators[name].source().get("files", {}) for name in self.watched}
        self.inputs = parts.inputs()
        self.step, self.best_step = 0, 0
        self.best_score: float | None = None
        self.lower_is_better = False  # of trainer.select, known from its first score on
        self.best_sum: str | None = None  # of the export, where it is known
        self.curve: list[tuple[int, Numbers]] = []
        self.seconds, self.tokens = 0.0, 0
        self.encoding: tuple[int, MemoizedEncode] | None = None  # of the step it was made at
        self.saver = checkpoint.Saver(folder)
        self.watch = Watch(trainer, warmup=self.update.warmup, scaled=accelerator.scaler is not None)

    def start(self, seed: int, resume: bool) -> None:
        """Start fresh, or from last/: weights, moments, random states, the place in the data, the best so far.

        Raises UserError, with nothing written, for a checkpoint that is damaged or another experiment's, and where the
        run's processes have read different data.
        """
        if any(inputs != self.inputs for inputs in gather_objects(self.inputs)):
            raise UserError("the processes of this run have read different data: it changed while they started")
        if not (resume and (self.folder / checkpoint.FILE).exists()):
            set_seed(seed, device_specific=True)  # dropout differs between processes; the weights are already made
            return
        tensors, about = checkpoint.read(self.folder)
        checkpoint.check_about(about, self.folder)
        checkpoint.check_same(self.folder, about, self.identity, self.inputs, self.dev_data)
        with checkpoint.explain_damage(self.folder):
            if not about["best_step"] <= about["step"] <= self.planned:
                raise ValueError(f"step {about['step']} of {self.planned}, the best {about['best_step']}")
        checkpoint.restore(tensors, self.modules, self.update.plain_optimizers(), self.folder)
        self.step, self.best_step, self.best_score = about["step"], about["best_step"], about["best_score"]
        self.best_sum, self.lower_is_better = about.get("best_sum"), about["lower_is_better"]
        self.curve = [(step, scores) for step, scores in about["curve"]]
        self.seconds, self.tokens = about["seconds"], about["tokens"]
        self.watch.losses = about["watch"]["losses"]
        with checkpoint.explain_damage(self.folder):
            if self.accelerator.scaler is not None and about["scaler"]:  # fp16
                self.accelerator.scaler.load_state_dict(about["scaler"])
            rank, saved = self.accelerator.process_index, len(about["python_random"])
            if rank < saved:
                checkpoint.set_random_state(tensors, about, rank)
            else:  # fewer processes saved the run: this one draws its own numbers from here on
                set_seed(seed + self.step, device_specific=True)
        log.info("resuming %s at step %d of %d", self.folder, self.step, self.steps)

    def run(self, on_best: OnBest, log: Callback, signals: Signals) -> Outcome:
        """Train to the end. on_best: exports the encoder, called at each step that is better than all before.

        Raises RunError on NaN, on collapse and where the disk refuses; what was exported and saved stays whole. Raises
        Interrupted after a signal, once last/ is saved.
        """
        trainer = self.trainer
        batches, aux_batches = self.batches(), self.aux_batches()
        wishes = Agreement(lambda: (int(signals.requested or 0), self._is_late()))  # to stop, and to save
        with signals.waiting(True), self.saver, steps_shown(self.steps, self.step) as show:
            if self._is_due() and self.step not in dict(self.curve):  # a resumed run may have been stopped right here
                scores = self._evaluate(on_best, log, signals)
                if scores:
                    show(self.step, scores)
            since = self._clocks()
            while self.step < self.steps and not self.watch.is_over(self.curve, self.lower_is_better):
                started = time.perf_counter()
                logged = (self.step + 1) % trainer.log_every == 0 or self.step + 1 == self.steps
                wishes.ask()
                values, views = self.update(self.step, batches, aux_batches)
                # reading a number waits for the device, so nothing is read on steps that are not logged
                to_log: Metrics = {**values, **geometry(views)} if logged else {}
                metrics = {f"train/{name}": float(value) for name, value in to_log.items()}
                self.step += 1
                self.watch.add(self.step, values)
                self.seconds += time.perf_counter() - started
                shown: Numbers = {}
                if logged:
                    rates, since = self._rates(since), self._clocks()
                    metrics |= {"train/step": self.step, "train/epoch": self.step / self.epoch_steps} | rates
                    if self.accelerator.is_main_process:
                        log(self.step, metrics)
                    shown = {name: metrics[key] for key, name in SHOWN.items() if key in metrics}
                stops, late = wishes.answer()
                saves = late or self.step % (trainer.save_every or self.eval_every) == 0 or self.step == self.steps
                if logged or stops or saves or self._is_due():  # nothing broken is scored or saved
                    self.watch.check(metrics, self.best_step)
                if stops:
                    self._stop(stops, signals)
                if self._is_due():
                    shown |= self._evaluate(on_best, log, signals)
                if shown:
                    show(self.step, shown)
                if saves or self.watch.is_over(self.curve, self.lower_is_better):
                    self._save()
        return self.outcome()

    def outcome(self) -> Outcome:
        """The run's results up to this step."""
        rate = self.tokens / self.seconds if self.seconds else 0.0
        return Outcome(self.step, self.best_step, self.best_score, self.seconds, rate, self.curve)

    def encode(self) -> MemoizedEncode:
        """This step's encoder as it is scored, with its test head; each text is encoded once."""
        if self.encoding is None or self.encoding[0] != self.step:
            head, precision = self.parts.objective.test_head(), self.trainer.eval_precision
            encode = partial(self.parts.encoder.encode, head=head, precision=precision)
            self.encoding = self.step, MemoizedEncode(encode)
        return self.encoding[1]

    def known(self, step: int) -> Mapping[str, np.ndarray]:
        """The texts encoded at that step and their vectors, as best/ gives them; {} once the encoder has changed."""
        if self.encoding is None or self.encoding[0] != step or self.trainer.eval_precision != "fp32":
            return {}
        return self.encoding[1].rows

    def batches(self) -> Iterator[Batch]:
        """The batches from this step on, in host memory; counts their real tokens."""
        first, last = self.step * self.trainer.accumulate, self.steps * self.trainer.accumulate
        on, workers = self.accelerator.device, self.trainer.workers
        workers = data_workers(on) if workers == "auto" else workers
        for batch in self.parts.batches.loader(first, last, workers, pin=is_gpu(on)):
            self.tokens += int(batch.tokens.mask_BT.sum()) * world_size()
            yield batch

    def aux_batches(self) -> Iterator[Any]:
        """This process's part of the second modality's batches from this step on."""
        if self.parts.aux is None:
            return repeat(None)
        return self.parts.aux.batches(self.step, self.accelerator.process_index, self.accelerator.num_processes)

    def _is_due(self) -> bool:
        """Whether this step is scored: step 0 (the untrained encoder), every eval_every steps, and the last."""
        return self.step % self.eval_every == 0 or self.step == self.steps

    def _is_late(self) -> bool:
        """Whether last/ is older than trainer.save_minutes."""
        minutes = self.trainer.save_minutes
        return minutes is not None and time.monotonic() - self.saver.saved > 60 * minutes

    def _stop(self, number: int, signals: Signals) -> NoReturn:
        """Save last/, then raise Interrupted on all processes at once: one that exits early could end the others."""
        signals.note(number)
        self._save()
        self.saver.wait()
        gather_objects(None)
        raise signals.interruption(f"step {self.step} of {self.steps} is saved; ")

    def _evaluate(self, on_best: OnBest, log: Callback, signals: Signals) -> Numbers:
        """Score dev, and call on_best if the selecting score is strictly the best so far. Returns that score."""
        if not self.watched:
            return {}
        scores: Scores = {}
        stopped = 0
        if self.accelerator.is_main_process:
            try:  # a signal ends scoring at once, as that changes no weights
                with lead_encoding(self.encode(), partial(signals.waiting, True)) as encode, signals.waiting(False):
                    chosen = {key: ["dev"] for key in self.watched}
                    scores = score(self.parts.evaluators, chosen, MemoizedEncode(encode), logging.DEBUG)
            except Interrupted as error:
                stopped = error.code - 128
            if not stopped:
                lower = [name for name, one in scores.items() if one.lower_is_better]
                log(self.step, values(scores.values()) | {"train/step": self.step}, lower)
                if self.step == 0:
                    keep_cosines(self.folder, "before", scores.values())
                if self.trainer.select is not None and self._is_best(scores):
                    self.best_sum = on_best(self.step, scores)
        else:
            follow_encoding(self.encode())
        outcome = self.best_step, self.best_score, self.lower_is_better, values(scores.values()), stopped
        self.best_step, self.best_score, self.lower_is_better, found, stopped = gather_objects(outcome)[0]
        if stopped:
            self._stop(stopped, signals)
        self.curve.append((self.step, found))
        self.watch.check_scores(self.curve, self.lower_is_better)
        shown = self.trainer.select or next(iter(found))
        return {shown: found[shown]}

    def _is_best(self, scores: Scores) -> bool:
        """Whether this step is the best so far, which is then noted. Step 0, the untrained encoder, does not count."""
        if self.trainer.select not in scores:
            raise no_such_score(str(self.trainer.select), scores)
        score = scores[self.trainer.select]
        self.lower_is_better = score.lower_is_better
        best = None if self.best_score is None else replace(score, value=self.best_score)
        if self.step == 0 or not score.better_than(best):
            return False
        self.best_step, self.best_score = self.step, score.value
        return True

    def _clocks(self) -> tuple[int, float, int, float]:
        """Steps, seconds of training, tokens seen, and seconds of waiting for the second modality's data, so far."""
        waited = 0.0 if self.parts.aux is None else self.parts.aux.seconds_waited
        return self.step, self.seconds, self.tokens, waited

    def _rates(self, since: tuple[int, float, int, float]) -> Numbers:
        """Tokens a second, seconds a step and, with a second modality, the share of time spent waiting for it."""
        steps, seconds, tokens, waited = (after - before for after, before in zip(self._clocks(), since, strict=True))
        rates = {"train/tokens_per_second": tokens / seconds, "train/seconds_per_step": seconds / steps}
        return rates if self.parts.aux is None else rates | {"train/aux/waiting_share": waited / seconds}

    def _save(self) -> None:
        """Start writing last/, with every process's random state."""
        states = gather_objects(checkpoint.random_state())
        if not self.accelerator.is_main_process:
            return
        scaler = self.accelerator.scaler
        about = {
            "step": self.step,
            "best_step": self.best_step,
            "best_score": self.best_score,
            "lower_is_better": self.lower_is_better,
            "best_sum": self.best_sum,
            "curve": self.curve,
            "seconds": self.seconds,
            "tokens": self.tokens,
            "identity": self.identity,
            "dev_data": self.dev_data,
            "inputs": self.inputs,
            "watch": {"losses": self.watch.losses},
            "scaler": None if scaler is None else scaler.state_dict(),
        }
        self.saver.save(self.modules, self.update.plain_optimizers(), states, about)
