"""The laboratory: code that changes no number of an experiment, except by the initial weights (cse.lab.run.build)."""
