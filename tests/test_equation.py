"""Public equations: each refuses each kind of bad argument by its name; compiled code is one graph."""

import inspect
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from cse.augmentation.spans import sample_spans
from cse.aux_modality.supcon import contrast
from cse.eval.geometry import alignment, uniformity
from cse.objective.adnce import adnce
from cse.objective.arccon import arccon
from cse.objective.barlow import barlow_twins
from cse.objective.dcl import dcl
from cse.objective.declutr import nt_xent, nt_xent_against_memory
from cse.objective.esimcse import esimcse
from cse.objective.gist import guided
from cse.objective.graded import angle_similarity, cosent, in_batch_negatives
from cse.objective.rankcse import consistency, listmle, listnet
from cse.objective.simcse import info_nce
from cse.objective.vicreg import vicreg
from cse.objective.whitenedcse import multi_positive, shuffled_group_whitening
from cse.types import Loss

X, Y, Z = torch.randn(3, 4, 8, generator=torch.Generator().manual_seed(0))
S, S2 = X @ X.T, Y @ Y.T
LABELS = torch.tensor([0, 1, 1, 2])
PAIR = {"anchors_BD": X, "positives_BD": Y, "temperature": 0.05}

GOOD = {
    info_nce: {**PAIR, "hard_negatives_ND": torch.cat([Z, X]), "hard_negative_weight": 0.5,
               "missing_N": torch.arange(8) == 3},
    adnce: {**PAIR, "mu": 0.4, "sigma": 1.0, "weigh_positive": False},
    arccon: {**PAIR, "margin": 10.0},
    esimcse: {"anchors_BD": X, "positives_BD": Y, "queue_QD": Z[:3], "temperature": 0.05, "rows_B": torch.arange(4),
              "rows_Q": torch.tensor([1, 7, 8])},
    dcl: {"z1_BD": X, "z2_BD": Y, "temperature": 0.05, "sigma": 0.5},
    nt_xent: {"anchors_ND": X, "positives_ND": Y, "temperature": 0.05, "memory_QD": Z[:3], "reduction": "sum",
              "log_floor": 0.1},
    nt_xent_against_memory: {"rows_RD": X, "labels_R": LABELS, "memory_QD": torch.cat([Z, X]),
                             "labels_Q": LABELS.repeat(2), "temperature": 0.05, "own_copy": True, "reduction": "mean",
                             "log_floor": 0.0},
    barlow_twins: {"z1_BP": X, "z2_BP": Y, "lambd": 0.005, "eps": 1e-5, "products": "fp32"},
    vicreg: {"z1_BP": X, "z2_BP": Y, "invariance": 1.0, "variance": 2, "covariance": 1.0, "norm": "paper", "eps": 1e-4,
             "products": "bf16"},
    contrast: {"view1_BD": X, "view2_BD": Y, "labels_B": LABELS, "temperature": 0.07, "kind": "eq4"},
    cosent: {"similarities_B": X[:, 0], "targets_B": LABELS, "temperature": 0.05},
    angle_similarity: {"x_BD": X, "y_BD": Y, "reading": "angle"},
    in_batch_negatives: {"x_BD": X, "y_BD": Y, "positive_B": LABELS > 0, "temperature": 0.05},
    guided: {"views_BD": [X, Y, Z], "guides_BE": [x[:, :5].double() for x in (X, Y, Z)], "temperature": 0.05,
             "missing_N": torch.arange(4) == 3},
    listnet: {"student_BB": S, "teacher_BB": S2, "temperature": 0.05, "teacher_temperature": 0.1},
    listmle: {"student_BB": S, "teacher_BB": S2.double(), "temperature": 0.05},
    consistency: {"similarities_BB": S, "temperature": 0.05},
    multi_positive: {"views_MBD": torch.stack([X, Y, Z]), "temperature": 0.05, "weights": [0.5, 1], "kind": "L2_hard"},
    shuffled_group_whitening: {"x_BD": X, "num_groups": 4, "permutation": torch.arange(8).flip(0), "eps": 0.0,
                               "kind": "zca", "grad": "detach"},
    alignment: {"x_BD": X, "y_BD": Y.numpy()},
    uniformity: {"x_BD": X, "t": 2.0, "log": True, "chunk": 3},
    sample_spans: {"num_units": 64, "anchors": 2, "positives": 1, "strategy": "all", "rng": np.random.default_rng(0),
                   "min_length": 4, "max_length": 16, "anchor_start": "jitter", "adjacent_bug": False},
}  # fmt: skip

