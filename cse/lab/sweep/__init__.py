"""Several runs by one command. How cse-train sweep=PAPER/TABLE seed=1,2 jobs.parallel=2 becomes folders and processes:

1. engine.run_sweep gets the parsed arguments of the command.
2. sweep_command.read_sweep_command makes a SweepCommand: jobs.parallel=2 belongs to the start, and seed=1,2 belongs to
   the jobs. It loads the sweep's YAML (sweeps.py). The folder of all jobs is runs/PAPER/TABLE.
3. engine.make_plan makes a plan (plan.py), here a Grid. Its rows are all combinations of the values of the YAML's axes
   and of seed=1,2 (axes.py). With hydra/sweeper=smac the plan is Searches (search.py). Their axes are ranges, and
   memory.py keeps their points.
4. rows.job_of_row makes a PlannedJob (job.py) of each row. It has the arguments of its case and of the command. Its
   name has a hash of the arguments that decide its numbers. All jobs are checked before any starts (checks.py).
5. engine.place_of chooses the place of the jobs: Machine (machine.py) runs two at a time. With
   hydra/launcher=submitit_slurm it is Cluster (cluster.py; sbatch.py has the requests to SLURM).
6. process.run_job starts a job as a process, in runs/PAPER/TABLE/NAME, unless the job is already done there. Start
   (outcomes.py) keeps and prints each outcome. show.py prints the table at the end, and the plan of a dry run.

reads.py finds the data of a command for cse-data.
"""
