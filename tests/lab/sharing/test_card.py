"""What best/ has to be shared as it is: the card, the adapter, and the scores of later evaluations."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import ModelCard
from typed import exit_code

from cse.lab.settings.groups import choices
from cse.lab.sharing import card, methods
from cse.score import Score

CONFIG = {
    "model": {"name": "lab/tiny", "pooling": "cls"},
    "data": {"name": "wiki1m"},
    "choices": {"objective": "barlow", "aux_modality": "visual"},
    "trainer": {"lr": 1e-5, "log_every": 3},
    "aux_modality": {"data": {"folder": "/home/me/birds", "hub": "ILSVRC/imagenet-1k", "classes": 2}},
    "eval": {"mteb": {"cache": "mteb"}},
}
SCORES = {
    "dev/stsb/spearman": 80.123,
    "test/sts/STS12/spearman": 70.5,
    "test/sts/SICK-R/spearman": 69.0,
    "test/sts/average": float("nan"),
}

VECTORS = {"made": "cls pooling, at most 512 tokens", "kept_head": False, "numbers": 768, "unit_length": False,
           "similarity": "cosine"}  # fmt: skip


def named(numbers: dict[str, float], modified: str = "no score") -> list[Score]:
    """Scores of these numbers. modified: what is in the names of those on modified data."""
    return [Score(name, value, modified=modified in name) for name, value in numbers.items()]


def made(tmp_path: Path, modified: str = "no score", **more) -> ModelCard:
    """The card of a run with SCORES."""
    record = {"config": CONFIG, "vectors": VECTORS, "seed": 3, "best_step": 125, "data": {},
              "command": "cse-train objective=barlow", "total_steps": 250,
              "overlap": {"texts": 9, "found": 0, "sets": {}, "unread": []}}  # fmt: skip
    (tmp_path / "README.md").write_text(card.model_card(record | more, named(SCORES, modified)))
    return ModelCard.load(tmp_path / "README.md")


def index(about: ModelCard) -> dict[str, float]:
    """The scores that leaderboards read from a card."""
    return {f"{one.dataset_split}/{one.dataset_type}/{one.metric_type}": one.metric_value
            for one in about.data.eval_results or []}  # fmt: skip


def test_the_card_has_scores_data_licence_command_and_citations(tmp_path):
    command = "cse-train objective=barlow paths.cache=/home/me/c tracker.wandb.entity=me hydra.run.dir=/x seed=3"
    about = made(tmp_path, command=command, weights={"license": "apache-2.0", "language": ["en"]},
                 versions={"cse-lab": "0.1.0"}, code="0123456789abcdef", architecture="Bert, 2 layers")  # fmt: skip
    assert (about.data.base_model, about.data.license, about.data.language) == ("lab/tiny", "apache-2.0", ["en"])
    assert about.data.datasets == ["princeton-nlp/datasets-for-simcse"]
    assert index(about) == {name: value for name, value in SCORES.items() if value == value}  # without NaN
    assert "cse-train objective=barlow seed=3\n" in about.text
    assert "@inproceedings{pappadopulo2024barlow" in about.text
    assert "@inproceedings{jian2022visual" in about.text
    assert all(
        words in about.text for words in ("cse 0.1.0 (code `0123456789abcdef`)", "trainer.lr: 1.0e-05", "2 layers")
    )
    assert "log_every" not in about.text


@pytest.mark.parametrize(("objective", "second", "name", "cited"), [
    ("barlow", "none", "Barlow Twins", "pappadopulo2024barlow"), ("cosent", "none", "CoSENT", "huang2024cosent"),
    ("simcse_sup", "none", "Supervised SimCSE", "gao2021simcse"),
    ("simcse", "none", "Unsupervised SimCSE", "gao2021simcse"),
    ("simcse_sup", "audio", "AudioCSE", "jian2022visual"),
    ("barlow", "visual", "Barlow Twins + VisualCSE", "jian2022visual"),
    ("simcse", "touch", "Unsupervised SimCSE + touch", "gao2021simcse"), ("mine", "none", "mine", ""),
])  # fmt: skip
def test_the_card_names_and_cites_the_methods(tmp_path, objective, second, name, cited):
    chosen = {"choices": {"objective": objective, "aux_modality": second}}
    text = made(tmp_path, config=CONFIG | chosen).text
    assert f"# {name} from lab/tiny\n" in text
    assert (f"{{{cited}," if cited else "The similarity is the cosine.") in text
    assert ("Please cite" in text) == bool(cited)


def test_every_objective_has_a_short_name(monkeypatch, tmp_path):
    """It is the beginning of its file's first comment, in the user's folder too."""
    names = {methods.name_of_method(choice) for group in ("objective", "aux_modality") for choice in choices(group)}
    assert {"Masked language model", "DCL", "ArcCon", "Barlow Twins", "GISTEmbed", "Supervised SimCSE"} < names
    assert max(map(len, names)) < 40
    (tmp_path / "objective").mkdir()
    (tmp_path / "objective" / "near.yaml").write_text("# NearCSE (2026): a loss.\n_target_: own.near.Near\n")
    (tmp_path / "objective" / "bare.yaml").write_text("_target_: own.near.Near\n")
    monkeypatch.setenv("CSE_CONF", str(tmp_path))
    assert [methods.name_of_method(choice) for choice in ("near", "bare")] == ["NearCSE", "bare"]


def test_the_methods_of_a_mixture_are_the_choices_of_its_sources(monkeypatch, tmp_path):
    """A class may have another name than its choice, and several choices."""
    (tmp_path / "objective").mkdir()
    text = "# Align and uniform (2020): a loss.\n_target_: own.align_uniform.AlignUniform\nweight: 1e-1\n"
    (tmp_path / "objective" / "align_uniform.yaml").write_text(text)
    (tmp_path / "objective" / "warm.yaml").write_text("# Warm.\ndefaults: [align_uniform, _self_]\nweight: 1.0\n")
    monkeypatch.setenv("CSE_CONF", str(tmp_path))
    align = {"_target_": "own.align_uniform.AlignUniform", "_partial_": True}
    supervised = {"_target_": "cse.objective.simcse.Simcse", "num_views": None, "keep_head": False}
    sources = {"a": align | {"weight": 0.1}, "b": align | {"weight": 1.0}, "c": supervised,
               "d": supervised | {"num_views": 2}, "e": {"_target_": "own.new.New"}, "f": None}  # fmt: skip
    data = {"name": "mixture", "sources": {name: {"objective": own} for name, own in sources.items()}}
    found = methods.methods_of({"choices": {"objective": "cosent", "aux_modality": "none"}, "data": data})
    assert found == ["align_uniform", "warm", "simcse_sup", "simcse", "New", "cosent"]
    assert methods.title_of_methods(found[:2]) == "Align and uniform + Warm"


def test_the_card_of_a_run_that_recorded_no_text_has_its_licence(tmp_path):
    own = CONFIG | {"data": {"name": "text", "path": "a.txt"}}
    assert "`a.txt`, the user's own text (licence: not given)." in made(tmp_path, config=own).text


def test_the_card_is_titled_by_a_folder_that_is_given_with_a_slash(tmp_path):
    (tmp_path / "mine").mkdir()
    text = made(tmp_path, config=CONFIG | {"model": CONFIG["model"] | {"name": f"{tmp_path}/mine/"}}).text
    assert "# Barlow Twins + VisualCSE from mine\n" in text


def test_the_card_says_which_code_made_it_before_each_resume(tmp_path):
    """A run of an older edition recorded no code."""
    earlier = [{"until_step": 40, "code": None}, {"until_step": 80, "code": "abcd"}]
    text = made(tmp_path, code="ef01", earlier_code=earlier).text
    assert "(code `ef01`; until step 40 unknown code; until step 80 code `abcd`)" in text


def test_the_card_names_no_place_of_this_machine(tmp_path):
    about = made(
        tmp_path,
        command=f"cse-train data=text 'data.path=[{tmp_path}/a b/x.txt,~/y.txt]' paths.senteval={tmp_path}/s "
        f"--config-dir {tmp_path}",
    )
    assert str(tmp_path) not in about.content
    assert "imagenet" not in about.text  # of the second modality, whose folder was given
    assert "'data.path=[x.txt,y.txt]' paths.senteval=s" in about.text


def test_own_text_is_told_apart_and_texts_that_are_scored_too_are_counted(tmp_path):
    own = CONFIG | {"data": {"name": "text", "path": ["/home/me/a.txt", "/home/me/b.txt"]}}
    learned = {"training_data": {"rows": 1200, "digest": "0123456789abcdef" * 2}}
    seen = {"overlap": {"texts": 1200, "found": 7, "sets": {"pairs": 7}, "unread": []}}
    text = made(tmp_path, config=own, **learned, **seen).text
    assert "seed 3, step 125 of 250." in text
    assert "`a.txt`, `b.txt`, the user's own text (1,200 rows, digest `0123456789abcdef`, licence: not given)." in text
    assert "7 of 1,200 training texts occur in the evaluation sets (pairs 7)." in text


def test_modified_scores_are_marked_and_shown_to_no_leaderboard(tmp_path):
    about = made(tmp_path, modified="STS12")
    assert "| test/sts/STS12/spearman † | 70.50 |" in about.text
    assert "| test/sts/SICK-R/spearman | 69.00 |" in about.text
    assert set(index(about)) == {"dev/stsb/spearman", "test/sts/SICK-R/spearman"}


@pytest.mark.parametrize(("untrained", "said"), [(81.0, True), (79.0, False), (None, False)])
def test_the_card_says_that_training_did_not_help(tmp_path, untrained, said):
    trainer = {"trainer": {"select": "dev/stsb/spearman"}}
    about = made(tmp_path, config=CONFIG | trainer, untrained={"dev/stsb/spearman": untrained})
    assert ("by dev/stsb/spearman is no better than the encoder before training" in about.text) == said


def test_a_run_leaves_all_that_is_shared(small_run, cse_train, senteval, tmp_path):
    """With an adapter, scored again: the card has what the run scored."""
    pytest.importorskip("peft", reason="needs peft (pip install -e '.[lora]')")
    from sentence_transformers import SentenceTransformer

    assert cse_train([*small_run, "model.lora={r: 2, alpha: 4}", "trainer.max_steps=2"]) == 0
    best = tmp_path / "run" / "best"
    assert index(ModelCard.load(best / "README.md")) == {}  # the made-up STS-B is modified data
    results, adapter = (
        json.loads((best / name).read_text()) for name in ("../results.json", "adapter/adapter_config.json")
    )
    assert adapter["base_model_name_or_path"] == results["config"]["model"]["name"]
    vectors = SentenceTransformer(str(best), device="cpu").encode(["kadan lofel"])
    data = ["eval=demo", f"paths.senteval={senteval}", f"paths.cache={tmp_path}/cache", "tracker=none"]
    card_before = (best / "README.md").read_bytes()
    assert exit_code("cse-eval", f"checkpoint={best}", *data, f"hydra.run.dir={tmp_path}/scored") == 0
    assert (best / "README.md").read_bytes() == card_before
    assert "dev/demo/average" in (tmp_path / "scored" / "scores.md").read_text()
    np.testing.assert_array_equal(SentenceTransformer(str(best), device="cpu").encode(["kadan lofel"]), vectors)


def test_every_published_objective_is_cited():
    known = {choice for entry in methods.known_works() for choice in entry["keywords"]}
    assert known == {*choices("objective"), *choices("aux_modality")} - {"mlm", "none"}


def test_a_resumed_run_keeps_the_licence_of_its_first_weights(small_run, cse_train, tiny_bert, tmp_path):
    """But not their language: nobody says which the text is in."""
    tuned = tmp_path / "tuned"
    shutil.copytree(tiny_bert, tuned)
    (tuned / "README.md").write_text("---\nlicense: mit\nlanguage: en\n---\n")
    assert cse_train([*small_run, f"model.name={tuned}", "trainer.max_steps=1"]) == 0
    (tuned / "README.md").unlink()
    assert cse_train([f"resume={tmp_path}/run", "trainer.max_steps=2"]) == 0
    about = ModelCard.load(tmp_path / "run" / "best" / "README.md").data
    assert (about.license, about.language) == ("mit", None)


def test_the_licence_of_ones_own_text_is_on_the_card(tmp_path):
    own = CONFIG | {
        "data": {"name": "text", "path": "a.txt"},
        "card": {"data_licence": "CC BY 4.0", "languages": ["de"]},
    }
    about = made(tmp_path, config=own, training_data={"rows": 9, "digest": "0"}, weights={"language": "en"})
    assert "licence: CC BY 4.0" in about.text
    assert "unusable" not in about.text
    assert about.data.language == ["de"]


def test_the_card_says_how_many_rows_are_left_out(small_run, cse_train, tmp_path):
    (tmp_path / "own.csv").write_text("text\n" + "kadan lofel\n" * 20 + "NaN\nnull\n")
    own = [f"data.path={tmp_path}/own.csv", "data.columns=[text]", "data.empty=skip"]
    assert cse_train([*small_run, *own, "trainer.max_steps=1"]) == 0
    assert "(20 rows, unusable rows left out: 2, digest" in (tmp_path / "run/best/README.md").read_text()


def test_the_card_says_how_vectors_are_made_and_compared(tmp_path):
    head = {"kept_head": True, "unit_length": True, "similarity": "dot"}
    plain, other = (made(tmp_path, vectors=VECTORS | more).text for more in ({}, head))
    assert "768 dimensions: cls pooling, at most 512 tokens." in plain
    assert "not of length 1" in plain
    assert "`Dense`" not in plain
    assert "not of length 1" not in other
    assert "`Dense`" in other
    assert "The similarity is the cosine." not in other


def test_the_mark_is_explained_only_where_it_stands(tmp_path):
    assert "†" not in made(tmp_path).text
    assert made(tmp_path, modified="STS12").text.count("†: ") == 1
