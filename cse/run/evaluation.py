"""One evaluation: score what checkpoint= or model= names, into results.json and scores.csv, .md, .tex.

Imports torch, so import it only when there is work: --help answers without.
"""

import logging
from pathlib import Path

from omegaconf import DictConfig

from cse.config.compose import resolved
from cse.errors import UserError
from cse.eval.items import keep_cosines, keep_items
from cse.eval.score import MemoizedEncode, nature, score
from cse.record import scores
from cse.record.heartbeat import Heartbeat
from cse.record.runs import read_run, weights_sum
from cse.run import build
from cse.run.card import refresh
from cse.run.compatible import check_scored_widths
from cse.run.folder import RunFolder, check_unused
from cse.run.record import Record
from cse.run.subject import Subject, load, sentences, trained_seed, whitened
from cse.types import Evaluator

log = logging.getLogger("cse")


def evaluate(cfg: DictConfig, folder: RunFolder) -> None:
    """Build everything, with one error for all that is missing; then make the folder, and score into it."""
    with Heartbeat(folder.path) as heartbeat:
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
        check_unused(cfg, "evaluate", folder.path)  # again: another run may have used it since
        folder.make()
        score_into(folder.path, cfg, subject, {name: evaluators[name] for name in splits}, splits)


def score_into(
    folder: Path, cfg: DictConfig, subject: Subject, evaluators: dict[str, Evaluator], splits: dict[str, list[str]]
) -> None:
    """Score, and write results.json, scores.csv, scores.md and scores.tex."""
    trackers = [build.make(node) for node in cfg.tracker.values()]
    with Record(folder, resolved(cfg), kind="eval", device=subject.device, trackers=trackers) as record:
        log.info(f"encoder    {subject.described}\ndevice     {subject.device}, {cfg.dtype}\nfolder     {folder}")
        encode = MemoizedEncode(subject.encode)
        score(evaluators, splits, encode, into=record.metrics)
        keep_cosines(folder, "after", evaluators, encode)
        sources = {name: scores.source(one.provenance(), cfg.dtype) for name, one in evaluators.items()}
        record.conclude(
            "done",
            data=sources,
            items=keep_items(folder, evaluators, splits),
            encoder=subject.described,
            weights_sum=weights_sum(cfg.checkpoint),
            seed=trained_seed(Path(cfg.checkpoint).expanduser()) if cfg.checkpoint else None,
            dtype=cfg.dtype,
        )
        rows = scores.rows_of(record.metrics, sources, subject.described, record.results["versions"])
        notes = scores.footnotes(rows)
        problems = [line for name, source in sources.items() for line in scores.problems_of(name, source)]
        headline = [row for row in rows if nature(row["score"]).headline]
        short = [
            row | {"value": f"{record.metrics[row['score']]:.{nature(row['score']).decimals}f}"} for row in headline
        ]
        scores.write(folder, rows, short, [*notes, *problems])
        record.trackers.log(record.metrics, 0)
        record.trackers.table("scores", list(rows[0]), [list(row.values()) for row in rows])
        notes += [*problems[:1], f"all {len(rows)} scores and {len(problems)} problems: {folder / 'scores.md'}"]
        log.info("\n%s", scores.to_table(headline, notes))
        record.trackers.finish(0, record.metrics)
    if (best := shared_folder(cfg)) is not None:
        refresh(best, record.results)


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
