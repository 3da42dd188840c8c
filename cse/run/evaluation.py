"""One evaluation: score what checkpoint= or model= names, into results.json and scores.csv, .md, .tex.

Imports torch, so import it only when there is work: --help answers without.
"""

import logging
from pathlib import Path

from omegaconf import DictConfig

from cse.config.compose import resolved
from cse.errors import UserError
from cse.eval.items import keep_cosines, keep_items
from cse.eval.score import MemoizedEncode, score
from cse.record import scores
from cse.record.heartbeat import Heartbeat
from cse.record.runs import read_run, weights_sum
from cse.run import build
from cse.run.card import refresh
from cse.run.compatible import check_scored_widths
from cse.run.job import Job
from cse.run.record import Record
from cse.run.subject import Subject, load, sentences, trained_seed, whitened
from cse.score import values
from cse.types import Evaluator

log = logging.getLogger("cse")


def evaluate(job: Job) -> None:
    """Build everything, with one error for all that is missing; then make the folder, and score into it."""
    cfg = job.cfg
    with Heartbeat(job.folder) as heartbeat:
        attempt = build.Attempts()
        subject = attempt(lambda: load(cfg))
        evaluators = attempt(lambda: build.build_evaluators(cfg.eval, tuple(cfg.splits))) or {}
        sample = attempt(lambda: sentences(cfg.whitening.fit)) if cfg.whitening.kind else None
        attempt.check()
        splits = chosen_splits(cfg, evaluators)
        if sample is not None:
            subject = whitened(subject, cfg.whitening, sample)
        check_scored_widths(cfg.eval, subject.dim)
        heartbeat.take()
        job.check_unused()  # again: another run may have used it since
        job.make_folder()
        score_into(job.folder, cfg, subject, {name: evaluators[name] for name in splits}, splits)


def score_into(
    folder: Path, cfg: DictConfig, subject: Subject, evaluators: dict[str, Evaluator], splits: dict[str, list[str]]
) -> None:
    """Score, and write results.json, scores.csv, scores.md and scores.tex."""
    trackers = [build.make(node) for node in cfg.tracker.values()]
    with Record(folder, resolved(cfg), kind="eval", device=subject.device, trackers=trackers) as record:
        log.info(f"encoder    {subject.described}\ndevice     {subject.device}, {cfg.dtype}\nfolder     {folder}")
        encode = MemoizedEncode(subject.encode)
        found = list(score(evaluators, splits, encode, into=record.scores).values())
        keep_cosines(folder, "after", found)
        sources = {name: one.source() for name, one in evaluators.items()}
        record.conclude(
            "done",
            data=sources,
            items=keep_items(folder, found),
            encoder=subject.described,
            weights_sum=weights_sum(cfg.checkpoint),
            seed=trained_seed(Path(cfg.checkpoint).expanduser()) if cfg.checkpoint else None,
            dtype=cfg.dtype,
        )
        frame = scores.to_frame(found, sources, cfg.dtype, subject.described, record.results["versions"])
        notes, problems = scores.footnotes(frame), scores.problems_of(sources)
        scores.write(folder, found, frame, [*notes, *problems], cfg.label or "")
        numbers = values(found)
        record.trackers.log(numbers, 0)
        record.trackers.table("scores", list(frame.columns), frame.to_numpy().tolist())
        notes += [*problems[:1], f"all {len(found)} scores and {len(problems)} problems: {folder / 'scores.md'}"]
        log.info("\n%s", scores.to_table([one for one in found if one.headline], notes))
        record.trackers.finish(0, numbers)
    if (best := shared_folder(cfg)) is not None:
        refresh(best, record.results, found)


def shared_folder(cfg: DictConfig) -> Path | None:
    """best/ of a finished run that was scored as it is, and whose card gets the scores; None for anything else."""
    is_changed = (cfg.pooling, cfg.max_length, cfg.whitening.kind) != (None, None, None) or cfg.dtype != "fp32"
    if cfg.checkpoint is None or is_changed:
        return None
    place = Path(cfg.checkpoint).expanduser()
    best = place / "best" if (place / "best" / "README.md").is_file() else place
    is_shared = best.name == "best" and (best / "README.md").is_file() and read_run(best.parent).status == "done"
    return best if is_shared else None


def chosen_splits(cfg: DictConfig, evaluators: dict[str, Evaluator]) -> dict[str, list[str]]:
    """The requested splits that each evaluator has. Raises UserError if no evaluator has any of them."""
    asked = {name: [split for split in part.splits if split in cfg.splits] for name, part in evaluators.items()}
    if not any(asked.values()):
        raise UserError(f"splits=[{','.join(cfg.splits)}]: none of them is a split of {', '.join(evaluators)}")
    for name in (name for name, splits in asked.items() if not splits):
        log.warning("%s has only the split %s, which splits= leaves out", name, ", ".join(evaluators[name].splits))
    return {name: splits for name, splits in asked.items() if splits}
