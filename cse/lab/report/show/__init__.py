"""Showing a report. Order of reading:

document    a `Report` as data
look        its colours, signs and verdicts
terminal    it on the terminal, in short
write       its files: the page, Markdown, LaTeX, CSV and figures
"""
