"""Every benchmark starts: its help, the options that RESULTS.md records, and, in a copy, its smallest size."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "benchmarks"
RECORDED = re.findall(r"^`(.*?)`, ", (HERE / "RESULTS.md").read_text(), re.MULTILINE)
SECONDS = [  # the smallest size of each
    "bench_profile --batch 2",
    "bench_report --runs 10",
    "bench_startup --repeats 1 --shared nowhere",
    "bench_verdicts --tables 2",
]
LONGER = [
    "bench_cost --batch 16 --repeats 1",
    "bench_decoder --batch 2 --steps 1",
    *(f"bench_host --part {part} --repeats 1" for part in ("rows", "operators", "startup", "checkpoint")),
    "bench_long --steps 200 --rows 4000 --every 100",
    "bench_memory --batches 4 --objectives simcse",
    "bench_speed --quick --model minilm",
    "bench_speed --quick --processes 2",
]
ON_REAL_DATA = [
    "bench_aux --part learn --steps 2 --seeds 1 --layers 1",
    "bench_eval --fraction 0.01 --tasks STS13 TREC",
    "bench_learning --steps 2 --only simcse",
    "bench_own_data --kinds qa --seeds 42",
    "bench_precision --arms simcse --steps 2 --seeds 1",
    "bench_speed --recipe --steps 1",
]
BENCHMARKS = sorted({command.split()[0] for command in SECONDS + LONGER + ON_REAL_DATA})


@pytest.fixture
def help_of(capsys, monkeypatch):
    """help_of(name) -> the help of `python -m benchmarks.NAME`."""

    def call(name: str) -> str:
        monkeypatch.setattr(sys, "argv", [name, "--help"])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(f"benchmarks.{name}", run_name="__main__")
        assert not ended.value.code
        return capsys.readouterr().out

    return call


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")  # of a benchmark that another imports
@pytest.mark.parametrize("name", [*BENCHMARKS, "claims", "gpu"])
def test_its_help_is_shown(help_of, name):
    assert name in help_of(name)


def test_every_benchmark_is_started_here():
    assert sorted(path.stem for path in HERE.glob("bench_*.py")) == BENCHMARKS


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize("command", RECORDED)
def test_a_recorded_command_has_the_options_of_its_benchmark(help_of, command):
    python, m, module, *words = shlex.split(command)
    assert (python, m) == ("python", "-m")
    known = help_of(module.removeprefix("benchmarks."))
    assert [word for word in words if word.startswith("--") and word not in known] == []


def start(command: str, folder: Path) -> None:
    """Run it in a copy of benchmarks/, whose RESULTS.md it may write, with the real data beside the copy."""
    checkout = folder / "checkout"
    shutil.copytree(HERE, checkout / "benchmarks", ignore=shutil.ignore_patterns("__pycache__"))
    (checkout / "tests").symlink_to(ROOT / "tests")
    (folder / "shared").symlink_to(ROOT.parent / "shared")
    ended = subprocess.run(
        [sys.executable, "-m", *shlex.split(f"benchmarks.{command}")],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": f"{checkout}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]


@pytest.mark.parametrize("command", [*SECONDS, *(pytest.param(one, marks=pytest.mark.nightly) for one in LONGER)])
def test_its_smallest_size_runs(command, tmp_path, wordnet_folder, monkeypatch):
    monkeypatch.setenv("CSE_WORDNET", str(wordnet_folder))
    start(command, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("command", ON_REAL_DATA)
def test_its_smallest_size_runs_on_the_real_data(command, shared, tmp_path):
    start(command, tmp_path)
