"""The training loop: score the untrained encoder, train, score every N steps, export the best checkpoint. A stopped run
can be resumed from last/."""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import Tensor, nn

from cse.device import data_workers, is_gpu
from cse.errors import Interrupted, UserError
from cse.eval.items import keep_cosines
from cse.eval.scoring import MemoizedEncode, score
from cse.files import Json
from cse.model.heads import MLPHead
from cse.score import Scores, values
from cse.tensors import Precision
from cse.training import checkpoint
from cse.training.distributed import Agreement, follow_encoding, gather_objects, lead_encoding, world_size
from cse.training.momentum import MomentumEncoder
from cse.training.progress import steps_shown
from cse.training.settings import Parts, State, Trainer, in_steps, no_such_score, on_other_processes, watched
from cse.training.signals import Signals
from cse.training.update import MeanLosses, Update, check_settings, geometry
from cse.training.watch import Watch
from cse.types import Batch

log = logging.getLogger(__name__)

Numbers = dict[str, float]

GPU_SAVE_SECONDS = 60.0
"""The value of trainer.save_seconds=auto on a GPU, without trainer.save_every. The 125 steps between two saves can take
only three seconds there. A save waits for the end of the previous save, and BERT-base's last/ has 1.31 GB."""


class Wishes(NamedTuple):
    """The message that each process sends to all processes in each step.

    signal: the number of the signal that stops the run; 0: no signal. age: the age of last/ in milliseconds, from the
    process that writes last/; other processes send 0.
    """

    signal: int
    age: int


class Callback(Protocol):
    """A function of a step and its numbers, called on the main process; see cse.lab.tracking.trackers.Tracker.log."""

    def __call__(self, step: int, metrics: Numbers, lower_is_better: Collection[str] = ()) -> None: ...


OnBest = Callable[[int, Scores], str | None]
"""A function of a step and its scores, called only on the main process. It exports the encoder, and returns the
checksum of the exported weights, or None."""


def save_seconds(trainer: Trainer, device: torch.device) -> float:
    """Return the age, in seconds, that last/ must have for a save at a multiple of save_every."""
    if trainer.save_seconds != "auto":
        return trainer.save_seconds
    return GPU_SAVE_SECONDS if is_gpu(device) and trainer.save_every is None else 0.0


