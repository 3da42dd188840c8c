"""cse-train, cse-eval, cse-report, cse-doctor and cse-data: words in, a sentence and an exit code out.

Read in this order.
train       its text of --help, and main: one line, one experiment; evaluate: the same for scores
line        what their lines are: help, --cfg, several jobs, or the words of one job, for cse.lab.run.start
help        how each command begins: what --help and question marks ask for; exits: how each ends; streams: its output
report      cse-report, with its settings in report_settings; data and doctor: the commands that train nothing
pages       writes the documents' pages of choices, settings and other trainers' arguments
"""
