"""A report as data, and how it is shown and written: start at `document`."""
