"""The works that a run's methods are from, in CITATION.cff, and as BibTeX."""

from collections.abc import Sequence

import yaml

from cse.files import Json
from cse.lab.settings.groups import PACKAGE_DIR


def cited(methods: Sequence[str]) -> Sequence[Json]:
    """The works in CITATION.cff that describe the methods."""
    return [entry for entry in references() if set(methods) & set(entry.get("keywords", []))]


def references() -> Sequence[Json]:
    """The references in CITATION.cff, which is in the package or, in a checkout, beside it."""
    inside, beside = PACKAGE_DIR / "CITATION.cff", PACKAGE_DIR.parent / "CITATION.cff"
    return yaml.safe_load((inside if inside.is_file() else beside).read_text(encoding="utf-8"))["references"]


def bibtex(entry: Json) -> str:
    """A reference from CITATION.cff as BibTeX."""
    people = entry["authors"]
    authors = " and ".join(f"{person['family-names']}, {person['given-names']}" for person in people)
    key = f"{people[0]['family-names'].lower()}{entry['year']}{entry['keywords'][0]}"
    return (
        f"@inproceedings{{{key},\n  title = {{{entry['title']}}},\n  author = {{{authors}}},\n"
        f"  booktitle = {{{entry['collection-title']}}},\n  year = {{{entry['year']}}}\n}}"
    )
