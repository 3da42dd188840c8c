"""cse-report: compare runs with a paper's table, or with each other: terminal, Markdown, CSV, LaTeX and HTML."""

import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cse.errors import UserError
from cse.files import make_folder, write_text
from cse.lab.commands.exits import exit_on_error, words_or_help
from cse.lab.settings.dotted import Config, flattened

if TYPE_CHECKING:  # importing numpy and scipy is slow, and --help does not need them
    from collections.abc import Mapping

    from pandas import DataFrame

HELP = """\
cse-report: compare runs with each other, or with what a paper printed.

  cse-report runs=multirun                            any folder of runs: which are done, alive, failed; which is best
  cse-report runs='multirun/x/*seed_1*'               a part of it, by a quoted glob
  cse-report runs=multirun where=seed=1,2,model=bert  the runs that have these settings: either seed, and this model
  cse-report runs=[A,B] metrics=[test/sts/*]          several folders, and the scores that the table shows
  cse-report runs=[RUNS,EVALS]                        runs, with the scores of later cse-evals of them
  cse-report runs=FOLDER baseline=objective=simcse    each setting's difference to that one, instead of to the best
  cse-report runs=[A,B] gate=0.5                      exits with 1 unless A is shown to be 0.5 better than B
  cse-report runs=FOLDER within=0.5                   whether they differ by less than 0.5, too
  cse-report differ=[RUN,RUN]                         what differs between two runs: settings, data, versions
  cse-report sweep=whitenedcse/table4                 the paper's table beside `cse-train sweep=whitenedcse/table4`
  cse-report sweep=nonling/table1 runs=FOLDER         the same, from runs in another folder

Reads       results.json of every run at or below the folder; runs nothing
Writes      into out=FOLDER (reports/FOLDER, reports/A+B, reports/PAPER/TABLE by default; with where=, a folder of
            its own), each page one file:
            runs=   report.html (sorts, filters, charts), runs.csv (every run, every score), settings.csv
                    (means), differences.csv, report.md, report.tex
            sweep=  report.html (figures inside), report.md, report.csv (unrounded), report.tex, figures/*.{png,svg},
                    claims.csv (the paper's claims about the table, and what the runs say)
Compares    seed=KEY: the key in which repetitions differ (seed)
            confidence=0.95  tolerance=0.1 (points that pass)
Exit codes: 0 done (even if runs are missing: the report says which), 1 gate= is not passed or the report could not be
written, 2 a mistake.
"""


def main() -> None:
    """The console script. Exit codes: 0 done, 1 a full disk, 2 the user's mistake."""
    with exit_on_error():
        words = words_or_help(HELP)
        from cse.lab.commands.report_settings import settings

        report(settings(words))


def report(config: Config) -> None:
    """Read the runs, compare them, and print and write the report."""
    from cse.lab.report.chosen import places

    folders = [Path(folder) for folder in config["differ"] or config["runs"]]
    out = Path(config["out"] or f"reports/{config['sweep'] or name_of(folders, config['where'])}")
    if config["differ"]:
        of_two(folders, out)
    elif config["sweep"]:
        of_sweep([place for folder in folders for place in places(folder)], out, config)
    else:
        of_folders(folders, out, config)


def name_of(folders: list[Path], where: str | None) -> str:
    """A report's name: the shortest ends of the folders' paths that tell them apart, joined: A+B. That of a part of
    the runs goes on as a run's folder is named: A+B-lr_1e-5-0a1b2c3d."""
    from cse.lab.report.chosen import named_settings
    from cse.lab.report.frame import short_names
    from cse.lab.settings.words import recorded_words
    from cse.lab.sweep.grid import short_name

    names = short_names([str(folder.resolve()) for folder in folders], os.sep).values()
    plain = (re.sub(r"[*?]", "", name).strip(os.sep).replace(os.sep, "_") for name in names)
    name = "+".join(plain)[:200]  # a name may have 255
    if not where:
        return name
    words = [f"{key}={','.join(values)}" for key, values in named_settings(where).items()]
    return short_name(recorded_words(words), [name, *words], first=name)


def of_two(folders: list[Path], out: Path) -> None:
    """Show what differs between two runs, and write it as Markdown and CSV."""
    from cse.lab.folder.runs import newest_run, read_run
    from cse.lab.report import terminal
    from cse.lab.report.differ import what_differs
    from cse.lab.sections import Section, markdown

    for folder in folders:
        if not (folder / "results.json").is_file():
            raise UserError(f"differ: {folder} is no run's folder (no results.json in it){newest_run(folder)}")
    if folders[0].resolve() == folders[1].resolve():
        raise UserError(f"differ={folders[0]},{folders[1]}: name two runs")
    found, notes = what_differs([read_run(folder) for folder in folders])
    section = Section(" and ".join(map(str, folders)), found, notes=notes)
    write(out, {"differ.md": markdown("What differs", [section]), "differ.csv": found})
    headings = "\n".join(f"{name}: {folder}" for name, folder in zip("AB", folders, strict=True))
    short = found.set_axis(["kind", "what", "A", "B"], axis=1)
    terminal.show(replace(section, title=headings, table=short), terminal.console())


