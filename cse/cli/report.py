"""cse-report: a paper's table and figures beside our runs, on the terminal and as Markdown, CSV, LaTeX and HTML."""

import math
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from omegaconf import DictConfig

from cse.cli import compose, streams
from cse.dotted import Config
from cse.errors import RunError, UserError
from cse.run.composition import composed, nearest
from cse.run.groups import CONF_DIR, choices
from cse.sweep import jobs

if TYPE_CHECKING:  # numpy and scipy are imported when there is work: --help answers at once
    from cse.report.page import Picture, Report
    from cse.report.plot import Plot
    from cse.report.runs import Run
    from cse.report.spec import Spec

HELP = """\
cse-report: what a paper printed, what our runs gave, and what may be said of the difference.

  cse-report sweep=whitenedcse/table4                 the runs of `cse-train sweep=whitenedcse/table4`, finished or not
  cse-report sweep=nonling/table1 runs=FOLDER         the same from runs that lie elsewhere; runs=[A,B] takes several
  cse-report runs=FOLDER metrics=[test/sts/*]         any runs: a row for each setting, mean and deviation over seeds

Reads       results.json of every run at or below the folder; runs nothing
Shows       score=dev/stsb/spearman: a sweep's table, figures and claims with this score instead of the paper's
Writes      report.html (one file, figures inside), report.md, report.csv (unrounded), report.tex, figures/*.png and
            claims.csv (what the paper claims from the table, and what the runs say of it)
            into out=FOLDER (reports/PAPER/TABLE by default)
Compares    confidence=0.95  interval=t|bootstrap  tolerance=0.1 (points that pass)  seed_sd=0.9 (where n is 1)
Logs        tracker=auto|wandb|offline|tensorboard: the table and the figures there too
Exit codes: 0 done (also where runs are missing: the report says which), 1 it could not be written, 2 a mistake.
"""


def main() -> None:
    """The console script. Exit codes: 0 done, 1 a full disk, 2 the user's mistake."""
    streams.outlast()
    if any(argument in ("-h", "--help") for argument in sys.argv[1:]):
        print(HELP)  # noqa: T201
        return
    try:
        report(settings(sys.argv[1:]))
    except UserError as error:
        sys.exit(compose.complain(str(error), 2))
    except RunError as error:
        sys.exit(compose.complain(str(error), 1))


def settings(arguments: list[str]) -> Config:
    """conf/reporting.yaml with the command line's values; Hydra's grammar would refuse the = in names of folders."""
    config = yaml.safe_load((Path(CONF_DIR) / "reporting.yaml").read_text(encoding="utf-8"))
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
    check(config)
    return config


def check(config: Config) -> None:
    """Raise UserError for settings that no report can have."""
    if not config["sweep"] and not config["runs"]:
        raise UserError("nothing to report: say sweep=PAPER/TABLE or runs=FOLDER (cse-report --help)")
    if not isinstance(config["confidence"], (int, float)) or not 0 < config["confidence"] < 1:
        raise UserError(f"confidence={config['confidence']} must be a number between 0 and 1")
    for key in ("tolerance", "seed_sd"):
        if not isinstance(config[key], (int, float)) or not 0 <= config[key] < math.inf:
            raise UserError(f"{key}={config[key]} must be a number of at least 0")
    if config["interval"] not in ("t", "bootstrap"):
        raise UserError(f"interval={config['interval']} must be t or bootstrap")


def report(config: Config) -> None:
    """Read the runs, compare them, draw, print and write."""
    folders = [Path(folder) for folder in config["runs"]]
    out = Path(config["out"] or f"reports/{config['sweep'] or folders[0].resolve().name}")
    result = of_sweep(config, folders, out) if config["sweep"] else of_folders(config, folders)
    tell(result)
    write(result, out)
    if config["tracker"] != "none":
        log_to(config["tracker"], result, out, config)


