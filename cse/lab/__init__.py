"""The laboratory: all that could be deleted without changing one number of an experiment."""
