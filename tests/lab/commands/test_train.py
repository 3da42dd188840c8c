"""cse-train as one uses it: what it leaves, and what it refuses."""

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pytest
from run_folders import logged_of, results_of

from cse.eval.items import read_items
from cse.model.load import load_encoder


@pytest.mark.pictures
def test_a_run_leaves_a_complete_folder(small_run, cse_train, tmp_path):
    assert cse_train(small_run) == 0
    run = tmp_path / "run"
    results = results_of(run)
    assert results["status"] == "done"
    assert results["steps"] == 6
    assert results["best_step"] in (2, 4, 6)
    assert {"dev/stsb/spearman", "test/stsb/spearman"} <= set(results["metrics"])
    assert results["config"]["trainer"]["lr"] == 3e-5
    assert results["versions"]["torch"] == version("torch")
    assert results["data"]["stsb"]["files"]
    assert results["config"]["sources"][0] in (run / "train.log").read_text()  # the recipe
    assert results["overlap"]["texts"] == 200
    assert set(results["overlap"]["sets"]) == {"stsb"}
    assert results["items"]["scores"] == len(read_items(run)) == 2  # the pairs of dev and of test
    assert [step for step, _ in logged_of(run)] == [1, 2, 3, 4, 5, 6]
    scored = dict(logged_of(run, "dev/stsb/spearman"))
    assert list(scored) == [0, 2, 4, 6]
    first_best = max((step for step in scored if step), key=lambda step: (scored[step], -step))
    assert results["best_step"] == first_best  # strictly better only: the earliest of equals
    assert results["metrics"]["dev/stsb/spearman"] == pytest.approx(scored[first_best], abs=1e-4)
    assert {"scores.png", "scores.svg"} <= {p.name for p in (run / "plots").iterdir()}
    assert "@inproceedings{gao2021simcse" in (run / "best" / "README.md").read_text()
    assert not list(run.rglob(".cse-*"))
    assert not list(run.rglob("*.bin"))
    assert not list(run.rglob("*.pt"))


def test_max_steps_keeps_the_schedule_and_without_selection_the_last_step_is_kept(small_run, cse_train, tmp_path):
    """200 sentences, batch 8: 25 planned steps; step k has lr (25 - k) / 25 of the base, also if the run stops at 6."""
    assert cse_train([*small_run, "trainer.select=null"]) == 0
    rates = [rate for _, rate in logged_of(tmp_path / "run", "train/lr")]
    np.testing.assert_allclose(rates, [3e-5 * (25 - k) / 25 for k in range(6)])
    assert not logged_of(tmp_path / "run", "dev/stsb/spearman")
    results = results_of(tmp_path / "run")
    assert results["best_step"] == 6
    assert "dev/stsb/spearman" in results["metrics"]


def test_an_epoch_of_accumulated_batches_is_all_of_the_text(small_run, cse_train, tmp_path):
    """80 sentences, batch 8, 3 of them an update: 2 epochs are 20 batches, and so 7 updates."""
    more = ["data.limit=80", "trainer.accumulate=3", "trainer.epochs=2", "trainer.max_steps=null"]
    assert cse_train([*small_run, *more]) == 0
    epochs = [epoch for _, epoch in logged_of(tmp_path / "run", "train/epoch")]
    np.testing.assert_allclose(epochs, [3 * step / 10 for step in range(1, 8)])


def test_the_untrained_encoder_is_scored_without_a_new_head(small_run, cse_train, tmp_path):
    before = []
    for seed in (1, 2):
        folder = tmp_path / f"{seed}"
        more = [f"seed={seed}", "objective.keep_head=true", "trainer.max_steps=2", f"hydra.run.dir={folder}"]
        assert cse_train([*small_run, *more]) == 0
        before.append(results_of(folder)["untrained"]["dev/stsb/spearman"])
    assert before[0] == pytest.approx(before[1], abs=1e-4)


def test_a_fraction_is_a_share_of_the_schedule_rounded_up(small_run, cse_train, tmp_path, capsys):
    """3 steps of a schedule of 10, which is shorter than the 25 planned ones."""
    assert cse_train([*small_run, "trainer.warmup=0.25", "trainer.eval_every=0.25", "trainer.schedule_steps=10"]) == 0
    rates = [rate for _, rate in logged_of(tmp_path / "run", "train/lr")]
    np.testing.assert_allclose(rates, [3e-5 * share for share in (0, 1 / 3, 2 / 3, 7 / 7, 6 / 7, 5 / 7)])
    assert [step for step, _ in logged_of(tmp_path / "run", "dev/stsb/spearman")] == [0, 3, 6]
    assert "warm-up 3 steps" in capsys.readouterr().out


def test_a_preview_prints_views_with_no_data_for_scores_and_no_batch(small_run, cse_train, tmp_path, capsys):
    others = "paths.senteval=/no/such/folder", "trainer.batch_size=100000"
    assert cse_train([*small_run, "data.preview=2", *others]) == 0
    out = capsys.readouterr().out
    assert out.count("view 0") == 2
    assert out.count("view 1") == 2
    assert "each text twice, with different dropout" in out
    assert "[CLS]" in out
    assert not (tmp_path / "run" / "results.json").exists()


