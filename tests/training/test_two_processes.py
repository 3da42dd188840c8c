"""Two processes over gloo: the same collectives in the same order, one's failure ends both, resume."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_folders import logged_of, results_of
from safetensors.torch import load_file
from toys import run_of

TORCHRUN = Path(sys.executable).parent / "torchrun"
RECORDED = Path(__file__).with_name("recorded.py")


def start(folder: Path, words: list[str], processes: int = 2, fails_at: int = -1) -> subprocess.CompletedProcess:
    folder.mkdir(exist_ok=True)
    launcher = [TORCHRUN, "--standalone", f"--nproc-per-node={processes}"]
    return subprocess.run([*launcher, RECORDED, folder, str(fails_at), *words], capture_output=True, text=True)


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "way"), [
    ("simcse", "trainer.chunk=3"), ("declutr", "trainer.chunk_tokens=64"), ("whitenedcse", "trainer.accumulate=2"),
    ("vicreg", "trainer.drop_last=false"), ("esimcse", "trainer.chunk=3"),
])  # fmt: skip
def test_both_processes_call_the_same_collectives_in_order(name, way, small_run, documents, triplets, tmp_path):
    """Through an uneven last batch, scoring, checkpoints and the export of the best step."""
    line = [*small_run, *run_of(name, None, 32, documents, triplets), way, "trainer.batch_size=10", "trainer.epochs=2",
            "trainer.max_steps=null", "trainer.stop_on_collapse=false"]  # fmt: skip
    ended = start(tmp_path, line)
    assert ended.returncode == 0, ended.stderr
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2))
    assert first == second
    assert len(first) > 20


@pytest.mark.nightly
def test_a_mixture_on_two_processes_ends_where_it_does_on_one(small_run, triplets, tmp_path):
    """Without dropout; its sources have objectives and heads of their own, and uneven last batches."""
    pairs = f"pairs:{{path:{triplets},columns:[sent0,sent1]}}"
    three = f"three:{{path:{triplets},columns:[sent0,sent1,hard_neg],limit:30,objective:barlow}}"
    scored = f"scored:{{path:{triplets},columns:[sent0,sent1],scores:score,score_range:[0,5],objective:cosent}}"
    kept = [word for word in small_run if not word.startswith("data")]
    line = [*kept, "data=mixture", f"data.sources={{{pairs},{three},{scored}}}", "objective=simcse_sup",
            "objective.keep_head=false", "augmentation=none", "augmentation.model_dropout=0.0", "trainer.epochs=1",
            "trainer.max_steps=null", "trainer.drop_last=false", "trainer.stop_on_collapse=false"]  # fmt: skip
    ends, events = [], []
    for processes in (1, 2):
        folder = tmp_path / str(processes)
        ended = start(folder, [*line, f"hydra.run.dir={folder}/run"], processes=processes)
        assert ended.returncode == 0, ended.stderr
        ends.append(load_file(folder / "run/last/state.safetensors"))
        events.append({name: logged_of(folder / "run", f"train/loss/{name}") for name in ("pairs", "three", "scored")})
    one, two = events
    for name, losses in one.items():
        assert [step for step, _ in losses] == [step for step, _ in two[name]] != []
    first, second = (json.loads((tmp_path / "2" / f"{rank}.json").read_text()) for rank in range(2))
    assert first == second
    for name in (name for name in ends[0] if name.startswith(("encoder/", "objective/"))):
        close = ends[0][name].isclose(ends[1][name], rtol=1e-3, atol=1e-4)
        assert close.float().mean() > 0.999, name  # AdamW amplifies the rounding of gradients that are nearly 0


@pytest.mark.nightly
def test_running_out_of_memory_on_one_process_ends_both(small_run, tmp_path):
    """Process 1 says why; process 0, which waits for it, says at most that another has ended."""
    began = time.monotonic()
    ended = start(tmp_path, small_run, fails_at=3)
    assert time.monotonic() - began < 90  # half of it is the start
    assert ended.returncode == 1
    said = {text for text in ended.stderr.splitlines() if text.startswith("cse-train: ")}
    assert sum("out of memory" in text for text in said) == 1
    assert len(said) <= 2


@pytest.mark.nightly
@pytest.mark.parametrize("launcher", ["torchrun", "trainer.devices"])
def test_a_run_resumes_with_another_number_of_processes(small_run, tmp_path, launcher):
    """Without dropout, which each process draws for itself, 1, 2 and 1 processes in turn end where one alone does. The
    log says each time that their number is another."""
    still = [*small_run, "augmentation=shuffle", "augmentation.model_dropout=0.0", "trainer.schedule_steps=6"]
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    assert start(alone, [*still, f"hydra.run.dir={alone}/run"], processes=1).returncode == 0
    for steps, processes in ((2, 1), (4, 2), (6, 1)):
        line = [*still, f"trainer.max_steps={steps}", f"hydra.run.dir={shared}/run", "resume=auto"]
        if launcher == "torchrun":
            ended = start(shared, line, processes)
        else:
            ended = subprocess.run(
                [TORCHRUN.with_name("cse-train"), *line, f"trainer.devices={processes}"], capture_output=True, text=True
            )
        assert ended.returncode == 0, ended.stderr
    said = (shared / "run" / "train.log").read_text()
    assert re.findall(r"processes +(\d) instead of (\d)", said) == [("2", "1"), ("1", "2")]
    results = results_of(shared / "run")
    assert (results["earlier_processes"], results["processes"]) == ([1, 2], 1)
    once, twice = (load_file(folder / "run/last/state.safetensors") for folder in (alone, shared))
    for name in (name for name in once if name.startswith("encoder/")):
        assert once[name].allclose(twice[name], rtol=1e-4, atol=1e-5), name