def of_sweep(folders: list[Path], out: Path, config: Config) -> None:
    """Show and write a sweep's runs beside its paper's table."""
    from cse.lab.report import findings, page, paper, terminal
    from cse.lab.sections import latex, markdown

    result = paper.of_sweep(config, folders, out)
    drawn = {picture.name: picture.path for picture in result.pictures if picture.path}
    sections = result.sections + ([findings.section(result.claims)] if len(result.claims) else [])
    links = "".join(f"\n![{name}](figures/{path.name})\n" for name, path in drawn.items())
    files = {
        "report.html": page.sweep_page(result),
        "report.md": markdown(f"{result.title}\n\n{result.subtitle}", sections) + links,
        "report.csv": result.sections[0].frame if result.printed else None,
        "claims.csv": result.claims,
        "report.tex": latex(result.sections),
    }
    console = terminal.console()
    for section in result.sections:
        terminal.show(section, console)
    terminal.show_claims(result.claims, console)
    for picture in result.pictures:
        console.print(f"{picture.name}: {picture.path or page.NOT_DRAWN}", style="dim")
    console.print(result.subtitle, style="dim")
    write(out, files)


def of_folders(folders: list[Path], out: Path, config: Config) -> None:
    """Show and write any runs beside each other: the status of each, and a row for each setting.

    Runs with smoke=true have a table of their own if there are others.
    """
    import pandas as pd

    from cse.lab.folder.plan import jobs_without_run
    from cse.lab.folder.runs import read_runs
    from cse.lab.report import differences, page, terminal
    from cse.lab.report.chosen import above, having, places, with_evaluations, with_origin
    from cse.lab.report.comparison import compare_runs
    from cse.lab.report.frame import runs_frame
    from cse.lab.report.gate import gate
    from cse.lab.report.group import listed
    from cse.lab.sections import latex, markdown

    named = {str(folder): places(folder) for folder in folders}
    searched = [place for of in named.values() for place in of]
    runs = with_evaluations(with_origin(read_runs(searched), named))
    folders = list(dict.fromkeys(map(above, folders)))
    jobs = with_origin(jobs_without_run(searched), named)
    if config["where"] and (runs or jobs):
        chosen = having([*runs, *jobs], config["where"], config["seed"])
        runs, jobs = ([run for run in of if run in chosen] for of in (runs, jobs))
    if not runs:
        runs, jobs = jobs, []
    if not runs:
        raise UserError(f"runs={', '.join(map(str, folders))} holds no run (no results.json in it)")
    if config["seed"] != "seed" and not any(config["seed"] in flattened(run.config) for run in runs):
        raise UserError(f"seed={config['seed']}: none of the {len(runs)} runs has such a key")
    small = [run for run in runs if run.is_smoke]
    real = [run for run in runs if not run.is_smoke]
    comparison = compare_runs(real or small, folders, config["metrics"], config["seed"])
    comparison = replace(comparison, part=config["where"] is not None, jobs=jobs)
    smoke = compare_runs(small, folders, config["metrics"], config["seed"]) if real and small else None
    if config["metrics"] and not comparison.chosen:
        have = listed(sorted({name for run in runs for name in run.scored})) or "none"
        raise UserError(f"metrics={config['metrics']} are scores of none of the {len(runs)} runs, which have {have}")
    baseline, confidence, least = (config[key] for key in ("baseline", "confidence", "gate"))
    passed, gated = True, dict[frozenset[int], str]()
    if least is not None:
        first = next(iter(named.values())) if len(named) > 1 else []
        passed, gated = gate(comparison, least, baseline, confidence, first)
    label = f"{out.name}-differences"
    gaps, doubt = differences.differences(comparison, baseline, confidence, config["within"], label, gated)
    others = [*([gaps] if gaps else []), *([smoke.unranked()] if smoke else [])]
    sections = [comparison.section(out.name), *others]
    files = {
        "report.html": page.runs_page(comparison, others, doubt),
        "runs.csv": pd.concat([*(one.runs for one in (comparison, smoke) if one), runs_frame(jobs, [], [])]),
        "settings.csv": sections[0].frame,
        "differences.csv": gaps.frame if gaps else None,
        "report.md": markdown(comparison.title, sections),
        "report.tex": latex(sections),
    }
    terminal.show_comparison(comparison, sections, terminal.console(), doubt)
    write(out, files)
    if gated:
        verdict = "passed" if passed else "not passed"
        print(f"gate={least:g}: {verdict}, by {comparison.compared_by}", *gated.values(), sep="\n  ")
        sys.exit(not passed)


def write(out: Path, files: "Mapping[str, str | DataFrame | None]") -> None:
    """Write the files, tables as CSV, and print their names; None: remove an earlier report's file of this name.

    Raises UserError if `out` is not usable.
    """
    make_folder(out, "out")
    for name, content in files.items():
        if content is None:
            (out / name).unlink(missing_ok=True)
        else:
            write_text(out / name, content if isinstance(content, str) else content.to_csv(index=False))
    first, *others = (name for name, content in files.items() if content is not None)
    print(f"{out / first}  (also {', '.join(others)})")


if __name__ == "__main__":
    main()
