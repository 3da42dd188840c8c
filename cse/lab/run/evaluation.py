"""One evaluation of the encoder that checkpoint= or model= names. Read `run_evaluation`, then its phases in this order:

    load_parts      returns the encoder or word vectors, whitened or not, and the evaluators; a dry run then ends
    heartbeat.take  makes the folder and takes its lock; the first write
    begin_folder    writes the settings and the arguments
    note_training   records the seed of a scored run, and the number of its training texts in evaluation data
    score_subject   computes every score
    report_scores   writes scores.csv, .md and .tex, and gives the scores to the trackers and the log

This module imports torch. Import it only for an evaluation: --help must answer without torch.
"""

import logging
import math
from functools import partial
from pathlib import Path
from typing import NamedTuple

from omegaconf import DictConfig

from cse.data.listing import ending_of, files_of, is_on_hub
from cse.data.overlap import Overlap, overlap_in_words, overlap_of_all
from cse.data.readers import lines_of
from cse.data.rows import TextRows
from cse.device import default_device
from cse.errors import MissingResource, UserError, collecting, combine, naming
from cse.eval.items import keep_cosines, keep_items
from cse.eval.scoring import MemoizedEncode, refuse_nan
from cse.eval.sts import ScoredPairs
from cse.lab.folder.heartbeat import Heartbeat
from cse.lab.folder.runs import Run, read_run
from cse.lab.run.announce import NEXT_LINE
from cse.lab.run.compatible import check_prompts, check_widths
from cse.lab.run.evaluators import build_evaluators, shared_pairs_in_words
from cse.lab.run.instantiate import make
from cse.lab.run.job import Job
from cse.lab.run.needs import encoder_folder, error_on_all
from cse.lab.run.record import Record, begin_folder
from cse.lab.run.refusals import check_unused
from cse.lab.run.resume import EarlierRun, config_of_run
from cse.lab.run.run_log import log_fields
from cse.lab.run.texts import texts_with_objectives
from cse.lab.settings.check import validate_command
from cse.lab.settings.mistakes import explaining
from cse.lab.sharing import score_tables
from cse.model.encoder import Encoder
from cse.model.load import DTYPES, load_encoder
from cse.model.vectors import WordVectors
from cse.model.whitening import Whitening
from cse.score import Score, evaluator_of, values
from cse.sources.encoder import VECTORS
from cse.types import Encode, Evaluator

log = logging.getLogger("cse")


class Subject(NamedTuple):
    """The encoder to score.

    encode: n texts -> (n, dim) float32. described: the encoder in words. device: the name of the encoder's device.
    encoder: the encoder itself; None for word vectors.
    """

    encode: Encode
    dim: int
    described: str
    device: str
    encoder: Encoder | None = None


def run_evaluation(job: Job) -> None:
    """Score the encoder that the settings name, and write a new folder. Raises UserError before the folder is made."""
    cfg = job.cfg
    with Heartbeat(job.folder, job.writes) as heartbeat:
        subject, evaluators = load_parts(cfg)
        if cfg.dry_run:
            scored = NEXT_LINE.join(evaluator_in_words(name, evaluator) for name, evaluator in evaluators.items())
            return log_fields(encoder=subject.described, scores=scored, folder=job.folder)
        heartbeat.take()
        check_unused(job)  # a second check: another run may have used the folder meanwhile
        begin_folder(job)
        with Record(job, device=subject.device, precision=cfg.dtype) as record:
            log_fields(encoder=subject.described, device=f"{subject.device}, {cfg.dtype}", folder=job.folder)
            note_training(record, cfg, evaluators)
            scores = score_subject(record, subject, evaluators)
            report_scores(record, cfg, subject, evaluators, scores)


def load_parts(cfg: DictConfig) -> tuple[Subject, dict[str, Evaluator]]:
    """Return the encoder to score and the evaluators. Raises UserError, or one MissingResource for all missing data."""
    missing: list[MissingResource] = []
    with collecting(missing):
        subject = load_subject(cfg)
    with collecting(missing):
        evaluators = build_evaluators(cfg.eval, cfg.splits)
    with collecting(missing):
        sample = read_sentences(cfg.whitening.fit) if cfg.whitening.kind else []
    if missing:
        raise error_on_all(combine(missing), cfg, "evaluate")
    if subject.encoder:
        check_prompts(evaluators, subject.encoder)
    if cfg.whitening.kind:
        subject = whitened(subject, cfg.whitening, sample, fit=not cfg.dry_run)
    check_widths(cfg.eval, subject.dim)
    return subject, evaluators


