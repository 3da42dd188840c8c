"""The jobs of a sweep's YAML: their arguments, the names of their folders, and wrong keys of the file."""

from pathlib import Path

import pytest
from typed import jobs_of, jobs_typed

from cse.errors import UserError
from cse.lab.settings import groups
from cse.lab.settings.arguments import Argument, texts_of
from cse.lab.sweep import rows, sweeps
from cse.lab.sweep.checks import check_jobs
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.reads import needs_asked
from cse.sources.fetch import DatasetNeed


@pytest.mark.parametrize(
    ("sweep", "words", "name"),
    [
        ("nonling/table_a1", "", "visual_bert-batch_size_64-trainer.lr_1e-05-aux_modality.lr_5e-06-7f8aab80"),
        ("whitenedcse/table4", "seed=3 paths.senteval=data/SentEval",
         "num_groups_32-shuffle_True-seed_3-senteval_SentEval-ef57b62a"),
        ("whitenedcse/table1", "case=bert_whitening eval.sts.parts.test=[STS12]",
         "bert_whitening-test_STS12-78983e25"),
        ("nonling/table_d1", "case=visual_bert seed=3 model=minilm", "visual_bert-seed_3-model_minilm-38c592b7"),
        ("declutr/figure2", "smoke=true trainer.chunk=8",
         "small_p1-anchors_1-strategy_all-temperature_0.0005-smoke_True-chunk_8-b5fc5ee4"),
    ],
)  # fmt: skip
def test_the_names_of_folders_stay(sweep, words, name):
    """So that finished jobs are found again."""
    assert jobs_of(sweep, *words.split())[0].name == name


def test_a_name_depends_only_on_what_a_job_runs():
    table = "nonling/table_a1"
    planned = jobs_of(table)
    name = planned[0].name
    assert len(name) <= rows.SLUG + 9
    assert len({job.name for job in planned}) == 324
    same = ["tracker=none", "paths.cache=/tmp/x", "trainer.workers=3", "hydra/launcher=basic", "jobs.parallel=2"]
    assert jobs_of(table, *same)[0].name == name
    more = ["seed=1", "model.num_layers=2"]
    a, b = (jobs_of(table, *order)[0].name for order in (more, more[::-1]))
    assert a == b != name
    assert "seed_1-num_layers_2" in jobs_of("whitenedcse/table5", *more)[0].name


def test_the_command_line_replaces_axes_and_overrides_cases():
    table = sweeps.load_sweep("nonling/table3")
    assert [len(jobs_of("nonling/table3", *words)) for words in ([], ["seed=7"])] == [20, 4]
    assert len(jobs_of("nonling/table3", "case=simcse_bert,visual_bert", "seed=1,2,3")) == 6
    assert table.folder_of_jobs([]) == Path("runs/nonling/table3")
    assert table.folder_of_jobs([Argument("smoke=true")]) == Path(
        "runs/smoke/nonling/table3"
    )  # never among real scores
    arguments = texts_of(jobs_of("nonling/table3", "case=simcse_bert", "seed=1", "model=minilm")[0].arguments)
    assert arguments[0] == "sweep=nonling/table3"
    assert [a for a in arguments if a.startswith("model=")] == ["model=minilm"]
    assert {"case=simcse_bert", "hydra.mode=RUN", "resume=auto", "~cases", "~report"} <= set(arguments)


def test_a_setting_that_only_some_cases_have():
    more = ["aux_modality.init=random", "trainer.lr=0.5"]
    both = jobs_of("nonling/table3", "case=visual_bert,visual_roberta", "seed=1", *more)
    assert all(set(more) <= set(texts_of(job.arguments)) for job in both)
    check_jobs(both)
    assert len(jobs_of("nonling/table4", "variant=released", "case=visual_bert,visual_roberta")) == 2