def of_sweep(config: Config, folders: list[Path], out: Path) -> "Report":
    """A sweep's runs beside the paper's table, or surveyed if its report names none, and its figures."""
    from cse.report import published
    from cse.report.claims import parse as parse_claims
    from cse.report.page import Report
    from cse.report.spec import parse, scored_by
    from cse.report.statistics import Intervals
    from cse.report.survey import survey
    from cse.report.table import build
    from cse.report.verdicts import judged

    block, expected, where = read_sweep(config["sweep"])
    printed = published.table(block["paper"], block["table"]) if block.get("table") else None
    spec = parse(block, printed, where, tolerance=config["tolerance"], seed_sd=config["seed_sd"])
    claims = parse_claims(block.get("claims", []), spec, where)
    plots = [plot.showing(config["score"]) for plot in spec.figures]
    folders = folders or [jobs.read(config["sweep"]).place([])]  # where `cse-train sweep=...` puts them
    runs = departing(runs_of_sweep(config, folders), config["sweep"], spec.seed)
    if config["score"]:
        spec = scored_by(spec, config["score"])
        claims = [claim.scored_by(config["score"]) for claim in claims]
        runs = [replace(run, departures=(*run.departures, f"score={config['score']}")) for run in runs]
    if printed:
        tables = [build(spec, printed, runs, expected, Intervals(config["confidence"], config["interval"]))]
    else:
        tables = survey(runs, [metric for plot in plots for metric in plot.metrics], spec.seed, expected)
    paper = published.read(spec.paper)["paper"]
    return Report(
        title=config["sweep"],
        subtitle=f"{paper}. {progress(runs, folders)}",
        tables=tables,
        pictures=[draw(plot, spec, runs, out) for plot in plots],
        runs=runs,
        findings=judged(claims, spec, tables[0] if printed else None, runs, config["confidence"]),
    )


def runs_of_sweep(config: Config, folders: list[Path]) -> list["Run"]:
    """The runs in the folders, but for cases that the sweep lacks: a folder may hold other tables' too.

    A sweep's own folder need not exist yet. Raises UserError where a folder that was named does not exist.
    """
    from cse.report.runs import read_runs

    runs = read_runs(folders) if config["runs"] or folders[0].is_dir() else []
    cases = jobs.read(config["sweep"]).cases
    return [run for run in runs if not cases or run.get("case") in (None, *cases)]


def of_folders(config: Config, folders: list[Path]) -> "Report":
    """Any runs: a row for each setting."""
    from cse.report.page import Report
    from cse.report.runs import read_runs
    from cse.report.survey import survey

    runs = read_runs(folders)
    title = ", ".join(map(str, folders))
    if not runs:
        raise UserError(f"runs={title} holds no run (no results.json in it)")
    tables = survey(runs, config["metrics"], config["seed"], [])
    if config["metrics"] and not tables:
        raise UserError(f"metrics={config['metrics']} are scores of none of the {len(runs)} runs")
    return Report(title, progress(runs, folders), tables, [], runs)


def progress(runs: list["Run"], folders: list[Path]) -> str:
    """How many of the runs are done, in a sentence."""
    done = sum(run.status == "done" for run in runs)
    return f"{done} of {len(runs)} runs in {', '.join(map(str, folders))} are done."


def read_sweep(sweep: str) -> tuple[Config, list[Config], str]:
    """(the `report:` block, the axes' values of every planned job, the file's name) of sweeps/<sweep>.yaml."""
    known = choices("sweep")
    if sweep not in known:
        raise UserError(f"sweep={sweep} is not a sweep{nearest(sweep, known)}; there are {', '.join(known) or 'none'}")
    content, name = jobs.read(sweep), f"sweeps/{sweep}.yaml"
    if content.report is None:
        raise UserError(f"{name} has no `report:` block, which says what its runs are compared with")
    return content.report, planned(content), name


def planned(sweep: jobs.Sweep) -> list[Config]:
    """The axes' values of every job of a grid; a search's trials are not known beforehand: []."""
    if sweep.sweeper != "basic":
        return []
    combinations = jobs.expanded(sweep.axes([]))
    return [{jobs.key_of(axis): yaml.safe_load(jobs.value_of(axis)) for axis in job} for job in combinations if job]


def departing(runs: list["Run"], sweep: str, seed: str) -> list["Run"]:
    """The runs with those of their overrides that contradict their sweep; seeds may be added to any."""
    read, own, known = cache(jobs.read), cache(configuration), choices("sweep")

    def departures(run: "Run") -> tuple[str, ...]:
        name = next((jobs.value_of(o) for o in run.overrides if o.startswith("sweep=")), sweep)
        if name not in known:
            return (f"sweep={name}",)
        overrides = [o for o in read(name).departures(run.overrides) if jobs.key_of(o) != seed]
        case = run.get("case")
        config = own(name, case) if overrides and (case is None or case in read(name).cases) else None
        return tuple(o for o in overrides if config is None or differs(run, config, jobs.key_of(o)))

    return [replace(run, departures=departures(run)) for run in runs]


