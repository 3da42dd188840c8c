"""The encoder: batches, language-model loss, and the same vectors through three libraries."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from tiny_encoders import exported, tokens_of
from tokenizers.processors import TemplateProcessing

from cse.errors import MissingResource, UserError
from cse.model.encoder import Encoder
from cse.model.export import check_exportable, save_encoder
from cse.model.heads import MLPHead
from cse.model.load import load_encoder
from cse.types import Tokens

TEXTS = ["kadan lofel", "migor", "kadan lofel", "perzu stamon triler nudan kafel", "kadan"]


@pytest.fixture(params=["tiny_bert", "tiny_roberta"])
def folder(request) -> str:
    return request.getfixturevalue(request.param)


def test_encode_equals_one_sentence_at_a_time(folder):
    encoder = load_encoder(folder, "cls")
    state = torch.get_rng_state()
    together = encoder.encode(TEXTS, batch_size=2)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_array_equal(together[0], together[2])
    assert together.dtype == np.float32
    assert repr(encoder).endswith("cls pooling, at most 64 tokens)")
    assert encoder.training, "encode() has to leave the mode as it was"
    assert torch.equal(state, torch.get_rng_state())


def test_encode_takes_what_sentence_transformers_takes(tiny_bert):
    from sentence_transformers import SentenceTransformer

    ours, theirs = load_encoder(tiny_bert, "mean"), SentenceTransformer(tiny_bert, device="cpu")
    for given in (TEXTS[0], "", TEXTS, tuple(TEXTS), np.array(TEXTS)):
        for normalize_embeddings in (False, True):
            options = {"normalize_embeddings": normalize_embeddings, "batch_size": 2, "show_progress_bar": True}
            expected = theirs.encode(given, **options)
            np.testing.assert_allclose(ours.encode(given, **options), expected, atol=1e-6)
    np.testing.assert_array_equal(ours.encode(text for text in TEXTS), ours.encode(sentences=TEXTS))
    assert ours.encode([]).shape == ours.encode(iter([])).shape == (0, ours.dim)
    head = torch.nn.Linear(ours.dim, 3)
    assert ours.encode([], head=head).shape == (0, 3)


def test_encode_shows_its_progress_when_asked(tiny_bert, capsys):
    encoder = load_encoder(tiny_bert, "mean")
    capsys.readouterr()
    encoder.encode(TEXTS, show_progress_bar=False)
    assert not any(capsys.readouterr())
    encoder.encode(TEXTS, show_progress_bar=True)
    out, err = capsys.readouterr()
    assert not out
    assert "100%" in err


def test_one_bar_counts_all_texts_of_a_long_list(tiny_bert, monkeypatch):
    """A repeated text counts too."""
    counted = []

    def counting(items, what):
        for item in items:
            counted.append(item)
            yield item
        counted.append("the end")

    monkeypatch.setattr("cse.model.encoder.READ_AHEAD", 3)
    monkeypatch.setattr("cse.model.encoder.track", counting)
    load_encoder(tiny_bert, "mean").encode([*TEXTS, TEXTS[0]], batch_size=2)
    assert counted == [*TEXTS, TEXTS[0], "the end"]


@pytest.mark.parametrize("wrong", [None, math.nan, b"kadan", 3, ["kadan", "lofel"]])
def test_encode_refuses_what_is_no_text_and_settings_that_are_none(tiny_bert, wrong):
    encoder = load_encoder(tiny_bert, "mean")
    with pytest.raises(TypeError, match=r"sentences\[1\] .*\b" + type(wrong).__name__):
        encoder.encode(["kadan", wrong, "migor"])
    for option, value in (("batch_size", 0), ("batch_size", -1), ("precision", "int8")):
        with pytest.raises(ValueError, match=f"^{option}="):
            encoder.encode(TEXTS, **{option: value})


def test_encode_refuses_a_table_and_takes_its_column(tiny_bert):
    encoder = load_encoder(tiny_bert, "mean")
    columns = {"a": TEXTS, "b": TEXTS}
    for table in (columns, pd.DataFrame(columns), np.array([TEXTS])):
        with pytest.raises(TypeError, match=type(table).__name__):
            encoder.encode(table)
    assert np.array_equal(encoder.encode(pd.DataFrame(columns)["a"]), encoder.encode(TEXTS))


def test_encode_tokenises_a_long_list_in_parts(tiny_bert, monkeypatch):
    """The vectors are the same, and a text that comes again in a later part is encoded once."""
    encoder = load_encoder(tiny_bert, "mean")
    texts = [*TEXTS, TEXTS[0], "migor kadan", *TEXTS]
    expected = encoder.encode(texts)
    monkeypatch.setattr("cse.model.encoder.READ_AHEAD", 3)
    monkeypatch.setattr("cse.model.encoder.TOKENISED", 2)
    tokenizer, forward, parts, rows = type(encoder.tokenizer).__call__, encoder.forward, [], []
    monkeypatch.setattr(
        type(encoder.tokenizer),
        "__call__",
        lambda self, part, longest: parts.append(len(part)) or tokenizer(self, part, longest),
    )
    monkeypatch.setattr(encoder, "forward", lambda tokens: rows.append(len(tokens.ids_BT)) or forward(tokens))
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-6)
    assert (max(parts), sum(parts)) == (2, len(texts))
    assert sum(rows) == len(set(texts))


def test_encode_says_which_texts_have_the_largest_number_of_tokens(tiny_bert, monkeypatch):
    encoder = load_encoder(tiny_bert, "mean")
    encoder.tokenizer.longest = 5  # three words, or more
    monkeypatch.setattr("cse.model.encoder.READ_AHEAD", 2)
    encoder.encode(["kadan lofel", "kadan " * 4, "migor", "kadan " * 3, "kadan lofel"])
    assert encoder.full_n.tolist() == [False, True, False, True, False]
    encoder.encode([])
    assert encoder.full_n.tolist() == []


def test_encode_sees_each_distinct_sentence_once(tiny_bert, monkeypatch):
    encoder = load_encoder(tiny_bert, "mean")
    rows = []
    forward = encoder.forward
    monkeypatch.setattr(encoder, "forward", lambda tokens: rows.append(len(tokens.ids_BT)) or forward(tokens))
    encoder.encode([*TEXTS, "KADAN  lofel"])  # the tokenizer lower-cases and splits: the same ids
    assert sum(rows) == 4


def test_from_embeddings_is_the_rest_of_the_encoder(folder):
    """What the embedding layer makes of a text's tokens, put in by hand, gives the text's row."""
    for packed in (False, True):
        encoder = load_encoder(folder, "cls", packed=packed).eval()
        for text in TEXTS:
            tokens = tokens_of(encoder, [text])
            x_BTD = encoder.backbone.embeddings(input_ids=tokens.ids_BT)
            torch.testing.assert_close(encoder(x_BTD=x_BTD).pooled_BD, encoder(tokens).pooled_BD)


@pytest.mark.parametrize("pooling", ["cls", "mean", "last"])
def test_packing_reads_an_image_where_the_plain_path_does(folder, pooling):
    x_BTD = torch.randn(3, 8, 32, generator=torch.Generator().manual_seed(0))
    packed, plain = (load_encoder(folder, pooling, packed=packed).eval()(x_BTD=x_BTD) for packed in (True, False))
    torch.testing.assert_close(packed.pooled_BD, plain.pooled_BD)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_vectors_of_half_precision_weights_are_float32(folder, pooling):
    encoder = load_encoder(folder, pooling, dtype="bf16", packed=True)
    x_BTD = torch.randn(2, 5, encoder.dim)
    assert encoder(tokens_of(encoder, TEXTS)).pooled_BD.dtype == torch.float32
    assert encoder.from_embeddings(x_BTD).pooled_BD.dtype == torch.float32


def test_a_head_is_scored_without_its_dropout(tiny_bert):
    encoder = load_encoder(tiny_bert, "cls")
    head = torch.nn.Sequential(torch.nn.Linear(encoder.dim, 8), torch.nn.Dropout(0.5))
    np.testing.assert_array_equal(encoder.encode(TEXTS, head=head), encoder.encode(TEXTS, head=head))
    assert head.training


@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_a_text_without_any_token_has_a_vector(tiny, pooling):
    encoder = load_encoder(tiny("qwen3"), pooling)
    encoder.tokenizer.hf.backend_tokenizer.post_processor = TemplateProcessing(single="$A")  # no special tokens
    alone, among = encoder.encode([""]), encoder.encode(["", "kadan lofel"])
    assert np.isfinite(among).all()
    np.testing.assert_allclose(alone[0], among[0], atol=1e-6)


def test_mlm_counts_every_masked_token(tiny_bert):
    """Per row: the negative log-likelihood of the original ids, against log_softmax over the whole sequence."""
    encoder = load_encoder(tiny_bert, "cls", mlm=True).eval()
    tokens = tokens_of(encoder, TEXTS)
    labels = torch.full_like(tokens.ids_BT, -100)
    labels[0, 1], labels[3, 2], labels[3, 4] = 7, 9, 11
    encoded = encoder(Tokens(tokens.ids_BT, tokens.mask_BT, labels))
    hidden_BTD = encoder.backbone(input_ids=tokens.ids_BT, attention_mask=tokens.mask_BT).last_hidden_state
    log_p = encoder.mlm_head(hidden_BTD).log_softmax(-1)
    expected = [-log_p[0, 1, 7], 0, 0, -log_p[3, 2, 9] - log_p[3, 4, 11], 0]
    torch.testing.assert_close(encoded.known["mlm_nll_B"], torch.stack([torch.as_tensor(value) for value in expected]))
    assert encoded.known["mlm_count_B"].tolist() == [1, 0, 0, 2, 0]


def masked(encoder):
    """The encoder's language-model loss of one masked token."""
    tokens = tokens_of(encoder, TEXTS)
    labels = torch.full_like(tokens.ids_BT, -100)
    labels[0, 1] = 7
    return encoder(Tokens(tokens.ids_BT, tokens.mask_BT, labels)).mlm_loss()


