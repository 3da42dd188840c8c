"""results.json: what a run is, from its start on, how it ended and what it scored."""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal, Required

import yaml
from pydantic import ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # typing's can be checked by pydantic from Python 3.12 on

from cse.files import Json

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


def installed(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
