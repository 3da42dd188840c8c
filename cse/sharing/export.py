"""A folder to share: the encoder or its adapter alone, its model card, and its scores in the formats of others."""

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from cse.dotted import Json
from cse.errors import UserError
from cse.files import checksum, read_json, replaced_folder, write_json
from cse.record.results import read_finished
from cse.sharing.card import base_model, model_card
from cse.sharing.onnx import write_onnx
from cse.sharing.scores import copy_mteb, write_eval_results

WEIGHTS = ("config.json", "model.safetensors", "adapter")  # left out where the adapter alone is exported
TOKEN = re.compile(rb"\bhf_[A-Za-z0-9]{30,}")
SHARED = (".safetensors", ".json", ".txt", ".model", ".jinja", ".md")  # the endings of what `best/` holds
TEXT = (".md", ".json", ".jsonl", ".yaml", ".txt", ".csv")
WRITTEN = ".cse-export.json"
"""The file of an export that lists its others, with their checksums: by it a later export knows what it may replace."""


def shell_words(text: str) -> str:
    """A command line. Raises ValueError for one that no shell reads."""
    shlex.split(text)
    return text


FileName = Annotated[str, Field(pattern=r"^\w[\w .+()-]*\z")]  # leaves no folder
ScoreName = Annotated[str, Field(pattern=r"^[^/]+/(.+/)?[^/]+\z")]  # test/sts/average
RepoName = Annotated[str, Field(pattern=r"^\w[\w./+-]*\z")]
Target = Annotated[str, Field(pattern=r"\w\.\w+\z")]  # module.Class


class Task(TypedDict):
    """What mteb scored."""

    metric: str
    dataset: str | None
    revision: str | None


SCORED = {"config": dict, "metrics": dict[ScoreName, float | None], "data.mteb": dict | None}
"""What results.json must hold to be exported, by dotted key. It may hold more; what may be None may be missing."""

MTEB = {"model.name": RepoName, "model.revision": FileName, "tasks": dict[FileName, Task], "protocol": str}
"""What `data.mteb` must hold in it, where it is there."""

TRAINED = {
    **SCORED,
    "config.model.name": str,
    "config.model.pooling": str | None,
    "config.data.name": str,
    "config.data.path": str | list[str] | None,
    "config.objective._target_": Target,
    "config.aux_modality._target_": Target | None,
    "seed": int,
    "command": Annotated[str, AfterValidator(shell_words)],
    "architecture": str | None,
    "weights.license": str | list[str] | None,
    "weights.language": str | list[str] | None,
}
"""What that of a run must hold, beside what every reader relies on (cse.record.results)."""


def read_record(folder: Path, what: str, kinds: Mapping[str, Any] = SCORED) -> Json:
    """results.json of a finished run or evaluation, its metrics those that are numbers.

    kinds: what it must hold. Raises UserError where there is none that is done, and where it is damaged.
    """
    file, record = folder / "results.json", read_finished(folder, what)
    check_kinds(file, record, kinds)
    if (record.get("data") or {}).get("mteb") is not None:
        check_kinds(file, record, {f"data.mteb.{key}": kind for key, kind in MTEB.items()})
    metrics = {name: value for name, value in record["metrics"].items() if value is not None}
    return record | {"metrics": metrics}


def check_kinds(file: Path, record: Json, kinds: Mapping[str, Any]) -> None:
    """Raise UserError, naming the key, for a value that is not of its kind. kinds: by dotted key."""
    for key, kind in kinds.items():
        *groups, last = key.split(".")
        node: Json = record
        try:
            for group in groups:
                node = TypeAdapter(dict | None).validate_python(node.get(group), strict=True) or {}
            TypeAdapter(kind).validate_python(node.get(last), strict=True)
        except ValidationError as error:
            wrong = error.errors(include_url=False)[0]
            raise UserError(f"{file} is damaged: {key}: {wrong['msg'].lower()}; take a whole copy") from error


def read_scores(folder: Path, run: Path) -> Json:
    """results.json of a cse-eval of this run's encoder. Raises UserError for another encoder's."""
    record = read_record(folder, "scores")
    checkpoint = record["config"].get("checkpoint")
    if checkpoint is None or Path(checkpoint).resolve() not in (run.resolve(), (run / "best").resolve()):
        raise UserError(f"{folder} has the scores of checkpoint={checkpoint}, which is not {run}")
    return record


