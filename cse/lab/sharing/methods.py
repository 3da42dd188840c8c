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
    """Return the choices of a run's objectives and, if the run has one, of its second modality: simcse, visual, ..."""
    chosen = config["choices"].get("objective")
    sources = (config["data"].get("sources") or {}).values()
    objectives = [objective_of(source) or chosen for source in sources] or [chosen]
    methods = dict.fromkeys([*objectives, config["choices"].get("aux_modality")])
    return [method for method in methods if method not in (None, "none")]


def objective_of(source: PlainConfig) -> str:
    """Return the choice of the objective that a mixture's source names; "" if the source has the run's objective.

    A run records the settings of this choice, but not its name. So the result is the choice with the same class and, if
    several choices have this class, the most similar settings. If no choice has the class, return the class's name.
    """
    own = source.get("objective")
    if not own:
        return ""
    recorded = flattened(own)
    alike = {choice: settings_of_objective(choice) for choice in choices("objective")}
    alike = {choice: settings for choice, settings in alike.items() if settings.get("_target_") == own["_target_"]}

    def likeness(choice: str) -> tuple[bool, int]:
        settings = alike[choice]
        same_views = settings.get("num_views") == recorded.get("num_views")  # SimCSE's two forms differ here
        return same_views, sum(same(recorded.get(key), value) for key, value in settings.items())

    return max(alike, key=likeness, default=own["_target_"].rpartition(".")[2])


def settings_of_objective(choice: str) -> PlainConfig:
    """Return the settings, by dotted key, in an objective's file and in the files that this file includes."""
    settings: PlainConfig = {}
    for file in included(file_of("objective", choice)):
        content = flattened(cast("PlainConfig", OmegaConf.to_container(OmegaConf.load(file))))
        begins = "" if section_of("objective", file) else "objective."
        settings |= {key.removeprefix(begins): value for key, value in content.items() if key.startswith(begins)}
    return settings


def title_of_methods(methods: Sequence[str]) -> str:
    """Return the names of the methods as a title. VisualCSE and AudioCSE include SimCSE, which is then left out."""
    names = [name_of_method(method) for method in methods]
    if {"VisualCSE", "AudioCSE"} & {*names}:
        names = [name for name in names if not name.endswith(" SimCSE")]
    return " + ".join(names)


def name_of_method(choice: str) -> str:
    """Return the name of an objective or a second modality, as in its paper.

    The name is the beginning of the first comment in the choice's file, up to a bracket, comma or colon. Without a
    comment, the name is the choice.
    """
    for group in ("objective", "aux_modality"):
        if choice in choices(group):
            return re.split(r" \(|[,:]", first_sentence(file_of(group, choice)))[0] or choice
    return choice


def cited(methods: Sequence[str]) -> Sequence[Json]:
    """Return the works in CITATION.cff to cite for the methods."""
    return [entry for entry in known_works() if set(methods) & set(entry.get("keywords", []))]


def known_works() -> Sequence[Json]:
    """Return the references in CITATION.cff, which is in the package or, in a checkout, in the folder above."""
    inside, beside = PACKAGE_DIR / "CITATION.cff", PACKAGE_DIR.parent / "CITATION.cff"
    return yaml.safe_load((inside if inside.is_file() else beside).read_text(encoding="utf-8"))["references"]


def bibtex(entry: Json) -> str:
    """Return a reference from CITATION.cff as BibTeX."""
    people = entry["authors"]
    authors = " and ".join(f"{person['family-names']}, {person['given-names']}" for person in people)
    key = f"{people[0]['family-names'].lower()}{entry['year']}{entry['keywords'][0]}"
    return (
        f"@inproceedings{{{key},\n  title = {{{entry['title']}}},\n  author = {{{authors}}},\n"
        f"  booktitle = {{{entry['collection-title']}}},\n  year = {{{entry['year']}}}\n}}"
    )