# The encoder to score


def load_subject(cfg: DictConfig) -> Subject:
    """Return the encoder or word vectors that checkpoint= or model= names. Raises UserError or MissingResource."""
    if str(cfg.checkpoint).endswith(VECTORS):
        return load_vectors(cfg)
    if cfg.lowercase:
        raise UserError("lowercase=true is only for word vectors: leave it out")
    if cfg.checkpoint is None:
        encoder: Encoder = make(cfg.model)
    else:
        if cfg.model.pooling != cfg.pooling:
            own = cfg.model.pooling
            raise UserError(f"model.pooling={own} is for model=NAME; with checkpoint= give pooling={own}")
        with naming(name="checkpoint"):
            encoder = load_encoder(encoder_folder(cfg.checkpoint), cfg.pooling)
    if cfg.max_length is not None:
        encoder.tokenizer.check_length("max_length", cfg.max_length)
        encoder.tokenizer.longest = cfg.max_length + encoder.tokenizer.template_length
    for weight in encoder.backbone.parameters():  # no buffers: rotary frequencies stay in float32, as in transformers
        weight.data = weight.data.to(DTYPES[cfg.dtype])
    encoder.to(default_device())
    described = f"{cfg.checkpoint or cfg.model.name}, {encoder.described}"
    encode = partial(encoder.encode, batch_size=cfg.batch_size)
    return Subject(encode, encode(["."]).shape[1], described, str(encoder.device), encoder)


def load_vectors(cfg: DictConfig) -> Subject:
    """Return averaged word vectors as a Subject. Raises UserError for a setting that only an encoder has."""
    for key, default in (("pooling", None), ("max_length", None), ("dtype", "fp32")):
        if cfg[key] != default:
            raise UserError(f"{key}={cfg[key]} has no effect on word vectors ({cfg.checkpoint}): leave it out")
    vectors = WordVectors(Path(cfg.checkpoint).expanduser(), cfg.lowercase)
    case = ", lower case" if cfg.lowercase else ""
    described = f"{cfg.checkpoint}, mean of word vectors of {vectors.dim} numbers{case}"
    return Subject(vectors.encode, vectors.dim, described, "cpu")


def read_sentences(file: str) -> list[str]:
    """Return the lines of the text file in whitening.fit. Raises MissingResource or UserError, which name this key."""
    with naming(path="whitening.fit"):
        files = files_of(Path(file).expanduser())
        if any(ending_of(part) != ".txt" for part in files):
            raise UserError("it must be a text file (.txt or .txt.gz), one sentence a line", key="path", value=file)
    try:
        return [line for part in files for _, line in lines_of(part, "utf-8") if line]
    except UserError as error:
        if isinstance(error.__cause__, UnicodeError):  # whitening has no setting for an encoding
            error.instead = "write the file again as UTF-8"
        raise


def whitened(subject: Subject, cfg: DictConfig, sample: list[str], *, fit: bool) -> Subject:
    """Return the subject with whitened embeddings. The whitening is fitted on the embeddings of the sample.

    fit: False for a dry run, which encodes nothing.
    """
    whitening = Whitening(cfg.kind, cfg.components)
    if fit:
        whitening.fit(subject.encode(sample))
    described = f"{subject.described}, {cfg.kind} whitening to {cfg.components or 'all'} components"
    described += f" fitted on {len(sample):,} sentences of {cfg.fit}"
    dim = cfg.components if cfg.kind == "pca" and cfg.components else subject.dim
    return subject._replace(encode=lambda texts: whitening(subject.encode(texts)), dim=dim, described=described)


# The run that is scored


def note_training(record: Record, cfg: DictConfig, evaluators: dict[str, Evaluator]) -> None:
    """Record the seed of the scored run, and the counts of its training texts in evaluation data.

    If the encoder is not from a run, both are None.
    """
    run = run_of_checkpoint(cfg)
    record.note(
        seed=run.results.get("seed") if run else None,
        overlap=overlap_with_training(run.folder, evaluators) if run else None,
    )


def run_of_checkpoint(cfg: DictConfig) -> Run | None:
    """Return the run that checkpoint= names, by its folder or its best/; None if the encoder is not from a run."""
    if cfg.checkpoint is None:
        return None
    place = Path(cfg.checkpoint).expanduser()
    run = read_run(place.parent if place.name == "best" else place)
    return run if run.has_results else None


