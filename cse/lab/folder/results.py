"""results.json: what a run is, from its start on, how it ended and what it scored."""

import hashlib
import shlex
import sys
import sysconfig
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal, Required

import yaml
from pydantic import ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # typing's can be checked by pydantic from Python 3.12 on

from cse.errors import UserError
from cse.files import Json, checksum, read_once, sha256
from cse.lab.folder.commit import git_commit
from cse.lab.settings.dotted import Config, flattened
from cse.lab.settings.groups import CONF_DIR, PACKAGE_DIR, config_dirs
from cse.lab.settings.keys import NAMED
from cse.score import Score

PACKAGES = (
    *("cse-lab", "torch", "transformers", "datasets", "accelerate", "sentence-transformers"),
    *("numpy", "scipy", "scikit-learn", "hydra-core", "mteb"),
)

Number = Annotated[float, Field(ge=-1e38, le=1e38)]  # within float32, so that squares are within float64
Plain = dict[str, JsonValue]


@with_config(ConfigDict(strict=True, extra="allow"))
class Results(TypedDict, total=False):
    """What every reader of results.json relies on. A score is a finite number (true is not), or None where it was NaN.

    Other keys may hold anything.
    """

    status: Required[Literal["running", "done", "failed", "interrupted"]]
    config: Required[Plain]
    metrics: Required[dict[str, Number | None]]
    scores: dict[str, Plain]  # what each score is, beside its value; see cse.score.Score


RESULTS = TypeAdapter(Results)


def read_results(folder: Path) -> Json:
    """The content of a run's results.json. Raises OSError, or ValueError with a reason of one line."""
    return checked(RESULTS, folder / "results.json")


def read_finished(folder: Path) -> Json:
    """results.json of a finished run. Raises UserError for any other folder."""
    try:
        status = (results := read_results(folder))["status"]
    except FileNotFoundError:
        status = "not there"
    except (OSError, ValueError) as error:
        raise UserError(f"{folder / 'results.json'} is damaged: {error}; use an intact copy") from error
    if status != "done":
        raise UserError(f"{folder} holds no finished run (results.json: {status})")
    return results


def checked(kind: TypeAdapter[Any], file: Path) -> Any:
    """The content of a JSON or YAML file, of a kind. Raises OSError, or ValueError with a reason of one line."""
    content = file.read_bytes()
    try:
        if file.suffix == ".yaml":
            return kind.validate_python(yaml.load(content, yaml.CSafeLoader))
        return kind.validate_json(content)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}" if place else first["msg"]) from error


def first_results(config: Config, device: str, precision: str) -> Json:
    """The results.json of a run that begins. precision: of training (fp32, bf16, fp16); scoring is in fp32."""
    return {
        "status": "running",
        "config": config,
        "seed": config.get("seed"),
        "command": command_line(),
        "git_commit": git_commit(),
        "code": code_digest(),
        "own_code": own_code(config),
        "named": named_sums(config),
        "versions": {"python": sys.version.split()[0], **{name: v for name in PACKAGES if (v := installed(name))}},
        "device": device,
        "precision": precision,
        "metrics": {},
    }


def scores_of(scores: Mapping[str, Score]) -> Json:
    """The scores as results.json has them: their values in `metrics`, and what each is in `scores`."""
    about = {name: one.about() for name, one in scores.items()}
    return {"metrics": {name: one.value for name, one in scores.items()}, "scores": about}


def command_line() -> str:
    """The command line of this process, quoted for a shell."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:], *config_dirs()])


@cache
def code_digest() -> str:
    """16 hex digits of the installed code and of conf/, which tell versions apart without git. As it is when this is
    first called: a process runs what it has loaded."""
    content = hashlib.sha256()
    for place, ending in ((PACKAGE_DIR, "*.py"), (Path(CONF_DIR), "*.yaml")):
        for file in sorted(place.rglob(ending)):
            content.update(f"{file.relative_to(place)}\0".encode() + file.read_bytes() + b"\0")
    return content.hexdigest()[:16]


def own_code(config: Config) -> dict[str, str]:
    """16 hex digits of the file of each loaded module that a `_target_` names, without cse's and installed packages."""
    targets = [str(value) for key, value in flattened(config).items() if key.endswith("._target_")]
    modules = {name: sys.modules.get(name) for name in sorted(target.rpartition(".")[0] for target in targets)}
    files = {name: Path(file) for name, one in modules.items() if one and (file := vars(one).get("__file__"))}
    elsewhere = (PACKAGE_DIR, Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib")))
    own = {name: file for name, file in files.items() if not any(file.is_relative_to(place) for place in elsewhere)}
    return {name: sha256(file)[:16] for name, file in own.items()}


def changed_code(results: Json, config: Config) -> list[str]:
    """What of the code that made a run is another now: own modules by name, as far as they are loaded, and cse."""
    own, code, commit = own_code(config), results.get("code"), results.get("git_commit")
    changed = [name for name, digest in (results.get("own_code") or {}).items() if own.get(name, digest) != digest]
    earlier = f"cse, which was of commit {commit}" if commit else f"cse, which was of no known commit, code {code}"
    return changed + [earlier] * (code not in (None, code_digest()))


def named_sums(config: Config) -> dict[str, str]:
    """The checksum of what each of NAMED names on this machine, by key."""
    names = {key: name for key, name in flattened(config).items() if key in NAMED and name is not None}
    return {key: found for key, name in names.items() if (found := weights_sum(name)) is not None}


def weights_sum(name: object) -> str | None:
    """The checksum of the weights in a run's best/ or in a folder, or of a file; None if there are none."""
    place = Path(str(name)).expanduser()
    for folder in (place / "best", place):
        if files := sorted([*folder.glob("model*.safetensors"), *folder.glob("pytorch_model*.bin")]):
            return " ".join(read_once(checksum, file) for file in files)
    return read_once(checksum, place) if place.is_file() else None


def installed(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
