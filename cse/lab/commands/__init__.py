"""cse-train, cse-eval, cse-report, cse-doctor and cse-data: arguments in, messages and an exit code out.

The way of a command, from its arguments to its exit code:

1. Each command has a file with its HELP and its `main`: train, evaluate, report, data, doctor.
2. `main` runs inside exits.exit_on_error: an error becomes a message and an exit code.
3. help.py reads the arguments, or answers --help, --version and a question mark, and exits. help_search.py finds
   the entries for `--help WORD`. old_command.py refuses another trainer's command, and shows the command of cse.
4. The command does its work:
   cse-train, cse-eval    dispatch.py: it shows a configuration (--cfg), runs several jobs, or runs one
   cse-report             report_settings.py checks the settings, and report.py writes the report
   cse-data               data.py lists and fetches; mine.py mines hard negatives
   cse-doctor             doctor.py shows the facts of this machine
"""
