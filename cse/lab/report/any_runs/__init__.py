"""Any runs compared: `cse-report runs=FOLDER`.

Four steps make a report from folders:

1. The report reads the runs in the folders. A run also gets the scores of later cse-evals of its checkpoint best/.
2. Runs that differ only in their seed form a setting. A dev score ranks the settings.
3. Tests compare each setting with the best or a baseline. A gate tests whether a setting is better by a given margin.
4. Tables, CSV files, charts and figures show the results.

Read the files in this order. The number of a file is its step:

    runs_report        the report
    which_runs         1: the runs that a user asks for
    evaluations        1: later cse-evals of these runs
    comparison         2: a `Setting`, a `Comparison`, and which setting is best
    scores             2: which score ranks the settings, and which scores tables show
    trials             2: which runs a search made, and which runs of a setting the comparison includes
    names              2: how tables name settings and folders
    typed_names        2: the same names on the command line
    differences        3: how much settings differ, and which settings are tied
    gate               3: whether a setting is better than others by a given margin
    differences_table  4: a row for each difference, as a section and as differences.csv
    settings_table     4: a row for each setting, as a section and as settings.csv
    runs_table         4: a row for each run, as a section and as runs.csv
    repeat             4: the commands that repeat a run, and that train more seeds of a setting
    charts             4: the charts, by plotly
    curves             4: the curves of numbers that runs logged more than once
    paper_figures      4: figures for a paper, by matplotlib
"""