@pytest.mark.parametrize(
    "words", [["objective=mlm", "augmentation=dropout"], ["objective=simcse", "objective.mlm_weight=0.1"]]
)
def test_a_preview_shows_what_is_masked(words, small_run, cse_train, capsys):
    more = [
        "data.preview=2",
        "trainer.max_length=32",
        "masking.probability=1.0",
        "masking.mask_share=1.0",
        "masking.random_share=0.0",
    ]
    assert cse_train([*small_run, *words, *more]) == 0
    out = capsys.readouterr().out
    assert out.count("[MASK]") >= 2
    copies = 4 if "objective=simcse" in words else 0  # of both views of both rows
    assert len(re.findall(r"^  masked +\d+ tokens", out, re.M)) == copies
    assert "view 2" not in out


def test_a_preview_marks_truncated_views_and_counts_them_and_rows_that_share_a_text(
    small_run, cse_train, tmp_path, capsys
):
    lines = ["kadan lofel migor " * 200, "kadan", *["lofel migor"] * 3, *map(str, range(11))]
    (tmp_path / "own.txt").write_text("\n".join(lines))
    assert cse_train([*small_run, f"data.path={tmp_path}/own.txt", "trainer.max_length=8", "data.preview=2"]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"(\d+) tokens( \(max\))?", out)[:2] == [("8", " (max)")] * 2
    assert out.count("(max)") == 2
    assert re.search(r"^truncation +1 of 16 rows", out, re.M)
    assert re.search(r"^duplicates .* 3$", out, re.M)
    assert " ..." in next(line for line in out.splitlines() if line.startswith("row 1"))


def test_a_preview_shows_no_text_for_a_missing_hard_negative(small_run, cse_train, tmp_path, capsys):
    (tmp_path / "triplets.csv").write_text("a,b,c\none,two,\n" + "one,two,three\n" * 15)
    of_text = [f"data.path={tmp_path}/triplets.csv", "data.columns=[a,b,c]", "objective=simcse_sup"]
    assert cse_train([*small_run, *of_text, "data.preview=2"]) == 0
    first, second = [line for line in capsys.readouterr().out.splitlines() if "view 2" in line]
    assert "[CLS]" not in first
    assert "none" in first
    assert "[CLS]" in second


def test_a_preview_prints_scores_as_they_are_scaled(small_run, cse_train, tmp_path, capsys):
    (tmp_path / "scored.csv").write_text("a,b,rating\n" + "one,two,4\n" * 15 + "one,two,3\n")
    of_text = [f"data.path={tmp_path}/scored.csv", "data.columns=[a,b]", "data.scores=rating", "data.score_range=[0,5]"]
    assert cse_train([*small_run, *of_text, "objective=cosent", "data.preview=1"]) == 0
    assert "rating 4, scaled to 0.8" in capsys.readouterr().out


def test_what_is_watched_is_scored_beside_what_selects(small_run, cse_train, tmp_path):
    watched = ["eval=[stsb,geometry]", "trainer.watch=[geometry]"]
    assert cse_train([*small_run, *watched]) == 0
    for name in ("dev/stsb/spearman", "dev/geometry/uniformity", "dev/geometry/alignment"):
        assert [step for step, _ in logged_of(tmp_path / "run", name)] == [0, 2, 4, 6]


def test_a_split_whose_data_is_missing_is_left_out(small_run, cse_train, tmp_path, senteval):
    shutil.copytree(senteval, tmp_path / "copy")
    (tmp_path / "copy" / "STS" / "STSBenchmark" / "sts-test.csv").unlink()
    assert cse_train([*small_run, "eval=[stsb,geometry]", f"paths.senteval={tmp_path}/copy"]) == 0
    content = results_of(tmp_path / "run")
    assert {name.partition("/")[0] for name in content["metrics"]} == {"dev"}


