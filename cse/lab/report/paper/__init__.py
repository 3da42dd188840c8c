"""The report of a sweep's runs beside its paper's table and figures: start at `paper_report`."""
