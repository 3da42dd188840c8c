"""Reports of runs, made from their files: any runs compared, a sweep's runs beside its paper's table, or two runs.

A report is a list of sections (cse.lab.sections), tables with notes. They go to the terminal, and into Markdown, LaTeX,
CSV and an HTML page. To read, each line before the files that it needs:

any_runs/           any runs compared
  runs_report         the report
  which_runs          the runs that a user asks for; evaluations: the scores of later cse-evals join their runs
  comparison          runs that differ in their seed alone are a `Setting`; which setting is best
    scores              which scores tables show, which one ranks, which one leads
    trials              which runs a search made, and when they count
    names               how tables name settings and folders, and how a user types them
  gate                whether a setting is shown to be better by so much
  differences         how far settings are apart (differences.csv)
  settings_table      a row for each setting (settings.csv), and what to know of its runs
  runs_table          a row for each run (runs.csv); commands: that repeat a run, or train more seeds
  charts              by plotly
paper/              a sweep's runs beside its paper's table
  paper_report        the report
  report_block        the `report:` block of a sweep's YAML; published: the papers' own numbers
  sweep_runs          the sweep's runs, and which of them fill each cell; missing_jobs: planned jobs without a run
  departures          what a run has otherwise than its sweep or its paper
  cells               a `Cell` of the paper's table, and its verdict; paper_table: the table as a section (report.csv)
  claims              what the runs say of a paper's claims; claims_table: the claims as a section (claims.csv)
  figures             the papers' figures, by matplotlib
two_runs            what differs between two runs
numbers/            by what reports compare
  groups              runs that make one number, and how two groups compare
  statistics          what a few seeds can tell; resampling: what test items can, of encoders without seeds
  keys_that_differ    in which settings runs differ; unlike: in what else they may not, if one number joins them
  notes               what several reports say beside their numbers
show/               how a report is shown (sections as text and LaTeX: cse.lab.sections)
  document            a `Report` as data
  write               its files, with the HTML page; terminal: in short
  look                colours, type and signs
formats             numbers and names as text
verdicts            the words on cells and claims, and what they mean

Words that several files use:

key         the dotted name of a setting of a run (trainer.lr); its value is what the run has there
seed        the number of a run for chance, at the key that `seed=` names
included    a run of a setting whose scores count; a search's trial may be left out
departure   a key and value of a run that its sweep or its paper has otherwise
published   what the paper says, as published/*.yaml has it
verdict     one word on a cell or a claim (verdicts)
tied        of a row or setting: p shows no difference from the best
equivalent  of two settings: p shows that they differ by less than a margin
unlike      runs of other code, training files or scoring, which should not be joined in one number
modified    a score on incomplete or modified data (allow_partial); files say partial
note        a line below a whole table; remark: a note on one row; legend: what the signs mean
"""
