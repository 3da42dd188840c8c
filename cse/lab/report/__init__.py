"""Reports of runs, which only read files: runs beside each other, and a sweep's runs beside its paper's table.

A report is a list of sections (cse.lab.sections): tables with notes, which are put on the terminal, into Markdown,
LaTeX, CSV and a page. To read, each line before the files that it needs:

any_runs/           any runs beside each other
  runs_report         the report
  which_runs          the runs that a user asks for, with the scores of later cse-evals; a row a run (runs.csv)
    settings_in_words   settings as tables write them, and as a user names them
    commands            that repeat a run, or train more seeds of a setting
  comparison          runs that differ in their seed alone are a `Setting`; which one is best
    trials              which runs of a search are included
    folder_names        the folders of runs, as tables name them
    score_names         which scores tables show, which one ranks, which one leads
  tables              a line for each setting (settings.csv), and for each run
  differences         how far settings are apart; differences_table: the same as a section (differences.csv)
  gate                whether one setting is shown to be better by so much
  charts              of runs, by plotly
  two_runs            what differs between two runs
paper/              a sweep's runs beside its paper's table
  paper_report        the report
  sweep_runs          the sweep's runs, and the runs of each cell
    spec                the `report:` block of a sweep; published: the papers' own numbers
    departures          what a run has otherwise than its sweep or its paper; sweep_plan finds those from its sweep
  cells               a `Cell` of the paper's table, and its verdict; paper_table: the table as a section (report.csv)
  claims              what the runs say of a paper's claims; claims_table: the claims as a section (claims.csv)
  figures             the papers', by matplotlib
numbers/            what both reports compare by
  groups              runs that make one number, and how two groups compare
  statistics          what a few seeds can tell; resampling: what test items can, of encoders without seeds
  keys_that_differ    in which settings runs differ
  notes               what a reader must know beside the numbers
show/               how a report is shown (sections as text and LaTeX: cse.lab.sections)
  document            a `Report` as data, in which both reports end
  write               its files; page: the HTML; terminal: in short
  look                colours, type, marks and verdicts
formats             numbers and names as text, in all of these

The words, each for one thing:

run         one training or evaluation, done or not; a planned job is one that has told nothing
key         of a run's settings, dotted (trainer.lr); its value is what a run has there
seed        a run's number for chance, at the key that `seed=` names
Setting     runs that differ in their seed alone: a row of a report of runs
held_fixed  what the paper held fixed, as keys and values (`setting:` in a sweep's YAML)
departure   a key and value of a run that its sweep or its paper has otherwise
included    of a setting's runs: those whose scores the analysis uses, as a search's trial may be left out
distinct    a run that is no copy of another: a run made again with the same seed and settings is none
score       a measured number by name (test/sts/average); ScoreNames: the names that a report has to do with
leading     the score of the differences
Measure     the number of a run that a group is made of: a score, or the value of a key
Group       the runs behind one number, with a value for each seed; side: that value as one side of a comparison
Value       a mean over seeds with its deviation, ours or published
cell        a number of the paper and ours, at a row and column of its table
published   what the paper prints, as published/*.yaml has it
claim       a sentence of the paper about its numbers, which the runs bear out or not
verdict     one word on a cell or a claim (look.VERDICTS)
tied        of a row or setting: p shows no difference from the best, so neither has won
equivalent  of two settings: shown to differ by less than a margin
unlike      of runs: of other code, other training files or another scoring, so no one number should join them
modified    of a score: on incomplete or modified data (allow_partial); files say partial
note        a line below a whole table; remark: a note on one row of it; legend: what the signs in it mean
"""