def decoder_of(encoder):
    shape = encoder.backbone.get_input_embeddings().weight.shape
    return next(weight for weight in encoder.mlm_head.parameters() if weight.shape == shape)


@pytest.mark.parametrize("kind", ["tiny_bert", "tiny_roberta"])
def test_lm_head_copy_starts_equal_and_sends_the_embeddings_no_gradient(kind, request):
    """As in the SimCSE authors' code."""
    source = request.getfixturevalue(kind)
    tied, copy = (load_encoder(source, "cls", mlm=True, lm_head=head).eval() for head in (None, "copy"))
    words = copy.backbone.get_input_embeddings().weight
    assert decoder_of(tied) is tied.backbone.get_input_embeddings().weight
    assert decoder_of(copy) is not words
    assert sum(w.numel() for w in copy.parameters()) - sum(w.numel() for w in tied.parameters()) == words.numel()
    losses = masked(tied), masked(copy)
    torch.testing.assert_close(*losses)
    for loss in losses:
        loss.backward()
    seen = tokens_of(copy, TEXTS).ids_BT.unique().tolist()
    unseen = next(i for i in range(5, len(words)) if i not in seen)  # only the decoder's softmax knows it
    assert decoder_of(copy).grad[unseen].abs().sum() > 0
    assert words.grad[unseen].abs().sum() == 0
    assert tied.backbone.get_input_embeddings().weight.grad[unseen].abs().sum() > 0


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_three_libraries_give_the_vectors_of_an_export_with_a_head(folder, tmp_path, pooling):
    """By the recipe of docs/own-encoder.md."""
    from transformers import AutoModel

    encoder, best = load_encoder(folder, pooling), tmp_path / "best"
    head = MLPHead(encoder.dim)
    expected = exported(encoder, best, TEXTS, head)
    _, keys = AutoModel.from_pretrained(best, output_loading_info=True)
    assert not keys["missing_keys"]  # or transformers would warn of weights that it drew
    page = Path(__file__).parents[2].joinpath("docs", "own-encoder.md").read_text(encoding="utf-8")
    (code,) = [block for block in re.findall("```python\n(.*?)```", page, re.DOTALL) if "AutoModel" in block]
    names: dict = {}
    exec(re.sub("texts = .*", f"texts = {TEXTS!r}", code.replace("FOLDER/best", str(best))), names)
    (vectors,) = re.findall(rf"with its head.*{pooling} pooling.*\| `(.*)` \|", page, re.IGNORECASE)
    with torch.no_grad():
        np.testing.assert_allclose(eval(vectors, names).numpy(), expected, atol=1e-6)
    assert {p.suffix for p in best.iterdir() if p.is_file()} <= {".json", ".safetensors", ".md", ".txt"}