def configuration(sweep: str, case: str | None) -> DictConfig | None:
    """What the sweep itself says for a case (None: a sweep without cases); None for a case that trains nothing."""
    job = jobs.read(sweep).job([f"case={case}"] if case else [])
    return composed("train", job.arguments) if job.program == "cse-train" else None


def differs(run: "Run", config: DictConfig, key: str) -> bool:
    """Whether the run has another value, or another choice of a group, than the configuration."""
    from omegaconf import OmegaConf

    from cse.report.runs import same

    choice = config.hydra.runtime.choices.get(key)
    return not same(run.get(key), OmegaConf.select(config, key) if choice is None else choice)


def draw(plot: "Plot", spec: "Spec", runs: list["Run"], out: Path) -> "Picture":
    """A figure as a file under out/figures, with the paper's claims about it. Raises RunError if the disk refuses."""
    from cse.files import replaced_file
    from cse.report import figures, page

    printed = figures.overlay(plot, spec.paper)
    claims = printed.claims if printed else []
    figure = figures.draw(plot, spec, runs)
    if figure is None:
        return page.Picture(plot.name, None, claims, "Not drawn: no finished run has what it shows.")
    path = out / "figures" / f"{plot.name}.png"
    with replaced_file(path) as temporary:
        figure.savefig(temporary, dpi=150)
    return page.Picture(plot.name, path, claims)


def tell(result: "Report") -> None:
    """The report on the terminal."""
    from rich.console import Console

    from cse.report import terminal

    console = Console()
    terminal.show(result.tables, console)
    terminal.show_claims(result.findings, console)
    for picture in result.pictures:
        console.print(f"{picture.name}: {picture.path or picture.why_not}", style="dim")
    console.print(result.subtitle, style="dim")


def write(result: "Report", out: Path) -> None:
    """The files, each whole or not at all. Raises RunError where the disk refuses."""
    from cse.files import write_text
    from cse.report import findings, layout, page

    write_text(out / "report.html", page.to_html(result))
    markdown = [f"# {result.title}\n\n{result.subtitle}\n", *map(layout.to_markdown, result.tables)]
    markdown += [findings.to_markdown(result.findings)] if result.findings else []
    markdown += [f"![{picture.name}](figures/{picture.path.name})\n" for picture in result.pictures if picture.path]
    write_text(out / "report.md", "\n".join(markdown))
    write_text(out / "report.csv", layout.to_csv(result.tables))
    write_text(out / "claims.csv", findings.to_csv(result.findings))
    write_text(out / "report.tex", "\n".join(map(layout.to_latex, result.tables)))
    print(f"{out / 'report.html'}  (also report.md, report.csv, claims.csv, report.tex)")  # noqa: T201


def log_to(choice: str, result: "Report", out: Path, config: Config) -> None:
    """The tables and the figures to a tracker, in the group of the sweep's own runs."""
    from hydra import compose as compose_config
    from hydra import initialize_config_dir
    from hydra.utils import instantiate

    from cse.report.layout import grid
    from cse.tracking.trackers import Trackers

    if choice not in choices("tracker"):
        raise UserError(f"tracker={choice} is not a choice: {' '.join(choices('tracker'))}")
    with initialize_config_dir(CONF_DIR, version_base="1.3"):
        group = compose_config(f"tracker/{choice}")
    own = {"group": config["sweep"], "name": "report", "job_type": "report"}
    builds = [instantiate(tracker, **(own if name == "wandb" else {})) for name, tracker in group.tracker.items()]
    trackers = Trackers(out, config, builds)
    for number, table in enumerate(result.tables):
        lines = grid(table)
        header = [name or f"column {place}" for place, name in enumerate(lines.header)]
        trackers.table(f"report/{number}" if number else "report", header, lines.lines)
    for picture in result.pictures:
        if picture.path:
            trackers.image(f"report/{picture.name}", picture.path, 0)
    trackers.finish(0, {})


if __name__ == "__main__":
    main()
