"""A sweep's runs beside its paper's table and figures: `cse-report sweep=PAPER/TABLE`.

How a sweep's YAML and its runs become the table:

1. The YAML's `report:` block names a published table. For each row and column it says which runs belong to it, and
   which score fills its cells.
2. The finished runs that belong to both the row and the column of a cell are its group: our number is their mean over
   seeds. Runs with other settings than the sweep's or the paper's are left out. Without other runs, the verdict is
   OTHER SETTING.
3. Each cell shows the published number, ours, the difference, and a verdict on it. A claim of the paper compares two or
   more of our cells, and has a verdict, too.

To read, in this order:

    paper_report    the report
    report_block    1: the `report:` block, checked (`ReportBlock`)
    published       1: the papers' own numbers, from published/*.yaml
    sweep_runs      2: the runs of a sweep (`SweepRuns`), and the runs of each cell
    departures      2: the departures of a run; planned_settings: the settings that its sweep planned for it
    cells           3: a `Cell` and its verdict; paper_table: the cells as a section and as report.csv
    claims          3: a `Claim`, its test and its verdict; claims_table: the claims as a section and as claims.csv
    missing_jobs    the planned jobs of a sweep that have no finished run
    figures         the paper's figures (`Plot`), drawn from the same runs
"""
