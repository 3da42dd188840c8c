"""The first lines that a run logs: the encoder, the data, the steps and the device.

Start at `announce`. The functions below `announce` return its lines, in the same order. A function `..._in_words`
returns the text of one line; "" leaves the line out. `method_in_words` returns two lines.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from cse.data.duplicates import met
from cse.data.loader import Batches, Steps
from cse.data.mixture import MixedBatches
from cse.data.overlap import Overlap, overlap_in_words
from cse.data.rows import TextRows
from cse.data.text import Text
from cse.data.views import counted_in_words
from cse.device import computes_bf16, device_name, is_gpu
from cse.errors import UserError
from cse.lab.run.evaluators import shared_pairs_in_words
from cse.lab.run.run_log import log_fields
from cse.lab.settings.arguments import Argument, shell_line, spell_argument
from cse.lab.settings.groups import choices, config_dirs
from cse.lab.settings.values import PlainConfig
from cse.lab.sharing.score_tables import problems_of
from cse.model.encoder import SHOWN, Encoder, shown_prompt
from cse.model.recorded import recorded_modules
from cse.sources.encoder import locate
from cse.training.loop import Training
from cse.training.settings import Parts, Trainer
from cse.types import Evaluator

NEXT_LINE = "\n" + 11 * " "  # between the lines of one field
FIRST = 1000  # rows in which a repeated prefix is looked for


def announce(plain: PlainConfig, training: Training, overlap: Overlap, given: Sequence[Argument]) -> None:
    """Log a description of the run.

    plain: the settings. overlap: the counts of training texts in evaluation data. given: the command's arguments.
    """
    parts, choice = training.parts, plain["choices"]["augmentation"]
    batches, evaluators = parts.batches, parts.evaluators
    recorded = other_pooling(plain["model"]["name"], parts.encoder.pooling)
    scored_too = for_each_text(batches, lambda own: overlap_in_words(overlap_of(own, overlap))) if evaluators else ""
    log_fields(
        **method_in_words(plain),
        encoder=encoder_in_words(plain["model"]["name"], parts.encoder, recorded),
        untrained=untrained_in_words(plain, parts.encoder.pooling, recorded, given),
        data=NEXT_LINE.join(rows_in_words(own) for own in batches.sources.values()),
        prefix=for_each_text(batches, repeated_prefix_in_words),
        sources=shares_in_words(parts),
        truncation=for_each_text(batches, truncation_in_words),
        views=for_each_text(batches, lambda own: views_in_words(own, choice)),
        duplicates=for_each_text(batches, lambda own: duplicates_in_words(parts, own, overlap)),
        overlap=scored_too,
        selection=shared_pairs_in_words(parts.trainer.select, evaluators, evaluators),
        partial=partial_in_words(evaluators, plain),
        schedule=schedule_in_words(training),
        device=device_in_words(training),
        folder=training.folder,
    )


def for_each_text(batches: Steps, in_words: Callable[[Batches], str]) -> str:
    """Return the line about a run's only text; for a mixture, a line for each text, beginning with the text's name."""
    lines = {name: in_words(own) for name, own in batches.sources.items()}
    if len(lines) == 1:
        return next(iter(lines.values()))
    return NEXT_LINE.join(f"{name}: {line}" for name, line in lines.items() if line)


def overlap_of(batches: Batches, overlap: Overlap) -> Overlap:
    """Return the counts of one text. overlap: the run's counts, which contain the counts of each text of a mixture."""
    return overlap.get("sources", {}).get(batches.text.name, overlap)


def method_in_words(plain: PlainConfig) -> dict[str, str]:
    """Return {field: line} for two lines: the choices of the method, and the notes on recipes."""
    choices = plain["choices"]
    second = "" if choices["aux_modality"] == "none" else f" + {choices['aux_modality']}"
    return {
        "objective": f"{choices['objective']}{second}, augmentation {choices['augmentation']}",
        "recipe": NEXT_LINE.join(plain["sources"]),
    }