NOT_FINITE = [float("nan"), float("inf"), float("-inf")]
NUMBER = ["0.05", None, *NOT_FINITE, [0.05], torch.tensor([0.05, 0.1]), torch.tensor(torch.nan)]
POSITIVE = [*NUMBER, 0, -1.0, torch.tensor(-1.0), np.float32(0)]
NOT_NEGATIVE = [*NUMBER, -1.0]
COUNT = ["2", None, 2.5, 2.0, 0, -1, True]
SWITCH, CHOICE = ["no", None, 0.5], ["L9", None, 3]
TENSOR = ["text", None, 3.0, X.to(torch.complex64), torch.randn(1, 1, 1, 1)]
FLOATS = [*TENSOR, X.numpy(), X.long(), X.bool()]
WHOLE = [*TENSOR, LABELS.double(), LABELS > 0]
VIEWS = ["text", None, X, X.numpy(), [X, "text"], [X, Y.long()], [X, Y.double()], [X, Y[0]], [X, Y[:3]]]
BAD = {
    "temperature": POSITIVE, "teacher_temperature": POSITIVE, "t": POSITIVE, "mu": NUMBER, "sigma": POSITIVE,
    "hard_negative_weight": NUMBER, "margin": [*NOT_NEGATIVE, 90], "lambd": NOT_NEGATIVE, "log_floor": NOT_NEGATIVE,
    "invariance": NOT_NEGATIVE, "variance": NOT_NEGATIVE, "covariance": NOT_NEGATIVE, "eps": NOT_NEGATIVE,
    "weigh_positive": SWITCH, "own_copy": SWITCH, "log": SWITCH, "adjacent_bug": SWITCH,
    "reduction": CHOICE, "products": CHOICE, "norm": CHOICE, "kind": CHOICE, "reading": CHOICE, "grad": CHOICE,
    "strategy": CHOICE, "anchor_start": CHOICE, "anchors": COUNT, "positives": COUNT, "chunk": COUNT,
    "num_units": [*COUNT, 63], "min_length": COUNT, "max_length": [*COUNT, 3], "rng": [None, 0],
    "num_groups": [*COUNT, 2, 3, 5, 16],  # of 2, each has as many channels as there are rows
    "weights": ["11", 1.0, [], [1.0], [1.0, 1.0, 1.0], [1.0, "1"], [1.0, -1.0], [1.0, math.nan]],
    "permutation": ["text", [0], torch.zeros(8).long(), torch.arange(1, 9), torch.arange(7), torch.arange(9),
                    torch.randperm(8).int(), torch.randperm(8).double(), torch.randperm(8)[None]],
    "labels_B": WHOLE, "labels_R": WHOLE, "labels_Q": WHOLE, "rows_B": WHOLE, "rows_Q": WHOLE,
    "views_BD": VIEWS, "guides_BE": VIEWS,
    "targets_B": [*TENSOR, *(LABELS + one for one in NOT_FINITE)],
    "positive_B": [*TENSOR, *(LABELS + one for one in NOT_FINITE)],
    "teacher_BB": [*TENSOR, *(S + one for one in NOT_FINITE)],
}  # fmt: skip
LEAST = {
    (adnce, "B"): 2, (dcl, "B"): 2, (barlow_twins, "B"): 2, (vicreg, "B"): 2, (listnet, "B"): 2, (uniformity, "B"): 2,
    (shuffled_group_whitening, "B"): 2, (esimcse, "Q"): 0, (nt_xent, "Q"): 0, (nt_xent_against_memory, "Q"): 4,
    (multi_positive, "M"): 2, (guided, "M"): 2, (guided, "N"): 0, (info_nce, "N"): 4,
}  # fmt: skip
FEWER = {
    guided: {"missing_N": None},
    multi_positive: {"weights": None},
    shuffled_group_whitening: {"num_groups": 8},
    contrast: {"kind": "supcon"},
}


def letters_of(name: str, value: object) -> str:
    letters = name.rpartition("_")[2]
    return "" if not letters.isupper() else "M" + letters if isinstance(value, list) else letters


