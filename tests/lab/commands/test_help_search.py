"""--help WORD finds a setting by its name, by another trainer's name for it, or by a word in its comment."""

import re
from pathlib import Path

import pytest
from typed import exit_code

from cse.errors import UserError
from cse.lab.commands.help import help_on
from cse.lab.commands.help_search import MARKS, search_help
from cse.lab.commands.mine import Mining
from cse.lab.settings.groups import CONF_DIR, choices
from cse.lab.settings.lookup import answer_to, keys_of_command


@pytest.mark.parametrize("name", [
    "temp", "pad_to_max_length", "optimizer", "MultipleNegativesRankingLoss", "fp16", "TripletEvaluator",
    "CachedMultipleNegativesSymmetricRankingLoss", "similarity_fn_name", "learning_rate_mapping", "router_mapping",
    "NanoBEIREvaluator", "RerankingEvaluator", "encode_query", "mine_hard_negatives", "normalize_embeddings",
    "cosine_ndcg@10", "include_prompt", "num_negatives", "range_min", "SentenceTransformerTrainer", "CrossEncoder",
    "SentenceTransformerTrainingArguments", "SentenceTransformer", "SimilarityFunction", "InputExample", "losses",
    "BatchSamplers", "MultiDatasetBatchSamplers", "EmbeddingSimilarityEvaluator", "EarlyStoppingCallback", "CLTrainer",
    "ModelArguments", "DataTrainingArguments", "mlp_only_train", "do_mlm", "pooler_type",
    "semantic_search", "cos_sim", "util.cos_sim", "NoDuplicatesDataLoader", "paraphrase_mining", "save_pretrained",
    "n_gpu", "align_loss", "uniform_loss", "model.fit", "fit", "Router", "StaticEmbedding", "directions",
    "hardness_mode",
])  # fmt: skip
def test_help_answers_with_the_table(name):
    lines = " ".join(search_help("train", name, 1000).split())
    told = answer_to(name, list(keys_of_command("train")))
    assert told.first in lines
    assert told.sentence() in lines or not told.note


@pytest.mark.parametrize(("word", "first", "about"), [
    ("warmup", "trainer.warmup=0", ""),
    ("learning rate", "learning rate is trainer.lr here\ntrainer.lr=3e-5  peak learning rate", ""),
    ("trainer.chunk", "trainer.chunk=null", "rows in memory at a time"), ("jobs", "jobs.fail_fast=false", ""),
    ("subset_seed", "aux_modality.data.subset_seed=0", "(aux_modality=visual)"),
    ("decoders", "model.pooling=null", "(decoders)"),  # a word of its comment
    ("temperature", "objective.temperature=0.05", "aux_modality.temperature=0.07"),  # the default choice comes first
    ("evaluate", "eval=[stsb,sts]", "trainer.eval_every=125"), ("evaluation", "eval=[stsb,sts]", "trainer.eval_every"),
    ("score", "trainer.select=", ""), ("label", "data.scores: ", "eval=classification"),
    ("early stopping", "trainer.stop_early: ", "trainer.stop_early=false"), ("seed", "seed: ", "seed=42"),
    ("pooling", "model.pooling=null", ""), ("dropout", "augmentation=dropout", "(augmentation=dropout) the encoder's"),
    ("cross_encoder", "no counterpart: cse-data mine", ""), ("query_prompt_name", "model.prefix: ", "model.prefix="),
    ("simcse", "objective=simcse", "objective=simcse_sup"),  # a choice's name
    ("report_to", "tracker: tracker=wandb", "tracker=auto"),  # another trainer's name for a group: its choices
    ("output_dir", "hydra.run.dir: by default", "hydra.run.dir=outputs"),
    ("run folder", "hydra.run.dir=outputs", ""), ("save model", "hydra.run.dir=outputs", "best/"),
    ("output", "hydra.run.dir=outputs", ""), ("folder", "rerun=null", "hydra.run.dir=outputs"),
    ("checkpoint", "checkpoint=null", "hydra.run.dir"), ("masking probability", "masking.probability=0.15", ""),
    # one value for two reasons: `without effect` is not true of triplets
    ("hard_negative_weight", "objective.hard_negative_weight: the same number, added",
     "(objective=simcse_sup) log(alpha), added to the logit"),
])  # fmt: skip
def test_a_word_finds_its_settings(word, first, about):
    lines = search_help("train", word, 120)
    assert lines.startswith(first)
    assert about in " ".join(lines.split())
    assert max(map(len, lines.splitlines())) <= 120
    with pytest.raises(UserError, match=f"{word}qqqq"):
        search_help("train", f"{word}qqqq", 120)