def encoder_in_words(name: str, encoder: Encoder, recorded: str) -> str:
    """Return the encoder's name, pooling, head, size and prompts, and how to train with these prompts.

    recorded: see `other_pooling`.
    """
    other = f" (model.pooling=null uses the recorded {recorded} pooling)" if recorded else ""
    words = [name, f"{encoder.pooling} pooling{other}"]
    if encoder.head is not None:
        words.append("the checkpoint's dense head")
    line, prompts = ", ".join([*words, encoder.size, *encoder.prompts_in_words]), encoder.prompts
    if not prompts or encoder.tokenizer.prefix:
        return line
    both = {side: prompts.get(side, "") for side in ("query", "document")}
    remedy = '\'model.prefix={query:"...",document:"..."}\''
    if max(map(len, both.values())) <= SHOWN:
        remedy = shell_line(spell_argument("model.prefix", both))
    return f"{line}{NEXT_LINE}training puts no prompt before a text; to train with these prompts: {remedy}"


def other_pooling(name: str, pooling: str) -> str:
    """Return the pooling that the encoder's folder records; "" if there is none, or if it is `pooling`."""
    with suppress(UserError, OSError, ValueError, KeyError):  # an unreadable folder is refused elsewhere
        recorded = recorded_modules(Path(locate(name)))
        if recorded is not None and recorded.pooling != pooling:
            return recorded.pooling
    return ""


def untrained_in_words(plain: PlainConfig, pooling: str, recorded: str, given: Sequence[Argument]) -> str:
    """Return the command that scores the encoder with its recorded pooling, if the run trains another pooling.

    The command has the run's evaluators and their settings. recorded: see `other_pooling`. given: the arguments of the
    run's command.
    """
    name, evaluators = plain["model"]["name"], [one for one in plain["eval"] if one in choices("eval")]
    if not (recorded and evaluators) or plain["smoke"]:
        return ""
    texts = [argument.text for argument in given if argument.key.startswith(("eval.", "paths.", "allow_partial"))]
    scored = (spell_argument("checkpoint", name), spell_argument("eval", evaluators), *texts)
    command = shell_line("cse-eval", *scored, *config_dirs())
    return f"the scores before training are with {pooling} pooling; with the recorded {recorded} pooling: {command}"


def rows_in_words(batches: Batches) -> str:
    """Return a description of the batches' text, with the number of rows that the run trains on."""
    return text_in_words(batches.text, f", {len(batches.row_numbers):,} rows")


def repeated_prefix_in_words(batches: Batches) -> str:
    """Return the columns whose texts mostly begin with the prefix that the run puts before them; "" if there are none.

    Only the first FIRST rows are read.
    """
    text, rows, repeated = batches.text, batches.row_numbers[:FIRST], []
    for column in sorted({*batches.views.column_of_view}):
        prefix = batches.views.tokenizer.prefix_of(column).strip()
        count = sum(one.lstrip().startswith(prefix) for one in text.texts_of(rows, column)) if prefix else 0
        if 2 * count > len(rows):
            of_column = f"{count:,} of the first {len(rows):,} texts of {text.column_names[column]}"
            repeated.append(f"{of_column} begin with {shown_prompt(prefix)}, which the run puts before them again")
    return "; ".join([*repeated, "model.prefix='' puts no prefix"]) if repeated else ""


def text_in_words(text: Text | TextRows, rows: str = "") -> str:
    """Return a text's name, file or dataset, and columns. rows: the number of its rows in words, or ""."""
    words = f"{text.name}{rows}"
    if text.place:
        words += f" of {text.place}"
    if text.columns:
        words += f", columns {', '.join(text.columns)}"
    if text.scores:
        words += f", scores {text.scores.name}"
    return words


def shares_in_words(parts: Parts) -> str:
    """Return the number of batches in an epoch, and the objective, of each source of a mixture; "" for one text."""
    if not isinstance(parts.batches, MixedBatches):
        return ""
    shares = zip(parts.batches.names, parts.batches.shares, strict=True)
    named = [f"{share} of {name} ({type(parts.objective.of(name)).__name__})" for name, share in shares]
    return f"an epoch has {parts.batches.steps_per_epoch:,} batches: {', '.join(named)}"


def truncation_in_words(batches: Batches) -> str:
    """Return the number of rows with a view that reaches the maximum length, and a larger length, in tokens.

    Longer views are truncated. For a large text, the rows are a sample. Return "" if there is no such row, or if each
    view is tokenised anew.
    """
    lengths_nV, most = batches.views.lengths_nV, batches.views.max_length
    count, kept = int((lengths_nV >= most).any(1).sum()), most - batches.views.tokenizer.template_length
    if not count:
        return ""
    rows = counted_in_words(count, len(lengths_nV), len(batches.row_numbers))
    longer = batches.views.tokenizer.longer("trainer.max_length", kept)
    return f"{rows} reach trainer.max_length={kept}; {longer}"


