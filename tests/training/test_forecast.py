"""What a dry run forecasts, on encoders whose truth is known."""

import re

import pytest
import torch
from toys import run_of

from cse.training.forecast import extrapolated, kept_tensors


def test_kept_tensors_are_counted_once_and_let_go():
    weight = torch.ones(100, 100, requires_grad=True)
    x = torch.ones(50, 100)
    with kept_tensors({weight.untyped_storage().data_ptr()}) as kept:
        y = (x @ weight).exp()  # keeps x, and the exponential: 50 * 100 floats each
        z = y * y  # keeps y, which is kept already
        assert kept.now == kept.peak == 2 * 50 * 100 * 4
        z.sum().backward()
        assert kept.now == 0
    assert kept.peak == 2 * 50 * 100 * 4


def test_extrapolated():
    assert extrapolated([(10, 3.0), (20, 5.0)], 40) == 9.0
    assert extrapolated([(10, 5.0), (20, 4.0)], 40) == 4.0  # noise: it never falls
    assert extrapolated([(10, 1.0), (20, 8.0)], 40) == 16.0  # nor does it rise faster than from nothing
    assert extrapolated([(20, 4.0), (20, 4.0)], 40) == 8.0


@pytest.mark.parametrize(("objective", "negatives"), [("simcse", "7 an anchor"), ("barlow", "none"), ("declutr", None)])
def test_a_dry_run_says_what_a_run_takes(
    objective, negatives, small_run, cse_train, documents, triplets, tmp_path, capsys
):
    words = run_of(objective, None, 32, documents, triplets)
    assert cse_train([*small_run, *words, "dry_run=true"]) == 0
    told = dict(re.findall(r"^(\w+) +(.+)$", capsys.readouterr().out, re.M))
    assert negatives in (None, told["negatives"])
    scores = r"(, 4 dev scores of \S+ s)?, \S+ s to encode what else is scored at the end"
    found = re.match(rf"(\d+) steps of (\S+) s{scores}: \S+ \w+$", told["time"])
    assert found, told["time"]
    assert int(found[1]) == 6
    assert 0 < float(found[2]) < 60
    assert 0.05 < float(told["memory"].split()[0]) < 20
    assert re.fullmatch(r"on \d+ of the \d+ anchors of a batch", told["measured"])
    assert {path.name for path in (tmp_path / "run").iterdir()} <= {".hydra", "train.log"}