@pytest.mark.parametrize(("word", "first", "keys"), [
    ("temp", "temp is objective.temperature here", {"objective.temperature"}),
    ("hard_negative_weight", "objective.hard_negative_weight: the same", {"objective.hard_negative_weight"}),
    ("max_steps", "trainer.max_steps: with N steps", {"trainer.max_steps"}),
    ("mode", "splits: test is", {
        "augmentation.mode", "tracker.wandb.mode",
        *(f"eval.{part}.mode" for part in ("classification", "probing", "transfer")),
    }),
    ("seeds", "seed: -m seed=1,2,3 repeats the run", {"seed"}), ("do_train", "no counterpart", set()),
])  # fmt: skip
def test_another_trainers_argument_shows_its_row_and_its_setting(word, first, keys):
    lines = search_help("train", word, 200)
    assert lines.startswith(first)
    assert set(re.findall(r"^([\w.]+)=", lines, re.MULTILINE)) == keys


def test_a_setting_that_refuses_other_values_comes_last():
    lines = search_help("train", "hard_negative_weight", 200)
    assert lines.index("(objective=simcse_sup) log(alpha)") < lines.index("another value is refused")


def test_a_setting_of_the_command_comes_before_another_trainers_argument():
    assert search_help("evaluate", "label", 120).startswith("label=null")


def test_an_evaluator_that_cse_lacks_leads_to_the_page_that_adds_one():
    assert "docs/adding/evaluator.md" in search_help("train", "TripletEvaluator", 200)


def test_a_word_that_no_name_resembles_gets_no_suggestion():
    with pytest.raises(UserError) as refused:
        search_help("train", "Rooter", 120)
    assert "did you mean" not in str(refused.value)


@pytest.mark.parametrize("key", ["aux_modality.loss", "augmentation.mode", "trainer.lr", "model.name"])
def test_an_exact_key_comes_first(key):
    assert search_help("train", key, 120).startswith(f"{key}=")


def test_the_name_of_a_choice_is_also_searched_among_the_values_of_settings():
    lines = search_help("train", "simclr", 120)
    assert re.findall(r"^([\w.]+)=", lines, re.MULTILINE) == ["variant", "aux_modality.loss"]
    assert "trainer.schedule=" in search_help("train", "cosine", 120)


@pytest.mark.parametrize("word", ["images", "picture"])
def test_a_word_for_images_leads_to_the_second_modality(word):
    lines = search_help("train", word, 120)
    assert lines.startswith("aux_modality=visual")
    assert "aux_modality.data.batch_size" in lines


def test_a_whole_word_comes_before_words_that_begin_with_it():
    assert "template" not in search_help("evaluate", "temp", 120)
    assert "model." not in search_help("train", "mode", 120)
    assert "trainer.warmup" in search_help("train", "warm", 120)  # no setting is called so


@pytest.mark.parametrize("word", ["weight", "eval", "model_name_or_path", "temperature", "model.name", "method"])
def test_a_search_shows_a_screen_and_counts_the_others(word):
    text = re.sub(r"\n(A recipe|\[[A-Z]\]: ).*", "", search_help("train", word, 120), flags=re.DOTALL)
    *shown, last = text.splitlines()
    assert len(shown) <= 30
    count, longer = re.fullmatch(r"and (\d+) more: for example --help (\S+)", last).groups()
    assert int(count) > 0
    key, _, choice = longer.partition("=")
    assert choice in choices(key) if choice else key in keys_of_command("train")
    assert longer != word


@pytest.mark.parametrize("word", ["oom", "OOM", "out of memory", "memory"])
def test_help_on_memory_names_the_settings_that_need_less(word):
    lines = " ".join(search_help("train", word, 120).split())
    settings = ("trainer.chunk=64", "model.gradient_checkpointing=true", "trainer.batch_size", "objective.memory_size")
    assert [setting for setting in settings if setting not in lines] == []


@pytest.mark.parametrize("kind", ["train", "evaluate"])
@pytest.mark.parametrize(("word", "told"), [
    ("cls_before_pooler", "cls_before_pooler is pooling=cls"), ("stsb_spearman", "trainer.select=stsb"),
    ("run_unsup_example.sh", "run_unsup_example.sh is cse-train,"),
    ("run_sup_example.sh", "run_sup_example.sh is cse-train objective=simcse_sup"),
    ("evaluation.py", "The counterpart of this script is cse-eval"), ("seed", "-m seed=1,2,3 repeats the run"),
    ("figure", "report.html"), ("plot", "PNG, SVG and PDF"), ("svg", "figures"), ("latex", "report.tex"),
])  # fmt: skip
def test_the_sentences_of_the_table_are_searched(kind, word, told):
    lines = " ".join(search_help(kind, word, 100).split())
    assert told in lines
    assert "eval={}" not in lines


