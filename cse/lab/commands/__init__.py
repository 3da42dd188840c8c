"""cse-train, cse-eval, cse-report, cse-doctor and cse-data: arguments in, messages and an exit code out.

Read in this order.
train            cse-train: its help, and one run as its arguments say
evaluate         cse-eval: the same for scores
dispatch         what a command of these two asks for: help, --cfg, several jobs, or one run
help             how each command begins: its arguments, or the answer to --help and question marks
exits            how each command ends: an error's message, the exit code, and output that nobody reads any more
report           cse-report
report_settings  its settings
data             cse-data: what a command reads, what is missing, and how to fetch it
doctor           cse-doctor: what this machine has
"""
