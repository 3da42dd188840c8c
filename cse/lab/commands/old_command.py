"""The error for a command with another trainer's flags: the counterpart of each flag, and then the same command in cse.

Start at `refuse_old_command`. The file cse/lab/settings/other_trainers.yaml lists the counterparts.
"""

import ast
import json
import os
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NoReturn

from omegaconf import DictConfig, OmegaConf

from cse.errors import UserError, did_you_mean
from cse.lab.settings.arguments import (
    is_one_value,
    key_of,
    shell_argument,
    shell_line,
    spell_argument,
    spell_value,
    value_in,
)
from cse.lab.settings.command import HYDRAS_FLAGS, WITH_VALUE
from cse.lab.settings.compose import composed
from cse.lab.settings.groups import OPTIONAL_GROUPS, PROGRAMS, Kind, choices, folders_of, groups
from cse.lab.settings.lookup import (
    Answer,
    answer_to,
    keys_of_command,
    last_part,
    meant,
    simplified,
    trainers,
)
from cse.lab.settings.mistakes import choices_given, explaining
from cse.lab.settings.roles import annotations_in_choices
from cse.lab.settings.values import flattened, number_in
from cse.lab.text_columns import command_at_width, terminal_width

FLAG = re.compile(r"--?[A-Za-z]")
SETTING = re.compile(r"\+*[A-Za-z_][\w./@]*=")
WITHOUT = "without"
"""A word that the error puts before a flag that was not given. The flag's line shows the trainer's default."""
SCRIPT = re.compile(r"[^=]+\.(py|jsonnet)")
"""The pattern of a script, or of AllenNLP's file of settings. The trainer's flags follow it."""
SCRIPTS: dict[str, Kind] = {"train.py": "train", "evaluation.py": "evaluate"}
"""The kind of command that replaces a script of the other trainers."""
ALLENNLPS = {"-s": "--serialization-dir", "-o": "--overrides", "-f": "--force"}
"""The long form of each short flag of `allennlp train`."""
GPUS = "CUDA_VISIBLE_DEVICES"
PLACEHOLDERS = {
    ("eval.pairs.dev", "FILE"): "(FILE has pairs of texts with scores)",
    ("eval.beir.folder", "FOLDER"): "(FOLDER has queries and documents in BEIR's layout)",
}
"""{(key, value) in other_trainers.yaml: what the person must give instead of the value}."""
BY_VALUE = ("loss", "evaluator")
"""The flags with a row for each value in other_trainers.yaml: --loss CoSENTLoss has the row CoSENTLoss."""
SCORES = ("label", "labels", "score", "scores")
"""The columns that sentence-transformers reads as the scores or labels of the rows, not as text."""
READS_SCORES = ("cosent", "angle", "cosine")
"""The objectives that learn from scores."""
NO_LENGTH = 10**9
"""tokenizer_config.json has a larger model_max_length if the tokenizer has no limit."""
COLUMN = 40
"""The column of a line in which the counterpart of a flag begins."""


@dataclass
class Old:
    """A flag of another trainer with its counterpart in cse, or a flag that was not given, with the trainer's default.

    given: the flag and its values, or a script. answer: the flag's row of other_trainers.yaml. here: {key of cse: its
    value, in Hydra's grammar}. note: further text for the line about the flag. is_left: whether the error lists the
    flag as not translated.
    """

    given: list[str]
    answer: Answer | None = None
    here: dict[str, str] = field(default_factory=dict)
    note: str = ""
    is_left: bool = False

    @property
    def name(self) -> str:
        """The flag's name as `simplified` returns it."""
        return simplified(self.given[0])


def refuse_old_command(texts: Sequence[str], kind: Kind) -> None:
    """Raise UserError for a command with flags that neither cse nor Hydra has. texts: the command's arguments."""
    python = next((text.partition("(")[0] for text in texts if re.match(r"[A-Za-z_][\w.]*\(", text)), None)
    if python:
        raise UserError(
            f"{python}(...) is Python code, not a command: write each of its arguments as --NAME VALUE, such as "
            "--learning_rate 2e-5; docs/coming-from.md lists what each argument is in cse"
        )
    shell = next((text for text in texts if re.fullmatch(r"[^=]+\.sh", text)), None)
    if shell:
        raise UserError(f"{shell} is a shell script: paste the command inside it, python train.py ...")
    at = next((number for number, text in enumerate(texts) if SCRIPT.fullmatch(text)), -1)
    script = texts[at] if at >= 0 else ""
    if not script and {text.partition("=")[0] for text in texts if FLAG.match(text)} <= {*HYDRAS_FLAGS}:
        return
    refuse_script(script, kind)
    known = keys_of_command(kind)
    before, after = texts[: max(at, 0)], texts[at + 1 :]
    if script.endswith(".jsonnet"):
        before, after = [*spelled_out(before)], [*spelled_out(after)]
    launcher, words = split_old_command(before, known)  # torchrun --nproc_per_node 4
    flags, ours = split_old_command(after, known)
    of_launcher = [one for one in launcher if one.given[0].startswith("--")]  # python -u is no flag of a launcher
    # cse knows the defaults for a loss of sentence-transformers, whatever the script
    names_loss = any(one.name == "loss" and any(map(answer_to, one.given[1:])) for one in flags)
    of_script = [] if names_loss else entry_of_script(script)
    old = [*of_script, *of_launcher, *flags]
    variables = [text for text in words if SETTING.match(text)]
    if script and GPUS in os.environ and GPUS not in map(key_of, variables):  # CUDA_VISIBLE_DEVICES=0,1 cse-train ...
        variables.insert(0, f"{GPUS}={os.environ[GPUS]}")
    old = [part for one in old for part in each_loss(one)]
    if any(FLAG.match(one.given[0]) for one in old) or script.endswith(".jsonnet"):
        refuse_translated(old, variables, ours, known, kind)
    if script:
        raise UserError(f"{script} has no flags to translate: docs/coming-from.md has the commands of cse for scripts")


