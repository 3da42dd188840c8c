"""Reports of runs, made from the runs' files.

A report is a list of sections (cse.lab.sections): tables with notes. A report is shown on the terminal and written as
Markdown and CSV. The first two of these three reports are also written as LaTeX and an HTML page:

    any_runs.runs_report    any runs compared
    paper.paper_report      a sweep's runs beside its paper's table
    two_runs                the differences between two runs

The reports share these parts:

    numbers     the numbers that reports compare, and their tests
    show        the output of a report
    formats     numbers and names as text
    verdicts    the verdicts on cells and claims, and their meanings

The docstring of each folder gives the order of reading. Several folders use these words:

    key         a dotted name in a run's configuration (trainer.lr)
    setting     in any_runs: the runs that differ only in their seed; elsewhere: the value of a key
    seed        the value of a run at the key that `seed=` names (seed_key). This value decides the random numbers.
    departure   a key whose value in a run differs from the value in the run's sweep or paper
    published   from the paper, as recorded in published/*.yaml
    verdict     the result of a comparison, on a cell or a claim: PASS, HOLDS, ...
    tied        of a row or setting: the test detects no difference from the best. Without a test (one seed), a setting
                has no verdict. A row of a paper's table without a test is tied if seeds alone explain the difference.
    equivalent  of two settings: TOST shows that they differ by less than a margin
    unlike      of runs: different in code, training files or scoring, so a mean over these runs is doubtful
    modified    of a score: measured on incomplete or modified data (allow_partial). In CSV files the word is `partial`.
    note        a line below a whole table
    remark      a note on one row of a table
    legend      the meaning of a table's signs
"""
