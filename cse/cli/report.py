"""cse-report: a paper's table and figures beside our runs, on the terminal and as Markdown, CSV, LaTeX and HTML."""

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from cse.cli import compose
from cse.errors import RunError, UserError
from cse.run import composition
from cse.run.composition import composed, nearest
from cse.run.groups import CONF_DIR, choices
from cse.sweep import jobs

HELP = """\
cse-report: what a paper printed, what our runs gave, and what may be said of the difference.

  cse-report sweep=whitenedcse/table4                 the runs of `cse-train sweep=whitenedcse/table4`, finished or not
  cse-report sweep=nonling/table1 runs=FOLDER         the same from runs that lie elsewhere; runs=[A,B] takes several
  cse-report runs=FOLDER metrics=[test/sts/*]         any runs: a row for each setting, mean and deviation over seeds

Reads       results.json of every run at or below the folder; runs nothing
Shows       score=dev/stsb/spearman: a sweep's figures with this score instead of the paper's
Writes      report.html (one file, figures inside), report.md, report.csv (unrounded), report.tex, figures/*.png
            into out=FOLDER (reports/PAPER/TABLE by default)
Compares    confidence=0.95  interval=t|bootstrap  tolerance=0.1 (points that pass)  seed_sd=0.9 (where n is 1)
Logs        tracker=auto|wandb|offline|tensorboard: the table and the figures there too
Exit codes: 0 done (also where runs are missing: the report says which), 1 it could not be written, 2 a mistake.
"""


def main() -> None:
    """The console script."""
    if any(argument in ("-h", "--help") for argument in sys.argv[1:]):
        print(HELP)  # noqa: T201
        return
    try:
        report(settings(sys.argv[1:]))
    except UserError as error:
        sys.exit(compose.complain(str(error), 2))
    except RunError as error:
        sys.exit(compose.complain(str(error), 1))


def settings(arguments: list[str]) -> dict[str, Any]:
    """conf/report.yaml with the command line's values; Hydra's grammar would refuse the = in names of folders."""
    config = yaml.safe_load((Path(CONF_DIR) / "report.yaml").read_text(encoding="utf-8"))
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if key not in config:
            raise UserError(f"{argument}: there is no key {key}{nearest(key, list(config))}")
        if not equals:
            raise UserError(f"{argument}: say {key}=VALUE")
        try:
            config[key] = value if key in ("sweep", "out", "score") else yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise UserError(f"{argument}: {value!r} cannot be read as a value or a [list]") from error
    for key in ("runs", "metrics"):
        config[key] = config[key] if isinstance(config[key], list) else [config[key]] if config[key] else []
    if not config["sweep"] and not config["runs"]:
        raise UserError("nothing to report: say sweep=PAPER/TABLE or runs=FOLDER (cse-report --help)")
    for key, most in (("confidence", 1), ("tolerance", math.inf), ("seed_sd", math.inf)):
        value = config[key]
        if not isinstance(value, (int, float)) or not 0 <= value < most or (key == "confidence" and value == 0):
            raise UserError(f"{key}={value} must be a number {'between 0 and 1' if most == 1 else 'of at least 0'}")
    if config["interval"] not in ("t", "bootstrap"):
        raise UserError(f"interval={config['interval']} is neither t nor bootstrap")
    return config


def report(config: dict[str, Any]) -> None:
    """Read, lay side by side, draw, show, write."""
    from cse.report import figures, page, published
    from cse.report.runs import read_runs
    from cse.report.spec import parse
    from cse.report.survey import survey
    from cse.report.table import build

    sweep = config["sweep"]
    block, expected, where = read_sweep(sweep) if sweep else ({}, [], "")
    folders = [Path(folder) for folder in config["runs"] or [jobs.read(sweep).place([])]]
    out = Path(config["out"] or f"reports/{sweep or folders[0].resolve().name}")
    pictures: list[page.Picture] = []
    if sweep:
        table = published.table(block["paper"], block["table"]) if block.get("table") else None
        spec = parse(block, table, where, config["tolerance"], config["seed_sd"])
        for wanted in spec.figures:
            figures.check(wanted, where)
        shown_figures = [figures.showing(wanted, config["score"]) for wanted in spec.figures]
        runs = read_runs(folders) if config["runs"] or folders[0].is_dir() else []
        runs = departing(runs, sweep, spec.seed)
        shown = [wanted[key] for wanted in shown_figures for key in "yz" if key in wanted]
        if table:
            tables = [build(spec, table, runs, expected, config["confidence"], config["interval"])]
        else:
            tables = survey(runs, shown, spec.seed, expected)
        pictures = [draw(wanted, spec, runs, out) for wanted in shown_figures]
        title, subtitle = sweep, published.read(spec.paper)["paper"]
    else:
        runs = read_runs(folders)
        if not runs:
            raise UserError(f"runs={', '.join(map(str, folders))} holds no run (no results.json in it)")
        tables = survey(runs, config["metrics"], config["seed"], [])
        if config["metrics"] and not tables:
            raise UserError(f"metrics={config['metrics']} are scores of none of the {len(runs)} runs")
        title, subtitle = ", ".join(map(str, folders)), ""
    done = sum(run.status == "done" for run in runs)
    subtitle = (
        f"{subtitle + '. ' if subtitle else ''}{done} of {len(runs)} runs in {', '.join(map(str, folders))} are done."
    )
    tell(tables, pictures, subtitle)
    write(out, title, subtitle, tables, pictures, runs)
    if config["tracker"] != "none":
        log_to(config["tracker"], out, config, tables, pictures)


