"""Token ids that are composed of the words' ids equal the tokenizer's own, for every kind of tokenizer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Core
from tokenizers.models import BPE, WordPiece
from tokenizers.trainers import BpeTrainer, WordPieceTrainer
from transformers import PreTrainedTokenizerFast

from cse.model.tokenizer import Tokenizer

LINES = ["The kadan, the lofel: isn't it migor?", "kafé 12,5 % of nuler's stazu", "Ein tridan über permon ..."] * 9
SPECIAL = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "<mask>"]


def trained(kind: str) -> Tokenizer:
    """A WordPiece as BERT's, a BPE as RoBERTa's ("gpt2"), or one whose tokens cross blanks."""
    core, trainer = Core(BPE()), BpeTrainer(vocab_size=400, special_tokens=SPECIAL, show_progress=False)
    if kind == "bert":
        core = Core(WordPiece(unk_token="[UNK]"))
        core.normalizer, core.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        trainer = WordPieceTrainer(vocab_size=300, special_tokens=SPECIAL, show_progress=False)
    elif kind == "gpt2":
        core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        core.pre_tokenizer = pre_tokenizers.Split(Regex("[,.]"), "isolated")
    core.train_from_iterator(LINES, trainer)
    core.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 0), ("[SEP]", 1)])
    hf = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="[PAD]", model_max_length=99)
    hf.add_special_tokens({"mask_token": AddedToken("<mask>", lstrip=True)})
    return Tokenizer(hf, 64, prefix="query: " if kind == "gpt2" else "")


TOKENIZERS = {kind: trained(kind) for kind in ("bert", "gpt2", "crossing")}
TEXTS = st.text(st.sampled_from("aeKn'é,.1 \t\n\0 \u00a0\u0301世") | st.characters(codec="utf-8"), max_size=40)


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(max_examples=40, deadline=None)
@given(texts=st.lists(TEXTS | st.sampled_from([*LINES, "a <mask> b", "[SEP]x <mask>"]), min_size=1, max_size=4))
def test_by_words_gives_the_ids_of_a_call(kind, texts):
    tokenizer = TOKENIZERS[kind]
    for longest in (4, 64):
        expected = [ids.tolist() for ids in tokenizer(texts, longest)]
        assert [ids.tolist() for ids in tokenizer.by_words(texts, longest)] == expected


def test_only_tokenizers_whose_tokens_stay_within_words_are_taken_apart():
    assert [TOKENIZERS[kind]._is_local for kind in TOKENIZERS] == [True, True, False]


LONG = {
    "words": " ".join(LINES * 500), "one word": "kadan" * 20_000, "blanks first": " " * 20_000 + "the kadan " * 20,
    "long words": ("x" * 150 + " ") * 300,
}  # fmt: skip


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_of_a_very_long_text_the_ids_are_those_of_all_of_it(kind, side):
    tokenizer = Tokenizer(TOKENIZERS[kind].hf, 64, "query: ")
    tokenizer.hf.truncation_side = side
    texts = [LONG["words"]] if kind == "crossing" else [*LONG.values()]  # its merges look at the whole text
    expected = tokenizer.hf([f"query: {text}" for text in texts], truncation=True, max_length=64)["input_ids"]
    try:
        assert [ids.tolist() for ids in tokenizer(texts, 64)] == expected
        assert [ids.tolist() for ids in tokenizer.by_words(texts, 64)] == expected
    finally:
        tokenizer.hf.truncation_side = "right"


def test_a_line_of_megabytes_is_cut_before_it_is_tokenised(monkeypatch):
    tokenizer, given = TOKENIZERS["bert"], []
    whole = Tokenizer._truncated

    def counting(self, texts, max_length):
        given.extend(map(len, texts))
        return whole(self, texts, max_length)

    monkeypatch.setattr(Tokenizer, "_truncated", counting)
    for call in (tokenizer, tokenizer.by_words):
        for text in ("the kadan " * 10**6, "kadan " + "\u4f60" * 10**7):
            assert len(call([text, "migor"], 32)[0]) == 32
    assert max(given) <= 10_000


@pytest.mark.parametrize("side", ["right", "left"])
def test_of_megabytes_without_a_blank_or_a_letter_the_most_is_not_read(caplog, monkeypatch, side):
    tokenizer = TOKENIZERS["bert"]
    monkeypatch.setattr(tokenizer.hf, "truncation_side", side)
    for text in ("k" * 10**7, " " * 10**7):
        (ids,) = tokenizer([text], 32)
        assert len(ids) <= 3
        assert "10,000,000 characters" in caplog.text
        caplog.clear()


def test_a_call_looks_up_its_own_words_and_does_not_read_all_kept_words(monkeypatch):
    """A set difference read them all: 8 ms a batch after an epoch of 200,000 sentences."""

    class Kept(dict):
        def __iter__(self):
            raise AssertionError

        keys = items = values = __iter__

    tokenizer = TOKENIZERS["bert"]
    expected = [ids.tolist() for ids in tokenizer(LINES, 64)]
    monkeypatch.setattr(tokenizer, "_words", Kept())
    for _ in range(2):
        assert [ids.tolist() for ids in tokenizer.by_words(LINES, 64)] == expected