def refuse_translated(
    old: list[Old], variables: Sequence[str], ours: Sequence[str], known: Mapping[str, Sequence[str]], kind: Kind
) -> NoReturn:
    """Raise UserError with the translation of a command's flags.

    variables: the variables before the command, such as CUDA_VISIBLE_DEVICES=0. ours: the command's texts for cse.
    known: see keys_of_command.
    """
    has_defaults = not SCRIPT.fullmatch(old[0].given[0])
    named = trainers_named(old, known, kind)
    for flag in old:
        translate(flag, known, kind, named)
    if not any(one.answer or one.here for one in old):
        unknown = "; ".join(f"{one.given[0]}: {one.note}" for one in old)
        raise UserError(f"{unknown}; a setting is KEY=VALUE, without dashes")
    leave_out_without_effect(old)
    wrap_in_widths(old)
    keep_one_loss(old)
    if has_defaults:
        old += defaults_of_trainers(old, ours, kind)
        old += data_parallel(old, variables, kind)
        old += score_nothing(old, ours)
    leave_out_gather_scale(old, has_defaults)
    if uses_sentence_transformers(old) and not gathers(old):
        accumulate_processes(old)
    else:
        multiply(old)
        contrast_anchors(old)
    score_in_training(old)
    score_on_dev(old)
    name_own_columns(old)
    prompt_own_columns(old)
    leave_out_absent_copy(old)
    leave_out_absent_head(old)
    needed = choices_needed(old, ours, kind)
    texts = [*needed, *settings_of(old)]
    with explaining(texts, kind):
        config = composed(kind, [text for text in texts if key_of(text) in groups(kind)] + choices_in(ours, kind))
    leave_out_unfitting(old, choices_made(config, texts, ours, kind), known, kind)
    ask_for_objective(old, ours)
    name_own_length(old, ours, config)
    if {*groups(kind)}.isdisjoint(map(key_of, ours)) and "objective=?" not in settings_of(old):
        leave_out_equal_defaults(old, config)
    old = [one for one in old if one.here or one.is_left or one.given[0] != WITHOUT]
    raise UserError("\n".join(lines_about(old, [*variables, PROGRAMS[kind], *needed, *settings_of(old), *ours])))


def refuse_script(script: str, kind: Kind) -> None:
    """Raise UserError for a script that the table explains, and for a script that the other program replaces."""
    answer = answer_to(Path(script).stem) if script.endswith(".py") else None
    if answer:
        raise UserError(f"{script}: {answer.sentence()}")
    theirs = "train" if script.endswith(".jsonnet") else SCRIPTS.get(Path(script).name, kind)
    if theirs != kind:
        raise UserError(f"{script} corresponds to {PROGRAMS[theirs]}: paste this command after {PROGRAMS[theirs]}")


def entry_of_script(script: str) -> list[Old]:
    """Return an entry for AllenNLP's file of settings, or for a script that is not in SCRIPTS; else []."""
    if Path(script).name in ("", *SCRIPTS):
        return []
    answer = answer_to(script)  # the row jsonnet
    if answer is None:
        return [Old([script], note="cse knows neither the loss nor the defaults of this script", is_left=True)]
    here = settings_of_row(answer.arguments_for(script) or [])
    return [Old([script], answer, here, f"({plain(answer)})", is_left=True)]


