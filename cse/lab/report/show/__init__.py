"""The output of a report. Read the files in this order:

document    a `Report` as data
look        the colours and signs of a report
terminal    a short report on the terminal
write       the files of a report: the page, Markdown, LaTeX, CSV and figures
"""
