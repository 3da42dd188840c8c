"""Matryoshka: the sum of Eq. 1, sentence-transformers' loss, and heads by width."""

from functools import partial

import pytest
import torch
from objectives import OBJECTIVES
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import MatryoshkaLoss, MultipleNegativesRankingLoss
from toy_batches import ToyEncoder, batch_for
from toys import composed

from cse.errors import UserError
from cse.lab.run.build import make_objective
from cse.lab.settings.check import validate_command
from cse.model.heads import MLPHead
from cse.objective.matryoshka import Matryoshka
from cse.objective.simcse import Simcse, info_nce
from cse.training.step import Chunks, chunked_step, plain_step
from cse.types import Encoded

simcse = partial(
    Simcse, num_views=2, temperature=0.05, keep_head=False, hard_negative_weight=0.0, mlm_weight=0.0, head=MLPHead
)
headless = partial(simcse, head=lambda dim: torch.nn.Identity())


def encoded(rows=6, dim=8):
    x_MBD = torch.randn(2, rows, dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return [Encoded(x_BD.requires_grad_()) for x_BD in x_MBD]


def test_the_weighted_sum_over_widths():
    views = encoded()
    x, y = (view.pooled_BD for view in views)
    module = Matryoshka(8, headless, [8, 2, 4], [1.0, 0.25, 0.5])
    loss = module(views)
    by_hand = {width: info_nce(x[:, :width], y[:, :width], 0.05) for width in (8, 4, 2)}
    torch.testing.assert_close(loss.total, by_hand[8] + 0.5 * by_hand[4] + 0.25 * by_hand[2])
    assert loss.parts == {f"width{width}/contrastive": by_hand[width] for width in (8, 2, 4)}
    torch.testing.assert_close(
        Matryoshka(8, headless, [8], None)(views).total, headless(8)(views).total
    )  # the width itself alone


def test_the_loss_and_gradient_of_sentence_transformers(tiny_bert):
    """MatryoshkaLoss over MultipleNegativesRankingLoss, which is InfoNCE at temperature 1 / scale."""
    model = SentenceTransformer(tiny_bert, device="cpu").eval()
    inner = MultipleNegativesRankingLoss(model, scale=20.0)
    texts = [["kadan lofel", "miga sta", "nu kadan"], ["lofel kadan", "sta nu", "kadan"]]
    features = [model.preprocess(side) for side in texts]
    theirs = MatryoshkaLoss(model, inner, [32, 16, 8], [1, 0.5, 0.25])(features, None)
    theirs.backward()
    weights = next(iter(model.parameters()))
    expected, weights.grad = weights.grad.clone(), None
    views = [Encoded(model(model.preprocess(side))["sentence_embedding"]) for side in texts]
    ours = Matryoshka(32, headless, [32, 16, 8], [1, 0.5, 0.25])(views).total
    ours.backward()
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(weights.grad, expected, rtol=1e-3, atol=1e-5)


def test_each_width_has_its_own_head_and_sends_gradient_to_its_own_channels():
    module, views = Matryoshka(8, simcse, [8, 4], None).double(), encoded()
    heads = {width: module.by_width[width].head for width in ("8", "4")}
    assert {width: head.linear.weight.shape for width, head in heads.items()} == {"8": (8, 8), "4": (4, 4)}
    total = sum(info_nce(*(heads[str(m)](view.pooled_BD[:, :m]) for view in views), 0.05) for m in (8, 4))
    torch.testing.assert_close(module(views).total, total)
    assert module.head is heads["8"]
    assert module.test_head() is None
    narrow = Matryoshka(8, simcse, [8, 4], [0.0, 1.0]).double()
    narrow(views).total.backward()
    assert views[0].pooled_BD.grad[:, :4].any()
    assert not views[0].pooled_BD.grad[:, 4:].any()


def test_a_head_kept_at_test_time_is_shared_and_its_output_is_cut():
    module, views = Matryoshka(8, partial(simcse, keep_head=True), [8, 4], None).double(), encoded()
    head = module.test_head()
    assert sorted(module.state_dict()) == ["by_width.8.head.linear.bias", "by_width.8.head.linear.weight"]
    outs = [head(view.pooled_BD) for view in views]
    total = sum(info_nce(*(out[:, :m] for out in outs), 0.05) for m in (8, 4))
    torch.testing.assert_close(module(views).total, total)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_by_width(name):
    """Chunked equals plain, and the wrapper asks of the loop what the objective asks."""
    groups = ["objective.whitening.num_groups=2"] if "whitened" in name else []  # of both widths
    overrides = [*OBJECTIVES[name], *groups, "objective.widths=[8,4]"]
    results = []
    for step in (plain_step, partial(chunked_step, chunks=Chunks(rows=5))):
        torch.manual_seed(0)
        encoder = ToyEncoder().double()
        objective = make_objective(composed("data=text", "trainer.batch_size=16", *overrides).objective, 8).double()
        plain = make_objective(composed("data=text", "trainer.batch_size=16", *OBJECTIVES[name], *groups).objective, 8)
        asked = (
            "num_views",
            "masking",
            "min_rows",
            "averages_positives",
            "reads_scores",
            "reads_rows",
            "memory_size",
            "teachers",
        )
        assert [getattr(objective, one) for one in asked] == [getattr(plain, one) for one in asked]
        assert objective.negatives(16) == plain.negatives(16)
        loss, _ = step(encoder, objective, batch_for(objective, 16), torch.Tensor.backward, "exact")
        results.append((loss.total.item(), encoder.words.weight.grad))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-9)
    torch.testing.assert_close(results[0][1], results[1][1], rtol=1e-8, atol=1e-10)
    assert results[0][1].any()


@pytest.mark.parametrize(("widths", "weights", "named"), [
    ([16, 8], None, r"widths"), ([4], None, r"widths"),
    ([8, 4], [1.0], r"width_weights"),
])  # fmt: skip
def test_widths_and_weights_that_do_not_fit_are_refused(widths, weights, named):
    with pytest.raises(UserError, match=named):
        Matryoshka(8, headless, widths, weights)


def test_repeated_widths_and_weights_without_widths_are_refused():
    with pytest.raises(UserError, match=r"widths"):
        validate_command(composed("objective.widths=[8,8]"), "train")
    with pytest.raises(UserError, match=r"widths"):
        make_objective(composed("objective.width_weights=[1]").objective, 8)
