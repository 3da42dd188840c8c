"""What people are shown of one run: the model card, figures, tables of scores. Any order will do.

card           best/'s README.md in the hub's format, and mteb's own results
plots          a run's own figures
score_tables   scores.csv, scores.md and scores.tex, the table on the terminal, and the mark of a score on modified data
"""
