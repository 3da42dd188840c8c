"""Check every setting of a config, before any work.

    validate_command    checks the config of cse-train or cse-eval
    validate_settings   checks any config, by these functions:
    check_nodes         checks each node: the keys that no part takes (nodes.py), and each part (parts.py)
    unread_keys         finds keys that nothing reads
    sentences_of        writes the error if there is a violation
    with_converted      returns the config with values of the right types if there is no violation

A single error names all violations. Each violation has the key as given, the value, the mistake in pydantic's words
and, for a value from the user's own file, the file and the line. An example:

    trainer.lr=nan: should be a finite number; trainer.schedule=cosin: should be 'linear', 'cosine' or ...
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import chain

from omegaconf import DictConfig, OmegaConf

from cse.errors import UserError
from cse.lab.settings.arguments import spell_value
from cse.lab.settings.compose import without_hydra
from cse.lab.settings.groups import Kind, file_of
from cse.lab.settings.lookup import settings_of_command
from cse.lab.settings.nodes import NOT_SET, CheckedNode, Violation, check_node
from cse.lab.settings.parts import check_part
from cse.lab.settings.provenance import written_at
from cse.lab.settings.references import given_key, referred_keys, resolved, written_values
from cse.lab.settings.schema import Evaluate, Train
from cse.lab.settings.values import PlainConfig, flattened, nodes_in


def validate_command(config: DictConfig, kind: Kind) -> DictConfig:
    """Return a checked copy of a command's config; see validate_settings."""
    return validate_settings(config, Train if kind == "train" else Evaluate)


def validate_settings(config: DictConfig, types: type) -> DictConfig:
    """Return a checked copy of the config, with each value converted to the type of its key.

    types: a TypedDict of the keys that no part takes. Raises one UserError for all violations, or OmegaConf's error for
    a reference to a key that does not exist.
    """
    own = without_hydra(config)
    settings, written = resolved(own), written_values(own)
    referred = referred_keys(written)
    helpers = {key.partition(".")[0] for key in referred} - types.__annotations__.keys()
    nodes = check_nodes(settings, types, helpers)

    missing = OmegaConf.missing_keys(own)
    violations = [Violation(key, f"{NOT_SET}{meaning_of(key)}") for key in sorted(missing)]
    violations += unread_keys(settings, helpers, referred)
    for violation in chain.from_iterable(node.violations for node in nodes):
        key = given_key(violation.key, written)
        if key not in missing:
            violations.append(violation._replace(key=key))
    if violations:
        raise UserError("; ".join(sentences_of(violations, config)))
    return with_converted(config, nodes, written)


def meaning_of(key: str) -> str:
    """Return `: ` and the first sentence of conf/'s comment on a key that a command must set; "" without a comment."""
    comments = (setting.comment for setting in settings_of_command("train") if setting[:2] == (key, "???"))
    return next((f": {comment.partition('. ')[0]}" for comment in comments if comment), "")


def check_nodes(settings: PlainConfig, types: type, helpers: Collection[str]) -> list[CheckedNode]:
    """Check the keys that no part takes, then each part, also a part inside another part.

    helpers: the top-level keys that are no settings of cse, and to which other values refer, such as my_lr in
    `my_lr: 1e-3, trainer.lr: ${my_lr}`.
    """
    top = {key: value for key, value in settings.items() if key not in helpers}
    nodes = [check_node("", top, types)]
    for key, node in nodes_in(settings):
        if key and isinstance(node, dict) and "_target_" in node:
            nodes.append(check_part(key, node))
    return nodes


def unread_keys(settings: PlainConfig, helpers: Collection[str], referred: Collection[str]) -> Iterator[Violation]:
    """Yield a Violation for each key to which no value refers: in or below `helpers`, or added to `paths`.

    helpers: see check_nodes. referred: the keys to which values refer.
    """
    why = "there is no such setting, and no value refers to it"
    above = tuple(f"{key}." for key in referred)
    for key, value in flattened({key: settings[key] for key in helpers & settings.keys()}).items():
        if not f"{key}.".startswith(above):
            yield Violation(key, why, spell_value(value))
    ours = OmegaConf.load(file_of("paths", "default"))
    for key in settings.get("paths", ()):
        if key not in ours and f"paths.{key}" not in referred:
            yield Violation(f"paths.{key}", why)


def sentences_of(violations: Iterable[Violation], config: DictConfig) -> Iterator[str]:
    """Yield a sentence for each wrong setting: KEY=VALUE or KEY, the mistake, and FILE:LINE if a user's file set it."""
    reasons: dict[tuple[str, str | None], list[str]] = defaultdict(list)
    for key, reason, value in violations:
        if reason not in reasons[key, value]:
            reasons[key, value].append(reason)
    for (key, value), several in reasons.items():
        setting = key if value is None else f"{key}={value}"
        place = written_at(config, key, OmegaConf.select(config, key))
        yield f"{setting}: {' or '.join(several)}{as_number(value or '', several)}" + (f" ({place})" if place else "")


def as_number(value: str, reasons: Collection[str]) -> str:
    """Return `; 10% is 0.1` or `; 1k is 1000`, if a number is needed; "" for any other value."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([%kKmM])", value)
    needed = "should be a valid number" if value.endswith("%") else "should be a valid "
    if not match or not any(f"{reason} ".startswith(needed) and "string" not in reason for reason in reasons):
        return ""
    return f"; {value} is {float(match[1]) * {'%': 0.01, 'k': 1e3, 'm': 1e6}[match[2].lower()]:.9g}"


def with_converted(config: DictConfig, nodes: Sequence[CheckedNode], written: PlainConfig) -> DictConfig:
    """Return a copy of the config with the converted values of its checked nodes.

    written: the config's values with unresolved references. A reference remains if the conversion of all other
    values gives its value the right type.
    """
    checked = deepcopy(config)
    converted = {key: value for node in nodes for key, value in node.converted.items()}
    for key in sorted(converted, key=lambda key: "${" in str(written.get(key))):  # references last
        found = OmegaConf.select(checked, key)
        plain = OmegaConf.to_container(found) if OmegaConf.is_config(found) else found
        if repr(plain) != repr(converted[key]):  # 1 and 1.0 are equal, but of different types
            OmegaConf.update(checked, key, converted[key])
    return checked
