"""Public equations check their arguments by their signatures, but no learned temperature, and no compiled code."""

import pytest
import torch

from cse.aux_modality.supcon import contrast
from cse.objective.gist import guided
from cse.objective.simcse import info_nce
from cse.objective.vicreg import vicreg
from cse.objective.whitenedcse import multi_positive, shuffled_group_whitening

X, Y = torch.randn(2, 4, 8)
ODD = torch.randn(3, 9)


@pytest.mark.parametrize(
    ("function", "arguments", "named"),
    [
        (info_nce, [X, ODD, 0.05], "positives_BD"),
        (info_nce, [X, Y[:3], 0.05], "positives_BD"),
        (info_nce, [X, Y, 0.05, ODD], "hard_negatives_BD"),
        (info_nce, [X, Y[0], 0.05], "positives_BD"),
        (info_nce, [X.numpy(), Y, 0.05], "anchors_BD"),
        (info_nce, [X, Y, 0.05, [Y]], "hard_negatives_BD"),
        (multi_positive, [[X, Y], 0.05], "views_MBD"),
        (info_nce, [X, Y, -1], "temperature"),
        (info_nce, [X, Y, float("nan")], "temperature"),
        (guided, [[X, Y], [X, ODD], 0.05], "guides_BE"),
        (multi_positive, [torch.stack([X, Y]), 0.05, None, "L9"], "kind"),
        (shuffled_group_whitening, [X, 0], "num_groups"),
        (vicreg, [X, Y, 1.0, -1.0, 1.0], "variance"),
        (contrast, [X, Y, torch.zeros(3), 0.1], "labels_B"),
    ],
)
def test_a_bad_argument_is_refused_by_name(function, arguments, named):
    with pytest.raises(ValueError, match=f"^{named}\\b"):
        function(*arguments)


def test_a_learned_temperature_has_a_gradient_and_compiled_code_is_one_graph():
    temperature = torch.tensor(0.05, requires_grad=True)
    loss = info_nce(X, Y, temperature)
    loss.backward()
    assert temperature.grad.abs() > 0
    compiled = torch.compile(lambda x, y: info_nce(x, y, 0.05), fullgraph=True, backend="eager")
    assert compiled(X, Y) == pytest.approx(loss.item())
