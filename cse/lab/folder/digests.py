"""The digests of this machine's code, and of the files and encoders that settings name. A run records these digests."""

import hashlib
import sys
import sysconfig
from functools import cache
from pathlib import Path

from cse.files import checksum, read_once, sha256
from cse.lab.settings.groups import CONF_DIR, PACKAGE_DIR
from cse.lab.settings.roles import keys_with
from cse.lab.settings.values import PlainConfig, flattened
from cse.ranges import Mark


@cache
def code_digest() -> str:
    """Return a digest (16 hex digits) of the installed code and conf/. Without git, this digest identifies the version.

    The digest is computed once for each process, because a process does not load its code again.
    """
    content = hashlib.sha256()
    for place, ending in ((PACKAGE_DIR, "*.py"), (Path(CONF_DIR), "*.yaml")):
        for file in sorted(place.rglob(ending)):
            content.update(f"{file.relative_to(place)}\0".encode() + file.read_bytes() + b"\0")
    return content.hexdigest()[:16]


def own_code(config: PlainConfig) -> dict[str, str]:
    """Return {module's name: digest (16 hex digits)} of the user's modules that a `_target_` names.

    Only loaded modules whose file exists are included. Modules of cse and of installed packages are left out.
    """
    targets = [str(value) for key, value in flattened(config).items() if key.endswith("._target_")]
    elsewhere = (PACKAGE_DIR, Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib")))
    digests: dict[str, str] = {}
    for name in sorted(target.rpartition(".")[0] for target in targets):
        module = sys.modules.get(name)
        file = vars(module).get("__file__") if module else None
        if file and Path(file).is_file() and not any(Path(file).is_relative_to(place) for place in elsewhere):
            digests[name] = sha256(Path(file))[:16]
    return digests


def named_sums(config: PlainConfig) -> dict[str, str]:
    """Return {setting's key: checksum} of each file and encoder on this machine that the settings name."""
    sums: dict[str, str] = {}
    for key, name in keys_with(Mark.SUMMED, config).items():
        total = None if name is None else weights_sum(name)
        if total is not None:
            sums[key] = total
    return sums


def weights_sum(name: object) -> str | None:
    """Return the checksums of the weights in `name`/best or in `name`, or of the file `name`; None for other names."""
    place = Path(str(name)).expanduser()
    for folder in (place / "best", place):
        files = sorted([*folder.glob("model*.safetensors"), *folder.glob("pytorch_model*.bin")])
        if files:
            return " ".join(read_once(checksum, file) for file in files)
    return read_once(checksum, place) if place.is_file() else None
