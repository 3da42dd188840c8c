"""The named runs compose to the values of Table A.1 and of the authors' logs."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

CONF = Path(__file__).parents[2] / "conf"
# text batch, text lr, epochs, aux lr, omega, aux temperature, head
VALUES = {
    "visualcse_bert": (64, 3e-5, 1, 1e-6, 0.05, 0.07, "own"),
    "visualcse_roberta": (128, 2e-5, 1, 1e-7, 0.2, 0.07, "own"),
    "visualcse_roberta_large": (256, 1e-5, 1, 5e-7, 0.05, 0.07, "own"),
    "visualcse_sup_bert": (128, 3e-5, 3, 1e-7, 100, 0.05, "text_then_own"),
    "audiocse_bert": (64, 3e-5, 1, 2e-7, 0.01, 0.07, "own"),
    "audiocse_roberta": (128, 2e-5, 1, 2e-7, 0.02, 0.07, "own"),
    "audiocse_roberta_large": (256, 1e-5, 1, 5e-6, 0.01, 0.07, "own"),
    "audiocse_sup_bert": (128, 3e-5, 3, 1e-7, 100, 0.05, "text_then_own"),
}
VARIANTS = sorted(path.stem for path in (CONF / "experiment").glob("*cse_*_*.yaml"))


def composed(*overrides: str):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train", list(overrides))


def values(cfg) -> tuple:
    aux = cfg.aux_modality
    return (
        cfg.trainer.batch_size, cfg.trainer.lr, cfg.trainer.epochs, aux.lr, aux.weight, aux.temperature, aux.head_mode,
    )  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_published_values(name):
    cfg = composed(f"experiment={name}")
    assert values(cfg) == VALUES[name]
    aux = cfg.aux_modality
    assert (aux.loss, aux.order, aux.optimizer, aux.schedule, aux.clip) == (
        "supcon",
        "aux_first",
        "separate",
        "cosine",
        1,
    )
    assert (aux.weight_decay, aux.data.batch_size) == (0, 48)
    assert cfg.objective._target_ == "cse.objective.simcse.Simcse"
    assert cfg.objective.num_views == (3 if "sup" in name else 2)
    assert cfg.data.name == ("nli" if "sup" in name else "wiki1m")


@pytest.mark.parametrize("name", VALUES)
def test_the_released_preset_changes_only_the_loss(name):
    cfg = composed(f"experiment={name}")
    kind, _, model = name.partition("_")
    released = composed(f"experiment={kind}_released_{model}")
    assert released.aux_modality.loss == "rank_ce"
    released.aux_modality.loss = "supcon"
    assert released == cfg


def test_the_simclr_and_cifar_runs():
    for name in (
        "visualcse_simclr_bert",
        "visualcse_simclr_roberta",
        "audiocse_simclr_bert",
        "audiocse_simclr_roberta",
    ):
        cfg = composed(f"experiment={name}")
        assert cfg.aux_modality.loss == "simclr"
        assert values(cfg) == VALUES[name.replace("_simclr", "")]
    for name in ("visualcse_cifar_bert", "visualcse_cifar_roberta"):
        cfg = composed(f"experiment={name}", "paths.images=/imagenet")
        assert cfg.aux_modality.data.folder is None  # an ImageNet folder in the environment must not become CIFAR
        assert (cfg.aux_modality.data.hub, cfg.aux_modality.data.resize) == ("uoft-cs/cifar10", 224)
        assert values(cfg) == VALUES[name.replace("_cifar", "")]


@pytest.mark.parametrize("name", sorted({*VALUES, *VARIANTS}))
def test_a_run_opens_with_its_own_command(name):
    lines = (CONF / "experiment" / f"{name}.yaml").read_text().splitlines()
    assert lines[:2] == ["# @package _global_", f"# cse-train experiment={name}"]


def test_the_command_line_has_the_last_word():
    cfg = composed("experiment=visualcse_bert", "model=roberta", "aux_modality.loss=simclr", "trainer.lr=1e-4")
    assert (cfg.model.name, cfg.aux_modality.loss, cfg.trainer.lr) == ("roberta-base", "simclr", 1e-4)


def test_none_is_empty():
    assert not composed().aux_modality
