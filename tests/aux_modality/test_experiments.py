"""VisualCSE and AudioCSE compose to the values of Table A.1 and of the authors' logs."""

import pytest

import cse

# (aux_modality, objective, model): text batch, text lr, epochs, aux lr, omega, aux temperature, head
VALUES = {
    ("visual", "simcse", "bert"): (64, 3e-5, 1, 1e-6, 0.05, 0.07, "own"),
    ("visual", "simcse", "roberta"): (128, 2e-5, 1, 1e-7, 0.2, 0.07, "own"),
    ("visual", "simcse", "roberta_large"): (256, 1e-5, 1, 5e-7, 0.05, 0.07, "own"),
    ("visual", "simcse_sup", "bert"): (128, 3e-5, 3, 1e-7, 100, 0.07, "text_then_own"),
    ("audio", "simcse", "bert"): (64, 3e-5, 1, 2e-7, 0.01, 0.07, "own"),
    ("audio", "simcse", "roberta"): (128, 2e-5, 1, 2e-7, 0.02, 0.07, "own"),
    ("audio", "simcse", "roberta_large"): (256, 1e-5, 1, 5e-6, 0.01, 0.07, "own"),
    ("audio", "simcse_sup", "bert"): (128, 3e-5, 3, 1e-7, 100, 0.07, "text_then_own"),
}


def experiment(aux: str, objective: str, variant: str = "") -> list[str]:
    """The overrides for one of VALUES, or for a variant of it."""
    name = f"experiment={aux}cse{'_sup' if objective == 'simcse_sup' else ''}"
    return [name, f"variant={variant}"] if variant else [name]


def values(cfg) -> tuple:
    aux = cfg.aux_modality
    text = cfg.trainer.batch_size, cfg.trainer.lr, cfg.trainer.epochs
    return *text, aux.lr, aux.weight, aux.temperature, aux.head_mode


@pytest.mark.parametrize("key", VALUES, ids="_".join)
def test_an_experiment_has_the_published_values(key):
    aux, objective, model = key
    cfg = cse.compose(*experiment(aux, objective), f"model={model}")
    assert values(cfg) == VALUES[key]
    fixed = (cfg.aux_modality.loss, cfg.aux_modality.order, cfg.aux_modality.optimizer, cfg.aux_modality.schedule)
    assert fixed == ("supcon", "aux_first", "separate", "cosine")
    assert (cfg.aux_modality.clip, cfg.aux_modality.weight_decay, cfg.aux_modality.data.batch_size) == (1, 0, 48)
    assert cfg.aux_modality.no_decay == ["bias", "LayerNorm.weight"]  # the released trainer's, whatever the text decays
    assert cfg.objective._target_ == "cse.objective.simcse.Simcse"
    assert cfg.objective.num_views == (None if objective == "simcse_sup" else 2)
    assert cfg.data.name == ("nli" if objective == "simcse_sup" else "wiki1m")
    assert cse.compose(f"aux_modality={aux}", f"objective={objective}", f"model={model}") == cfg  # typed part by part


VARIANTS = {
    ("visual", "simcse", "released"): {"loss": "rank_ce"}, ("audio", "simcse_sup", "simclr"): {"loss": "simclr"},
    ("visual", "simcse_sup", "released_sup"): {"loss": "rank_ce", "temperature": 0.05},
}  # fmt: skip


@pytest.mark.parametrize("key", VARIANTS, ids="_".join)
def test_a_variant_changes_only_the_loss(key):
    aux, objective, _ = key
    plain, changed = (cse.compose(*experiment(*some), "model=bert") for some in ((aux, objective), key))
    assert changed != plain
    plain.aux_modality.update(VARIANTS[key])
    assert changed == plain


def test_cifar_changes_only_the_images():
    cfg = cse.compose(
        "experiment=visualcse", "variant=cifar", "model=bert", "paths.images=/imagenet", "paths.cifar=/cifar"
    )
    assert (cfg.aux_modality.data.hub, cfg.aux_modality.data.resize) == ("uoft-cs/cifar10", 224)
    assert cfg.aux_modality.data.folder == "/cifar"  # an ImageNet folder in the environment must not become CIFAR
    assert values(cfg) == VALUES["visual", "simcse", "bert"]
