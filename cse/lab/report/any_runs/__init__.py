"""The report of any runs: start at `runs_report`, whose functions call the other files in this order.

which_runs (with evaluations), comparison (with scores, trials and names), gate, differences, settings_table, runs_table
(with commands), charts.
"""
