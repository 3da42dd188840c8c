"""What a checkpoint's tokenizer puts around a text: first and end tokens, types, padding, template masks, a prefix."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer as Core
from tokenizers import decoders, models, pre_tokenizers, processors
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedTokenizerFast

from cse.errors import UserError
from cse.model.export import save_encoder
from cse.model.load import load_encoder
from cse.model.tokenizer import Tokenizer

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
OWN_SIZES = {
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64, "bos_token_id": 0, "eos_token_id": 0},
    "xlnet": {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 64},
}
TEXTS = ["kadan", "lofel migor kadan"]
ORDINARY = [*"kadnlofemigr ", "kadan", "lofel", "migor"]


def save_tokenizer(folder: Path, special: list[str], single: str | None, words: list[str] = ORDINARY, **named: str):
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys([*special, *words]))}
    core = Core(models.WordLevel(vocabulary, unk_token=special[0] if special else None))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    if single:
        core.post_processor = processors.TemplateProcessing(single, None, [(one, vocabulary[one]) for one in special])
    hf = PreTrainedTokenizerFast(tokenizer_object=core, model_max_length=64, **named)
    hf.save_pretrained(folder)
    return hf


def save_model(folder: Path, kind: str, vocabulary: int):
    torch.manual_seed(0)
    model = AutoModel.from_config(AutoConfig.for_model(kind, vocab_size=vocabulary, **OWN_SIZES.get(kind, SIZES)))
    for weight in model.parameters():
        torch.nn.init.normal_(weight.data, std=0.3)
    model.save_pretrained(folder)
    return model.eval()


@pytest.mark.parametrize("asked", ["add_eos_token", "add_bos_token", "both"])
@pytest.mark.parametrize("single", [None, "<s> $A", "$A </s>", "<s> $A </s>"])
def test_a_token_that_only_the_configuration_asks_for_is_added(tmp_path, asked, single):
    """e5-mistral's files (mteb#5237): transformers 4.57 gives <s> and </s>, transformers 5 what tokenizer.json has."""
    hf = save_tokenizer(
        tmp_path, ["<unk>", "<s>", "</s>"], single, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    save_model(tmp_path, "gpt2", len(hf))
    file = tmp_path / "tokenizer_config.json"
    wants = {"add_bos_token", "add_eos_token"} if asked == "both" else {asked}
    file.write_text(json.dumps(json.loads(file.read_text()) | dict.fromkeys(wants, True)))
    encoder = load_encoder(str(tmp_path), "last")
    (ids,) = encoder.tokenizer(["kadan"], 64)
    first = "add_bos_token" in wants or "<s>" in str(single)
    end = "add_eos_token" in wants or "</s>" in str(single)
    assert hf.convert_ids_to_tokens(ids.tolist()) == ["<s>"] * first + ["kadan"] + ["</s>"] * end
    assert (encoder.tokenizer.before_text(), encoder.tokenizer.after_text()) == (first, end)
    save_encoder(encoder, tmp_path / "best")
    assert AutoTokenizer.from_pretrained(tmp_path / "best")("kadan")["input_ids"] == ids.tolist()


@pytest.mark.parametrize(
    ("kind", "single"),
    [("xlnet", "$A:0 <sep>:0 <cls>:2"), ("bert", "<cls>:1 $A:1 <sep>:1"), ("bert", "<cls> $A <sep>")],
)
def test_token_types_are_those_of_the_tokenizer(tmp_path, kind, single):
    """XLNet's <cls> has type 2; without it mean vectors were 5.8 % off."""
    from sentence_transformers import SentenceTransformer

    names = ["<unk>", "<sep>", "<cls>"]
    hf = save_tokenizer(tmp_path, names, single, unk_token="<unk>", sep_token="<sep>", cls_token="<cls>")
    model = save_model(tmp_path, kind, len(hf))
    encoder = load_encoder(str(tmp_path), "mean").eval()
    rows = [hf(text, return_token_type_ids=True, return_tensors="pt") for text in TEXTS]
    with torch.no_grad():
        expected = [model(**row).last_hidden_state[0].mean(0).numpy() for row in rows]
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=2e-6)
    save_encoder(encoder, tmp_path / "best")
    theirs = SentenceTransformer(str(tmp_path / "best"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(theirs, expected, atol=2e-6)


def test_a_template_is_refused_where_special_tokens_have_types(tmp_path):
    named = {"unk_token": "<unk>", "sep_token": "<sep>", "cls_token": "<cls>"}
    hf = save_tokenizer(tmp_path, ["<unk>", "<sep>", "<cls>"], "$A:0 <sep>:0 <cls>:2", **named)
    save_model(tmp_path, "xlnet", len(hf))
    with pytest.raises(UserError, match=r"template"):
        load_encoder(str(tmp_path), "last", template="kadan [X]")


@pytest.mark.parametrize("named", [{}, {"unk_token": "<unk>"}, {"bos_token": "<s>"}])
def test_a_tokenizer_without_padding_or_end_token(tmp_path, named):
    """openai-gpt (transformers#10339): padding is masked, whatever stands for it; with nothing, one sentence."""
    hf = save_tokenizer(tmp_path, [*named.values()], None, **named)
    model = save_model(tmp_path, "gpt2", len(hf))
    if not named:
        with pytest.raises(UserError, match="pad_token"):
            load_encoder(str(tmp_path), "last")
        return
    encoder = load_encoder(str(tmp_path), "last").eval()
    with torch.no_grad():
        alone = [model(torch.tensor([hf(text)["input_ids"]])).last_hidden_state[0, -1].numpy() for text in TEXTS]
    np.testing.assert_allclose(encoder.encode(TEXTS), alone, atol=1e-5)
    rows = encoder.tokenizer(TEXTS, 64)
    np.testing.assert_allclose(encoder(encoder.tokenizer.collate(rows)).pooled_BD.detach(), alone, atol=1e-5)


@pytest.mark.parametrize("template", ["kadan, [X] lofel [MASK].", "[MASK] kadan [X] migor", "[MASK] [X] [MASK] migor"])
@pytest.mark.parametrize("text", ["permon [MASK] tridan", "[MASK] [MASK]", "permon"])
def test_mask_pooling_reads_the_templates_mask_not_the_texts(tiny_bert, template, text):
    encoder = load_encoder(tiny_bert, "mask", template=template).eval()
    (ids,) = encoder.tokenizer([text], 60)
    around = encoder.tokenizer._around
    own = [*range(len(around.before)), *range(len(ids) - len(around.after), len(ids))]
    places = [i for i in own if ids[i] == encoder.tokenizer.hf.mask_token_id]
    with torch.no_grad():
        hidden_TD = encoder.backbone(torch.tensor(ids[None].astype(np.int64))).last_hidden_state[0]
    np.testing.assert_allclose(encoder.encode([text, "kadan " * 20])[0], hidden_TD[places].mean(0), atol=1e-5)


def vocabulary_of(kind: str) -> Tokenizer:
    """A tokenizer to which `a`, `k` and `1` are unknown: of codons, or of bytes without an unknown token."""
    if kind == "codons":
        words = [a + b + c for a in "ACGT" for b in "ACGT" for c in "ACGT"]
        core = Core(models.WordLevel({word: i for i, word in enumerate(["<unk>", "</s>", *words])}, unk_token="<unk>"))
        core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    else:
        core = Core(models.BPE({word: i for i, word in enumerate(["<unk>", "</s>", *"ACGT"])}, []))
        core.decoder = decoders.Fuse()
    core.post_processor = processors.TemplateProcessing("$A </s>", None, [("</s>", 1)])
    hf = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="</s>", unk_token="<unk>", model_max_length=64)
    return Tokenizer(hf, 64)


@pytest.mark.parametrize("kind", ["codons", "letters"])
def test_what_stands_before_a_text_does_not_depend_on_latin_letters(kind):
    """genslm#82: shuffle left the first two words alone, as if they were a prefix."""
    tokenizer = vocabulary_of(kind)
    assert (tokenizer.before_text(), tokenizer.after_text()) == (0, 1)
    tokenizer.prefix = "ACG TTT " if kind == "codons" else "ACG"
    assert tokenizer.before_text() == (2 if kind == "codons" else 3)


@pytest.mark.parametrize(("prefix", "tokens"), [("query: ", 2), ("query:", 2), ("query", 1)])
def test_a_blank_at_the_end_of_a_prefix_belongs_to_the_text(prefix, tokens):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: i for i, piece in enumerate([*alphabet, "qu", "que", "quer", "query", "Ġa", "Ġ1"])}
    merges = [("q", "u"), ("qu", "e"), ("que", "r"), ("quer", "y"), ("Ġ", "a"), ("Ġ", "1")]
    core = Core(models.BPE(vocabulary, merges))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    hf = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="!", model_max_length=64)
    assert Tokenizer(hf, 64, prefix).before_text() == tokens