def check_target(target: Path, run: Path) -> None:
    """Raise UserError for a folder that holds anything but an earlier export, which exporting replaces, for a link, and
    for a place inside the run (all but RUN/export)."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise UserError(f"--to {target} is a link or a file: name a folder")
    inside = target.resolve().is_relative_to(run.resolve())
    if inside and target.resolve() != (run / "export").resolve():
        raise UserError(f"--to {target} is inside the run: {run / 'export'} is its place, or a folder elsewhere")
    if others := others_in(target):
        raise UserError(
            f"--to {target} holds {others[0]}{f' and {len(others) - 1} more files' if others[1:] else ''}, which would "
            "be lost and no cse-export of this version left so: move it away, or name another folder"
        )


def others_in(target: Path) -> list[str]:
    """The files below `target` that are not as an export left them; [] where it does not exist."""
    known = read_json(target / WRITTEN).get("files")
    files = {file.relative_to(target).as_posix(): file for file in contents(target)}
    if not isinstance(known, dict):
        return sorted(files)
    return sorted(
        name
        for name, file in files.items()
        if name != WRITTEN and (file.is_symlink() or not file.is_file() or known.get(name) != checksum(file))
    )


def contents(folder: Path) -> list[Path]:
    """All below a folder but folders themselves; links are not followed."""
    return [place for place in folder.rglob("*") if place.is_symlink() or not place.is_dir()]


def check_copyable(best: Path) -> None:
    """Raise UserError for a link in `best/`, which would share what it leads to, for what is no file, and for code."""
    for place in (best, *contents(best)):
        if place.is_symlink() or not (place.is_file() or place.is_dir()):
            raise UserError(f"{place} is a link or no file, and an export holds files alone: put the file itself there")
        if place.is_file() and place.suffix not in SHARED:
            raise UserError(f"{place} is no file of an encoder that cse trained (code? a pickle?): remove it to export")
        if place.suffix == ".json" and "auto_map" in read_json(place):
            raise UserError(f"{place} has an auto_map, by which loading runs code: remove it to export")


def export(
    run: Path,
    target: Path,
    *,
    name: str,
    scores: Sequence[Path] = (),
    adapter: bool = False,
    onnx: bool = False,
    license: str | None = None,
) -> list[Path]:
    """Fill `target`, which is replaced, and return its files.

    name: what the card loads it by. scores: folders of cse-eval, whose scores are added to the run's. adapter: the
    adapter alone, for a run that trained one. onnx: `onnx/model.onnx` too. license: of the weights. Raises UserError
    for a run that is not done or has no adapter.
    """
    record = read_record(run, "run", TRAINED)
    if not (run / "best" / "modules.json").is_file():
        raise UserError(f"{run} has no best/, the encoder that is shared")
    if adapter and not (run / "best" / "adapter").is_dir():
        raise UserError(f"{run} trained all weights (model.lora was not set): there is no adapter to share alone")
    check_copyable(run / "best")
    records = [record, *(read_scores(folder, run) for folder in scores)]
    values = {key: value for one in records for key, value in one["metrics"].items()}
    check_target(target, run)
    with replaced_folder(target) as folder:
        left_out = {"README.md", *(WEIGHTS if adapter else ())}
        copy(run / "best", folder, left_out)
        place = folder if adapter else folder / "adapter"
        if adapter:
            copy(run / "best" / "adapter", folder, set())
        if (place / "adapter_config.json").is_file():
            set_base_model(place / "adapter_config.json", record)
        (folder / "README.md").write_text(model_card(record, values, name, license), encoding="utf-8")
        if onnx:
            write_onnx(run / "best", folder)
        write_eval_results(folder, records)
        copy_mteb(folder, records)
        check_no_tokens(folder)
        files = {file.relative_to(folder).as_posix(): checksum(file) for file in contents(folder)}
        write_json(folder / WRITTEN, {"files": files})
        check_target(target, run)  # which somebody may have used meanwhile
    return sorted(target / name for name in files)


def copy(source: Path, target: Path, left_out: set[str]) -> None:
    """Copy a folder's content into an existing folder, except its direct children with the names in left_out."""

    def ignored(folder: str, _: list[str]) -> set[str]:
        return left_out if Path(folder) == source else set()

    shutil.copytree(source, target, ignore=ignored, copy_function=shutil.copyfile, dirs_exist_ok=True)


def set_base_model(file: Path, record: Json) -> None:
    """Set the hub's name of the base model in an adapter's configuration, where peft wrote a folder of this machine."""
    config = read_json(file)
    if not config:
        raise UserError(f"{file.name} of the run's adapter is damaged: put a whole one into best/")
    config["base_model_name_or_path"] = base_model(record["config"]) or record["config"]["model"]["name"]
    write_json(file, config)


def check_no_tokens(folder: Path) -> None:
    """Raise UserError where a file to be shared contains the hub's token, or what looks like one."""
    from huggingface_hub import get_token

    token = (get_token() or "").encode()
    for file in folder.rglob("*"):
        if not (file.is_file() and file.suffix in TEXT):
            continue
        content = file.read_bytes()
        if (token and token in content) or TOKEN.search(content):
            raise UserError(f"{file.name} would contain a token: remove it from the run's command or notes first")
