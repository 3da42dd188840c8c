"""The command cse-report, which compares runs with a paper's table or with each other: its help and its `main`."""

import os
import re
import sys
from pathlib import Path

from cse.lab.commands.exits import exit_on_error
from cse.lab.commands.help import arguments_or_exit
from cse.lab.settings.groups import CONF_DIR
from cse.lab.settings.lookup import settings_of_file
from cse.lab.settings.values import PlainConfig
from cse.lab.text_columns import say

HELP = """\
cse-report: compare runs with each other, or with a paper's table.

  cse-report multirun                                 any folder of runs: their states, the best setting, differences
  cse-report runs='multirun/x/*seed_1*'               a part of the folder, by a quoted glob
  cse-report runs=multirun where=seed=1,2,model=bert  the runs with these settings: either seed, and this model
  cse-report runs=[A,B] metrics=[test/sts/*]          several folders, and the scores to show
  cse-report runs=[RUNS,EVALS]                        runs, with the scores of later cse-eval commands
  cse-report runs=FOLDER baseline=objective=simcse    differences to that setting, not to the best setting
  cse-report runs=[A,B] gate=0.5                      exit code 1 unless A beats B by significantly more than 0.5
  cse-report runs=FOLDER within=0.5                   also test equivalence within 0.5 (TOST)
  cse-report differ=[RUN,RUN]                         how two runs differ: settings, data, versions
  cse-report sweep=whitenedcse/table4                 the paper's table beside your runs of this sweep
  cse-report sweep=nonling/table1 runs=FOLDER         the paper's table beside the runs in this folder
  cse-report --help WORD                              what this page says about a word, and the settings of that name

Reads
  results.json of every run in the folders and below; cse-report starts no run

Writes, into out=FOLDER (default: reports/FOLDER, reports/A+B or reports/PAPER/TABLE; other settings follow the name)
  report.html                   one page: tables to sort and filter, charts, figures
  report.md, report.tex         the tables; with runs=, also the figures
  *.tex, figures/*.tex          a table or a figure each, such as settings.tex; report.tex reads them
  runs.csv                      every run, every score (runs=)
  settings.csv                  every setting, the mean of every score (runs=)
  differences.csv               differences, intervals and p (runs=)
  report.csv                    the table, unrounded (sweep=)
  claims.csv                    the paper's claims, with our verdicts (sweep=)
  figures/*.png, *.svg, *.pdf   scores, heat map and curves for a paper (runs=); the paper's figures (sweep=)

Settings
  seed=KEY                      the key that differs between repetitions (default: seed)
  confidence=0.95               the level of the intervals
  tolerance=0.1                 with sweep=, PASS allows this difference to the published number

Exit codes
  0    done, even if runs are missing: the report lists them
  1    the gate is not passed, or the report cannot be written
  2    a mistake in the command
"""


def main() -> None:
    """Run cse-report. Exit codes: 0 done; 1 the gate is not passed, or the disk is full; 2 the user's mistake."""
    with exit_on_error():
        arguments = arguments_or_exit(HELP, settings=settings_of_file(Path(CONF_DIR, "reporting.yaml"), "", ""))
        from cse.lab.commands.report_settings import reporting_settings

        make_report(reporting_settings(arguments))


def make_report(config: PlainConfig) -> None:
    """Make the report of these settings, print it and write it. The process exits with 1 if the gate is not passed."""
    folders = [Path(folder) for folder in config["differ"] or config["runs"]]
    out = report_folder(config, folders)
    if config["differ"]:
        show_two(folders, out)
        return
    from cse.lab.report.any_runs.runs_report import report_of_runs
    from cse.lab.report.any_runs.which_runs import places
    from cse.lab.report.paper.paper_report import report_of_sweep
    from cse.lab.report.show.terminal import open_console, show_report
    from cse.lab.report.show.write import write_report
    from cse.lab.sections import short_label

    if config["sweep"]:
        report = report_of_sweep(config, [place for folder in folders for place in places(folder)])
    else:
        report = report_of_runs(config, folders, short_label(out.name))
    show_report(report, out, open_console())
    say(write_report(report, out))
    if report.gate:
        say("\n  ".join(report.gate))
    if not report.is_passed:
        sys.exit(1)


def report_folder(config: PlainConfig, folders: list[Path]) -> Path:
    """Return the folder of a report: `out=`, else reports/NAME.

    NAME is PAPER/TABLE or `name_of`. Other settings that are not the defaults follow, as in the name of a run's folder:
    reports/A+B-lr_1e-5-0a1b2c3d for where=lr=1e-5. So a report with baseline= replaces no report without it.
    """
    if config["out"]:
        return Path(config["out"])
    from cse.lab.commands.report_settings import changed_settings
    from cse.lab.report.any_runs.typed_names import named_settings
    from cse.lab.settings.arguments import recorded_arguments
    from cse.lab.sweep.rows import folder_name

    name = Path("reports", config["sweep"] or name_of(folders))
    named = ("sweep", "out", "differ", "where", *([] if config["sweep"] else ["runs"]))
    arguments = [f"{key}={','.join(values)}" for key, values in named_settings(config["where"] or "").items()]
    arguments += [f"{key}={value}" for key, value in changed_settings(config).items() if key not in named]
    if not arguments:
        return name
    return name.with_name(folder_name(recorded_arguments(arguments), [name.name, *arguments], first=name.name))


def name_of(folders: list[Path]) -> str:
    """Return the name of a report on these folders, such as A+B.

    A and B are the last parts of the folders' paths: as many parts as A and B need to differ. The name has no * and
    no ?. An underscore replaces a sign that LaTeX does not accept in the path of report.tex.
    """
    from cse.lab.report.any_runs.names import short_names

    paths = [str(Path(re.sub(r"[*?]", "", str(folder.resolve())))) for folder in folders]
    ends = short_names(paths, os.sep).values()
    joined = "+".join(re.sub(r'[/"$\x00-\x1f]', "_", end.strip(os.sep)) for end in ends)
    return joined.encode()[:200].decode(errors="ignore")  # a name may have 255 bytes


def show_two(folders: list[Path], out: Path) -> None:
    """Print the differences between two runs, and write them as Markdown and CSV."""
    from cse.lab.report.show.terminal import open_console, show_section
    from cse.lab.report.show.write import write_files
    from cse.lab.report.two_runs import section_of_two
    from cse.lab.sections import markdown

    section = section_of_two(folders)
    frame = section.table.set_axis(["kind", "what", *map(str, folders)], axis=1)
    say(write_files(out, {"differ.md": markdown("What differs", "", [section]), "differ.csv": frame}))
    show_section(section, open_console())


if __name__ == "__main__":
    main()
