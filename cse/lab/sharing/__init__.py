"""What people are shown of one run. Any order will do.

card           best/'s README.md, the model card
hub_metadata   the YAML at its top, by which the hub shows and finds best/
plots          a run's own figures
score_tables   scores.csv, scores.md and scores.tex, the table on the terminal, and the mark of a score on modified data
"""