def spelled_out(texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts of `allennlp train` with long flags only.

    A variable that the .jsonnet file reads, and each setting in the JSON of --overrides, becomes a flag.
    """
    rest = iter(texts)
    for text in rest:
        flag, equals, value = ALLENNLPS.get(text, text).partition("=")
        if flag == "--overrides":
            yield from overrides_as_flags(value if equals else next(rest, ""))
        elif SETTING.match(text) and answer_to(flag):
            yield f"--{text}"
        else:
            yield f"{flag}{equals}{value}"


def overrides_as_flags(text: str) -> list[str]:
    """Return --KEY=VALUE for each setting in a JSON or jsonnet text: --trainer.num_epochs=2."""
    import yaml

    try:
        settings = yaml.safe_load(text)  # YAML reads JSON, and the single quotes of jsonnet too
    except yaml.YAMLError:
        settings = None
    if not isinstance(settings, dict):
        return ["--overrides", text]
    return [f"--{key}={spell_value(value, quotes=False)}" for key, value in flattened(settings).items()]


def split_old_command(texts: Sequence[str], known: Collection[str]) -> tuple[list[Old], list[str]]:
    """Return two lists of a command's texts: the flags that cse does not have, with their values; the other texts."""
    old: list[Old] = []
    ours: list[str] = []
    rest = iter(texts)
    takes_values = False
    for text in rest:
        name, equals, _ = text.partition("=")
        if name in HYDRAS_FLAGS:
            ours += [text, *islice(rest, 1 if name in WITH_VALUE and not equals else 0)]
            takes_values = False
        elif FLAG.match(text) and not (equals and name.lstrip("-") in known):
            old.append(Old(text.split("=", 1)))
            takes_values = not equals
        elif takes_values and not SETTING.match(text):
            old[-1].given.append(text)
        elif SETTING.match(text.lstrip("-")):
            ours.append(text.lstrip("-"))
            takes_values = False
        elif text.strip():
            old.append(Old([text], note="no setting", is_left=True))
    return old, ours


def each_loss(old: Old) -> list[Old]:
    """Return an entry for each value of --loss, because a loss may wrap another loss: MatryoshkaLoss CoSENTLoss."""
    flag, *values = old.given
    return [Old([flag, value]) for value in values] if simplified(flag) == "loss" and len(values) > 1 else [old]


def trainers_named(old: Sequence[Old], known: Collection[str], kind: Kind) -> set[str]:
    """Return the trainers whose arguments the command has: each trainer with `choose`, and the trainer of `--loss`."""
    answers = [(one.name, answer_to(one.given[0], known, kind)) for one in old]
    of_name = [(name, row) for name, row in answers if row and name in map(simplified, row.arguments)]
    return {row.trainer for name, row in of_name if row.choose or name == "loss"}


def translate(old: Old, known: Mapping[str, Sequence[str]], kind: Kind, named: Collection[str]) -> None:
    """Set `here` and `note` of a flag from its counterpart in cse, or set is_left if it has no counterpart.

    named: the trainers whose rows are preferred (see trainers_named).
    """
    flag, *values = old.given
    name = simplified(flag)
    if old.is_left:
        return
    if name == "model" and values and values[0] not in choices("model"):  # --model org/name
        name = flag = "model_name_or_path"
    answer = None if name in known else answer_to(flag, known, kind, named)
    if name in BY_VALUE and values:  # --loss CoSENTLoss
        answer = answer_to(values[0], known, kind) or answer
    old.answer = answer
    if answer is None:
        near = meant(flag.lstrip("-"), known)
        if len(near) == 1 and name in (near[0], last_part(near[0])):  # --trainer.lr, or --lr
            several = [{near[0]: in_grammar(near[0], value)} for value in values or ["true"]]
            old.here = several[-1]
            refuse_several(old, several)
        else:
            old.is_left, old.note = True, f"unknown{did_you_mean([f'{key}=...' for key in near])}"
    else:
        if name == "tasks":  # --tasks STS12,MR
            values = [task for value in values for task in value.split(",") if task]
        found = [answer.arguments_for(value) for value in values or [""]]
        several = [settings_of_row(arguments) for arguments in found if arguments is not None]
        if len(several) < len(found):
            old.is_left, old.note = True, answer.sentence()
            if name == "loss" and answer.first.startswith("objective="):
                old.here, old.note = settings_of_row(answer.type.split()), f"({plain(answer)})"
            return
        old.here = merged(several)
        old.note = "" if answer.type else plain(answer)
        refuse_several(old, several)
        for setting in old.here.items() & PLACEHOLDERS.keys():
            old.is_left, old.note = True, PLACEHOLDERS[setting]
    lacking = [key for key, value in old.here.items() if value.lower() == "true" and not takes_true(key)]
    if lacking:
        old.here, old.is_left, old.note = {}, True, f"{lacking[0]}: the value is missing"


def refuse_several(old: Old, several: Sequence[Mapping[str, str]]) -> None:
    """Set is_left if a flag gives several values to a setting, unless they make a list.

    several: the settings of each value.
    """
    for key in old.here:
        values = list(dict.fromkeys(settings[key] for settings in several if key in settings))
        if len(values) > 1 and not all(value.startswith("[") for value in values):
            old.here, old.is_left = {}, True
            old.note = f"{key}: a setting has one value. If it is a list, its value is [{','.join(values)}]"
            return


def takes_true(key: str) -> bool:
    """Return whether a setting's type has the value true. A key without an annotation, such as a folder, does not."""
    annotation = annotations_in_choices(key, tuple(folders_of(key.partition(".")[0])))[-1]
    return any(last_part(name) == "bool" for name in annotation or ())


def plain(answer: Answer) -> str:
    """Return the first sentence of a row's note."""
    return answer.note.replace("`", "").partition(". ")[0]


def settings_of_row(arguments: Sequence[str]) -> dict[str, str]:
    """Return {key: value in Hydra's grammar} of a row's arguments. The user's value has already replaced {}."""
    pairs = (argument.partition("=") for argument in arguments)
    return {key: in_grammar(key, value) for key, _, value in pairs}


def in_grammar(key: str, value: str) -> str:
    """Return the value, in quotes if Hydra would read several values without them."""
    return value if is_one_value(f"{key}={value}") else spell_argument(key, value).partition("=")[2]


def merged(several: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return one dict from several. If a key's values are lists, they are joined. Otherwise the last value counts.

    In a joined list, each text occurs once. A number may occur again, such as the weights 1 and 1.
    """
    result: dict[str, str] = {}
    for key, value in (pair for settings in several for pair in settings.items()):
        before = result.get(key, "")
        if before.startswith("[") and value.startswith("["):
            items = before[1:-1].split(",")
            items += [item for item in value[1:-1].split(",") if item not in items or number_in(item) is not None]
            value = f"[{','.join(items)}]"
        result[key] = value
    return result


def settings_of(old: Sequence[Old]) -> list[str]:
    """Return the arguments of cse for these flags.

    A flag with a value overrides a flag without a value, whatever their order: --mlm_weight=0.1 overrides --do_mlm.
    """
    values = values_of(sorted(old, key=lambda one: len(one.given) > 1))
    return [f"{key}={values[key]}" for key in values_of(old)]


def values_of(old: Sequence[Old]) -> dict[str, str]:
    """Return {key of cse: its value} of all flags, see `merged`."""
    return merged(one.here for one in old)


def leave_out_without_effect(old: Sequence[Old]) -> None:
    """Leave out the counterpart of each flag that another flag, or its absence, makes idle in the other trainer."""
    on = {name for one in old if one.answer and one.here for name in one.answer.arguments} | valued(old)
    for one in old:
        if one.answer and one.answer.only_with and one.answer.only_with not in on:
            one.here, one.note = {}, f"has no effect without --{one.answer.only_with}"
        elif one.answer and one.answer.not_with in on:
            one.here, one.note = {}, f"has no effect with --{one.answer.not_with}"


def valued(old: Sequence[Old]) -> set[str]:
    """Return each flag with its value, in the form of `only_with` in other_trainers.yaml: "task_set na"."""
    return {" ".join([one.name, *one.given[1:]]) for one in old}


def wrap_in_widths(old: Sequence[Old]) -> None:
    """Leave out MatryoshkaLoss, a loss around another loss, if the command has its widths and the other loss.

    Otherwise ask for what is missing.
    """
    has_widths = any("objective.widths" in one.here for one in old)
    losses = [one for one in old if one.name == "loss"]
    for one in losses:
        if not (one.is_left and one.answer and one.answer.key == "objective.widths"):
            continue
        if has_widths and losses[1:]:
            one.is_left, one.note = False, "see objective.widths"
        elif not losses[1:]:
            one.note = "also give the loss that it wraps, such as --loss MultipleNegativesRankingLoss"
            one.note += "" if has_widths else " --matryoshka_dims 384 192 96"


def keep_one_loss(old: Sequence[Old]) -> None:
    """Set is_left for each loss that is an objective of cse, except the last one, which replaces other objectives."""
    losses = [one for one in old if one.name == "loss" and "objective" in one.here]
    for one in old if losses else ():
        if one.name != "loss":
            one.here.pop("objective", "")  # the objective that --train_file chose
    for one in losses[:-1]:
        one.here, one.is_left = {}, True
        one.note = "a text has one loss: data=mixture trains on several texts, each with its own loss"


def defaults_of_trainers(old: Sequence[Old], ours: Sequence[str], kind: Kind) -> Iterator[Old]:
    """Yield the trainers' default for each of their flags that is not given, or that is given as false.

    Yield nothing if the command names neither an encoder nor a loss: it is then only a part of a command. A default
    that is a KEY without a value is not translated, because the encoder decides. ours: the command's texts for cse. A
    setting among them needs no default.
    """
    given = [one.answer for one in old if one.answer and (one.here or one.is_left or one.answer.values is not None)]
    keys = {key for one in old for key in one.here}
    has_loss = any(one.name == "loss" for one in old)
    if keys.isdisjoint({"model", "model.name", "checkpoint"}) and not has_loss:
        return
    keys |= {*map(key_of, ours)}
    flags = valued(old)
    used = [one.answer.trainer for one in old if one.answer]
    if has_loss:  # a loss is an argument of sentence-transformers, which uses Hugging Face's trainer
        used = ["sentence-transformers", "Hugging Face Trainer"]
    for trainer in dict.fromkeys(used):
        for row in trainers()[trainer][1]:
            here = settings_of_row(row.default.split())
            is_read = row.kind == kind and row.only_with in ("", *flags)
            if is_read and row not in given and keys.isdisjoint(here) and here:
                without = Old([WITHOUT, f"--{row.arguments[0]}"], row, here)
                if "=" not in row.default:
                    without.here, without.note, without.is_left = {}, plain(row), True
                yield without


def score_nothing(old: Sequence[Old], ours: Sequence[str]) -> list[Old]:
    """Return an entry for eval=[] if sentence-transformers scores nothing, without an evaluator of cse; else []."""
    values = values_of(old)
    evaluators = [one for one in old if one.name == "evaluator"]
    keys = values.keys() - ({"trainer.watch"} if evaluators else {})
    is_scored = not {"eval", "trainer.watch"}.isdisjoint([*keys, *map(key_of, ours)])
    is_theirs = uses_sentence_transformers(old) and values.get("trainer.select") == "null"
    if is_scored or not is_theirs:
        return []
    if not evaluators:
        return [Old([WITHOUT, "--evaluator"], None, {"eval": "[]"})]
    for one in old:
        one.here.pop("trainer.watch", "")
    evaluators[0].here, evaluators[0].note = {"eval": "[]"}, f"({evaluators[0].note})"
    return []


def leave_out_gather_scale(old: Sequence[Old], has_defaults: bool) -> None:
    """Leave out trainer.gather_scale=paper for several processes, unless the script is SimCSE's.

    sentence-transformers drops an epoch's last, smaller batch if it has several processes. has_defaults: whether cse
    knows the defaults of the script.
    """
    is_theirs = uses_sentence_transformers(old)
    for one in old if is_theirs or not has_defaults else ():
        if "trainer.devices" in one.here and one.answer and one.answer.trainer == "Hugging Face Trainer":
            one.here.pop("trainer.gather_scale", "")
            if is_theirs and one.here["trainer.devices"] != "1":
                one.here["trainer.drop_last"] = "true"


def uses_sentence_transformers(old: Sequence[Old]) -> bool:
    """Return whether the command has an argument that only sentence-transformers has."""
    return any(one.answer and one.answer.trainer == "sentence-transformers" for one in old)


def gathers(old: Sequence[Old]) -> bool:
    """Return whether the flags make a loss of sentence-transformers compare the rows of all processes."""
    values = [one.given[1:] for one in old if one.name == "gather_across_devices"]
    return values != [] and values[-1] not in (["False"], ["false"], ["0"])


def accumulate_processes(old: Sequence[Old]) -> None:
    """Translate processes that each compute a loss of their own rows; an update has the mean of their gradients.

    trainer.accumulate does the same. If the processes cannot share a batch equally, one process trains.
    """
    values = values_of(old)
    count, batches = values.get("trainer.devices", ""), values.get("trainer.accumulate", "1")
    if not (count.isdecimal() and batches.isdecimal() and int(count) > 1):
        return
    rows = values.get("trainer.batch_size", "")
    for one in old:
        if one.here.pop("trainer.accumulate", ""):
            one.note = "see trainer.accumulate"
        if "trainer.devices" in one.here:
            if not rows.isdecimal() or int(rows) % int(count):
                del one.here["trainer.devices"]
            one.here["trainer.accumulate"] = str(int(count) * int(batches))
            one.note = "(a loss for the rows of each process)"


def contrast_anchors(old: Sequence[Old]) -> None:
    """Set is_left for gathered rows with GISTEmbedLoss: it compares an anchor only with its own process's anchors."""
    values = values_of(old)
    for one in old if values.get("objective") == "gist" and values.get("trainer.devices", "1") != "1" else ():
        if one.name == "gather_across_devices":
            one.is_left, one.note = True, "(GISTEmbedLoss gathers no anchors, but cse compares all anchors of a batch)"


def multiply(old: Sequence[Old]) -> None:
    """Multiply each number that holds for one process in the other trainer by the number of processes."""
    values = values_of(old)
    for one in old:
        if one.answer and one.answer.times in values:
            key, factor = one.answer.key, values[one.answer.times]
            if factor.isdecimal() and one.here.get(key, "").isdecimal():
                one.note = f"({one.here[key]} in each of {factor} processes)"
                one.here[key] = str(int(one.here[key]) * int(factor))


def data_parallel(old: Sequence[Old], variables: Sequence[str], kind: Kind) -> Iterator[Old]:
    """Yield an entry for several GPUs if the command has no launcher: Hugging Face's Trainer then uses DataParallel.

    In SimCSE's code each GPU computes the loss of its own rows, and an update has the mean gradient. On one GPU,
    trainer.accumulate does the same. In sentence-transformers one loss compares the rows of all GPUs.
    """
    values = values_of(old)
    is_whole = uses_sentence_transformers(old)
    key = "trainer.batch_size" if is_whole else "trainer.accumulate"
    number = values.get(key, "" if is_whole else "1")
    whose = "one loss for the rows of all GPUs" if is_whole else "a loss for the rows of each GPU"
    for name, _, gpus in (text.partition("=") for text in variables):
        count = len(gpus.split(","))
        is_parallel = name == GPUS and count > 1 and "trainer.devices" not in values
        if kind == "train" and is_parallel and number.isdecimal():
            yield Old([name, gpus], None, {key: str(count * int(number))}, f"(DataParallel: {whose})")


def score_in_training(old: Sequence[Old]) -> None:
    """Replace the word epoch in trainer.eval_every by the share of the schedule that is one epoch.

    If the command has no number of epochs, the flag is not translated. Leave out trainer.watch if dev selects the
    checkpoint, because dev is then scored anyway. The evaluator of the command, if any, replaces STS-B.
    """
    for one in old:
        if one.name == "evaluator" and one.here.get("eval", "[]") != "[]":
            score_by(one, old)
    values = values_of(old)
    epochs = number_in(values.get("trainer.epochs", ""))
    by_epoch = "epoch" in [one.here.get("trainer.eval_every") for one in old]
    for one in old:
        if values.get("trainer.select") != "null":
            one.here.pop("trainer.watch", "")
        if not by_epoch or "trainer.eval_every" not in one.here:
            continue
        if one.here["trainer.eval_every"] != "epoch":  # --eval_steps
            one.here, one.note = {}, "has no effect with the strategy epoch"
        elif epochs and "trainer.max_steps" not in values:
            share = min(int(1e6 / epochs) / 1e6, 0.999999)  # rounded down, because cse rounds the step up
            one.here["trainer.eval_every"], one.note = f"{share:g}", "(once an epoch)"
        elif one.answer:
            one.here, one.is_left, one.note = {}, True, one.answer.sentence()


def score_by(old: Old, others: Sequence[Old]) -> None:
    """Let the evaluator of this flag replace STS-B in training. MTEB has no dev split, so it selects no checkpoint."""
    evaluator = old.here["eval"]
    has_dev = evaluator != "mteb"
    if not any("trainer.select" in one.here for one in others):
        old.here["trainer.select"] = evaluator if has_dev else "null"
        if not has_dev:
            old.is_left, old.note = True, "(MTEB selects no checkpoint)"
    for one in others:
        if one.here.get("trainer.watch") == "[stsb]":
            one.here["trainer.watch"] = f"[{evaluator if has_dev else ''}]"


def score_on_dev(old: Sequence[Old]) -> None:
    """If cse-eval scores only dev, replace sts by stsb, because only STS-B and SICK-R have a dev split.

    The transfer tasks are scored on test: the dev accuracy of a task is beside its test score.
    """
    values = values_of(old)
    if values.get("splits") != "[dev]":
        return
    for one in old:
        if "splits" in one.here and "transfer" in values.get("eval", ""):
            one.here["splits"] = "[dev,test]" if "sts" in values["eval"] else "[test]"
            one.note = "(the dev accuracy of a transfer task is beside its test score)"
        evaluators = re.sub(r"\bsts\b", "stsb", one.here.get("eval", ""))
        if evaluators != one.here.get("eval", ""):
            one.here["eval"], one.note = evaluators, "(only STS-B and SICK-R have a dev split)"
            one.here.pop("eval.sts.tasks", None)


def name_own_columns(old: Sequence[Old]) -> None:
    """Name the columns of the person's data file: the texts, and the scores if the loss reads scores.

    sentence-transformers accepts any score, and scales none. If the columns cannot be named, because the file does not
    exist or has no scores, set is_left. One column of text trains unsupervised SimCSE, as in SimCSE's code.
    """
    from cse.data.readers import header_of

    reads_scores = values_of(old).get("objective") in READS_SCORES
    scored = "data.scores=C data.score_range=null"
    for one in old:
        file = Path(str(value_in(one.here.get("data.path", ""))))
        if one.here.get("data") != "text" or file.suffix == ".txt":
            continue
        if file.is_file():
            names = header_of(file, "utf-8")
            texts = [name for name in names if name.lower() not in SCORES]
            scores = [name for name in names if name not in texts]
            one.here["data.columns"] = spell_argument("", texts).partition("=")[2]
            if len(texts) == 1:
                one.here.pop("objective", "")
            if reads_scores and scores:
                one.here |= {"data.scores": scores[0], "data.score_range": "null"}
            elif reads_scores:
                one.is_left, one.note = True, f"(name the column of the scores: {scored})"
        else:
            one.is_left = True
            needed = f"data.columns=[A,B] {scored}" if reads_scores else "data.columns=[A,B]"
            one.note = f"({file} is no file here: name its columns, {needed})"


def prompt_own_columns(old: Sequence[Old]) -> None:
    """Translate prompts by column into the prompt of the first column and the prompt of the other columns.

    sentence-transformers puts no prompt before a column that the prompts do not name. If the columns of the data are
    not known, the prompts name all of them, in their order.
    """
    columns = value_in(values_of(old).get("data.columns", "[]"))
    for one in old:
        if one.name != "prompts" or not one.is_left:
            continue
        prompts = dict_in(one.given[-1])
        names = [*columns] if isinstance(columns, list) and columns else [*prompts]
        texts = [prompts.get(name, "") for name in names]
        absent = [name for name in prompts if name not in names]
        if absent:
            one.note = f"(the columns are {', '.join(names)}: none is named {' or '.join(absent)})"
        elif len({*texts[1:]}) > 1:
            one.note = f"{one.note} (here they are {spell_value(texts[1:])})"
        elif texts[1:] and (columns or not names[0].startswith(("doc", "pass"))):
            both = {"query": texts[0], "document": texts[1]}
            one.here, one.is_left, one.note = {"model.prefix": spell_value(both)}, False, ""


def dict_in(text: str) -> dict[str, str]:
    """Return the prompts by name in a text, as JSON or in Python's quotes; {} for any other text."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {}
    is_flat = isinstance(value, dict) and all(isinstance(one, str) for pair in value.items() for one in pair)
    return value if is_flat else {}


def leave_out_absent_head(old: Sequence[Old]) -> None:
    """Leave out the setting that keeps the training head, if the command has no head."""
    if values_of(old).get("objective.head") != "null":
        return
    for one in old:
        if one.here.pop("objective.keep_head", ""):
            one.note = "has no effect without a head"


def leave_out_absent_copy(old: Sequence[Old]) -> None:
    """Leave out the setting that reads a published corpus from the person's own copy, if no such file exists."""
    for one in old:
        copy = Path(str(value_in(one.here.get("data.rows.file", ""))))
        if "data.rows.file" in one.here and not copy.is_file():
            del one.here["data.rows.file"]
            one.note = f"({copy} is not here: the hub's copy is read)"


def choices_needed(old: Sequence[Old], ours: Sequence[str], kind: Kind) -> list[str]:
    """Return the choices that the flags' rows need, in groups for which the command makes no choice.

    A row counts only if the flag has the row's complete name. A key of a text, such as --data.path, needs the only
    choice that has the key.
    """
    free = {*groups(kind)} - {key_of(text) for text in [*settings_of(old), *ours]}
    rows = [one.answer for one in old if one.answer and one.name in map(simplified, one.answer.arguments)]
    known = keys_of_command(kind)
    of_keys = [known.get(key, ()) for one in old for key in one.here if key.startswith("data.")]
    needed = [*(row.choose for row in rows), *(names[0] for names in of_keys if len(names) == 1)]
    return [choice for choice in dict.fromkeys(needed) if key_of(choice) in free]


def choices_in(texts: Sequence[str], kind: Kind) -> list[str]:
    """Return the arguments that make one choice of cse. A choice of the user's own is in a folder that is not read."""
    return [text for text in texts if key_of(text) in groups(kind) and text.partition("=")[2] in choices(key_of(text))]


def choices_made(config: DictConfig, texts: Sequence[str], ours: Sequence[str], kind: Kind) -> set[str]:
    """Return each GROUP=CHOICE of the offered command, and "" for the settings of every command.

    config: the config with the command's choices; an objective or an experiment may choose for other groups. texts: the
    arguments from the table. ours: the command's other texts.
    """
    made = {f"{group}={choice}" for group, choice in config.hydra.runtime.choices.items()}
    made |= {f"eval={name}" for name in config.eval}
    known = [text for text in choices_in(ours, kind) if key_of(text) in OPTIONAL_GROUPS]  # they chose in config
    return made | choices_given([text for text in [*texts, *filter(SETTING.match, ours)] if text not in known], kind)


def leave_out_equal_defaults(old: Sequence[Old], config: DictConfig) -> None:
    """Leave out each default of a trainer that is also the value in the config of the command's choices."""
    for one in old:
        if one.given[0] == WITHOUT:
            one.here = {
                key: value for key, value in one.here.items() if OmegaConf.select(config, key) != value_in(value)
            }


def ask_for_objective(old: Sequence[Old], ours: Sequence[str]) -> None:
    """Set objective=? if the command has a loss without a counterpart: otherwise it would train SimCSE, by default or
    because --train_file chose it.

    cse answers objective=? with the list of objectives.
    """
    losses = [one for one in old if one.name == "loss"]
    absent = [one for one in losses if one.is_left]
    if absent and not any("objective" in one.here for one in losses) and "objective" not in map(key_of, ours):
        for one in old:
            one.here.pop("objective", "")
        absent[-1].here["objective"], absent[-1].note = "?", f"({absent[-1].note})"


def name_own_length(old: Sequence[Old], ours: Sequence[str], config: DictConfig) -> None:
    """Set trainer.max_length to the encoder's own length, sentence-transformers' default, if the encoder is here.

    Otherwise say which length the command has. config: the config with the command's choices.
    """
    given = dict(text.partition("=")[::2] for text in [*settings_of(old), *ours])
    for one in old:
        if one.given != [WITHOUT, "--max_seq_length"] or not one.is_left or given.get("objective") == "?":
            continue
        name = str(value_in(given["model.name"])) if "model.name" in given else config.model.name
        length = own_length(name) if not given.keys().isdisjoint({"model", "model.name"}) else None
        if length is None:
            choice = config.hydra.runtime.choices.objective
            one.note = f"{one.note}. This command reads {config.trainer.max_length} tokens, as objective={choice} sets"
        else:
            one.here, one.is_left = {"trainer.max_length": str(length)}, False
            one.note = "(the encoder's own length)"


def own_length(name: str) -> int | None:
    """Return the number of tokens that sentence-transformers reads of a text; None if the encoder is not here."""
    from cse.lab.run.needs import look_for
    from cse.sources.encoder import EncoderNeed

    place, _ = look_for(EncoderNeed(name, key="model.name"))
    if not isinstance(place, Path) or not place.is_dir():
        return None
    found: dict[str, int] = {}
    for file in (*place.glob("sentence_*_config.json"), place / "tokenizer_config.json", place / "config.json"):
        with suppress(OSError, ValueError):  # a missing or damaged file
            content = json.loads(file.read_bytes())
            keys = {"max_seq_length", "model_max_length", "max_position_embeddings"}.intersection(content)
            found |= {key: content[key] for key in keys if type(content[key]) is int and content[key] > 0}
    length = found.get("max_seq_length") or min(found.values(), default=NO_LENGTH)
    return length if length < NO_LENGTH else None


def leave_out_unfitting(
    old: Sequence[Old], chosen: Collection[str], known: Mapping[str, Sequence[str]], kind: Kind
) -> None:
    """Remove each setting that the command's choices, or the program, do not have.

    If the setting belongs to an evaluator that is not chosen, no note is added: the flag has no effect in the other
    trainer either.
    """
    other = next(program for other, program in PROGRAMS.items() if other != kind)
    for one in old:
        if one.answer and one.answer.only_for not in ("", *chosen):
            one.here, one.note = {}, f"has no effect without {one.answer.only_for}"
        for key in list(one.here):
            of_choices = known.get(key, ())
            if of_choices and {*chosen}.isdisjoint(of_choices):
                value = one.here.pop(key)
                if not key.startswith("eval."):
                    one.note, one.is_left = f"{key}={value} belongs to {', '.join(of_choices)}", True
            elif not of_choices and key.partition(".")[0].partition("/")[0] not in {*groups(kind), "hydra"}:
                one.note = f"{key}={one.here.pop(key)} is a setting of {other}"
                one.is_left = True


def lines_about(old: Sequence[Old], command: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the error: one about each flag, then the command of cse, then the flags not translated."""
    width = min(80, terminal_width())
    yield "in cse a setting is KEY=VALUE, without dashes. Your flags in cse:\n"
    for one in old:
        left = f"  {shell_line(*one.given)}  "
        texts = [*(f"{key}={value}" for key, value in one.here.items()), one.note]
        right = " ".join(filter(None, texts)) or "no setting is needed"
        is_beside = len(left) <= COLUMN and max(map(len, right.split())) <= width - COLUMN
        indent = " " * (COLUMN if is_beside else 6)
        lines = textwrap.wrap(right, width - len(indent), break_long_words=False, break_on_hyphens=False)
        yield f"\n{indent}".join([left.ljust(COLUMN) + lines[0], *lines[1:]] if is_beside else [left.rstrip(), *lines])
    names = [one.given[: 2 if one.name in (WITHOUT, *BY_VALUE) else 1] for one in old if one.is_left]
    left_out = [" ".join(name) for name in names]
    if any(one.here for one in old):
        what = "The nearest command in cse, without the untranslated flags" if left_out else "The same command in cse"
        yield f"\n{what}:\n\n{command_at_width([*map(shell_argument, command)], '  ', width)}"
    if left_out:
        yield "\n" + textwrap.fill(f"Not translated: {', '.join(left_out)}. See docs/coming-from.md", width)
