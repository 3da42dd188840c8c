"""The laboratory: the code that decides no number of an experiment except the first weights (cse.lab.run.build)."""
