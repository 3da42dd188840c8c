"""Reports of runs, which only read files: runs beside each other, and a sweep's runs beside its paper's table.

A report is a list of sections, each a table with notes, that one writer puts on the terminal, into Markdown, LaTeX, CSV
and a page. To read, from top to bottom:

runs_report   the report of any runs; paper_report: of a sweep. Both end in a `Report`, which write.py writes
which_runs    the runs that are asked for; departures: which of a sweep's runs are another experiment
frame         a row a run: its settings, scores and the command that repeats it; keys_that_differ: in which settings
              runs differ, and which of these tell the settings of a table apart
compare       runs that differ in their seed alone are a `Setting`; which one is best
trials        which runs of a search count
differences   how far settings are apart; gate: whether one is shown to be better by so much
cells         a `Cell` of the paper's table, its verdict; claims: what the runs say of a paper's claims
spec          the `report:` block of a sweep; published: the papers' own numbers
groups        runs that make one number, and how two groups compare; statistics: of what a few seeds can tell
notes         what a reader must know with the numbers; signs: numbers as text, marks and verdicts
charts        of runs, by plotly; figures: the papers', by matplotlib

The words, each for one thing:

key         of a setting, dotted (trainer.lr); its value is what a run has there
run         one training or evaluation, done or not; a planned job is one that has told nothing
seed        a run's number for chance, at the key that `seed=` names; a copy, or a run made again, is no further seed
Setting     runs that differ in their seed alone
score       a measured number by name (test/sts/average); leading: the one that differences are of
Group       the runs behind one number, with a value for each seed
cell        a number of the paper and ours, at a row and column of its table
published   what the paper prints, as published/*.yaml has it
departure   a setting of a run that its sweep or its paper has otherwise
claim       a sentence of the paper about its numbers, which the runs bear out or not
verdict     one word on a cell or a claim; tied: not told apart, so neither has won
altered     on incomplete or other data than was asked for (allow_partial)
"""
