"""One evaluation: what checkpoint= or model= names is scored, into results.json and scores.csv, .md, .tex."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from cse.config.compose import resolved
from cse.errors import UserError
from cse.run import build
from cse.run.compatible import check_scored_widths
from cse.run.folder import RunFolder, check_unused

if TYPE_CHECKING:  # torch is imported when there is work
    from cse.run.subject import Subject
    from cse.types import Evaluator

log = logging.getLogger("cse")


def evaluate(cfg: DictConfig, folder: RunFolder) -> None:
    """Build everything, all that is missing said at once; then make the folder, and score into it."""
    from cse.record.heartbeat import Heartbeat
    from cse.run.subject import load, sentences, whitened

    with Heartbeat(folder.path) as heartbeat:
        attempt = build.Attempts()
        subject = attempt(lambda: load(cfg))
        evaluators = attempt(lambda: build.build_evaluators(cfg.eval, tuple(cfg.splits))) or {}
        sample = attempt(lambda: sentences(cfg.whitening.fit)) if cfg.whitening.kind else None
        attempt.check()
        splits_by_name = chosen_splits(cfg, evaluators)
        if sample is not None:
            subject = whitened(subject, cfg.whitening, sample)
        check_scored_widths(cfg.eval, subject.dim)
        heartbeat.take()
        check_unused(cfg, "evaluate", folder.path)  # another start may have come and gone
        folder.make()
        score_into(folder.path, cfg, subject, evaluators, splits_by_name)


def score_into(
    folder: Path,
    cfg: DictConfig,
    subject: "Subject",
    evaluators: dict[str, "Evaluator"],
    splits_by_name: dict[str, list[str]],
) -> None:
    """Score, and write results.json, scores.csv, scores.md and scores.tex."""
    from cse.eval.items import keep_cosines, keep_items
    from cse.eval.score import MemoizedEncode, nature, score
    from cse.record import scores
    from cse.run.record import Record
    from cse.run.subject import trained_seed

    trackers = [build.make(node) for node in cfg.tracker.values()]
    with Record(folder, resolved(cfg), kind="eval", device=subject.device, trackers=trackers) as record:
        log.info(f"encoder    {subject.described}\ndevice     {subject.device}, {cfg.dtype}\nfolder     {folder}")
        encode = MemoizedEncode(subject.encode)
        score(evaluators, splits_by_name, encode, into=record.metrics)
        keep_cosines(folder, "after", {name: evaluators[name] for name in splits_by_name}, encode)
        sources = {name: scores.source(evaluators[name].provenance(), cfg.dtype) for name in splits_by_name}
        record.conclude(
            "done",
            data=sources,
            items=keep_items(folder, evaluators, splits_by_name),
            encoder=subject.described,
            seed=trained_seed(Path(cfg.checkpoint).expanduser()) if cfg.checkpoint else None,
            dtype=cfg.dtype,
        )
        rows = scores.rows_of(record.metrics, sources, subject.described, record.results["versions"])
        notes = scores.footnotes(rows)
        problems = [line for name, source in sources.items() for line in scores.problems_of(name, source)]
        scores.write(folder, rows, [*notes, *problems])
        record.trackers.log(record.metrics, 0)
        record.trackers.table("scores", list(rows[0]), [list(row.values()) for row in rows])
        headline = [row for row in rows if nature(row["score"]).headline]
        if len(headline) < len(rows):
            notes = [f"{len(rows) - len(headline)} more scores in {folder / 'scores.md'}", *notes]
        notes += problems[:1]
        if len(problems) > 1:
            notes.append(f"partial: {len(problems)} such problems, all in {folder / 'scores.md'}")
        log.info("\n%s", scores.to_table(headline, notes))
        record.trackers.finish(0, record.metrics)


def chosen_splits(cfg: DictConfig, evaluators: dict[str, "Evaluator"]) -> dict[str, list[str]]:
    """The splits of each evaluator that are asked for. Raises UserError where no evaluator has any of them."""
    asked = {name: [split for split in part.splits if split in cfg.splits] for name, part in evaluators.items()}
    if not any(asked.values()):
        splits = f"splits=[{','.join(cfg.splits)}]"
        raise UserError(f"{splits} leaves nothing to score: {', '.join(evaluators)} have other splits")
    for name in (name for name, splits in asked.items() if not splits):
        log.warning("%s has only the split %s, which is not asked for", name, ", ".join(evaluators[name].splits))
    return {name: splits for name, splits in asked.items() if splits}