def read_sweep(sweep: str) -> tuple[dict[str, Any], list[dict[str, Any]], str]:
    """(the `report:` block, the axes' values of every planned job, the file's name) of sweeps/<sweep>.yaml."""
    known = composition.sweeps()
    if sweep not in known:
        raise UserError(f"sweep={sweep} is not a sweep{nearest(sweep, known)}; there are {', '.join(known) or 'none'}")
    found, name = jobs.read(sweep), f"sweeps/{sweep}.yaml"
    if found.report is None:
        raise UserError(f"{name} has no `report:` block, which says what its runs are laid beside")
    return found.report, planned(found), name


def planned(sweep: jobs.Sweep) -> list[dict[str, Any]]:
    """The axes' values of every job of a grid; a search's trials are not known beforehand: []."""
    if sweep.sweeper != "basic":
        return []
    found = jobs.expanded(sweep.axes([]))
    return [{jobs.key_of(axis): yaml.safe_load(jobs.value_of(axis)) for axis in job} for job in found if job]


def departing(runs: list[Any], sweep: str, seed: str) -> list[Any]:
    """The runs with what they were told otherwise than their sweep says; seeds may be added to any."""
    sweeps: dict[str, jobs.Sweep] = {}
    own: dict[tuple[str, str | None], Any] = {}  # (sweep, case): its configuration

    def departures(run: Any) -> tuple[str, ...]:
        name = next((jobs.value_of(o) for o in run.overrides if o.startswith("sweep=")), sweep)
        if name not in sweeps:
            sweeps[name] = jobs.read(name)
        told = [o for o in sweeps[name].departures(run.overrides) if jobs.key_of(o) != seed]
        case = run.get("case")
        if told and (name, case) not in own:
            job = sweeps[name].job([f"case={case}"] if case else [])
            own[name, case] = composed("train", job.arguments) if job.program == "cse-train" else None
        return tuple(o for o in told if own[name, case] is None or differs(run, own[name, case], jobs.key_of(o)))

    return [replace(run, departures=departures(run)) if run.overrides else run for run in runs]


def differs(run: Any, config: Any, key: str) -> bool:
    """Whether the run has another value, or another choice of a group, than the configuration."""
    from omegaconf import OmegaConf

    from cse.report.runs import same

    chosen = config.hydra.runtime.choices.get(key)
    return not same(run.get(key), OmegaConf.select(config, key) if chosen is None else chosen)


def draw(wanted: dict[str, Any], spec: Any, runs: list[Any], out: Path) -> Any:
    """A figure as a file under out/figures, with the paper's claims about it."""
    from cse.report import figures, page

    printed = figures.overlay(wanted, spec.paper)
    claims = printed["claims"] if printed else []
    drawn = figures.draw(wanted, spec, runs)
    if drawn is None:
        return page.Picture(wanted["name"], None, claims, "Not drawn: no finished run has what it shows.")
    path = out / "figures" / f"{wanted['name']}.png"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn.savefig(path, dpi=150)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from error
    return page.Picture(wanted["name"], path, claims)


def tell(tables: list[Any], pictures: list[Any], subtitle: str) -> None:
    from rich.console import Console

    from cse.report import page

    console = Console(width=None if sys.stdout.isatty() else 200)
    page.show(tables, console)
    for picture in pictures:
        console.print(f"{picture.name}: {picture.path or picture.why_not}", style="dim")
    console.print(subtitle, style="dim")


def write(out: Path, title: str, subtitle: str, tables: list[Any], pictures: list[Any], runs: list[Any]) -> None:
    """The four files, each whole or not at all."""
    from cse.files import write_text
    from cse.report import layout, page

    write_text(out / "report.html", page.to_html(title, subtitle, tables, pictures, runs))
    markdown = [f"# {title}\n\n{subtitle}\n", *map(layout.to_markdown, tables)]
    markdown += [f"![{p.name}](figures/{p.path.name})\n" for p in pictures if p.path]
    write_text(out / "report.md", "\n".join(markdown))
    write_text(out / "report.csv", layout.to_csv(tables))
    write_text(out / "report.tex", "\n".join(map(layout.to_latex, tables)))
    print(f"{out / 'report.html'}  (also report.md, report.csv, report.tex)")  # noqa: T201


def log_to(choice: str, out: Path, config: dict[str, Any], tables: list[Any], pictures: list[Any]) -> None:
    """The table and the figures to a tracker, in the group of the sweep's own runs."""
    from hydra import compose as compose_config
    from hydra import initialize_config_dir
    from hydra.utils import instantiate

    from cse.report.layout import grid
    from cse.tracking.trackers import Trackers

    if choice not in choices("tracker"):
        raise UserError(f"tracker={choice} is not a choice: {' '.join(choices('tracker'))}")
    with initialize_config_dir(CONF_DIR, version_base="1.3"):
        chosen = compose_config(f"tracker/{choice}")
    own = {"group": config["sweep"], "name": "report", "job_type": "report"}
    builds = [instantiate(tracker, **(own if name == "wandb" else {})) for name, tracker in chosen.tracker.items()]
    trackers = Trackers(out, config, builds)
    for number, table in enumerate(tables):
        found = grid(table)
        header = [name or f"column {place}" for place, name in enumerate(found.header)]
        trackers.table(f"report/{number}" if number else "report", header, found.lines)
    for picture in pictures:
        if picture.path:
            trackers.image(f"report/{picture.name}", picture.path, 0)
    trackers.finish(0, {})


if __name__ == "__main__":
    main()
