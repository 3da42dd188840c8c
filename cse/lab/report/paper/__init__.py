"""The runs of a sweep beside the table and figures of the sweep's paper: `cse-report sweep=PAPER/TABLE`.

Three steps make the table from a sweep's YAML and its runs:

1. The YAML's `report:` block names a published table. For each row and column, the block says which runs belong to the
   row or column, and which score fills the cells.
2. The finished runs that belong to both the row and the column of a cell are the cell's group. Our number is the mean
   of the group over seeds. Runs with other settings than the sweep's or the paper's are left out. If this would leave
   out all runs, the group keeps all runs, and the verdict is OTHER SETTING.
3. Each cell shows the published number, our number, the difference, and a verdict on the difference. A claim of the
   paper compares two or more of our cells. Each claim has a verdict, too.

Read the files in this order. The number of a file is its step:

    paper_report    the report
    report_block    1: the `report:` block, checked (`ReportBlock`)
    published       1: the papers' own numbers, from published/*.yaml
    sweep_runs      2: the runs of a sweep (`SweepRuns`), and the runs of each cell
    departures      2: the departures of a run from its sweep (planned_settings) and from its paper
    cells           3: a `Cell` and its verdict. paper_table: the cells as a section and as report.csv
    claims          3: a `Claim`, its test and its verdict. claims_table: the claims as a section and as claims.csv
    missing_jobs    the planned jobs of a sweep that have no finished run
    figures         the paper's figures (`Plot`), drawn from the same runs
"""
