"""The commands cse-train, cse-eval, cse-report, cse-doctor and cse-data, which take arguments and return an exit code.

The steps of a command, from its arguments to its exit code:

1. Each command has a file with its HELP and its `main`: train, evaluate, report, data, doctor.
2. `main` runs inside exits.exit_on_error: an error becomes a message and an exit code.
3. help.py reads the arguments. If they contain --help, --version or a question mark, help.py prints the answer, and the
   command exits. help_search.py finds the settings and choices for `--help WORD`. old_command.py refuses a command with
   another trainer's flags, and shows the command of cse that does the same.
4. The command does its work:
   cse-train, cse-eval    dispatch.py shows a configuration (--cfg), runs several jobs, or runs one job
   cse-report             report_settings.py checks the settings, and report.py writes the report
   cse-data               data.py lists and fetches; mine.py mines hard negatives
   cse-doctor             doctor.py shows the facts of this machine
"""