@pytest.mark.parametrize("valid", ["trainer.epochs=1 trainer.batch_size=32", "trainer.epochs=2 trainer.batch_size=64"])
def test_a_grid_with_one_valid_job_starts_whichever_it_is(monkeypatch, valid):
    """The last one has no argument that no job before it has."""

    def checked(job: PlannedJob) -> None:
        if not is_valid(job):
            raise UserError(f"{job.name} does not fit")

    def is_valid(job: PlannedJob) -> bool:
        return {*valid.split()} <= {*texts_of(job.arguments)}

    jobs = jobs_typed(["-m", "trainer.epochs=1,2", "trainer.batch_size=32,64", "model=minilm"])
    monkeypatch.setattr(PlannedJob, "checked", checked)
    check_jobs(jobs)
    with pytest.raises(UserError, match="does not fit"):
        check_jobs([job for job in jobs if not is_valid(job)])


def test_departures_are_the_decisive_overrides_beyond_the_sweep():
    table = sweeps.load_sweep("nonling/table3")
    own = rows.job_of_row(table, [Argument("case=visual_bert"), Argument("seed=3")], Path("runs")).arguments
    assert table.further_arguments(own) == []
    more = ["trainer.max_steps=60", "paths.cache=/x", "tracker=none", "trainer.lr=1", "seed=9", "jobs.parallel=2"]
    more += ["trainer.chunk=8", "eval=[stsb,sts,geometry]", "note=mine"]
    assert texts_of(table.further_arguments([*own, *map(Argument, more)])) == ["trainer.max_steps=60", "trainer.lr=1"]


def test_a_word_of_another_case_is_a_departure():
    table = sweeps.load_sweep("whitenedcse/table6")
    assert "objective.m=3" in table.cases["positives_3"].set
    assert table.further_arguments(rows.job_of_row(table, [Argument("case=positives_3")], Path("runs")).arguments) == []
    departing = rows.job_of_row(table, [Argument("case=whitening"), Argument("objective.m=3")], Path("runs")).arguments
    assert texts_of(table.further_arguments(departing)) == ["objective.m=3"]


def test_an_evaluation_finds_the_run_it_scores():
    """Its checkpoint is the other sweep's folder for the same seed and model, and it gets no keys of training."""
    more = ["seed=3", "model=minilm", "trainer.max_steps=9", "eval.transfer.tasks=[CR]"]
    (scored,) = jobs_of("nonling/table_d1", "case=visual_bert", *more)
    (trained,) = jobs_of("nonling/table1", "case=visual_bert", *more[:3])
    folder = Path("runs/nonling/table1", trained.name).absolute()
    assert (scored.program, scored.scores[0], scored.scores[1].name) == ("cse-eval", folder, trained.name)
    own = ["eval=[transfer]", "hydra.mode=RUN", "case=visual_bert", more[3]]  # what is typed is last
    assert texts_of(scored.arguments) == [f"checkpoint='{folder}'", *own]
    # untrained encoders have no seed: one job, not three
    assert len(jobs_of("declutr/table_s1", "seed=1,2,3")) == 8


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("cases: {a: {program: cse-evl}}", r"cases\.a\.program: .*'cse-eval'"),
        ("cases: {a: {program: cse-eval, sets: [model=bert]}}", r"cases\.a\.sets"),
        ("cases: {a: {of: nonling/table1/visual_bert}}", r"cases\.a: .*program: cse-eval"),
        ("cases: {a: {program: cse-eval, of: visual_bert}}", r"cases\.a\.of"),
        ("cases: {a: model=bert}", r"cases\.a"),
        ("search_each: model", "search_each"),
    ],
)
def test_a_wrong_key_of_a_sweeps_file_is_named(tmp_path, monkeypatch, content, key):
    file = tmp_path / "sweep" / "mine" / "one.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(f"# @package _global_\n{content}\n")
    monkeypatch.setenv(groups.FOLDERS_VARIABLE, str(tmp_path))
    with pytest.raises(UserError, match=rf"mine/one\.yaml: {key}"):
        sweeps.load_sweep("mine/one")


@pytest.mark.parametrize(
    ("sweep", "datasets"),
    [
        ("nonling/table6", {"nli", "senteval", "imagenet", "librispeech"}),
        ("declutr/table_s1", {"senteval", "probing", "coco"}),
        ("noncontrastive/table1_vicreg", {"wiki1m", "senteval", "wordnet"}),
    ],
)
def test_the_datasets_of_a_sweep(sweep, datasets):
    needs = needs_asked([f"sweep={sweep}"])
    assert {need.dataset for need in needs if isinstance(need, DatasetNeed)} == datasets
