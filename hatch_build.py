"""Hatch's hook: the commit goes into the wheel and the sdist, so that a run of an ordinary installation records it."""

import runpy
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Adds cse/commit.txt. An editable installation asks its checkout instead; a tree without git has it or none."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Before a build: write the file outside the tree, and name it among the files to include."""
        of_code = runpy.run_path(str(Path(self.root, "cse/lab/run/commit.py")))
        commit = of_code["git_commit"]()
        if version == "editable" or commit is None or Path(self.root, of_code["BUILT"]).exists():
            return
        self.folder = tempfile.TemporaryDirectory()
        file = Path(self.folder.name, "commit.txt")
        file.write_text(f"{commit}\n", encoding="utf-8")
        build_data["force_include"][str(file)] = of_code["BUILT"]

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        """After a build: remove the file, where there is one."""
        for folder in [self.folder] if "folder" in vars(self) else []:
            folder.cleanup()