def test_pooling_pooler_reads_the_checkpoints_own_pooler(folder, tmp_path):
    """Supervised SimCSE as its authors released it: a plain Hugging Face folder, scored by `pooler_output`."""
    from transformers import AutoModel

    plain = tmp_path / "plain"
    save_encoder(load_encoder(folder, "cls"), plain, MLPHead(load_encoder(folder, "cls").dim))
    (plain / "modules.json").unlink()
    encoder = load_encoder(str(plain), "pooler").eval()
    tokens = tokens_of(encoder, TEXTS)
    with torch.no_grad():
        output = AutoModel.from_pretrained(plain).eval()(input_ids=tokens.ids_BT, attention_mask=tokens.mask_BT)
    np.testing.assert_allclose(encoder.encode(TEXTS), output.pooler_output.numpy(), atol=1e-6)
    assert np.abs(encoder.encode(TEXTS) - load_encoder(str(plain), "cls").encode(TEXTS)).max() > 0.1
    save_encoder(load_encoder(folder, "cls"), tmp_path / "without")
    with pytest.raises(UserError, match=r"pooling=pooler"):
        load_encoder(str(tmp_path / "without"), "pooler")


def test_the_longest_text_is_exported_and_read_back(folder, tmp_path):
    encoder = load_encoder(folder, "cls")
    assert encoder.tokenizer.longest <= 64  # what the positions hold
    assert np.isfinite(encoder.encode(["kadan " * 500])).all()
    encoder.tokenizer.longest = 7
    save_encoder(encoder, tmp_path / "best")
    assert load_encoder(str(tmp_path / "best"), None).tokenizer.longest == 7


