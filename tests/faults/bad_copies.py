"""Copies of whole checkpoints (C), runs to resume (R) or report (P) and score sets (S), each with one change."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import torch
from bad_files import TEXT
from safetensors import safe_open
from safetensors.torch import load_file, save_file


def config(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def written(name: str, content: str | bytes) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return change


def cut(name: str, share: float = 0.5) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: int(share * len(content))])

    return change


def gone(*names: str) -> Callable[[Path], None]:
    return lambda folder: [(folder / name).unlink() for name in names]


def tensors(change: Callable[[dict[str, torch.Tensor]], object], name: str = "model.safetensors") -> Callable:
    """Change what a safetensors file holds; what it says about itself stays."""

    def changed(folder: Path) -> None:
        with safe_open(folder / name, "pt") as file:
            about = file.metadata()
        content = load_file(folder / name)
        change(content)
        save_file(content, folder / name, metadata=about)

    return changed


def about(change: Callable[[dict], object]) -> Callable[[Path], None]:
    """Change what last/ says beside its tensors."""

    def changed(folder: Path) -> None:
        name = folder / "last" / "state.safetensors"
        with safe_open(name, "pt") as file:
            content = json.loads(file.metadata()["about"])
        save_file(load_file(name), name, metadata={"about": json.dumps(change(content))})

    return changed


def modules(*kinds: tuple[str, str], **files: object) -> Callable[[Path], None]:
    """A sentence-transformers layout: (type, path) of each module, and files by name, "__" for a slash."""

    def change(folder: Path) -> None:
        listed = [
            {"idx": n, "name": str(n), "path": path, "type": f"st.models.{kind}"}
            for n, (kind, path) in enumerate(kinds)
        ]
        (folder / "modules.json").write_text(json.dumps(listed))
        for name, content in files.items():
            path = folder / f"{name.replace('__', '/')}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content))

    return change


def dense(settings: dict, weights: dict[str, torch.Tensor] | None) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        modules(*TWO, ("Dense", "2_Dense"), **{"1_Pooling__config": CLS, "2_Dense__config": settings})(folder)
        if weights is not None:
            save_file(weights, folder / "2_Dense" / "model.safetensors")

    return change


def part(names: dict[str, torch.Tensor], word: str) -> list[str]:
    return [name for name in names if word in name]


TWO = (("Transformer", ""), ("Pooling", "1_Pooling"))
CLS = {"pooling_mode_cls_token": True}
DENSE = {"in_features": 32, "out_features": 8, "bias": False, "activation_function": "torch.nn.modules.activation.Tanh"}
WEIGHT = {"linear.weight": torch.zeros(8, 32)}
INDEX = json.dumps({"metadata": {}, "weight_map": {"a": "model-00001-of-00002.safetensors"}})
CHECKPOINTS: dict[str, Callable[[Path], object]] = {  # more in tests/model/test_integrity.py
    "no_config": gone("config.json"), "config_unknown": config(model_type="nothing", architectures=["No"]),
    "config_vit": config(model_type="vit"), "heads": config(num_attention_heads=5), "vocabulary": config(vocab_size=9),
    "no_weights": gone("model.safetensors"), "weights_none": tensors(dict.clear),
    "index_missing": lambda folder: (gone("model.safetensors")(folder),
                                     written("model.safetensors.index.json", INDEX)(folder)),
    "st_modules_text": written("modules.json", TEXT), "st_modules_dict": written("modules.json", "{}"),
    "st_modules_none": written("modules.json", "[]"), "st_unknown": modules(*TWO, ("CNN", "2_CNN"),
    **{"1_Pooling__config": CLS}),
    "st_no_pooling": modules(("Transformer", "")), "st_pooling_missing": modules(*TWO),
    "st_pooling_max": modules(*TWO, **{"1_Pooling__config": {"pooling_mode_max_tokens": True}}),
    "st_pooling_text": modules(*TWO, **{"1_Pooling__config": TEXT}), "st_dense_missing": dense(DENSE, None),
    "st_dense_shape": dense(DENSE, {"linear.weight": torch.zeros(3, 3)}), "st_dense_config": dense({}, WEIGHT),
    "st_dense_activation": dense(DENSE | {"activation_function": "torch.nn.Nothing"}, WEIGHT),
    "st_length_text": modules(*TWO, **{"1_Pooling__config": CLS, "sentence_bert_config": {"max_seq_length": "long"}}),
    "st_prompts_list": modules(*TWO, **{"1_Pooling__config": CLS, "config_sentence_transformers": {"prompts": ["a"]}}),
}  # fmt: skip
STATE, SETTINGS, OVERRIDES = "last/state.safetensors", "run.yaml", ".hydra/overrides.yaml"
RESUMED: dict[str, Callable[[Path], object]] = {
    "state_cut": cut(STATE), "state_text": written(STATE, TEXT), "state_empty": written(STATE, ""),
    "state_about": about(lambda _: []), "state_fields": about(lambda told: {"step": told["step"]}),
    "state_shape": tensors(lambda held: held.update({part(held, "encoder/")[0]: torch.zeros(1)}), STATE),
    "state_less": tensors(lambda held: held.pop(part(held, "encoder/")[0]), STATE),
    "state_moments": tensors(lambda held: held.update({part(held, "exp_avg")[0]: torch.zeros(1)}), STATE),
    "state_random": tensors(lambda held: held.update({"random/0/torch": torch.zeros(3, dtype=torch.uint8)}), STATE),
    "settings_text": written(SETTINGS, TEXT), "settings_cut": cut(SETTINGS),
    "settings_binary": written(SETTINGS, bytes(range(256))),
}  # fmt: skip


def results(**changes: object) -> Callable[[Path], None]:
    return written("results.json", json.dumps({"status": "done", "config": {"a": 1}, "metrics": {}} | changes))


REPORTED: dict[str, Callable[[Path], object]] = {
    "results_cut": cut("results.json"), "results_empty": written("results.json", ""),
    "results_list": written("results.json", "[]"), "results_text": written("results.json", TEXT),
    "results_scores": results(metrics=["a"]), "results_numbers": results(status=5, metrics={"test/x": "y", "dev/y": 1}),
    "results_config": results(config=["a"], versions=3, metrics={"dev/y": 1}),
    "metrics_cut": cut("metrics.jsonl"), "metrics_binary": written("metrics.jsonl", bytes(range(256)) * 3),
    "overrides_cut": cut(OVERRIDES, 0.37), "hydra_list": written(".hydra/hydra.yaml", "[1]"),
}  # fmt: skip


def scored(change: Callable[[list[list[str]]], object]) -> Callable[[Path], object]:
    """Change the cells of the dev set of STS-B: gold score, first, second are the last three."""

    def changed(folder: Path) -> None:
        path = folder / "STS/STSBenchmark/sts-dev.csv"
        rows = [line.split("\t") for line in path.read_text().splitlines()]
        change(rows)
        path.write_text("".join("\t".join(row) + "\n" for row in rows))

    return changed


def set_cell(place: int, value: str, every: bool = False) -> Callable[[list[list[str]]], object]:
    return lambda rows: [row.__setitem__(place, value) for row in (rows if every else rows[4:5])]


DEV = "STS/STSBenchmark/sts-dev.csv"
SCORED: dict[str, Callable[[Path], object]] = {
    "gold_text": scored(set_cell(4, "five")), "gold_nan": scored(set_cell(4, "nan")),
    "gold_scale": scored(set_cell(4, "9")), "gold_equal": scored(set_cell(4, "3", every=True)),
    "empty": written(DEV, ""), "one": scored(lambda rows: rows.__delitem__(slice(1, None))),
    "latin": lambda folder: (folder / DEV).write_bytes((folder / DEV).read_bytes().replace(b"ka", b"\xe4")),
}  # fmt: skip


def write_copies(folder: Path, whole: Path, changes: dict[str, Callable[[Path], object]]) -> None:
    """A copy of `whole` for each change, by name."""
    for name, change in changes.items():
        change(Path(shutil.copytree(whole, folder / name)))