def views_in_words(batches: Batches, choice: str) -> str:
    """Return the views of a row (columns, or copies of one text), and the augmentation that changes the views.

    choice: the value of augmentation=.
    """
    text, augmentation, count = batches.text, batches.views.augmentation, batches.views.num_views
    if text.num_columns > 1:
        views, differ = ", ".join(text.column_names[:count]), ""
        if unread := text.column_names[count:]:
            views += f" ({', '.join(unread)} not read)"
    else:
        views = {1: "each text", 2: "each text twice"}.get(count, f"each text {count} times")
        differ = ", with different dropout" if count > 1 else ""
    if augmentation.keeps_text:
        return views + differ
    views += f", changed by augmentation={choice}"
    return f"{views}, except the first view" if augmentation.keeps_first else views


def duplicates_in_words(parts: Parts, batches: Batches, overlap: Overlap) -> str:
    """Return the number of rows that share a text with another row, in the whole text and in the first batch.

    Return "" if there are no such rows, or if the objective has no negatives. overlap: the counts of the run.
    """
    count = overlap_of(batches, overlap)["duplicates"]
    if not (count and parts.objective.of(batches.text.name).negatives(parts.trainer.batch_size)):
        return ""
    rows_B = batches.row_numbers_of(0)
    meet = met(batches.text, rows_B)
    counted = f"rows that share a text: {count:,} in all, {meet} of the {len(rows_B)} rows in the first batch"
    if parts.trainer.no_duplicates:
        return counted
    return f"{counted}; in a batch they are negatives of each other (trainer.no_duplicates=true separates them)"


def partial_in_words(evaluators: Mapping[str, Evaluator], plain: PlainConfig) -> str:
    """Return the first problem of the evaluators' data; if there are several, also their number; "" without any."""
    lines = problems_of({name: evaluator.source() for name, evaluator in evaluators.items()}, plain)
    more = f"; problems in results.json: {len(lines)}" if len(lines) > 1 else ""
    return "".join(lines[:1]).removeprefix("partial: ") + more


def schedule_in_words(training: Training) -> str:
    """Return the steps, the batch size, and the schedule of the learning rate."""
    trainer, update = training.trainer, training.update
    steps, over = f"{training.steps:,} steps", ""
    if training.steps < training.planned:
        steps = f"{training.steps:,} of {training.planned:,} steps (trainer.max_steps)"
    elif (trainer.max_steps or 0) > training.steps:
        steps += f" (all of trainer.epochs={trainer.epochs:g}, fewer than trainer.max_steps)"
    if update.steps != training.steps:
        over = f" over {update.steps:,} steps"
    words = f"{steps}, {rate_in_words(trainer, update.warmup, over)}"
    if update.warmup >= training.steps:
        words += f"; the run ends in the warm-up, so the learning rate never reaches trainer.lr={trainer.lr:g}"
    return words


def rate_in_words(trainer: Trainer, warmup: int | float, over: str = "") -> str:
    """Return the batch size, and the schedule of the learning rate. warmup: steps, or a share of the schedule.

    over: the steps of the schedule, if they differ from the steps of the run.
    """
    words = f"batch {trainer.batch_size}, {trainer.schedule} from lr {trainer.lr:g}{over}"
    if not warmup:
        return words
    if isinstance(warmup, float):
        return f"{words}, warm-up {warmup:.0%} of the schedule"
    return f"{words}, warm-up {warmup:,} steps"


def device_in_words(training: Training) -> str:
    """Return the device, the precision, and the number of processes if there are several."""
    accelerator = training.accelerator
    words = [device_name(accelerator.device), precision_in_words(training.trainer.precision)]
    if training.eval_precision == "bf16":
        words.append("dev scores in bf16, final scores in fp32")
    if training.trainer.compile and not is_gpu(accelerator.device):
        words.append("compiled (on a CPU, BERT and RoBERTa layers take twice as long as with trainer.compile=false)")
    if accelerator.num_processes > 1:
        words.append(f"{accelerator.num_processes} processes")
    return ", ".join(words)


def precision_in_words(precision: str) -> str:
    """Return the precision, with a warning if this machine emulates bf16."""
    if precision == "bf16" and not computes_bf16():
        return "bf16 (emulated here, many times slower than fp32)"
    return precision
