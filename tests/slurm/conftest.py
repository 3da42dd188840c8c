"""A real SLURM of two nodes on this machine (see cluster.sh), for the tests in this folder."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "unshare", "nsenter", "ip")
NAMESPACES = ("--mount", "--uts", "--net", "--pid")
SCRIPT = Path(__file__).with_name("cluster.sh")


@dataclass(frozen=True)
class Cluster:
    """init: number of the process that owns node1's namespaces. folder: of the daemons. work: where commands run."""

    init: int
    folder: Path
    work: Path

    def start(self, command: str, **options) -> subprocess.Popen:
        """Start a shell command on node1, with this environment's programs."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        script = f"cd {shlex.quote(str(self.work))}; {command}"
        return subprocess.Popen(
            ["nsenter", f"--target={self.init}", *NAMESPACES, "bash", "-c", script],
            env=os.environ | {"PATH": path, "SLURM_CONF": str(self.folder / "slurm.conf"), "OMP_NUM_THREADS": "1"},
            text=True,
            **options,
        )  # fmt: skip

    def run(self, command: str, patience: float = 600) -> str:
        """The output of a command, which must succeed."""
        process = self.start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = process.communicate(timeout=patience)[0]
        assert process.returncode == 0, output
        return output.strip()

    def state(self, job: str) -> dict[str, str]:
        """What `scontrol show job` says about a job, by key."""
        words = self.run(f"scontrol show job --oneliner {job}").split()
        return {word.partition("=")[0]: word.partition("=")[2] for word in words}

    def wait(self, until: Callable[[], bool], patience: float = 600) -> None:
        """Wait until something is true; after `patience` seconds fail with the jobs' output."""
        last = time.monotonic() + patience
        while not until():
            assert time.monotonic() < last, "\n".join(file.read_text() for file in self.work.glob("*.out"))
            time.sleep(0.2)

    def power_cut(self) -> None:
        """End node2 and everything on it at once; node2 starts again by itself."""
        self.run(f"ip link delete cable1; kill -9 $(cat {self.folder}/node2.init)")

    def kill_on_node2(self, pattern: str) -> None:
        """Send SIGKILL to the processes of node2 whose command line matches."""
        self.run(f"pkill -KILL --ns $(cat {self.folder}/node2.init) --nslist net -f {shlex.quote(pattern)}")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        pytest.skip(f"needs {', '.join(missing)} (Debian: apt install slurm-wlm munge)")
    if os.geteuid() != 0 or subprocess.run(["unshare", *NAMESPACES, "--fork", "true"], capture_output=True).returncode:
        pytest.skip("needs root that may make namespaces")
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:  # a socket's path has 108 characters at most
        folder = Path(name)
        ready = folder / "ready"
        with open(folder / "words", "w") as words:
            command = f"touch {ready}; cat"  # until this process ends, however it does
            script = subprocess.Popen(
                [SCRIPT, folder, "bash", "-c", command], stdin=subprocess.PIPE, stdout=words, stderr=words
            )
        try:
            while script.poll() is None and not ready.exists():
                time.sleep(0.1)
            assert script.poll() is None, (folder / "words").read_text()
            init = int(Path(f"/proc/{script.pid}/task/{script.pid}/children").read_text().split()[0])
            yield Cluster(init, folder, tmp_path_factory.mktemp("work"))
        finally:
            script.kill()  # and the kernel ends all the rest
            script.wait()
