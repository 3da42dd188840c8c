"""What cse-eval scores: an encoder from anywhere, or averaged word vectors, optionally whitened."""

from functools import partial
from pathlib import Path
from typing import NamedTuple

from omegaconf import DictConfig
from torch import nn

from cse.data.readers import files_of, kind, lines_of
from cse.device import default_device
from cse.errors import UserError, renaming_keys
from cse.model.encoder import Encoder
from cse.model.load import DTYPES, PACKAGE, load_encoder
from cse.model.vectors import ENDINGS, WordVectors
from cse.model.whitening import Whitening
from cse.record.runs import newest_run, read_run
from cse.run.build import make
from cse.types import Encode


class Subject(NamedTuple):
    """What is scored: n texts -> (n, D) float32, D, a description on one line, and the device."""

    encode: Encode
    dim: int
    described: str
    device: str


def load(cfg: DictConfig) -> Subject:
    """The encoder or word vectors that checkpoint= or model= names. Raises UserError or MissingResource."""
    if str(cfg.checkpoint).endswith(ENDINGS):
        return load_vectors(cfg)
    if cfg.lowercase:
        raise UserError("lowercase=true is for word vectors; an encoder's tokenizer knows its own case")
    if cfg.checkpoint is None:
        encoder: Encoder = make(cfg.model)
    else:
        with renaming_keys({"model.name=": "checkpoint=", "model.pooling=": "pooling="}):
            encoder = load_encoder(folder_of(cfg.checkpoint), cfg.pooling)
    if cfg.max_length is not None:
        encoder.tokenizer.check_length("max_length", cfg.max_length)
        encoder.tokenizer.longest = cfg.max_length + encoder.tokenizer.template_length
    backbone: nn.Module = encoder.backbone
    backbone.to(DTYPES[cfg.dtype])
    encoder.to(default_device())
    described = f"{cfg.checkpoint or cfg.model.name}, {encoder.described}"
    encode = partial(encoder.encode, batch_size=cfg.batch_size)
    return Subject(encode, encode(["."]).shape[1], described, str(encoder.device))


def load_vectors(cfg: DictConfig) -> Subject:
    """Averaged word vectors. Raises UserError for a setting that only an encoder has."""
    for key, default in (("pooling", None), ("max_length", None), ("dtype", "fp32")):
        if cfg[key] != default:
            raise UserError(f"{key}={cfg[key]} does not apply to word vectors (checkpoint={cfg.checkpoint})")
    vectors = WordVectors(Path(cfg.checkpoint).expanduser(), cfg.lowercase)
    case = ", lower case" if cfg.lowercase else ""
    described = f"{cfg.checkpoint}, mean of word vectors of {vectors.dim} numbers{case}"
    return Subject(vectors.encode, vectors.dim, described, "cpu")


def folder_of(name: str | Path) -> str:
    """A run's best/, or the name as it is: a folder of weights, package://MODULE/PATH or a hub name."""
    if str(name).startswith(PACKAGE):
        return str(name)
    path = Path(name).expanduser()
    if (path / "best" / "config.json").is_file():
        return str(path / "best")
    if path.exists() and not (path / "config.json").is_file():
        raise UserError(
            f"checkpoint={path} has no config.json: it is not an encoder, or a run without best/ yet{newest_run(path)}"
        )
    return str(path)


def trained_seed(checkpoint: Path) -> int | None:
    """The seed of the run whose folder, or whose best/, this is; None for any other encoder."""
    own = (read_run(folder).results for folder in (checkpoint, checkpoint.parent))
    return next((results.get("seed") for results in own if "config" in results), None)


def sentences(file: str) -> list[str]:
    """The lines of a text file. Raises MissingResource or UserError that name whitening.fit."""
    with renaming_keys({"data.path=": "whitening.fit=", " or set data.encoding": ""}):
        files = files_of(Path(file).expanduser())
        if any(kind(part) != ".txt" for part in files):
            raise UserError(f"whitening.fit={file} must be a text file (.txt or .txt.gz), one sentence a line")
        return [line for part in files for _, line in lines_of(part, "utf-8") if line]


def whitened(subject: Subject, cfg: DictConfig, sample: list[str]) -> Subject:
    """The same subject, with its embeddings whitened as its embeddings of the sample say."""
    whitening = Whitening(cfg.kind, cfg.components).fit(subject.encode(sample))
    described = f"{subject.described}, {cfg.kind} whitening to {cfg.components or 'all'} components"
    described += f" fitted on {len(sample):,} sentences of {cfg.fit}"
    dim = cfg.components if cfg.kind == "pca" and cfg.components else subject.dim
    return Subject(lambda texts: whitening(subject.encode(texts)), dim, described, subject.device)
