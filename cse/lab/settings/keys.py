"""What each key of a config is for: the one table that resuming, sweeps, reports and model cards use.

A key without an entry, of its own or of a prefix, is science: it decides what is learned or how it is scored. Imports
next to nothing, so that any module may import it.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from cse.lab.settings.dotted import flattened

Role = Literal["science", "machine", "logging", "bookkeeping"]
"""science: what is learned and scored. machine: where data lies and what the work runs on. logging: what is logged, and
where. bookkeeping: how the run is started, and where its folder is."""


class Key(NamedTuple):
    """What a key, and all keys below it, are for.

    fixed: a resumed run must have the same value. harmless: science, but no number in a table depends on it. of_line:
    on a line that starts several jobs, it belongs to the line, not to the jobs. once: a resumed run forgets it. named:
    not science, and yet part of the name of a job's folder, by which finished jobs are found again.
    """

    role: Role
    fixed: bool = False
    harmless: bool = False
    of_line: bool = False
    once: bool = False
    named: bool = False


OTHERS = Key("science", fixed=True)

KEYS: dict[str, Key] = {
    # Science
    "trainer.max_steps": Key("science"),  # these three only say when a run ends: a resumed one may run longer
    "trainer.patience": Key("science"),
    "trainer.stop_early": Key("science"),
    "trainer.chunk": Key("science", fixed=True, harmless=True),  # the same loss and gradient with other random states
    "trainer.chunk_tokens": Key("science", fixed=True, harmless=True),
    "trainer.deterministic": Key("science", fixed=True, harmless=True),
    "trainer.watch": Key("science", fixed=True, harmless=True),  # more scores
    "eval": Key("science", harmless=True),  # more scores, or fewer: each is checked against its own data
    "smoke": Key("science"),
    "case": Key("science"),  # the name of several settings
    "checkpoint": Key("science"),  # of cse-eval
    # Machine
    "paths": Key("machine", named=True),
    "paths.cache": Key("machine"),
    "allow_partial": Key("machine", named=True),  # what data there is; the scores are marked
    "data.cache_dir": Key("machine", named=True),
    "augmentation.cache_dir": Key("machine", named=True),
    "aux_modality.data.cache": Key("machine", named=True),
    "aux_modality.data.workers": Key("machine", named=True),
    "trainer.workers": Key("machine"),
    "trainer.devices": Key("machine"),  # a resumed run may have others, and says what that changes
    # Logging
    "tracker": Key("logging"),
    "note": Key("logging", named=True),
    "label": Key("logging"),
    "card": Key("logging"),
    "hydra": Key("logging"),  # but for the keys below
    "trainer.log_every": Key("logging"),
    "trainer.save_every": Key("logging"),
    "trainer.save_minutes": Key("logging"),
    "trainer.keep_last": Key("logging"),
    "data.preview": Key("logging", once=True),
    "choices": Key("logging"),  # this and the next two are what a run says of its own settings
    "sources": Key("logging"),
    "replaced": Key("logging"),
    # Bookkeeping
    "sweep": Key("bookkeeping", of_line=True),
    "resume": Key("bookkeeping", once=True),
    "rerun": Key("bookkeeping", once=True),
    "dry_run": Key("bookkeeping", of_line=True, once=True),
    "jobs": Key("bookkeeping", of_line=True),
    "hydra.launcher": Key("bookkeeping", of_line=True),
    "hydra.sweeper": Key("bookkeeping", of_line=True),
    "hydra.sweep": Key("bookkeeping", of_line=True),
    "hydra.mode": Key("bookkeeping", of_line=True),
    "hydra.run": Key("bookkeeping", of_line=True),
}

TEACHERS = ("objective.teacher", "objective.second_teacher")
"""The keys that name encoders which an objective learns from."""

WEIGHTS = ("model.name", "checkpoint", "aux_modality.weights", *TEACHERS)
"""The keys that name encoders, or files of word vectors."""

NAMED = (*WEIGHTS, "whitening.fit")
"""The keys that name what a run reads as it is."""

SENTENCES = ("label", "note", "card.data_licence")
"""The keys whose commas separate no values."""

VERBATIM = (
    *("resume", "rerun", "checkpoint", "paths", "hydra.run.dir", "hydra.sweep.dir", "whitening.fit", "model.name"),
    *("data.path", "data.cache_dir", "data.rows.file", "data.rows.folder", "eval.coco.folder", "eval.probing.folder"),
    *("eval.pairs.dev", "eval.pairs.test"),
    *("augmentation.cache_dir", "augmentation.wordnet_dir", "aux_modality.weights", "aux_modality.data.folder"),
    *("aux_modality.data.hub", "aux_modality.data.files", "aux_modality.data.cache"),
    *TEACHERS,
    *SENTENCES,
)
"""The keys whose value is or may be a file, a folder, a name on the hub or a sentence: it is used as it is typed, and
never parsed."""


FUNCTION = "cse.eval.function.Function"
"""The evaluator that a function given in Python becomes."""


def is_verbatim(key: str) -> bool:
    """Whether the value of a key, or of a key above it, is used as it is typed."""
    return any(key == one or key.startswith(f"{one}.") for one in VERBATIM)


def entry(key: str) -> Key:
    """The entry of a dotted key, or of a group such as hydra/launcher: its own, or that of its nearest parent."""
    parts = key.replace("/", ".").split(".")
    parents = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((KEYS[parent] for parent in parents if parent in KEYS), OTHERS)


def is_science(key: str) -> bool:
    """Whether a key decides what is learned or scored, so that reports compare it."""
    return entry(key).role == "science"


def names_a_job(word: str) -> bool:
    """Whether the hash of a job's folder depends on a word, whose key then may not change between two starts."""
    return is_science(key := key_of(word)) or entry(key).named


def changes_a_table(key: str) -> bool:
    """Whether the numbers of a table depend on a key."""
    return is_science(key) and not entry(key).harmless


def identity(config: Mapping[str, object]) -> dict[str, object]:
    """The settings, by dotted key, that a resumed run must share with the run it continues: the fixed ones, and those
    of the evaluator whose score selects, but for where its data is. config: resolved."""
    flat = flattened(config)
    _, chooser, *_ = f"{flat.get('trainer.select')}//".split("/")
    fixed = {key: value for key, value in flat.items() if entry(key).fixed}
    return fixed | {key: value for key, value in protocol(config).items() if key.startswith(f"eval.{chooser}.")}


def protocol(config: Mapping[str, object]) -> dict[str, object]:
    """How each evaluator scores, by dotted key: its settings, but for where its data is. config: resolved."""
    flat = flattened(config)
    places = [value for key, value in flat.items() if key.startswith("paths.") and value is not None]
    return {
        key: value
        for key, value in flat.items()
        if key.startswith("eval.") and not (is_verbatim(key) or key.endswith(".allow_partial") or value in places)
    }


def key_of(word: str) -> str:
    """The key of a word of a command line: `trainer.lr` of `trainer.lr=1e-5`, `++trainer.lr=1e-5` and `~trainer.lr`."""
    return word.partition("=")[0].lstrip("+~")


def repeats_a_run(word: str) -> bool:
    """Whether a word belongs on the line that repeats a run: science, its sweep, and its data."""
    key = key_of(word)
    is_data = key == "allow_partial" or (key.startswith("paths.") and entry(key).named)
    return not word.startswith("~") and (is_science(key) or key == "sweep" or is_data)
