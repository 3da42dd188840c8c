"""The output of a command: the plan of a dry run, and the outcomes of the jobs at the end of a start."""

import sys
from collections import Counter
from collections.abc import Sequence

from cse.errors import MissingResource, UserError
from cse.lab.folder.status import State
from cse.lab.run.needs import lacking
from cse.lab.settings.arguments import shell_line, texts_of
from cse.lab.settings.groups import config_dirs
from cse.lab.sweep.checks import missing_in_all, needs_of_jobs, steps_or_refusals
from cse.lab.sweep.job import PlannedJob
from cse.lab.sweep.outcomes import Outcome, Start, score_in_words
from cse.lab.sweep.plan import Place, Plan
from cse.lab.sweep.sweep_command import SweepCommand
from cse.lab.sweep.sweeps import asks_for_smoke
from cse.lab.text_columns import say, terminal_width, to_columns
from cse.lab.tracking.wandb_folder import sync_line
from cse.sources.hub import hub_answers

# A dry run


def show_plan(command: SweepCommand, plan: Plan, place: Place) -> int:
    """Print each planned job (for a search, one example) with its number of steps, and the missing data.

    Returns 1 if a job would be refused, else 0. Raises the first refusal if all jobs would be refused."""
    jobs = plan.examples
    steps = steps_or_refusals(jobs)
    refused = [outcome for outcome in steps if isinstance(outcome, UserError)]
    if len(refused) == len(jobs):
        raise refused[0]
    told = [f"refused: {outcome}" if isinstance(outcome, UserError) else outcome for outcome in steps]
    say(to_columns([("job", "steps"), *zip([job.name for job in jobs], told, strict=True)]))
    say(plan.summary)
    print_missing(command, jobs)
    if place.submission:
        say(place.submission)
    if refused:
        say(f"{len(refused)} of {len(jobs)} jobs would be refused before their first step")
    return 1 if refused else 0


def print_missing(command: SweepCommand, jobs: Sequence[PlannedJob]) -> None:
    """Print the names of missing data, and the command that fetches the data. Then print mistakes in existing data."""
    missing, mistakes = lacking(needs_of_jobs(jobs))
    if missing:
        say(not_here(command, missing))
    for mistake in dict.fromkeys(mistakes):
        say(mistake)


def not_here(command: SweepCommand, names: Sequence[str]) -> str:
    """Return a text with the names of missing data, and the command that fetches the data."""
    sweep = [] if command.sweep is None else [command.sweep.argument]
    of_program = ["cse-eval"] if command.program == "cse-eval" else sweep
    fetch = shell_line("cse-data", "fetch", *of_program, *texts_of(command.given))
    return f"not here: {', '.join(names)}; where the hub can be reached, this command fetches them:\n  {fetch}"


def refuse_missing_data(command: SweepCommand, jobs: Sequence[PlannedJob]) -> None:
    """Raise MissingResource if every job lacks data on this machine, and the hub does not answer."""
    if hub_answers():
        return
    missing = missing_in_all(jobs)
    if missing:
        raise MissingResource(f"no job can start, because the hub does not answer; {not_here(command, missing)}")


# The end of a start


def show_outcomes(command: SweepCommand, start: Start, names: Sequence[str]) -> None:
    """Print the outcomes of the jobs with these names, a search's best trial, and the next commands."""
    if asks_for_smoke(command.given):
        say("smoke tests: synthetic data, so scores mean nothing")
    print_table(command.name, [start.outcomes.get(name, Outcome(name, State.NOT_RUN)) for name in names])
    if command.sweeper is not None:
        print_best(list(start.outcomes.values()))
    if sync := sync_line(command.folder, names):
        say(f"this command uploads the offline logs to W&B:\n  {sync}")
    if start.any_done:
        say(f"this command shows all scores of the jobs, and compares the jobs:\n  {report_command(command, start)}")


def print_table(title: str, outcomes: Sequence[Outcome]) -> None:
    """Print a row for each outcome, and how many jobs are done. On a narrow terminal, a job's name has its own line."""
    rows = [("job", "state", "score", "time", "")]
    for outcome in outcomes:
        score = "" if outcome.score is None else score_in_words(outcome.score)
        seconds = f"{outcome.seconds:.0f} s" if outcome.seconds else ""
        rows.append((outcome.job, outcome.state, score, seconds, outcome.detail))
    table, facts = to_columns(rows), to_columns([row[1:] for row in rows]).splitlines()
    is_narrow = sys.stdout.isatty() and terminal_width() < max(len(row[0]) for row in rows) + len(facts[0]) + 4
    say("\n".join(f"{row[0]}\n  {fact}" for row, fact in zip(rows, facts, strict=True)) if is_narrow else table)
    states = Counter(outcome.state for outcome in outcomes)
    done = states[State.DONE] + states[State.DONE_BEFORE]
    named = (State.FAILED, State.KILLED, State.INTERRUPTED, State.RUNNING)
    others = [f"{states[state]} {state}" for state in named if states[state]]
    say(f"{title}: {', '.join([f'{done} of {len(outcomes)} done', *others])}")


def print_best(outcomes: Sequence[Outcome]) -> None:
    """Print the job with the best score. If several jobs have this score, print the first by name, as in a report."""
    best: Outcome | None = None
    for outcome in sorted(outcomes, key=lambda outcome: outcome.job):
        if outcome.score is not None and outcome.score.better_than(best.score if best else None):
            best = outcome
    if best is not None and best.score is not None:
        equal = sum(outcome.score == best.score for outcome in outcomes) - 1
        tied = f", and {equal} more with the same score" if equal else ""
        say(f"best trial: {best.job}, {score_in_words(best.score)}{tied}")


def report_command(command: SweepCommand, start: Start) -> str:
    """Return the command that reports the runs, beside the paper's table if the sweep's report names their scores."""
    scores = {name for run in start.runs_done() for name in run.metrics}
    sweep = command.sweep
    if sweep is None or scores.isdisjoint(sweep.names_in_report):
        return shell_line("cse-report", f"runs={command.folder}")
    elsewhere = [f"runs={command.folder}"] if command.folder != sweep.folder_of_jobs([]) else []
    apart = [f"out=reports/smoke/{sweep.name}"] if asks_for_smoke(command.given) else []
    return shell_line("cse-report", sweep.argument, *elsewhere, *apart, *config_dirs())
