"""Scores in others' formats: the hub's `.eval_results/*.yaml`, and mteb's own results and run settings."""

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

from cse.config.compose import composed
from cse.dotted import Json
from cse.eval import stsb_multi
from cse.record.scores import partial_scores

log = logging.getLogger("cse")

SAME_AS_MTEB = {
    **{f"STS{year}": (f"STS{year}", f"mteb/sts{year}-sts") for year in range(12, 17)},
    "STS-B": ("STSBenchmark", "mteb/stsbenchmark-sts"),
}
"""Tasks of eval=sts that mteb scores in the same way, with its names of task and dataset. Not SICK-R: mteb scores all
its splits."""


def entries(record: Json) -> Iterator[tuple[str, EvalResultEntry]]:
    """(file's stem, entry) of every test score that a benchmark on the hub has, x100, as mteb writes them there.

    record: results.json of cse-train or cse-eval. Scores on altered data are left out.
    """
    sources = record.get("data") or {}
    altered = partial_scores(record["metrics"], sources)
    scores = {name: value for name, value in record["metrics"].items() if name not in altered}
    for task, (name, repo) in SAME_AS_MTEB.items():
        if (value := scores.get(f"test/sts/{task}/spearman")) is not None:
            notes = "cse, eval=sts: Spearman x100 of cosines over all pairs, SentEval's copy of the text"
            yield name, EvalResultEntry(repo, f"{name}_default_test", round(value, 5), notes=notes)
    name, repo = "STSBenchmarkMultilingualSTS", str(stsb_multi.ABOUT.repo)
    for language in stsb_multi.LANGUAGES:
        if (value := scores.get(f"test/stsb_multi/{language}/spearman")) is not None:
            notes = "cse, eval=stsb_multi: Spearman x100 of cosines"
            yield name, EvalResultEntry(repo, f"{name}_{language}_test", round(value, 5), notes=notes)
    for task, about in sources.get("mteb", {}).get("tasks", {}).items():
        value, repo = scores.get(f"test/mteb/{task}/{about['metric']}"), about["dataset"]
        if value is not None and repo:
            notes, revision = f"cse through {sources['mteb']['protocol']}", about["revision"]
            yield task, EvalResultEntry(repo, task, round(value, 5), dataset_revision=revision, notes=notes)


def write_eval_results(folder: Path, records: list[Json]) -> None:
    """Write `.eval_results/TASK.yaml` for every task with an entry."""
    by_task: dict[str, list[EvalResultEntry]] = {}
    for record in records:
        for task, entry in entries(record):
            by_task.setdefault(task, []).append(entry)
    for task, results in by_task.items():
        file = folder / ".eval_results" / f"{task}.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(yaml.safe_dump(eval_result_entries_to_yaml(results), sort_keys=False), encoding="utf-8")


def copy_mteb(folder: Path, records: list[Json]) -> None:
    """Copy mteb's results of the encoder, with run_settings.jsonl, into `mteb/`, if its cache has them.

    The cache is this machine's paths.cache/mteb, never the one in a run's settings, which could name any folder here.
    """
    for record in records:
        about = (record.get("data") or {}).get("mteb")
        if about is None:
            continue
        cache, model = Path(composed("evaluate", []).paths.cache, "mteb"), about["model"]
        source = cache / "results" / model["name"].replace("/", "__") / model["revision"]
        if not source.is_dir():
            log.info("mteb       its results are not in %s: CSE_CACHE=FOLDER names another cache", source)
        for file in sorted(source.glob("*.json*")):
            (folder / "mteb").mkdir(exist_ok=True)
            shutil.copyfile(file, folder / "mteb" / file.name)
