"""The report of any runs beside each other: start at `runs_report`."""
