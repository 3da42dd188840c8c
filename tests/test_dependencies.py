"""Imports are declared, and a run on text imports nothing of images and sound."""

import ast
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from pkgutil import iter_modules

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import cse
import cse.lab
from cse.errors import MissingResource

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = [requirement for group in PROJECT["optional-dependencies"].values() for requirement in group]
NOT_IMPORTED = {
    "sentence-transformers": "a run's last words say to load best/ with it",
    "sentencepiece": "transformers imports it for model=deberta_v3, whose tokenizer is an spm.model",
    "tensorboard": "torch.utils.tensorboard imports it",
}


def imported() -> set[str]:
    """Top-level modules that cse and its plugins import, other than Python's own and each other."""
    names: set[str] = set()
    for path in (*ROOT.glob("cse/**/*.py"), *ROOT.glob("hydra_plugins/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    own = {"cse", "hydra_plugins", "_typeshed", "pydantic_core", "ConfigSpace"}  # the last two come with their owner
    return names - set(sys.stdlib_module_names) - own


def test_every_import_is_declared():
    declared = {canonicalize_name(Requirement(one).name) for one in PROJECT["dependencies"] + EXTRAS}
    owners = packages_distributions()
    missing = {
        name for name in imported() if name in owners and not {canonicalize_name(o) for o in owners[name]} & declared
    }
    assert not missing


def test_every_dependency_is_imported():
    owners = packages_distributions()
    used = {canonicalize_name(owner) for name in imported() for owner in owners.get(name, ())}
    declared = {canonicalize_name(Requirement(one).name) for one in PROJECT["dependencies"]}
    assert declared - used == set(NOT_IMPORTED)


def modules_of(package) -> set[str]:
    return {f"{package.__name__}.{name}" for _, name, _ in iter_modules(package.__path__)}


def test_the_contracts_on_libraries_bind_all_modules_of_their_side():
    """The experiment, and in the laboratory all rooms but those that the contract's name allows."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    forbidden = [one for one in contracts if one["type"] == "forbidden"]
    bound = {tuple(one["forbidden_modules"]): {*one["source_modules"]} for one in forbidden}
    experiment = modules_of(cse) - {"cse.api", "cse.lab"}
    assert bound["cse.lab", "cse.api", "hydra", "omegaconf", "wandb"] == experiment
    laboratory = modules_of(cse.lab) | {"cse.api"}
    assert laboratory - bound["wandb",] == {"cse.lab.tracking"}
    assert laboratory - bound["hydra",] == {
        "cse.api", "cse.lab.commands", "cse.lab.run", "cse.lab.settings", "cse.lab.sweep",
    }  # fmt: skip


def test_every_pin_satisfies_its_requirement():
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    pins = {canonicalize_name(name): version for name, version in pins.items()}
    for one in map(Requirement, PROJECT["dependencies"] + EXTRAS):
        if version := pins.get(canonicalize_name(one.name)):
            assert one.specifier.contains(version), f"{one} but {version} is pinned"


@pytest.mark.parametrize(("package", "words"), [
    ("torchaudio", "experiment=audiocse"), ("soundfile", "experiment=audiocse"),
    ("torchvision", "experiment=visualcse"), ("nltk", "augmentation=eda"),
])  # fmt: skip
def test_a_missing_package_is_named_and_costs_only_what_needs_it(package, words, monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingResource, match=f"pip install {package}"):
        cse.train(words, "smoke=true", "tracker=none", f"paths.cache={tmp_path}/cache")


def test_a_run_on_text_imports_no_large_library_that_it_does_not_use(tmp_path):
    """It works without the libraries of images and sound, which transformers imports if they are installed. Even the
    class of eval=mteb does not import mteb, which takes 20 s."""
    unused = {"datasets", "mteb", "pandas", "peft", "sentence_transformers", "sklearn", "wandb"}
    missing = ("torchvision", "torchaudio", "soundfile", "tensorboard", "nltk")
    code = (
        f"import atexit, sys; sys.modules |= dict.fromkeys({missing!r})\n"
        "import cse.eval.mteb_suite\nfrom cse.lab.commands.train import main\n"
        f"atexit.register(lambda: print(*({unused!r} & set(sys.modules)), file=sys.stderr))\n"
        f"sys.argv = ['cse-train', 'smoke=true', 'tracker=none', 'paths.cache={tmp_path}/cache', "
        f"'hydra.run.dir={tmp_path}/run']\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, ""), done.stderr[-2000:]