class Training:
    """A run's state and the training loop. Call `start` once, then `run`. The constructor does not read or write files.

    folder: the run's folder. identity: the settings that a resume must not change
    (cse.lab.settings.roles.fixed_settings).
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
        self.epoch_steps = batches.steps_per_epoch / trainer.accumulate
        if self.epoch_steps < 1:
            few = f"an epoch has only {batches.steps_per_epoch} batches, too few for one update: give a lower number"
            raise UserError(f"trainer.accumulate={trainer.accumulate}: {few}")
        self.planned = max(1, round(trainer.epochs * self.epoch_steps))
        self.steps = min(trainer.max_steps or self.planned, self.planned)
        schedule = trainer.schedule_steps or self.planned
        beyond, masking = self.steps - schedule, parts.objective.masking
        check_settings(trainer, parts.encoder, accelerator.mixed_precision, beyond=beyond, masking=masking)
        self.update = Update(parts, self.modules, accelerator, steps=schedule, seed=batches.seed)
        self.eval_every = in_steps(trainer.eval_every, schedule)
        self.watched = watched(trainer, parts.evaluators)
        self.dev_data = {name: parts.evaluators[name].source().get("files", {}) for name in self.watched}
        self.inputs = parts.inputs()
        self.state, self.losses = State(), MeanLosses(trainer.log_every)
        self.encoding: tuple[int, MemoizedEncode] | None = None  # (step, the encode of that step)
        self.saver = checkpoint.Saver(folder)
        self.save_seconds = save_seconds(trainer, accelerator.device)
        self.watch = Watch(trainer, scaled=accelerator.scaler is not None)

    def start(self, seed: int, resume: bool) -> None:
        """Start a new run, or restore last/: weights, moments, random states, the place in the data, the best step.

        Raises UserError for a checkpoint that is damaged or from another experiment, and if the run's processes have
        read different data. After this error, nothing is written.
        """
        if any(inputs != self.inputs for inputs in gather_objects(self.inputs)):
            raise UserError("the processes of this run have read different data, because files changed: start again")
        if not (resume and (self.folder / checkpoint.FILE).exists()):
            set_seed(seed, device_specific=True)  # dropout differs between processes; the weights are already made
            return
        with checkpoint.explain_damage(self.folder):
            tensors, about = checkpoint.read_last(self.folder)
            self.state = state = checkpoint.read_state(about)
            if not state.best_step <= state.step <= self.planned:
                raise ValueError(f"step {state.step} of {self.planned}, the best {state.best_step}")
            if tensors:
                self._restore(tensors, about, seed)
            elif not self.is_over:  # a finished run drops its tensors (trainer.keep_last)
                raise UserError(
                    f"{self.folder} is done and kept no weights to continue from: more steps need a run that was "
                    f"started with trainer.keep_last=true, or a new run from model.name={self.folder / 'best'}"
                )
        log.info("resuming %s at step %d of %d", self.folder, self.state.step, self.steps)

    def _restore(self, tensors: dict[str, Tensor], about: Json, seed: int) -> None:
        """Load the content of last/. seed: the seed of a process without a random state in last/."""
        checkpoint.restore(tensors, self.modules, self.update.plain_optimizers())
        self.losses.restore(self.state)
        if self.accelerator.scaler is not None and about["scaler"]:  # fp16
            self.accelerator.scaler.load_state_dict(about["scaler"])
        rank, saved = self.accelerator.process_index, len(about["python_random"])
        if rank < saved:
            checkpoint.set_process_random_state(tensors, about, rank)
        else:  # fewer processes saved the run: this process draws its own numbers from now on
            set_seed(seed + self.state.step, device_specific=True)
        if saved != world_size():
            log.info(
                "processes  %d instead of %d: the global batch keeps its size, but %s, so the scores may differ",
                *(world_size(), saved, on_other_processes(self.trainer, self.parts)),
            )

    def run(self, on_best: OnBest, log: Callback, signals: Signals) -> State:
        """Train to the end, and return the state. on_best: called if a step after step 0 has the best score so far.

        Raises RunError for NaN, for a collapse, and if the disk refuses a file. Earlier exports and checkpoints stay
        complete. After a signal, saves last/ and raises Interrupted.
        """
        trainer, state = self.trainer, self.state
        batches, aux_batches = self.batches(), self.aux_batches()
        wishes = Agreement(lambda: self._wishes(signals))
        with signals.waiting(True), self.saver, steps_shown(self.steps, state.step) as show:
            if self.is_due(state.step) and state.step not in dict(state.curve):  # a resumed step is scored already
                show(state.step, self._evaluate(on_best, log, signals))
            since = self._clocks()
            while not self.is_over:
                started = time.perf_counter()
                logged = (state.step + 1) % trainer.log_every == 0 or state.step + 1 == self.steps
                wishes.ask()
                values, views = self.update(state.step, batches, aux_batches)
                to_log = {**values, **self.losses.add(state.step + 1, values), **(geometry(views) if logged else {})}
                # reading a number waits for the device, so nothing is read on steps that are not logged
                metrics = {f"train/{name}": float(value) for name, value in to_log.items() if logged}
                state.step += 1
                self.watch.add(state.step, values)
                state.seconds += time.perf_counter() - started
                if logged:
                    rates, since = self._rates(since), self._clocks()
                    metrics |= {"train/step": state.step, "train/epoch": state.step / self.epoch_steps} | rates
                    if self.accelerator.is_main_process:
                        log(state.step, metrics)
                signal, age = wishes.answer()
                saves = self._is_saved(age / 1000)
                if logged or signal or saves or self.is_due(state.step):  # before weights are scored or saved
                    self.watch.check(metrics, state.best_step)
                if signal:
                    self._stop(signal, signals)
                selecting = self._evaluate(on_best, log, signals) if self.is_due(state.step) else {}
                show(state.step, metrics | selecting)
                if saves or self.is_over:
                    self._save()
        return state

    @property
    def is_over(self) -> bool:
        """Whether the last step is done, or the run stops early."""
        return self.state.step >= self.steps or self.watch.is_over(self.state)

    def encode(self) -> MemoizedEncode:
        """Return `encode` of this step's encoder, with the test head if it is trained. Each text is encoded once."""
        if self.encoding is None or self.encoding[0] != self.state.step:
            head, encode = self.parts.objective.test_head(), self.parts.encoder.encode
            if self.state.step:
                encode = partial(encode, head=head, precision=self.eval_precision)
            elif isinstance(head, MLPHead) and head.is_trained:  # an untrained head is random
                encode = partial(encode, head=head)  # step 0: in fp32, as best/ is scored
            self.encoding = self.state.step, MemoizedEncode(encode, full=lambda: self.parts.encoder.full_n)
        return self.encoding[1]

    @property
    def eval_precision(self) -> Precision:
        """The precision of dev scores during training. eval_precision=auto: bf16 if a CPU trains in bf16, else fp32."""
        asked, accelerator = self.trainer.eval_precision, self.accelerator
        if asked != "auto":
            return asked
        return "bf16" if accelerator.mixed_precision == "bf16" and not is_gpu(accelerator.device) else "fp32"

    def known(self, step: int) -> Mapping[str, np.ndarray]:
        """Return {text: vector} of the texts encoded at this step, as best/ would encode them.

        Return {} if the encoder has changed since, or if dev scores are not in fp32.
        """
        if self.encoding is None or self.encoding[0] != step or self.eval_precision != "fp32":
            return {}
        return self.encoding[1].rows

    def batches(self) -> Iterator[Batch]:
        """Yield the batches from this step on, in host memory. Add the number of their real tokens to the state."""
        first, last = self.state.step * self.trainer.accumulate, self.steps * self.trainer.accumulate
        on, workers = self.accelerator.device, self.trainer.workers
        workers = data_workers(on) if workers == "auto" else workers
        for batch in self.parts.batches.loader(first, last, workers, pin=is_gpu(on)):
            self.state.tokens += int(batch.tokens.mask_BT.sum()) * world_size()
            yield batch

    def aux_batches(self) -> Iterator[Any]:
        """Return this process's part of the second modality's batches from this step on."""
        if self.parts.aux is None:
            return repeat(None)
        return self.parts.aux.batches(self.state.step, self.accelerator.process_index, self.accelerator.num_processes)

    def is_due(self, step: int) -> bool:
        """Return whether a step is scored: step 0 (the untrained encoder), every eval_every steps, the last step."""
        return step % self.eval_every == 0 or step == self.steps

    def _wishes(self, signals: Signals) -> Wishes:
        """Return the message of this process. Only the main process sends an age, because only it writes last/."""
        age = self.saver.age() if self.accelerator.is_main_process else 0.0
        return Wishes(int(signals.requested or 0), int(1000 * age))

    def _is_saved(self, age: float) -> bool:
        """Return whether last/ is saved at this step. age: the seconds since the last save."""
        every, minutes = self.trainer.save_every or self.eval_every, self.trainer.save_minutes
        if minutes is not None and age > 60 * minutes:
            return True
        return self.state.step % every == 0 and age >= self.save_seconds

    def _stop(self, number: int, signals: Signals) -> NoReturn:
        """Save last/, then raise Interrupted on all processes at once. A process that exits early could end the
        others."""
        signals.note(number)
        self._save()
        self.saver.wait()
        gather_objects(None)
        raise signals.interruption(f"step {self.state.step} of {self.steps} is saved; ")

    def _evaluate(self, on_best: OnBest, log: Callback, signals: Signals) -> Numbers:
        """Score dev, and call on_best if the score of trainer.select is strictly the best so far. Return {name: this
        score}, or {name: the first score} if trainer.select is null."""
        if not self.watched:
            return {}
        scores: Scores = {}
        stopped = 0
        if self.accelerator.is_main_process:
            try:  # a signal ends scoring at once, because scoring changes no weights
                with lead_encoding(self.encode(), partial(signals.waiting, True)) as encode, signals.waiting(False):
                    watched = {key: self.parts.evaluators[key] for key in self.watched}
                    scores = score(watched, MemoizedEncode(encode), "dev", level=logging.DEBUG)
            except Interrupted as error:
                stopped = error.code - 128
            if not stopped:
                lower = [name for name, one in scores.items() if one.lower_is_better]
                log(self.state.step, values(scores.values()) | {"train/step": self.state.step}, lower)
                if self.state.step == 0:
                    keep_cosines(self.folder, "before", scores.values())
                if self.trainer.select is not None and self._is_best(scores):
                    self.state.best_sum = on_best(self.state.step, scores)
        else:
            follow_encoding(self.encode())
        state = self.state
        outcome = state.best_step, state.best_score, values(scores.values()), stopped
        state.best_step, state.best_score, found, stopped = gather_objects(outcome)[0]
        if stopped:
            self._stop(stopped, signals)
        state.curve.append((state.step, found))
        self.watch.check_scores(state)
        shown = self.trainer.select or next(iter(found))
        return {shown: found[shown]}

    def _is_best(self, scores: Scores) -> bool:
        """Return whether this step is the best so far. If so, keep it in the state. Step 0 is never the best."""
        if self.trainer.select not in scores:
            raise no_such_score(str(self.trainer.select), scores)
        state, score = self.state, scores[self.trainer.select]
        best = None if state.best_score is None else replace(score, value=state.best_score)
        if state.step == 0 or not score.better_than(best):
            return False
        state.best_step, state.best_score = state.step, score.value
        return True

    def _clocks(self) -> tuple[int, float, int, float]:
        """Return steps, seconds and tokens of training, and seconds of waiting for the second modality's data."""
        waited = self.parts.aux.seconds_waited if self.parts.aux else 0.0
        return self.state.step, self.state.seconds, self.state.tokens, waited

    def _rates(self, since: tuple[int, float, int, float]) -> Numbers:
        """Return tokens per second, seconds per step and, with a second modality, the share of time spent waiting."""
        steps, seconds, tokens, waited = (after - before for after, before in zip(self._clocks(), since, strict=True))
        rates = {"train/tokens_per_second": tokens / seconds, "train/seconds_per_step": seconds / steps}
        return rates if self.parts.aux is None else rates | {"train/aux/waiting_share": waited / seconds}

    def _save(self) -> None:
        """Start writing last/, with every process's random state."""
        states = gather_objects(checkpoint.process_random_state())
        if not self.accelerator.is_main_process:
            return
        scaler = self.accelerator.scaler
        about = {
            **asdict(self.state),
            **self.losses.saved(),
            "identity": self.identity,
            "dev_data": self.dev_data,
            "inputs": self.inputs,
            "scaler": None if scaler is None else scaler.state_dict(),
        }
        self.saver.save(self.modules, self.update.plain_optimizers(), states, about)
