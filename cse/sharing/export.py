"""A folder to share: the encoder or its adapter alone, its model card, and its scores in the formats of others."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from cse.errors import UserError
from cse.files import read_json, replaced_folder, write_json
from cse.sharing.card import base_model, model_card
from cse.sharing.onnx import write_onnx
from cse.sharing.scores import copy_mteb, write_eval_results
from cse.types import Json

WEIGHTS = ("config.json", "model.safetensors", "adapter")  # left out where the adapter alone is exported
TOKEN = re.compile(rb"\bhf_[A-Za-z0-9]{30,}")
TEXT = (".md", ".json", ".jsonl", ".yaml", ".txt", ".csv")


def read_record(folder: Path, what: str) -> Json:
    """results.json of a finished run or evaluation. Raises UserError where there is none."""
    record = read_json(folder / "results.json")
    if record.get("status") != "done":
        raise UserError(f"{folder} holds no {what} that is done (results.json: {record.get('status', 'not there')})")
    return record


def read_scores(folder: Path, run: Path) -> Json:
    """results.json of a cse-eval of this run's encoder. Raises UserError for another encoder's."""
    record = read_record(folder, "scores")
    checkpoint = record["config"].get("checkpoint")
    if checkpoint is None or Path(checkpoint).resolve() not in (run.resolve(), (run / "best").resolve()):
        raise UserError(f"{folder} has the scores of checkpoint={checkpoint}, which is not {run}")
    return record


def check_target(target: Path) -> None:
    """Raise UserError for a folder with other content than an earlier export: exporting replaces the folder."""
    if target.exists() and any(target.iterdir()) and not (target / "modules.json").is_file():
        raise UserError(f"--to {target} holds other things, which would be lost: name another folder")


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
    record = read_record(run, "run")
    if not (run / "best" / "modules.json").is_file():
        raise UserError(f"{run} has no best/, the encoder that is shared")
    if adapter and not (run / "best" / "adapter").is_dir():
        raise UserError(f"{run} trained all weights (model.lora was not set): there is no adapter to share alone")
    records = [record, *(read_scores(folder, run) for folder in scores)]
    values = {key: value for one in records for key, value in one["metrics"].items()}
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
    return sorted(file for file in target.rglob("*") if file.is_file())


def copy(source: Path, target: Path, left_out: set[str]) -> None:
    """Copy a folder's content into an existing folder, except its direct children with the names in left_out."""

    def ignored(folder: str, _: list[str]) -> set[str]:
        return left_out if Path(folder) == source else set()

    shutil.copytree(source, target, ignore=ignored, copy_function=shutil.copyfile, dirs_exist_ok=True)


def set_base_model(file: Path, record: Json) -> None:
    """Set the hub's name of the base model in an adapter's configuration, where peft wrote a folder of this machine."""
    config = json.loads(file.read_text(encoding="utf-8"))
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