def cut(letters: str, value: object, letter: str, size: int) -> object:
    """The tensor, or the list of them, with that size of the letter."""
    if value is None:
        return None
    if isinstance(value, list):
        value = value[:size] if letter == "M" else value
        return [cut(letters[1:], x, letter, size) for x in value]
    return value[tuple(slice(size if one == letter else None) for one in letters)] if letters else value


SIZES = sorted({
    (function, letter)
    for function, good in GOOD.items()
    for name, value in good.items()
    for letter in letters_of(name, value)
    if letter in "BMNQR"
}, key=str)  # fmt: skip
SECOND = [
    (function, name)
    for function, good in GOOD.items()
    for name in [name for name, value in good.items() if isinstance(value, Tensor) and letters_of(name, value)][1:]
]


@pytest.mark.parametrize("function", GOOD)
def test_the_table_has_every_argument_of_a_good_call(function):
    assert [*GOOD[function]] == [*inspect.signature(function).parameters]
    function(**GOOD[function])


@pytest.mark.parametrize(("function", "name"), [(function, name) for function, good in GOOD.items() for name in good])
def test_a_bad_argument_is_refused_by_name(function, name):
    is_optional = inspect.signature(function).parameters[name].default is None
    for bad in BAD.get(name, TENSOR if function in (alignment, uniformity) else FLOATS):
        if bad is not None or not is_optional:
            with pytest.raises(ValueError, match=f"^{name}\\b"):
                function(**{**GOOD[function], name: bad})


@pytest.mark.parametrize(("function", "letter"), SIZES)
def test_too_few_rows_or_views_are_refused_and_just_enough_have_a_loss(function, letter):
    least, good = LEAST.get((function, letter), 1), {**GOOD[function], **FEWER.get(function, {})}

    def call(size: int) -> object:
        return function(**{name: cut(letters_of(name, value), value, letter, size) for name, value in good.items()})

    loss = call(least)
    assert (loss.total if isinstance(loss, Loss) else loss).isfinite().all()
    for size in range(least):
        with pytest.raises(ValueError, match=rf"^\w+_\w*{letter}\w*: its {letter}\b|^\w+_\w+: its M\b"):
            call(size)


@pytest.mark.parametrize(("function", "name"), SECOND)
def test_a_tensor_that_does_not_fit_the_first_is_refused_by_name(function, name):
    good = GOOD[function]
    bad = [good[name][..., :-1]]
    if good[name].is_floating_point():
        bad.append(good[name].to("meta"))
        if name != "teacher_BB":
            bad += [good[name].double(), good[name].half()]
    for one in bad:
        with pytest.raises(ValueError, match=f"^{name}\\b"):
            function(**{**good, name: one})


def test_a_width_without_halves_is_refused():
    with pytest.raises(ValueError, match=r"^x_BD\b"):
        angle_similarity(X[:, :7], Y[:, :7], "angle")


def test_a_call_with_a_wrong_signature_is_pythons_error():
    for wrong in ((), (X,), (X, Y, 0.05, None, 0.0, None, 1)):
        with pytest.raises(TypeError):
            info_nce(*wrong)
    with pytest.raises(TypeError):
        info_nce(X, Y, temprature=0.05)


@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_learned_temperature_has_a_gradient(shape):
    temperature = torch.full(shape, 0.05, requires_grad=True)
    info_nce(X, Y, temperature).backward()
    assert temperature.grad.abs() > 0


def test_half_precision_arrays_and_numbers_of_numpy_are_taken():
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        assert info_nce(X.to(dtype), Y.to(dtype), np.float32(0.05)).dtype == dtype
    assert uniformity(X.numpy()) == uniformity(X)
    assert shuffled_group_whitening(X, np.int64(4)).shape == X.shape
    assert cosent(X[:, 0], torch.tensor([0.0, 0.5, 0.5, 1.0], dtype=torch.float64), 0.05).dtype == torch.float32


def test_compiled_code_is_one_graph():
    compiled = torch.compile(lambda x, y: info_nce(x, y, 0.05), fullgraph=True, backend="eager")
    assert compiled(X, Y) == pytest.approx(info_nce(X, Y, 0.05).item())
