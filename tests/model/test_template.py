"""Templates: rows against written-out sentences, mask pooling and denoising against loops, export, refusals."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tiny_encoders import exported, tokens_of

from cse.errors import UserError
from cse.model.export import save_encoder, write_mask_weights
from cse.model.load import load_encoder
from cse.model.tokenizer import Tokenizer
from cse.training.step import Chunks, chunked_step, plain_step
from cse.types import Batch, Encoded, Loss, Objective

TEXTS = ["kadan lofel migor.", "permon", "stazu tridan nuler kadan lofel, migor " * 30]
FIRST, SECOND = "kadan, [X] lofel [MASK].", "migor [X] lofel nuler [MASK]."


def in_train_mode(folder: str, **more):
    """An encoder that denoises, without dropout."""
    return load_encoder(folder, "mask", template=FIRST, second_template=SECOND, denoise="paper", dropout=0.0, **more)


def two_views(encoder, texts: list[str], max_length: int = 40) -> tuple[list[list[int]], Batch]:
    """The rows of both views, and the batch that holds them."""
    first = encoder.tokenizer(texts, max_length)
    rows = [*first, *map(encoder.tokenizer.in_second_template, first)]
    return [ids.tolist() for ids in rows], Batch(encoder.tokenizer.collate(rows), (len(texts), len(texts)))


def slow_row(encoder, ids: list[int], template: str, denoised: bool) -> torch.Tensor:
    """A row by itself: the hidden state at its mask, less that of the template's ids at the places they have in it."""
    hf, config = encoder.tokenizer.hf, encoder.backbone.config
    head, tail = (hf(part, add_special_tokens=False)["input_ids"] for part in template.split("[X]"))
    start = 0 if config.model_type == "bert" else config.pad_token_id + 1  # RoBERTa and its kin
    places = list(range(len(ids)))
    kept = places[: len(head) + 1] + places[len(ids) - len(tail) - 1 :]  # with the special tokens at both ends
    assert [ids[i] for i in kept] == [hf.cls_token_id, *head, *tail, hf.sep_token_id]

    def at_mask(some: list[int]) -> torch.Tensor:
        row = torch.tensor([[ids[i] for i in some]])
        where = torch.tensor([[start + i for i in some]])
        hidden_TD = encoder.backbone(input_ids=row, position_ids=where).last_hidden_state[0]
        return hidden_TD[row[0].tolist().index(hf.mask_token_id)]

    return at_mask(places) - at_mask(kept) if denoised else at_mask(places)


@pytest.mark.parametrize("pooling", ["mask", "cls"])
def test_a_row_has_the_ids_of_the_written_out_sentence(tiny_bert, pooling):
    encoder, plain = load_encoder(tiny_bert, pooling, template=FIRST), load_encoder(tiny_bert, "cls")
    written = [FIRST.replace("[X]", text) for text in TEXTS[:2]]
    for ids, expected in zip(encoder.tokenizer(TEXTS, 64), plain.tokenizer(written, 64), strict=False):
        assert ids.tolist() == expected.tolist()
    if pooling == "cls":
        np.testing.assert_array_equal(encoder.encode(TEXTS[:2]), plain.encode(written))
    assert encoder.tokenizer.key() != plain.tokenizer.key()
    assert (encoder.tokenizer.template_length, plain.tokenizer.template_length) == (5, 0)


def test_a_long_row_loses_text_and_none_of_its_template(tiny_bert):
    encoder, plain = load_encoder(tiny_bert, "mask", template=FIRST), load_encoder(tiny_bert, "cls")
    (row,) = encoder.tokenizer(TEXTS[2:], 20 + encoder.tokenizer.template_length)
    (alone,) = plain.tokenizer(TEXTS[2:], 20)
    assert len(row) == 25
    assert row.tolist()[3:-4] == alone.tolist()[1:-1]  # as much text as without a template


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "camembert"])
def test_mask_pooling_and_denoising_against_loops(tiny, kind, packed):
    encoder = in_train_mode(tiny(kind), packed=packed)
    rows, batch = two_views(encoder, TEXTS)
    templates = [FIRST] * len(TEXTS) + [SECOND] * len(TEXTS)
    for training in (True, False):
        pooled_BD = encoder.train(training)(batch.tokens).pooled_BD
        slow = [slow_row(encoder, ids, template, training) for ids, template in zip(rows, templates, strict=True)]
        torch.testing.assert_close(pooled_BD, torch.stack(slow), atol=1e-5, rtol=1e-4)