def overlap_with_training(run: Path, evaluators: dict[str, Evaluator]) -> Overlap | None:
    """Return the counts of a run's training texts in evaluation data; None if the run's texts cannot be found.

    Log these counts, and the number of dev pairs that selected the run's checkpoint and are test pairs now.
    """
    try:
        with explaining([], "train"):
            config = validate_command(config_of_run(EarlierRun("checkpoint", run), []), "train")
        texts = texts_learned_from(run, config)
        nodes, key = config.get("eval") or {}, evaluator_of(config.trainer.select or "")
        selecting = build_evaluators({key: nodes[key]} if key in nodes else {})
    except UserError as error:
        log_fields(overlap=f"not known, but no score depends on it: {error}")
        return None
    overlap = overlap_of_all(texts, evaluators)
    selection = shared_pairs_in_words(config.trainer.select, selecting, evaluators)
    log_fields(overlap=overlap_in_words(overlap), selection=selection)
    return overlap


def texts_learned_from(run: Path, config: DictConfig) -> list[TextRows]:
    """Return the texts that a run learned from, read from the cache.

    Raises UserError, or MissingResource for a text that is not in the cache.
    """
    texts = []
    for learned in texts_with_objectives(config):
        text = learned.text
        if text.path is not None and is_on_hub(text.path):  # `find` might download this text
            raise MissingResource(f"{run} learned from {text.path}, a dataset on the hub, which is not read again")
        found = learned.find()
        if not (text.cache / found.digest).exists():
            raise MissingResource(f"the text of {run} is not in {text.cache}")
        texts.append(learned.read(found))
    return texts


# Scores


def evaluator_in_words(name: str, evaluator: Evaluator) -> str:
    """Return the name, the splits and the size of a prepared evaluator's data."""
    pairs = sum(len(evaluator.pairs(split)) for split in evaluator.splits) if isinstance(evaluator, ScoredPairs) else 0
    tasks = len(evaluator.source().get("revisions", {}))
    sizes = {"pairs": pairs, "distinct texts": len({*evaluator.texts()}), "tasks": tasks}
    return ", ".join([f"{name}: {' and '.join(evaluator.splits)}", *(f"{n:,} {of}" for of, n in sizes.items() if n)])


def score_subject(record: Record, subject: Subject, evaluators: dict[str, Evaluator]) -> list[Score]:
    """Return every score of the subject. Write the cosines of the evaluators' pairs, and warn of vectors of zeros."""
    encoder = subject.encoder
    encode = MemoizedEncode(refuse_nan(subject.encode), full=(lambda: encoder.full_n) if encoder else None)
    scores = record.score(evaluators, encode, encoder.tokenizer.longer("max_length") if encoder else "")
    encode.warn_of_zeros()
    keep_cosines(record.folder, "after", scores)
    return scores


def report_scores(
    record: Record, cfg: DictConfig, subject: Subject, evaluators: dict[str, Evaluator], scores: list[Score]
) -> None:
    """Write scores.csv, scores.md and scores.tex, send the scores to the trackers, and log the headline scores."""
    sources = {name: evaluator.source() for name, evaluator in evaluators.items()}
    record.note(
        data=sources,
        items=keep_items(record.folder, scores),
        encoder=subject.described,
        prompts=subject.encoder.prompts if subject.encoder else {},
        weights_sum=record.results["named"].get("checkpoint"),  # the checksum before the evaluation
        dtype=cfg.dtype,
    )
    frame = score_tables.csv_frame(scores, sources, cfg.dtype, subject.described, record.results["versions"])
    notes = score_tables.footnotes(frame)
    problems = score_tables.problems_of(sources, record.results["config"])
    problems += [f"{scored.name} is not a number" for scored in scores if math.isnan(scored.value)]
    score_tables.write_score_files(record.folder, scores, frame, [*notes, *problems], cfg.label or "")
    record.trackers.log(values(scores), 0)
    record.trackers.table("scores", list(frame.columns), frame.to_numpy().tolist())
    all_problems = f" and {len(problems)} problems" if len(problems) > 1 else ""
    place = f"all {len(scores)} scores{all_problems}: {record.folder / 'scores.md'}"
    headline = [scored for scored in scores if scored.headline]
    log.info("\n%s", score_tables.terminal_table(headline, [*notes, *problems[:1], place]))
