"""AdamW's variants against their update rules written out, schedules against the papers' numbers."""

import math

import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModel

from cse.training.optim import adamw, clip_gradients, learning_rate, set_rates, updates_made
from cse.training.settings import in_steps
from cse.training.update import check_names


def slow_adamw(p, grads, lr, beta1, beta2, eps, decay, correction) -> float:
    """The update of one number, step by step. hf and none as in Hugging Face's AdamW (eps before the correction)."""
    m = v = 0.0
    for t, grad in enumerate(grads, 1):
        m, v = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad * grad
        c1, c2 = 1 - beta1**t, 1 - beta2**t
        p -= lr * decay * p
        if correction == "torch":
            p -= lr * (m / c1) / (math.sqrt(v / c2) + eps)
        elif correction == "hf":
            p -= lr * math.sqrt(c2) / c1 * m / (math.sqrt(v) + eps)
        else:
            p -= lr * m / (math.sqrt(v) + eps)
    return p


@pytest.mark.parametrize("correction", ["torch", "hf", "none"])
@pytest.mark.parametrize("eps", [1e-8, 1e-2])
def test_adamw_variants(correction, eps):
    module = nn.Linear(1, 1, bias=False).double()
    start = module.weight.item()
    optimizer = adamw([module], 0.1, betas=(0.9, 0.999), eps=eps, weight_decay=0.05, no_decay=[])
    grads = [0.3, -0.2, 0.7, 0.01, -0.5]
    for step, grad in enumerate(grads):
        module.weight.grad = torch.full_like(module.weight, grad)
        set_rates(optimizer, step, 0.1, eps, correction, [0.05])
        optimizer.step()
    expected = slow_adamw(start, grads, 0.1, 0.9, 0.999, eps, 0.05, correction)
    assert module.weight.item() == pytest.approx(expected, rel=1e-9)


def test_shared_parameters_are_updated_once():
    module = nn.Linear(2, 2)
    optimizer = adamw(
        [module, nn.Sequential(module)], 1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, no_decay=[]
    )
    assert sum(len(group["params"]) for group in optimizer.param_groups) == 2


SMALL = {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
SIZES = {
    "gpt2": {"vocab_size": 60, "n_embd": 32, "n_layer": 1, "n_head": 2, "bos_token_id": 0, "eos_token_id": 0},
    "xlm": {"vocab_size": 60, "emb_dim": 32, "n_layers": 1, "n_heads": 2},
    "bloom": {"vocab_size": 60, "hidden_size": 32, "n_layer": 1, "n_head": 2},
    "mobilebert": {"vocab_size": 60, "num_hidden_layers": 1},
    "llama": SMALL | {"head_dim": 16},
    "squeezebert": SMALL
    | {"embedding_size": 32, "q_groups": 1, "k_groups": 1, "v_groups": 1, "intermediate_groups": 1, "output_groups": 1},
}


@pytest.mark.parametrize("kind", ["bert", "gpt2", "xlm", "bloom", "falcon", "mobilebert", "llama", "squeezebert"])
def test_no_norm_is_decayed_whatever_its_name(kind):
    """As in transformers' Trainer since its PR 10598: the weights of norms are found by their modules' types."""
    model = AutoModel.from_config(AutoConfig.for_model(kind, **SIZES.get(kind, SMALL)))
    names = ["bias", "LayerNorm.weight"]
    check_names("trainer.no_decay", names, [model])
    groups = adamw([model], 0.1, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1, no_decay=names).param_groups
    spared = {parameter for group in groups if group["weight_decay"] == 0 for parameter in group["params"]}
    for name, parameter in model.named_parameters():
        assert (parameter in spared) == (parameter.dim() == 1 or "bias" in name), name


def test_norms_are_decayed_where_no_decay_does_not_name_them():
    model = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))
    optimizer = adamw([model], 0.1, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1, no_decay=["bias"])
    assert model[1].weight in set(optimizer.param_groups[0]["params"])


@pytest.mark.parametrize(
    ("update", "rate"), [(1, 2.046875e-6), (50, 2.578125e-5), (100, 5e-5), (500, 2.8472222e-5), (1000, 1.5625e-6)]
)
def test_slanted_triangular_is_declutrs(update, rate):
    """T = 1000 updates, base 5e-5; the authors count updates from 1."""
    assert learning_rate("slanted_triangular", 5e-5, update - 1, 1000, 0) == pytest.approx(rate, rel=1e-6)


def test_linear_and_cosine():
    assert [learning_rate("linear", 1.0, k, 4, 0) for k in range(5)] == [1, 0.75, 0.5, 0.25, 0]
    assert [learning_rate("linear", 1.0, k, 6, 2) for k in range(4)] == [0, 0.5, 1, 0.75]
    assert learning_rate("cosine", 2.0, 5, 10, 0) == pytest.approx(1.0)
    assert learning_rate("constant", 2.0, 9, 10, 0) == 2.0


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant", "slanted_triangular"])
def test_after_the_end_of_a_schedule_its_last_rate_stays(schedule):
    last = learning_rate(schedule, 1.0, 20, 20, 2)
    assert [learning_rate(schedule, 1.0, step, 20, 2) for step in (21, 30, 40)] == [last] * 3


def test_a_number_of_steps_is_that_and_a_fraction_is_rounded_up():
    assert [in_steps(steps, 25) for steps in (3, 0.1, 0.12, 1.0)] == [3, 3, 3, 25]


def test_clipping_takes_one_norm_over_all_modules():
    a, b = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    a.weight.grad, b.weight.grad = torch.full((1, 1), 3.0), torch.full((1, 1), 4.0)
    assert clip_gradients([a, b, a], None).item() == pytest.approx(5)
    assert a.weight.grad.item() == 3
    assert clip_gradients([a, b], 1.0).item() == pytest.approx(5)
    assert a.weight.grad.item() == pytest.approx(0.6, rel=1e-5)


@pytest.mark.parametrize("correction", ["torch", "hf", "none"])
def test_an_update_that_fp16_skips_does_not_advance_bias_correction(correction):
    """Neither torch's own count nor the step that the rates are set by includes it."""
    module = nn.Linear(1, 1, bias=False)
    start = module.weight.item()
    optimizer = adamw([module], 0.1, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, no_decay=[])
    scaler = torch.amp.GradScaler("cpu", init_scale=1.0)
    for grad in (0.3, math.inf, -0.2, math.inf, 0.7):
        scaler.scale(torch.zeros(()))  # it is made at its first use
        module.weight.grad = torch.full_like(module.weight, grad)
        scaler.unscale_(optimizer)
        set_rates(optimizer, updates_made(optimizer), 0.1, 1e-8, correction, [0.0])
        scaler.step(optimizer)
        scaler.update(1.0)
    assert updates_made(optimizer) == 3
    expected = slow_adamw(start, [0.3, -0.2, 0.7], 0.1, 0.9, 0.999, 1e-8, 0.0, correction)
    assert module.weight.item() == pytest.approx(expected, rel=1e-5)
