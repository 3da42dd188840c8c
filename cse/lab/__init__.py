"""The laboratory: code that decides no number of a run, except the initial weights (cse.lab.run.build)."""
