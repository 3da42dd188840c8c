"""The files of one run that people read. Read these modules in any order.

card           README.md in best/, the model card
hub_metadata   the YAML at the top of the card, for the hub
methods        the names of the methods in their papers, and the works to cite
plots          the run's own figures
score_tables   scores.csv, scores.md and scores.tex, the table on the terminal, and the mark of modified data
"""