def test_one_error_names_everything_that_is_missing(cse_train, capsys, tmp_path):
    """The default run without a hub."""
    assert cse_train([f"hydra.run.dir={tmp_path}/run", f"paths.cache={tmp_path}/cache"]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    settings = ("model.name=PLACE", "data.rows.file=PLACE", "paths.senteval=PLACE", "experiment=demo", "cse-data fetch")
    assert all(word in line for word in ("bert-base-uncased, wiki1m, senteval", *settings))


def test_a_copy_with_too_few_rows_is_not_called_missing(cse_train, capsys, tmp_path, sentences):
    words = [f"hydra.run.dir={tmp_path}/run", f"paths.cache={tmp_path}/cache", f"data.rows.file={sentences}"]
    assert cse_train(words) == 2
    rows, missing = capsys.readouterr().err.strip().splitlines()[-2:]
    assert "1,000,000" in rows
    assert "data=text" in rows
    assert "bert-base-uncased, senteval. " in missing


def test_a_key_that_is_given_again_is_named(cse_train, capsys):
    assert cse_train(["--cfg", "job", "seed=1", "objective=simcse", "+seed=2"]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines() == ["seed=1 has no effect: seed=2 replaces it"]
    assert "\nseed: 2\n" in said.out


REFUSE = """
import json, sys
from cse.lab.commands import evaluate, train
for command, words in json.loads(sys.argv[1]):
    sys.argv = ["cse", *words.split()]
    try:
        {"train": train, "evaluate": evaluate}[command].main()
    except SystemExit as ended:
        print(ended.code, "torch" in sys.modules)
    print("end", file=sys.stderr)
"""
REFUSED = [
    ("train", "trainer.lrr=1", "trainer.lrr"), ("train", "model.name=/no/model", "model.name=/no/model"),
    ("train", "model.name=FOLDER", "tokenizer"), ("train", "data=text data.path=/no.txt", "data.path=/no.txt"),
    ("train", "data=text data.path=FOLDER/a.csv data.columns=[one,three]", "data.columns=three: "),
    ("evaluate", "checkpoint=/no/model", "checkpoint=/no/model"),
    ("train", "objective=gist objective.teacher=/no/model", "objective.teacher=/no/model"),
    ("train", "aux_modality=visual paths.images=/no", "paths.images=/no"),
    ("evaluate", "paths.senteval=/no", "paths.senteval=/no"),
    ("evaluate", "model=bert whitening.kind=pca whitening.fit=/no.txt", "whitening.fit=/no.txt"),
]  # fmt: skip
REFUSED_BY_PARTS = [  # which import torch, so after all of the above
    ("train", "eval=pairs eval.pairs.test=/no.csv", "eval.pairs.test=/no.csv"),
    ("evaluate", "model=bert eval=pairs eval.pairs.test=FOLDER/a.csv", "eval.pairs.columns=sentence1: "),
]  # fmt: skip


def test_what_needs_no_work_to_be_seen_is_refused_before_torch_is_imported(tmp_path):
    """All in one process, as each would import as much again."""
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "a.csv").write_text("one,two\nx,y\n")
    refused = REFUSED + REFUSED_BY_PARTS
    lines = json.dumps([line[:2] for line in refused]).replace("FOLDER", str(tmp_path))
    ended = subprocess.run([sys.executable, "-c", REFUSE, lines], capture_output=True, text=True)
    assert ended.stdout.splitlines() == ["2 False"] * len(REFUSED) + ["2 True"] * len(REFUSED_BY_PARTS)
    for (_, _, named), told in zip(refused, ended.stderr.split("end\n"), strict=False):
        assert named in told


@pytest.mark.parametrize(("more", "ends"), [
    (["objective.keep_head=true"], ["Dense"]), ([], ["Dense"]), (["model=minilm"], []),
    (["objective.keep_head=true", "model=modernbert", "model.pooling=null"], ["Dense"]), (["model.pooling=cls"], []),
])  # fmt: skip
def test_a_run_goes_on_where_another_ended(small_run, cse_train, capsys, tmp_path, more, ends):
    """It has the folder's pooling, prefix and head. A typed pooling drops the head, and says so."""
    still = ["trainer.max_steps=1", "trainer.eval_every=1", "trainer.lr=1e-12"]
    first = ["objective.keep_head=true", "model.pooling=mean", "model.prefix=perzu", "trainer.max_steps=2"]
    assert cse_train([*small_run, *first, f"hydra.run.dir={tmp_path}/first"]) == 0
    before = results_of(tmp_path / "first")["metrics"]
    capsys.readouterr()
    assert cse_train([*small_run, *more, f"model.name={tmp_path}/first/best", *still]) == 0
    said = capsys.readouterr()
    modules = json.loads((tmp_path / "run" / "best" / "modules.json").read_text())
    assert [one["type"].rpartition(".")[2] for one in modules][2:] == ends
    old, new = (load_encoder(f"{tmp_path}/{name}/best", None) for name in ("first", "run"))
    assert new.tokenizer.prefix == "perzu"
    texts = ["kadan lofel", "migor"]
    assert np.allclose(new.encode(texts), old.encode(texts), atol=1e-5) == bool(ends)
    assert ("drops the modules after" in said.out + said.err) == (not ends)
    if ends:
        untrained = results_of(tmp_path / "run")["untrained"]
        assert untrained["dev/stsb/spearman"] == pytest.approx(before["dev/stsb/spearman"])


def test_a_flag_for_several_jobs_is_refused_beside_a_word_for_one(cse_train, capsys):
    assert cse_train(["-m", "seed=1", "hydra.mode=RUN"]) == 2
    assert "-m has no effect" in capsys.readouterr().err


def test_a_mode_of_hydra_is_refused_outside_the_command_of_a_job(cse_train, capsys):
    """Else trainer.max_steps would count as a sweep's in the record of the run."""
    assert cse_train(["trainer.max_steps=3", "hydra.mode=RUN"]) == 2
    assert "hydra.mode=RUN has no effect on a run: leave it out" in capsys.readouterr().err