@pytest.mark.parametrize("word", ["lr", "learning_rate", "trainer.batch_size", "trainer.log_every"])
def test_a_setting_that_recipes_or_experiments_replace_says_so(word):
    assert search_help("train", word, 120).endswith(
        "A recipe or an experiment may replace these values: add --cfg job to your command to see its values."
    )
    assert "recipe" not in search_help("evaluate", "splits", 120)


def test_the_marks_of_a_source_are_explained_where_they_stand():
    page = Path(CONF_DIR).parent.joinpath("docs", "settings.md").read_text(encoding="utf-8")
    marks = set(re.findall(r"\[([A-Z])[\],]", "".join(file.read_text() for file in Path(CONF_DIR).rglob("*.yaml"))))
    assert marks - {"X"} == set(MARKS)  # the place of a sentence in a template
    assert "[L]: from the authors' training logs" in search_help("train", "aux_modality.lr", 200)
    assert help_on("train", "aux_modality=visual").split()[-3:] == ["authors'", "training", "logs"]
    assert "[C]" not in search_help("train", "objective.head.width", 200)
    for letter, source in MARKS.items():
        assert f"[{letter}]: from {source}" in page


@pytest.mark.parametrize(("program", "words", "told"), [
    ("cse-data", ["--help", "mine"], ["cse-data mine data.path", *(f"{key}=" for key in Mining.__annotations__)]),
    ("cse-data", ["mine", "--help"], ["relative_margin=null"]), ("cse-data", ["--help", "data.path"], ["data=text"]),
    ("cse-data", ["help", "fetch"], ["cse-data fetch wiki1m senteval"]),
    ("cse-report", ["--help", "baseline"], ["baseline=null", "baseline=objective=simcse"]),
    ("cse-report", ["--help", "tex"], ["report.md, report.tex"]), ("cse-report", ["--help", "latex"], ["report.tex"]),
    ("cse-report", ["of_mine", "--help"], ["Exit codes"]), ("cse-doctor", ["--help", "senteval"], ["paths.senteval="]),
    ("cse-doctor", ["--help", "--json"], ["for programs"]), ("cse-doctor", ["?"], ["Exit codes"]),
])  # fmt: skip
def test_the_other_commands_answer_a_word_too(program, words, told, capsys):
    assert exit_code(program, *words) == 0
    out = capsys.readouterr().out
    assert [one for one in told if one not in out] == []
    assert ("Exit codes" in out) == ("Exit codes" in told)


@pytest.mark.parametrize(("program", "word", "other"), [
    ("cse-train", "gate", "cse-report --help gate"), ("cse-eval", "gate", "cse-report --help gate"),
    ("cse-eval", "eval_every", "cse-train --help eval_every"),
    ("cse-train", "relative_margin", "cse-data --help relative_margin"),
    ("cse-report", "save_every", "cse-train --help save_every"),
])  # fmt: skip
def test_a_setting_of_another_command_leads_to_this_command(program, word, other, capsys):
    exit_code(program, "--help", word)
    assert other in " ".join("".join(capsys.readouterr()).split())


@pytest.mark.parametrize("program", ["cse-train", "cse-report"])
@pytest.mark.parametrize(("word", "told"), [
    ("verdict", "docs/sweeps.md#verdicts"), ("pictures", "report.html"), ("bold", "docs/sweeps.md#files-of-a-report"),
    ("decimals", "docs/sweeps.md#files-of-a-report"),
    *((word, "docs/sweeps.md#differences-and-tests") for word in ("t-test", "holm", "p value", "p-value")),
])  # fmt: skip
def test_words_about_reports_are_answered(program, word, told, capsys):
    assert exit_code(program, "--help", word) == 0
    assert told in capsys.readouterr().out


def test_a_word_that_a_page_lacks_is_refused(capsys):
    assert exit_code("cse-report", "--help", "confidnce") == 2
    assert "confidence" in capsys.readouterr().err


def test_the_command_comes_first_that_is_asked():
    assert search_help("evaluate", "model_name_or_path", 80).startswith("checkpoint: ")
    assert search_help("evaluate", "pooler_type", 80).startswith("pooling: ")
    assert search_help("train", "pooler_type", 80).startswith("model.pooling: ")