def test_no_recorded_pooling_no_exportable_pooling_and_no_weights_are_refused(tiny_bert, tmp_path):
    with pytest.raises(UserError, match=r"pooling"):
        load_encoder(tiny_bert, None)
    with pytest.raises(UserError, match="avg_top2"):
        check_exportable("avg_top2")
    (tmp_path / "empty").mkdir()
    for name in ("nothing", "empty"):
        with pytest.raises(MissingResource, match=name):
            load_encoder(str(tmp_path / name), "cls")


def test_minilm_has_its_published_pooling_and_unit_length(minilm):
    """Its similar sentences are near each other, too."""
    encoder = load_encoder(minilm, None)
    assert encoder.pooling == "mean"
    a, b, c = encoder.encode(["A man is playing a guitar.", "Someone plays the guitar.", "The stock market fell."])
    assert np.linalg.norm(a) == pytest.approx(1, abs=1e-5)
    assert a @ b > 0.8 > 0.3 > a @ c


def test_bf16_fills_batches_with_short_texts(tiny_bert, monkeypatch):
    """fp32 takes batch_size texts, bf16 up to TOKENS tokens; vectors are the same but for rounding."""
    monkeypatch.setattr("cse.model.encoder.TOKENS", 60)
    encoder, shapes = load_encoder(tiny_bert, "mean"), []
    encoder.backbone.register_forward_pre_hook(
        lambda _, args, given: shapes.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    encoder.packed = False  # as on a GPU
    texts = ["a", "b", "a b c d e f g h", *(f"{first} {second}" for first in "abcde" for second in "fghij")]
    exact = encoder.encode(texts, batch_size=2)
    assert {rows for rows, _ in shapes} == {2}
    shapes.clear()
    rounded = encoder.encode(texts, batch_size=2, precision="bf16")
    assert all(rows <= 2 or rows * length <= 60 for rows, length in shapes)
    assert max(rows for rows, _ in shapes) > 10
    assert sum(rows for rows, _ in shapes) == len(texts)
    np.testing.assert_allclose(rounded, exact, atol=0.05)


def test_float32_scoring_avoids_flash_attention(tiny, monkeypatch):
    """Its kernels compute in half precision only; bf16 scoring uses them."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    monkeypatch.setattr(
        Encoder, "needs_autocast", property(lambda self: self.backbone.config._attn_implementation == "mine")
    )
    AttentionInterface.register("mine", sdpa_attention_forward)
    AttentionMaskInterface.register("mine", sdpa_mask)
    encoder, seen = load_encoder(tiny("modernbert"), "mean", attention="mine"), []
    encoder.backbone.register_forward_pre_hook(lambda module, _: seen.append(module.config._attn_implementation))
    encoder.encode(TEXTS)
    encoder.encode(TEXTS, precision="bf16")
    assert seen == ["sdpa", "mine"]
    assert encoder.backbone.config._attn_implementation == "mine"
    assert encoder.training
