"""HTML pages from templates/: one file each, which asks no other file and no other machine for anything."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


def rendered(template: str, **values: object) -> str:
    """The page of a template. Every value is escaped; `tojson` is for data that scripts read."""
    return environment().get_template(template).render(values)


@cache
def environment() -> Environment:
    """The templates of this package; a name that they are not given is an error."""
    return Environment(
        loader=PackageLoader("cse.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
