"""Columns of a comparison: what was typed and differs, and nothing that follows from it."""

import pytest
import yaml

from cse.lab.report.any_runs.settings_table import notes_on_settings
from cse.lab.report.numbers.keys_that_differ import keys_by_group, keys_of_settings, keys_that_differ

CASES = {  # {rule: (a line for each run: the words typed | its settings | its choices of groups, the columns)}
    "only what was typed and differs": (
        "trainer.lr=1 seed=1 model=bert tracker.wandb.name=a jobs.parallel=2 resume=auto ~cases"
        " | trainer.lr=1 seed=1 data.seed=1 trainer.warmup=10 note=a tracker.wandb.name=a"
        " | model=bert recipe@_global_=a\n"
        "trainer.lr=1 seed=2 model=bert tracker.wandb.name=b jobs.parallel=2 resume=auto ~cases"
        " | trainer.lr=1 seed=2 data.seed=2 trainer.warmup=10 note=b tracker.wandb.name=b"
        " | model=bert recipe@_global_=b\n"
        "trainer.lr=3 seed=1 model=bert tracker.wandb.name=c jobs.parallel=2 resume=auto ~cases"
        " | trainer.lr=3 seed=1 data.seed=1 trainer.warmup=20 note=c tracker.wandb.name=c"
        " | model=bert recipe@_global_=c",
        "trainer.lr",
    ),
    "what was typed for some seeds of a case": (
        "case=a seed=1 | case=a seed=1 trainer.lr=1\n case=a seed=2 | case=a seed=2 trainer.lr=1\n"
        "case=b seed=1 | case=b seed=1 trainer.lr=1\n case=a seed=3 trainer.lr=2 | case=a seed=3 trainer.lr=2",
        "case trainer.lr",
    ),
    "the sweep, and not its own settings, which nobody typed": (
        "sweep=a trainer.lr=1 | trainer.lr=1 trainer.clip=1 | sweep=a\n"
        "sweep=a trainer.lr=2 | trainer.lr=2 trainer.clip=1 | sweep=a\n"
        "sweep=b trainer.lr=1 | trainer.lr=1 trainer.clip=2 | sweep=b\n"
        "sweep=b trainer.lr=2 | trainer.lr=2 trainer.clip=2 | sweep=b",
        "sweep trainer.lr",
    ),
    "a case stands for the settings that it names": (
        "case=small data.limit=1 trainer.lr=1\n case=small data.limit=1 trainer.lr=2\n"
        "case=large data.limit=2 trainer.lr=1\n case=large data.limit=2 trainer.lr=2",
        "case trainer.lr",
    ),
    "seeds of a case that read other text are apart": (
        "case=a data.path=x | case=a data.path=x seed=1\n case=a data.path=y | case=a data.path=y seed=2\n"
        "case=b | case=b seed=1",
        "case data.path",
    ),
    "and those that began with another encoder": (
        "case=a model.name=x | case=a model.name=x seed=1\n case=a model.name=y | case=a model.name=y seed=2\n"
        "case=b | case=b seed=1",
        "case model.name",
    ),
    "scored runs of one case differ in their seed alone": (
        "case=a checkpoint=a-1 | case=a checkpoint=a-1 seed=1\n case=a checkpoint=a-2 | case=a checkpoint=a-2 seed=2\n"
        "case=b checkpoint=b-1 | case=b checkpoint=b-1 seed=1\n case=b checkpoint=b-2 | case=b checkpoint=b-2 seed=2",
        "case",
    ),
    "a case does not hide what was typed beside it": (
        "sweep=nonling/table3 case=simcse_bert trainer.lr=1 | case=simcse_bert trainer.lr=1\n"
        "sweep=nonling/table3 case=visual_bert trainer.lr=5 | case=visual_bert trainer.lr=5",
        "case trainer.lr",
    ),
    "nor does it in a sweep's process": (
        "sweep=nonling/table3 case=simcse_bert hydra.mode=RUN trainer.lr=1 | case=simcse_bert trainer.lr=1\n"
        "sweep=nonling/table3 case=visual_bert hydra.mode=RUN trainer.lr=5 | case=visual_bert trainer.lr=5",
        "case trainer.lr",
    ),
    "an axis over what decides no number": (
        "objective=simcse trainer.workers=0 tracker.wandb.name=a | trainer.workers=0 seed=1\n"
        "objective=simcse trainer.workers=0 tracker.wandb.name=a | trainer.workers=0 seed=2\n"
        "objective=simcse trainer.workers=2 tracker.wandb.name=b | trainer.workers=2 seed=1\n"
        "objective=simcse trainer.workers=2 tracker.wandb.name=b | trainer.workers=2 seed=2",
        "trainer.workers",
    ),
    "values that are dicts or lists": (
        'model.thing={"a":1} seed=1\n model.thing={"a":2} seed=1\n model.thing=[1] seed=1', "model.thing",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "columns"), CASES.values(), ids=list(CASES))
def test_columns(leave, runs, lines, columns):
    for number, line in enumerate(lines.splitlines()):
        typed, config, choices = [part.split() for part in f"{line} | | ".split("|")[:3]]
        config, choices = ({key: yaml.safe_load(value) for key, value in (word.split("=") for word in words)}
                           for words in (config or typed, choices))  # fmt: skip
        leave(f"{number}", config, {"test/x": 1.0}, choices=choices, overrides=typed)
    assert keys_of_settings(runs(), "seed") == columns.split()


def test_the_example_of_groups_in_the_docstring(leave, runs):
    for objective, lr in (("simcse", 3e-5), ("barlow", 1e-4)):
        for seed in (1, 2):
            config = {"objective._target_": objective, "trainer.lr": lr, "seed": seed}
            typed = [f"objective={objective}", f"seed={seed}"]
            leave(f"{objective}-{seed}", config, choices={"objective": objective}, overrides=typed)
    assert keys_that_differ(runs(), "seed") == ["objective._target_", "trainer.lr", "objective"]
    assert keys_by_group(runs(), "seed") == ["trainer.lr", "objective"]
    assert keys_of_settings(runs(), "seed") == ["objective"]


def test_the_example_of_cases_in_the_docstring(leave, runs):
    for case, limit in (("small", 1), ("large", 2)):
        for lr in (1, 2):
            config = {"case": case, "data.limit": limit, "trainer.lr": lr}
            given = [f"case={case}", f"data.limit={limit}", f"trainer.lr={lr}"]
            leave(f"{case}-{lr}", config, overrides=given)
    assert keys_that_differ(runs(), "seed") == ["case", "data.limit", "trainer.lr"]
    assert keys_of_settings(runs(), "seed") == ["case", "trainer.lr"]


def test_what_nobody_typed_is_no_column_but_is_told(leave, compared):
    """As a default that another edition has."""
    for clip in (1.0, 2.0):
        config = {"trainer.lr": 1, "trainer.clip": clip, "seed": clip}
        leave(f"{clip}", config, {"dev/x": 1.0}, overrides=["trainer.lr=1", f"seed={clip}"])
    comparison = compared()
    assert not comparison.keys
    assert notes_on_settings(comparison) == ["all: the mean is over runs that differ in trainer.clip"]
