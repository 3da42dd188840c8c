"""Runs beside each other (comparison) and beside a paper's table (paper), as text, CSV, LaTeX and pages."""
