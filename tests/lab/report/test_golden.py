"""Whole reports of made-up runs, held to golden files: what each kind of report prints, and every file that it writes.

After a wanted change, `pytest tests/lab/report/test_golden.py --force-regen` writes them anew, and `git diff` shows
what a reader of a report will see. Which of their numbers are right is in the other tests of this folder.
"""

import html
import json
import re
from pathlib import Path

import pytest
from run_folders import leave_heartbeat
from typed import exit_code

from cse.lab.folder import jobs_file

SELECT, TEST, UNIFORMITY = "dev/stsb/spearman", "test/sts/average", "dev/geometry/uniformity"
PICTURES = (".png", ".svg", ".pdf")


def words_of_page(text: str) -> str:
    """What a page says: no scripts, pictures, tags and time, a line for each row of a table."""
    text = re.sub(r"(?s)<(script|style|svg|noscript)\b.*?</\1>|<!--.*?-->", "", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( \w+)?", "NOW", text)
    text = re.sub(r"<wbr>", "", re.sub(r"</t[dh]>", " | ", text))
    text = re.sub(r"</(tr|p|li|h\d|span|summary)>", "\n", re.sub(r"(?s)<tr.*?</tr>", lambda row: flat(row[0]), text))
    lines = (" ".join(line.split()) for line in html.unescape(re.sub(r"(?s)<[^>]*>", "", text)).splitlines())
    return "\n".join(line for line in lines if line.strip(" |"))


def flat(row: str) -> str:
    return " ".join(row.replace("</span>", "").split()) + "\n"


def as_read(file: Path) -> str:
    """A file of a report, with seven digits of a number: more depend on scipy's version."""
    if file.suffix in PICTURES:
        return "a picture"
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".html":
        return words_of_page(text)
    return re.sub(r"-?\d+\.\d{8,}(e-?\d+)?", lambda number: f"{float(number[0]):.7g}", text)


@pytest.fixture
def shown(tmp_path, monkeypatch, capsys, file_regression):
    """shown(words) -> cse-report's exit code; all that it printed and wrote is compared with the test's golden file."""
    monkeypatch.chdir(tmp_path)

    def report(*words: str) -> int:
        capsys.readouterr()
        code = exit_code("cse-report", *words, "out=out")
        printed = f"$ cse-report {' '.join(words)}\n{capsys.readouterr().out}"
        files = sorted(path for path in Path("out").rglob("*") if path.is_file())
        whole = "\n\n".join([printed, *(f"=== {file}\n{as_read(file)}" for file in files)])
        lines = (line.rstrip() for line in whole.replace(str(tmp_path), "TMP").splitlines())
        file_regression.check("\n".join(lines) + "\n", extension=".txt", encoding="utf-8")
        return code

    return report


@pytest.fixture
def grid(leave, tmp_path):
    """Three settings of three seeds, and all that a run can be beside done.

    A copy, a run that was made again, a score on modified data, one that a seed lacks, seeds no better than untrained,
    runs that failed, were killed, are alive or were never started, a smoke run, and training text that holds
    evaluation sentences.
    """

    def left(name, lr, seed, *more, objective="simcse", typed=(), **about):
        config = {"trainer.lr": lr, "trainer.select": SELECT, "seed": seed, "smoke": name == "smoke"}
        words = [f"objective={objective}", f"trainer.lr={lr}", f"seed={seed}", *typed]
        return leave(name, config, *more, choices={"objective": objective}, overrides=words, **about)

    overlap = {"texts": 10_000, "found": 5000, "sets": {}, "unread": []}
    settings = [("simcse", 3e-5, 76.0), ("barlow", 1e-4, 74.0), ("barlow", 3e-5, 75.5)]
    for place, (objective, lr, score) in enumerate(settings):
        for seed in (1, 2, 3):
            value = score + 0.3 * seed + 0.1 * (place - seed) ** 2
            events = [{"time": 60.0 * k, "train/loss": 2 / (k + 1), SELECT: value - 3 + k} for k in range(4)]
            scores = {SELECT: value, TEST: None if (place, seed) == (1, 3) else value - 6, UNIFORMITY: -2 - value / 100}
            about = {"events": events, "untrained": {SELECT: 76.5}, "wall_seconds": 100.0 + seed, "overlap": overlap}
            modified = "dev/stsb" if (place, seed) == (1, 2) else None
            left(f"{objective}-{lr}-{seed}", lr, seed, scores, objective=objective, modified=modified, **about)
            if place + seed == 1:
                left("a copy", lr, seed, scores, **about)
                left("made again", lr, seed, {SELECT: 77.0, TEST: 71.5}, **about)
    left("failed", 3e-5, 4, status="failed", error="RunError: the loss is NaN")
    left("killed", 3e-5, 5, status="running")
    steps = [{"time": 100.0 + step, "train/loss": 1.0} for step in range(51)]
    leave_heartbeat(left("alive", 3e-5, 6, status="running", events=steps, total_steps=150), age=-3600)  # for an hour
    left("smoke", 3e-5, 1, {SELECT: 99.0}, typed=["smoke=true"])
    jobs_file.add_jobs(
        tmp_path / "runs", [{"job": "planned", "program": "cse-train", "words": ["objective=simcse", "seed=7"]}]
    )


def test_runs(grid, shown):
    assert shown("runs=runs") == 0


def test_runs_with_a_gate(grid, shown):
    more = ["baseline=objective=simcse", "gate=0.1", "within=0.5", f"metrics=[{TEST},{SELECT}]", "confidence=0.9"]
    assert shown("runs=runs", *more) == 1


def test_runs_with_their_evaluations(leave, shown, tmp_path):
    """Those of other weights or of another pooling are settings of their own."""
    for lr in (1e-5, 3e-5):
        for seed in (1, 2, 3):
            trained = {"trainer.lr": lr, "seed": seed}
            leave(f"T/{lr}-{seed}", trained, {SELECT: 70.0 + seed + 1e5 * lr}, weights_sum=f"{lr}{seed}")
            config = {"checkpoint": f"runs/T/{lr}-{seed}", "pooling": "mean" if (lr, seed) == (1e-5, 3) else None}
            about = {"weights_sum": "other" if (lr, seed) == (3e-5, 1) else f"{lr}{seed}"}
            leave(f"E/{lr}-{seed}", config, {"test/transfer/average": 80.0 + seed / 2 + 1e5 * lr}, **about)
    assert shown("runs=[runs/T,runs/E]") == 0


def test_a_search_and_seeds_of_its_best(leave, shown, tmp_path):
    for number, lr in enumerate((1e-5, 3e-5, 1e-4)):
        words = [f"trainer.lr={lr}", "seed=42"]
        event = {"time": 100.0 + number, "train/loss": 2.0 / (number + 1)}
        leave(f"S/{lr}", {"trainer.lr": lr, "seed": 42}, {SELECT: 80.0 + number}, overrides=words, events=[event])
    for seed in (1, 2, 3):
        config = {"trainer.lr": 1e-4, "seed": seed}
        leave(f"S/seeds/{seed}", config, {SELECT: 81.0 + seed / 10}, overrides=["trainer.lr=0.0001", f"seed={seed}"])
    lines = [{"ranges": {"trainer.lr": "interval(1e-6,1e-3)"}, "fixed": {}}]
    lines += [{"asked": {"trainer.lr": lr}} for lr in (1e-5, 3e-5, 1e-4)]
    (tmp_path / "runs/S/.smac").mkdir()
    (tmp_path / "runs/S/.smac/a-0.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert shown("runs=runs/S") == 0


def test_what_differs_between_two_runs(leave, shown):
    for name, lr, score in (("a", 1e-5, 80.121), ("b", 3e-5, 80.124)):
        config = {"trainer.lr": lr, "trainer.workers": lr, "seed": 1, "note": name}
        about = {"training_data": {"name": "text", "source": "a.txt", "sha256": {"a.txt": name}}, "code": name}
        leave(name, config, {SELECT: score, "dev/same": 1.0}, versions={"torch": f"2.{name}"}, **about)
    assert shown("differ=[runs/a,runs/b]") == 0


@pytest.fixture
def papers(leave):
    """papers(sweep, {words of a job: its scores, a seed each}, choices) -> leave these runs of the sweep.

    The first one was made twice, with another score; one of its seeds is on modified data.
    """

    def make(sweep, jobs, metrics=(TEST,), **choices):
        for number, (words, scores) in enumerate(jobs.items()):
            seeds = [*enumerate(scores, 1), *([(1, scores[0] + 0.5)] if number == 0 else [])]
            for place, (seed, score) in enumerate(seeds):
                typed = [f"sweep={sweep}", *words.split(), f"seed={seed}"]
                config = dict(word.split("=") for word in typed[1:]) | {"trainer.select": SELECT}
                found = {name: score + k / 10 for k, name in enumerate(metrics)} | {SELECT: score + 5}
                leave(f"{number}-{place}", config, found, choices=choices | {"sweep": sweep, "model": "bert"},
                      overrides=typed, modified="test/sts" if number == seed - 2 == 0 else None)  # fmt: skip

    return make


def test_a_papers_table_with_claims(papers, shown):
    """WhitenedCSE's Table 5: one m with a seed on modified data, one of another rate than the paper's, one not run."""
    jobs = {"objective.m=2": (76.0, 76.6, 76.3), "objective.m=3": (78.4, 78.9, 78.7),
            "objective.m=4": (77.9, 77.7, 78.2), "objective.m=5 trainer.lr=1e-3": (77.9,)}  # fmt: skip
    papers("whitenedcse/table5", jobs, objective="whitenedcse", data="wiki1m")
    assert shown("sweep=whitenedcse/table5", "runs=runs") == 0


def test_a_papers_table_of_several_tasks(papers, shown):
    """NonLing-CSE's Table 1: rows with a baseline and p as printed, and rows that have no run."""
    tasks = ["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R"]
    metrics = [*(f"test/sts/{task}/spearman" for task in tasks), TEST]
    jobs = {"case=simcse_bert": (75.0, 75.6, 75.3), "case=visual_bert": (76.8, 76.2, 76.5)}
    papers("nonling/table1", jobs, metrics, objective="simcse", data="wiki1m")
    assert shown("sweep=nonling/table1", "runs=runs") == 0


def test_a_papers_table_with_a_figure(papers, shown):
    key = "objective.whitening.num_groups"
    jobs = {f"{key}={k} objective.whitening.shuffle=true": scores
            for k, scores in {32: (76.4, 76.6), 96: (77.5, 77.7), 384: (78.0,)}.items()}  # fmt: skip
    papers("whitenedcse/table4", jobs, objective="whitenedcse", data="wiki1m")
    assert shown("sweep=whitenedcse/table4", "runs=runs") == 0


def test_a_papers_figure(leave, shown):
    """WhitenedCSE's Figure 3: paths of training, without a table of the paper's, and claims that are read by eye."""
    alignment = UNIFORMITY.replace("uniformity", "alignment")
    for case, shift in {"simcse_bert": 0.0, "whitened_bert": 0.1}.items():
        for seed in (1, 2, 3):
            last = {UNIFORMITY: -2.5 - shift - seed / 100, alignment: 0.25 + shift + seed / 100}
            events = [{name: value * k / 3 for name, value in last.items()} for k in range(4)]
            words = ["sweep=whitenedcse/figure3", f"case={case}", f"seed={seed}"]
            config = {"case": case, "seed": seed, "trainer.select": SELECT}
            about = {"choices": {"sweep": "whitenedcse/figure3", "model": "bert"}, "overrides": words}
            leave(f"{case}-{seed}", config, last | {SELECT: 80.0 + seed}, events=events, **about)
    assert shown("sweep=whitenedcse/figure3", "runs=runs") == 0


def test_a_papers_table_of_seeds(papers, shown):
    """NonLing-CSE's Table 3: its p as printed, and three of its five seeds."""
    jobs = {"case=simcse_bert": (75.0, 75.6, 75.3), "case=visual_bert": (76.8, 76.2, 76.5)}
    papers("nonling/table3", jobs, objective="simcse", data="wiki1m")
    assert shown("sweep=nonling/table3", "runs=runs") == 0


def test_a_paper_of_which_nothing_has_run(shown, tmp_path):
    (tmp_path / "runs").mkdir()
    assert shown("sweep=noncontrastive/figure2", "runs=runs") == 0
