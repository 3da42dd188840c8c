"""Several runs by one command. How cse-train sweep=PAPER/TABLE seed=1,2 jobs.parallel=2 becomes folders and processes:

1. engine.run_sweep gets the parsed arguments of the command.
2. sweep_command.read_sweep_command makes a SweepCommand of it: jobs.parallel=2 belongs to the start, seed=1,2 to the
   jobs. It loads the sweep's YAML (sweeps.py). The folder of all jobs is runs/PAPER/TABLE.
3. engine.make_plan makes a plan (plan.py): a Grid, whose rows are every combination of the values of the YAML's axes
   and of seed=1,2 (axes.py). With hydra/sweeper=smac the plan is Searches (search.py), whose axes are ranges, and whose
   points are remembered in memory.py.
4. rows.job_of_row makes a PlannedJob (job.py) of each row: the arguments of its case and of the command, and its name,
   with a hash of the arguments that decide its numbers. All jobs are checked before any starts (checks.py).
5. engine.place_of says where the jobs run: Machine (machine.py), two at a time; with hydra/launcher=submitit_slurm
   Cluster (cluster.py; sbatch.py has what it asks of SLURM).
6. process.run_job starts a job as a process, in runs/PAPER/TABLE/NAME, unless it is done there. Start (outcomes.py)
   keeps and prints each outcome. show.py prints the table at the end, and the plan of a dry run.

reads.py says for cse-data what a command reads.
"""
