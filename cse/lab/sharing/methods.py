"""The methods of a run: their choices in conf/, the names in their papers, and the works to cite."""

import re
from collections.abc import Sequence
from typing import cast

import yaml
from omegaconf import OmegaConf

from cse.files import Json
from cse.lab.settings.conf_files import first_sentence
from cse.lab.settings.groups import PACKAGE_DIR, choices, file_of, included, section_of
from cse.lab.settings.values import PlainConfig, flattened, same


def methods_of(config: PlainConfig) -> list[str]:
    """The choices of a run's objectives and of its second modality, if any: simcse, visual, ..."""
    chosen = config["choices"].get("objective")
    sources = (config["data"].get("sources") or {}).values()
    objectives = [objective_of(source) or chosen for source in sources] or [chosen]
    methods = dict.fromkeys([*objectives, config["choices"].get("aux_modality")])
    return [method for method in methods if method not in (None, "none")]


def objective_of(source: PlainConfig) -> str:
    """The choice of a mixture's source for its own objective; "" if the source learns by the run's objective.

    A run records the settings of that choice, but not its name. So the result is the choice with the same class and, if
    several choices have this class, with the most equal settings. Without such a choice, it is the name of the class.
    """
    own = source.get("objective")
    if not own:
        return ""
    recorded = flattened(own)
    alike = {choice: settings_of_objective(choice) for choice in choices("objective")}
    alike = {choice: settings for choice, settings in alike.items() if settings.get("_target_") == own["_target_"]}

    def likeness(choice: str) -> tuple[bool, int]:
        settings = alike[choice]
        same_views = settings.get("num_views") == recorded.get("num_views")  # in which the two forms of SimCSE differ
        return same_views, sum(same(recorded.get(key), value) for key, value in settings.items())

    return max(alike, key=likeness, default=own["_target_"].rpartition(".")[2])


def settings_of_objective(choice: str) -> PlainConfig:
    """The settings of an objective, by dotted key, in its file and the files that it includes."""
    settings: PlainConfig = {}
    for file in included(file_of("objective", choice)):
        content = flattened(cast("PlainConfig", OmegaConf.to_container(OmegaConf.load(file))))
        begins = "" if section_of("objective", file) else "objective."
        settings |= {key.removeprefix(begins): value for key, value in content.items() if key.startswith(begins)}
    return settings


def title_of_methods(methods: Sequence[str]) -> str:
    """The names of the methods, as a title. SimCSE is left out beside VisualCSE and AudioCSE, which include it."""
    names = [name_of_method(method) for method in methods]
    if {"VisualCSE", "AudioCSE"} & {*names}:
        names = [name for name in names if not name.endswith(" SimCSE")]
    return " + ".join(names)


def name_of_method(choice: str) -> str:
    """The name of an objective or a second modality, as in its paper.

    The name is the beginning of the first comment in the file, up to a bracket, comma or colon. Without a comment, it
    is the choice itself.
    """
    for group in ("objective", "aux_modality"):
        if choice in choices(group):
            return re.split(r" \(|[,:]", first_sentence(file_of(group, choice)))[0] or choice
    return choice


def cited(methods: Sequence[str]) -> Sequence[Json]:
    """The works in CITATION.cff that describe the methods."""
    return [entry for entry in known_works() if set(methods) & set(entry.get("keywords", []))]


def known_works() -> Sequence[Json]:
    """The references in CITATION.cff, a file in the package or, in a checkout, above it."""
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
