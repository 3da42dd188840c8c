"""The files of one run for people. They may be read in any order.

card           README.md of best/, the model card
hub_metadata   the YAML at the top of the card, for the hub
methods        the names of the methods in their papers, and the works to cite
plots          the run's own figures
score_tables   scores.csv, scores.md and scores.tex, the table on the terminal, and the mark of modified data
"""
