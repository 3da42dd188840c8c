"""Templates, prefixes, denoising: in chunks, on two processes, resumed, scored, loaded by sentence-transformers."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from killed import assert_same_run, train_to
from run_folders import logged_of, results_of
from typed import exit_code

import cse
from cse.model.export import save_encoder
from cse.model.load import load_encoder
from cse.types import Document, Query

PROMPT = [
    "model.pooling=mask", "model.template='kadan, [X] lofel [MASK].'", "model.denoise=paper",
    "model.second_template='migor [X] nuler [MASK].'", "trainer.lr=1e-3",
]  # fmt: skip
TWO_PREFIXES = "model.prefix={query:'kadan: ',document:'lofel: '}"
TWO_WORDS = "{query:'kadan ',document:migor}"
STILL = ["augmentation=shuffle", "augmentation.model_dropout=0.0"]  # dropout differs between processes


def test_a_run_is_resumed_scored_and_loaded_by_others(small_run, cse_train, tmp_path, senteval):
    from sentence_transformers import SentenceTransformer

    straight = train_to(cse_train, [*small_run, *PROMPT], tmp_path / "run", 6)
    assert_same_run(straight, train_to(cse_train, [*small_run, *PROMPT], tmp_path / "paused", 4, 6))
    texts = ["kadan lofel migor", "permon"]
    ours = load_encoder(str(tmp_path / "run/best"), None).encode(texts)
    np.testing.assert_allclose(SentenceTransformer(f"{tmp_path}/run/best", device="cpu").encode(texts), ours, atol=1e-5)
    scored = ["eval=stsb", f"paths.senteval={senteval}", "allow_partial=true", "tracker=none"]
    assert exit_code("cse-eval", f"checkpoint={tmp_path}/run", *scored, f"hydra.run.dir={tmp_path}/scores") == 0
    results = [results_of(tmp_path / name)["metrics"] for name in ("run", "scores")]
    assert results[1]["test/stsb/spearman"] == pytest.approx(results[0]["test/stsb/spearman"], abs=1e-3)


def of_pairs(folder: Path) -> list[str]:
    """The arguments that train on a table of made-up pairs."""
    pairs = folder / "pairs.csv"
    pairs.write_text("q,d\n" + "".join(f"kadan lofel {i},migor nuler {i}\n" for i in range(32)))
    return [f"data.path={pairs}", "data.columns=[q,d]", "objective=simcse_sup", "objective.head=null"]


def test_two_prefixes_reach_training_scores_and_best(small_run, cse_train, tmp_path, capfd):
    from sentence_transformers import SentenceTransformer

    words = [*small_run, *of_pairs(tmp_path)]
    sided = [*words, TWO_PREFIXES]
    straight = train_to(cse_train, sided, tmp_path / "run", 6)
    assert_same_run(straight, train_to(cse_train, sided, tmp_path / "paused", 4, 6))
    plain = train_to(cse_train, [*words, "model.prefix='kadan: '"], tmp_path / "plain", 6)
    assert logged_of(straight)[0] != logged_of(plain)[0]
    ours, theirs = cse.load(tmp_path / "run/best"), SentenceTransformer(f"{tmp_path}/run/best", device="cpu")
    for way in ("encode", "encode_query", "encode_document"):
        vectors = [getattr(encoder, way)(["kadan lofel migor", "permon"]) for encoder in (ours, theirs)]
        np.testing.assert_allclose(*vectors, atol=1e-5, err_msg=way)
    seen = []
    texts = [Query("permon"), "permon", Document("permon")]
    for encoder in (ours, theirs):
        cse.evaluate(encoder, {"mine": lambda encode, split: seen.append(encode(texts)) or {"n": 1.0}}, splits=["dev"])
    np.testing.assert_allclose(*seen, atol=1e-5)
    assert (seen[0][0] == seen[0][1]).all()
    assert (seen[0][0] != seen[0][2]).any()
    capfd.readouterr()
    assert cse_train([*sided, "data.preview=1", "eval=[]", f"hydra.run.dir={tmp_path}/none"]) == 0
    shown = capfd.readouterr().out
    assert "[CLS] kadan [UNK] kadan" in shown
    assert "[CLS] lofel [UNK] migor" in shown


def with_prompts(tiny_bert: str, folder: Path, **prompts: str) -> str:
    """A folder of sentence-transformers that records prompts without a default."""
    save_encoder(load_encoder(tiny_bert, "mean"), folder)
    file = folder / "config_sentence_transformers.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"prompts": prompts, "default_prompt_name": None}))
    return str(folder)


def test_prompts_that_only_search_has_are_named_with_the_setting_that_trains_with_them(
    small_run, cse_train, tiny_bert, tmp_path, senteval, capfd
):
    prompts = {"query": "kadan: ", "document": "lofel's: "}
    base = with_prompts(tiny_bert, tmp_path / "base", **prompts)
    words = [*small_run, f"model.name={base}", "model.pooling=null"]
    assert cse_train(words) == 0
    line = capfd.readouterr().out.partition("encoder ")[2].partition("\ndata ")[0]
    (remedy,) = [word for word in shlex.split(line.splitlines()[-1]) if word.startswith("model.prefix=")]
    assert all(repr(prompt) in line for prompt in prompts.values())
    assert results_of(tmp_path / "run")["prompts"] == prompts
    assert cse_train([*words, remedy, f"hydra.run.dir={tmp_path}/both"]) == 0
    assert results_of(tmp_path / "both")["prompts"] == {"text": "kadan: ", **prompts}
    assert "model.prefix" not in capfd.readouterr().out.partition("\ndata ")[0]
    scored = ["eval=stsb", f"paths.senteval={senteval}", "allow_partial=true", "tracker=none"]
    for name in ("run", "both"):
        place = tmp_path / "of" / name
        assert exit_code("cse-eval", f"checkpoint={tmp_path}/{name}", *scored, f"hydra.run.dir={place}") == 0
        assert results_of(place)["prompts"] == results_of(tmp_path / name)["prompts"]
        page = (place / "scores.md").read_text()
        assert all(repr(prompt) in page for prompt in prompts.values())


@pytest.mark.parametrize(("prefix", "columns"), [("'kadan '", ["q"]), (TWO_WORDS, ["q", "d"]), ("'zil: '", [])])
def test_a_prefix_that_the_texts_already_have_is_named(small_run, cse_train, tmp_path, capfd, prefix, columns):
    given = [*small_run, *of_pairs(tmp_path), f"model.prefix={prefix}", "eval=[]", "trainer.max_steps=1"]
    assert cse_train([*given, "dry_run=true"]) == 0
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("prefix ")]
    assert [line.count("32 of the first 32 ") for line in lines] == [len(columns)] * bool(columns)
    assert all(f"texts of {column} " in line for line in lines for column in columns)


@pytest.mark.parametrize("wrong", ["{query:a}", "{query:a,document:b,passage:c}", "{a:b}"])
def test_a_prefix_is_a_text_or_two(small_run, cse_train, wrong, capfd):
    assert cse_train([*small_run, f"model.prefix={wrong}"]) == 2
    assert "model.prefix" in capfd.readouterr().err


@pytest.mark.parametrize("sides", [False, True], ids=["template", "two prefixes"])
@pytest.mark.parametrize("more", ["trainer.chunk=3", pytest.param("trainer.devices=2", marks=pytest.mark.nightly)])
def test_chunks_and_two_processes_are_the_whole_batch(small_run, cse_train, tmp_path, more, sides):
    prompted = [*of_pairs(tmp_path), TWO_PREFIXES] if sides else PROMPT
    for folder, words in (("whole", []), ("parts", [more])):
        assert cse_train([*small_run, *prompted, *STILL, *words, f"hydra.run.dir={tmp_path}/{folder}"]) == 0
    np.testing.assert_allclose(logged_of(tmp_path / "parts"), logged_of(tmp_path / "whole"), rtol=1e-4)