def test_released_positions_differ_only_for_roberta(tiny, tiny_bert):
    for folder, same in ((tiny_bert, True), (tiny("xlm-roberta"), False)):
        both = [load_encoder(folder, "mask", template=FIRST, denoise=one, dropout=0.0) for one in ("paper", "released")]
        pooled = [encoder(tokens_of(encoder, TEXTS[:2])).pooled_BD for encoder in both]
        assert torch.allclose(*pooled, atol=1e-6) == same


def test_rows_of_one_length_share_a_bias_and_it_has_a_gradient(tiny_bert):
    encoder = in_train_mode(tiny_bert)
    tokens = tokens_of(encoder, ["kadan lofel", "migor nuler", "permon"])
    encoder.backbone.train()
    for module in encoder.backbone.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    bias_BD = encoder.denoising(encoder.backbone, tokens)
    assert torch.equal(bias_BD[0], bias_BD[1])
    assert not torch.allclose(bias_BD[0], bias_BD[2])
    bias_BD.sum().backward()
    assert any(weight.grad is not None for weight in encoder.backbone.parameters())


class Alike(Objective):
    num_views = 2

    def forward(self, views: list[Encoded]) -> Loss:
        return Loss((views[0].pooled_BD * views[1].pooled_BD).sum())


@pytest.mark.parametrize("chunks", [Chunks(rows=2), Chunks(tokens=48)])
def test_chunks_give_the_same_gradient(tiny_bert, chunks):
    gradients = []
    for step in (plain_step, chunked_step):
        encoder = in_train_mode(tiny_bert)
        _, batch = two_views(encoder, TEXTS)
        more = {} if step is plain_step else {"chunks": chunks}
        step(encoder, Alike(), batch, lambda total: total.backward(), "exact", **more)
        gradients.append(torch.cat([w.grad.flatten() for w in encoder.backbone.parameters() if w.grad is not None]))
    torch.testing.assert_close(*gradients, atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize(("kind", "pooling", "template"), [
    ("bert", "mask", FIRST), ("xlm-roberta", "mask", FIRST), ("mpnet", "mask", FIRST), ("bert", "mean", FIRST),
    ("llama", "last", "kadan, [X] lofel migor"),
])  # fmt: skip
def test_every_reader_of_an_export_has_the_template(tiny, tmp_path, kind, pooling, template):
    encoder, best = load_encoder(tiny(kind), pooling, template=template), tmp_path / "best"
    exported(encoder, best, TEXTS)
    assert load_encoder(str(best), None).tokenizer.template_length == encoder.tokenizer.template_length
    with pytest.raises(UserError, match=r"template"):
        load_encoder(str(best), None, template=template)


@pytest.mark.parametrize(("kind", "settings", "named"), [
    ("bert", {"template": "kadan [MASK]."}, r"template"),
    ("bert", {"template": "[X] [X] [MASK]"}, r"template"),
    ("bert", {"template": "kadan [X] lofel"}, r"pooling=mask"),
    ("bert", {}, r"pooling=mask"),
    ("bert", {"second_template": SECOND}, r"second_template"),
    ("bert", {"template": FIRST, "second_template": "migor [X] lofel."}, r"pooling=mask"),
    ("bert", {"template": FIRST, "second_template": "kadan, nuler" + FIRST[6:], "denoise": "paper"}, "second_template"),
    ("mpnet", {"template": FIRST, "denoise": "paper"}, r"denoise"),
    ("bert", {"template": FIRST, "denoise": "paper", "pooling": "cls"}, r"denoise"),
])  # fmt: skip
def test_templates_that_cannot_be_read_are_refused(tiny, kind, settings, named):
    with pytest.raises(UserError, match=named):
        load_encoder(tiny(kind), **{"pooling": "mask"} | settings)


@pytest.mark.parametrize(("mode", "theirs"), [("cls_token", 0), ("mean_tokens", 1)])
def test_word_weights_before_another_pooling_than_mean_are_refused(tiny_bert, tmp_path, mode, theirs):
    """Of a [CLS] of weight 0, sentence-transformers makes zeros; of the mean, what mask pooling makes."""
    from sentence_transformers import SentenceTransformer

    best = tmp_path / "best"
    save_encoder(load_encoder(tiny_bert, "mask", template=FIRST), best)
    file = best / "2_Pooling" / "config.json"
    modes = {key: key == f"pooling_mode_{mode}" for key in json.loads(file.read_text()) if key.startswith("pooling")}
    file.write_text(json.dumps({"word_embedding_dimension": 32} | modes))
    vectors = SentenceTransformer(str(best), device="cpu").encode(TEXTS)
    if theirs:
        np.testing.assert_allclose(load_encoder(str(best), None).encode(TEXTS), vectors, atol=1e-6)
        return
    assert not vectors.any()
    with pytest.raises(UserError, match="1_WordWeights"):
        load_encoder(str(best), None)


def test_max_length_does_not_count_the_template(tiny_bert):
    tokenizer = load_encoder(tiny_bert, "mask", template=FIRST).tokenizer
    tokenizer.check_length("trainer.max_length", 64 - tokenizer.template_length)
    with pytest.raises(UserError, match=r"trainer\.max_length=59 at most"):
        tokenizer.check_length("trainer.max_length", 60)


def test_a_larger_length_is_named_up_to_the_encoders_positions(tiny_bert):
    tokenizer = load_encoder(tiny_bert, "mask", template=FIRST).tokenizer
    assert tokenizer.longer("trainer.max_length", 16).startswith("trainer.max_length=32 ")
    assert tokenizer.longer("trainer.max_length", 40).startswith("trainer.max_length=59 ")
    assert "=" not in tokenizer.longer("max_length") + tokenizer.longer("trainer.max_length", 59)


def test_a_second_template_that_is_longer_leaves_less_room(tiny_bert):
    """A row of the first view, in the second template, would have more tokens than the encoder has positions."""
    longer = "kadan lofel migor nuler kadan lofel [X] nuler [MASK]."
    tokenizer = load_encoder(tiny_bert, "mask", template=FIRST, second_template=longer).tokenizer
    first, second = (len(one.before) + len(one.after) for one in tokenizer.templates)
    assert tokenizer.room == 64 - (second - first) < 64
    most = tokenizer.room - tokenizer.template_length
    tokenizer.check_length("trainer.max_length", most)
    with pytest.raises(UserError, match=rf"trainer\.max_length={most} at most"):
        tokenizer.check_length("trainer.max_length", most + 1)
    (row,) = tokenizer([TEXTS[2]], most + tokenizer.template_length)
    assert len(tokenizer.in_second_template(row)) == 64


def test_a_length_that_special_tokens_and_a_prefix_fill_is_refused(tiny_tokenizer):
    tokenizer = Tokenizer(tiny_tokenizer, 64, "kafel migor: ")
    taken = tokenizer.before_text() + tokenizer.after_text()
    tokenizer.check_length("trainer.max_length", taken + 1)
    with pytest.raises(UserError, match=rf"trainer\.max_length={taken} leaves no token.* take {taken}"):
        tokenizer.check_length("trainer.max_length", taken)


def test_denoising_refuses_a_head_that_stays_at_test_time(small_run, triplets, cse_train, tmp_path, capsys):
    line = [*small_run, "objective=simcse_sup", f"data.path={triplets}", "data.columns=[sent0,sent1,hard_neg]",
            "model.pooling=mask", f"model.template='{FIRST}'", "model.denoise=paper"]  # fmt: skip
    assert cse_train(line) == 2
    assert "objective.keep_head" in capsys.readouterr().err
    assert cse_train([*line, "objective.keep_head=false", f"hydra.run.dir={tmp_path}/run"]) == 0
    best = load_encoder(str(tmp_path / "run" / "best"), None)
    assert (best.pooling, best.head) == ("mask", None)


def test_word_weights_reach_the_largest_id_of_a_vocabulary_with_gaps(gapped_tokenizer, tmp_path):
    tokenizer = Tokenizer(gapped_tokenizer, 64)
    write_mask_weights(tokenizer, tmp_path)
    words = json.loads((tmp_path / "config.json").read_text())["vocab"]
    assert (len(words), words[70_001]) == (70_002, "zil")
    weights_V1 = load_file(tmp_path / "model.safetensors")["emb_layer.weight"]
    assert weights_V1.nonzero().tolist() == [[gapped_tokenizer.mask_token_id, 0]]
