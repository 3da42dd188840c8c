"""A folder to share: the encoder, or only its adapter, with its model card and its scores in others' formats."""

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

WEIGHTS = ("config.json", "model.safetensors", "adapter")  # left out if only the adapter is exported
TOKEN = re.compile(rb"\bhf_[A-Za-z0-9]{30,}")
SHARED = (".safetensors", ".json", ".txt", ".model", ".jinja", ".md")  # suffixes of what `best/` may hold
TEXT = (".md", ".json", ".jsonl", ".yaml", ".txt", ".csv")
WRITTEN = ".cse-export.json"
"""Lists an export's other files with their checksums, which tells a later export what it may replace."""


def shell_words(text: str) -> str:
    """The command line. Raises ValueError if a shell could not parse it."""
    shlex.split(text)
    return text


FileName = Annotated[str, Field(pattern=r"^\w[\w .+()-]*\z")]  # cannot lead out of a folder
ScoreName = Annotated[str, Field(pattern=r"^[^/]+/(.+/)?[^/]+\z")]  # test/sts/average
RepoName = Annotated[str, Field(pattern=r"^\w[\w./+-]*\z")]
Target = Annotated[str, Field(pattern=r"\w\.\w+\z")]  # module.Class


class Task(TypedDict):
    """A task that mteb scored."""

    metric: str
    dataset: str | None
    revision: str | None


SCORED = {"config": dict, "metrics": dict[ScoreName, float | None], "data.mteb": dict | None}
"""What results.json must hold to be exported, by dotted key. It may hold more, and what may be None may be missing."""

MTEB = {"model.name": RepoName, "model.revision": FileName, "tasks": dict[FileName, Task], "protocol": str}
"""What its `data.mteb` must hold, if there is one."""

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
"""What a run's results.json must hold, besides what every reader relies on (cse.record.results)."""


def read_record(folder: Path, what: str, kinds: Mapping[str, Any] = SCORED) -> Json:
    """results.json of a finished run or evaluation, without metrics that are None.

    kinds: what it must hold. Raises UserError if it is not finished, or damaged.
    """
    file, record = folder / "results.json", read_finished(folder, what)
    check_kinds(file, record, kinds)
    if (record.get("data") or {}).get("mteb") is not None:
        check_kinds(file, record, {f"data.mteb.{key}": kind for key, kind in MTEB.items()})
    metrics = {name: value for name, value in record["metrics"].items() if value is not None}
    return record | {"metrics": metrics}


def check_kinds(file: Path, record: Json, kinds: Mapping[str, Any]) -> None:
    """Raise UserError, with the key, for a value that is not of its kind. kinds: by dotted key."""
    for key, kind in kinds.items():
        *groups, last = key.split(".")
        node: Json = record
        try:
            for group in groups:
                node = TypeAdapter(dict | None).validate_python(node.get(group), strict=True) or {}
            TypeAdapter(kind).validate_python(node.get(last), strict=True)
        except ValidationError as error:
            wrong = error.errors(include_url=False)[0]
            raise UserError(f"{file} is damaged: {key}: {wrong['msg'].lower()}; use an intact copy") from error


def read_scores(folder: Path, run: Path) -> Json:
    """results.json of a cse-eval of this run's encoder. Raises UserError for another encoder's."""
    record = read_record(folder, "scores")
    checkpoint = record["config"].get("checkpoint")
    if checkpoint is None or Path(checkpoint).resolve() not in (run.resolve(), (run / "best").resolve()):
        raise UserError(f"{folder} has the scores of checkpoint={checkpoint}, which is not {run}")
    return record


def check_target(target: Path, run: Path) -> None:
    """Raise UserError for a link, a folder inside the run (except RUN/export), and one with anything but an earlier
    export, which exporting replaces."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise UserError(f"--to {target} is a link or a file: name a folder")
    inside = target.resolve().is_relative_to(run.resolve())
    if inside and target.resolve() != (run / "export").resolve():
        raise UserError(f"--to {target} is inside the run: use {run / 'export'}, or a folder elsewhere")
    if others := others_in(target):
        raise UserError(
            f"--to {target} holds {others[0]}{f' and {len(others) - 1} more files' if others[1:] else ''}, which "
            "would be lost and is not as cse-export of this version left it: move it away, or name another folder"
        )


def others_in(target: Path) -> list[str]:
    """The files below `target` that are not as an export left them; [] if it does not exist."""
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
    """Everything below a folder except folders; links are not followed."""
    return [place for place in folder.rglob("*") if place.is_symlink() or not place.is_dir()]


def check_copyable(best: Path) -> None:
    """Raise UserError for a link in `best/`, which would share its target, a pipe or a device, and code."""
    for place in (best, *contents(best)):
        if place.is_symlink() or not (place.is_file() or place.is_dir()):
            raise UserError(f"{place} is a link, a pipe or a device: put the file itself there to export it")
        if place.is_file() and place.suffix not in SHARED:
            raise UserError(f"{place} is not part of an encoder of cse's (code? a pickle?): remove it to export")
        if place.suffix == ".json" and "auto_map" in read_json(place):
            raise UserError(f"{place} has an auto_map, which makes loading run code: remove it to export")


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
    """Replace `target` with the export of a run, and return its files.

    name: what loads it, for the card. scores: folders of cse-eval, whose scores are added to the run's. adapter: export
    only the adapter that the run trained. onnx: add `onnx/model.onnx`. license: of the weights. Raises UserError for a
    run that is not finished or has no adapter.
    """
    record = read_record(run, "run", TRAINED)
    if not (run / "best" / "modules.json").is_file():
        raise UserError(f"{run} has no best/, the encoder to share")
    if adapter and not (run / "best" / "adapter").is_dir():
        raise UserError(f"{run} trained all weights (model.lora was not set): it has no adapter to share")
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
        check_target(target, run)  # somebody may have put something there meanwhile
    return sorted(target / name for name in files)


def copy(source: Path, target: Path, left_out: set[str]) -> None:
    """Copy a folder's content into an existing folder, except its direct children named in left_out."""

    def ignored(folder: str, _: list[str]) -> set[str]:
        return left_out if Path(folder) == source else set()

    shutil.copytree(source, target, ignore=ignored, copy_function=shutil.copyfile, dirs_exist_ok=True)


def set_base_model(file: Path, record: Json) -> None:
    """Write the base model's hub name into an adapter's configuration, where peft put a folder of this machine."""
    config = read_json(file)
    if not config:
        raise UserError(f"{file.name} of the run's adapter is damaged: put an intact one into best/")
    config["base_model_name_or_path"] = base_model(record["config"]) or record["config"]["model"]["name"]
    write_json(file, config)


def check_no_tokens(folder: Path) -> None:
    """Raise UserError if a file to be shared contains the hub's token, or what looks like one."""
    from huggingface_hub import get_token

    token = (get_token() or "").encode()
    for file in folder.rglob("*"):
        if not (file.is_file() and file.suffix in TEXT):
            continue
        content = file.read_bytes()
        if (token and token in content) or TOKEN.search(content):
            raise UserError(f"{file.name} would contain a token: remove it from the run's command or notes first")
