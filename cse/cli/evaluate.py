"""cse-eval: score any encoder with the evaluators of training, and leave results.json, scores.csv and scores.md."""

import logging
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from cse.cli import compose, streams
from cse.errors import MissingResource, UserError, combine
from cse.files import make_folder

if TYPE_CHECKING:  # torch is imported when there is work: --help answers at once
    from cse.run.subject import Subject
    from cse.types import Evaluator

log = logging.getLogger("cse")


def main() -> None:
    """The console script. Exit codes: 0 done, 1 the run failed, 2 the user's mistake."""
    streams.outlast()
    compose.adopt_own_choices()
    from cse.cli.help import EVALUATE, answered

    if answered("evaluate", EVALUATE):
        return
    from cse.sweep import line

    if line.is_many(sys.argv[1:]):
        compose.many("evaluate", sys.argv[1:])
    with compose.in_a_sentence():  # before Hydra writes its own files there
        for argument in [argument for argument in sys.argv if argument.startswith("hydra.run.dir=")][-1:]:
            check_folder(Path(argument.partition("=")[2].strip("'\"")))
    compose.command("evaluate", task, sys.argv[1:])


def check_folder(folder: Path) -> None:
    """Raise UserError for a folder that holds a run or scores (never written over), and for no folder's name."""
    try:
        folder.exists()
    except OSError as error:  # a name that is too long, links in a circle
        raise UserError(f"hydra.run.dir={folder}: {error.strerror}; name a folder of yours") from error
    if any((folder / name).exists() for name in ("best", "last", "scores.csv")):
        raise UserError(f"{folder} holds a run or its scores: hydra.run.dir=ANOTHER keeps them")


def task(cfg: DictConfig) -> None:
    """One Hydra job: build everything, all that is missing said at once, then score."""
    from hydra.core.hydra_config import HydraConfig

    from cse.config import groups, scale
    from cse.record.heartbeat import Heartbeat
    from cse.run import build
    from cse.run.subject import load, sentences

    folder, hydra = build.output_folder(), HydraConfig.get()
    cfg.choices = groups.chosen("evaluate", hydra.runtime.choices, hydra.overrides.task, map(str, cfg.eval))
    scale.fit(cfg)
    if cfg.smoke:
        from cse.config.smoke import shrink

        shrink(cfg)
    check(cfg)
    make_folder(Path(cfg.paths.cache), "paths.cache")
    with Heartbeat(folder):
        missing: list[MissingResource] = []
        attempt = partial(build.attempted, missing)
        subject = attempt(lambda: load(cfg))
        evaluators = attempt(lambda: build.build_evaluators(cfg.eval, tuple(cfg.splits))) or {}
        sample = attempt(lambda: sentences(cfg.whitening.fit)) if cfg.whitening.kind else None
        if missing:
            raise combine(missing)
        evaluate(cfg, folder, subject, evaluators, sample)


def check(cfg: DictConfig) -> None:
    """Raise UserError for settings that contradict each other, before anything is loaded or written."""
    if ("_target_" in cfg.model) == (cfg.checkpoint is not None):
        raise UserError("say which encoder is scored, by either checkpoint=FOLDER_OR_NAME or model=NAME")
    if not cfg.eval:
        raise UserError("nothing is to be scored: say eval=[stsb,sts], for example")
    whitening = cfg.whitening
    if (whitening.kind is None) != (whitening.fit is None) or (whitening.kind is None and whitening.components):
        raise UserError("whitening needs both: whitening.kind=pca (or zca) and whitening.fit=FILE, a file of sentences")


def evaluate(
    cfg: DictConfig, folder: Path, subject: "Subject", evaluators: dict[str, "Evaluator"], sample: list[str] | None
) -> None:
    """Score, and write results.json, scores.csv and scores.md. sample: sentences to fit the whitening on."""
    from cse.eval.cosines import keep_cosines
    from cse.eval.items import keep_items
    from cse.eval.score import MemoizedEncode, nature, score
    from cse.record import scores
    from cse.run import build
    from cse.run.record import Record
    from cse.run.subject import trained_seed, whitened

    splits_by_name = chosen_splits(cfg, evaluators)
    with Record(
        folder,
        build.resolved(cfg),
        kind="eval",
        device=subject.device,
        trackers=[build.make(node) for node in cfg.tracker.values()],
    ) as record:
        if sample is not None:
            subject = whitened(subject, cfg.whitening, sample)
        log.info(f"encoder    {subject.described}\ndevice     {subject.device}, {cfg.dtype}\nfolder     {folder}")
        encode = MemoizedEncode(subject.encode)
        score(evaluators, splits_by_name, encode, into=record.metrics)
        keep_cosines(folder, "after", {name: evaluators[name] for name in splits_by_name}, encode)
        sources = {name: scores.source(evaluators[name].provenance(), cfg.dtype) for name in splits_by_name}
        record.results.conclude(
            "done",
            metrics=record.metrics,
            data=sources,
            items=keep_items(folder, evaluators, splits_by_name),
            encoder=subject.described,
            seed=trained_seed(Path(cfg.checkpoint).expanduser()) if cfg.checkpoint else None,
            dtype=cfg.dtype,
        )
        rows = scores.rows_of(record.metrics, sources, subject.described, record.results.content["versions"])
        notes, problems = scores.footnotes(rows), scores.problems(sources)
        scores.write(folder, rows, [*notes, *problems])
        record.trackers.log(record.metrics, 0)
        record.trackers.table("scores", list(rows[0]), [list(row.values()) for row in rows])
        headline = [row for row in rows if nature(row["score"]).headline]
        if len(headline) < len(rows):
            notes = [f"{len(rows) - len(headline)} more scores in {folder / 'scores.md'}", *notes]
        notes += scores.in_short(problems, folder / "scores.md")
        log.info("\n%s", scores.shown(headline, notes))
        record.trackers.finish(0, record.metrics)


def chosen_splits(cfg: DictConfig, evaluators: dict[str, "Evaluator"]) -> dict[str, list[str]]:
    """The splits of each evaluator that are asked for. Raises UserError where no evaluator has any of them."""
    splits_by_name = {
        name: [split for split in part.splits if split in cfg.splits] for name, part in evaluators.items()
    }
    if not any(splits_by_name.values()):
        asked = f"splits=[{','.join(cfg.splits)}]"
        raise UserError(f"{asked} leaves nothing to score: {', '.join(evaluators)} have other splits")
    for name in (name for name, splits in splits_by_name.items() if not splits):
        log.warning("%s has only the split %s, which is not asked for", name, ", ".join(evaluators[name].splits))
    return {name: splits for name, splits in splits_by_name.items() if splits}


if __name__ == "__main__":
    main()
