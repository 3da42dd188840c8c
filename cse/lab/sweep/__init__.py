"""Many runs from one line.

Read in this order: engine (all of it), line (what was typed), jobs (a sweep's file), grid (each job's words and name),
start (one start of them), process (one job), search (SMAC's), cluster (SLURM's), reads (what they read).
"""
