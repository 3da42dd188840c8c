"""cse-train, cse-eval, cse-report, cse-doctor and cse-data: words in, a sentence and an exit code out.

Read in this order.
train       its text of --help, and one job as its line says; evaluate: the same for scores
line        how both read a line, and do what it asks for: help, --cfg, many jobs, or one
help        how each command begins: what --help and question marks ask for; exits: how each ends; streams: its output
report      cse-report, with its settings in report_settings; data and doctor: the commands that train nothing
"""
