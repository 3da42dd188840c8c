"""Reports of runs, made from their files.

A report is a list of sections (cse.lab.sections): tables with notes. A report is shown on the terminal and written as
Markdown, LaTeX, CSV and an HTML page.

Three reports, each with the file to start at:

any_runs.runs_report    any runs compared
paper.paper_report      a sweep's runs beside its paper's table
two_runs                what differs between two runs

What they share:

numbers     the numbers by which reports compare, and their tests
show        how a report is shown
formats     numbers and names as text
verdicts    the words on cells and claims, and what they mean

The docstring of each folder gives the order of reading. Words that several folders use:

key         the dotted name of a setting of a run (trainer.lr); its value is what the run has there
seed        the number of a run for chance, at the key that `seed=` names (seed_key)
departure   a key and value of a run that its sweep or its paper has otherwise
published   what the paper says, as published/*.yaml has it
verdict     one word on a cell or a claim
tied        of a row or setting: p shows no difference from the best. Without a test (one seed) a setting has no
            verdict; a row of a paper's table is then tied unless seeds vary too little to explain the difference
equivalent  of two settings: p shows that they differ by less than a margin
unlike      runs of other code, training files or scoring, which should not be joined in one number
modified    a score on incomplete or modified data (allow_partial); files say partial
note        a line below a whole table; remark: a note on one row; legend: what the signs mean
"""
