"""Several runs by one command. Six steps run cse-train sweep=PAPER/TABLE seed=1,2 jobs.parallel=2:

1. engine.run_sweep gets the parsed arguments of the command.
2. sweep_command.read_sweep_command loads the sweep's YAML (sweeps.py) and makes a SweepCommand: jobs.parallel=2 is an
   argument of the start, and seed=1,2 of the jobs. The folder of all jobs is runs/PAPER/TABLE.
3. engine.make_plan makes a plan (plan.py), here a Grid. The rows of the Grid are all combinations of the values of the
   YAML's axes and of seed=1,2 (axes.py). With hydra/sweeper=smac the plan is Searches (search.py). The axes of a search
   are ranges or choices. memory.py stores the points of a search: the values at which the search runs jobs.
4. rows.job_of_row makes a PlannedJob (job.py) of each row, with the arguments of the case and of the command. A job's
   name has a hash of the arguments that decide the job's numbers. checks.py checks all jobs before the first starts.
5. engine.place_of chooses the place of the jobs: Machine (machine.py) runs two jobs at a time. With
   hydra/launcher=submitit_slurm, the place is Cluster (cluster.py; sbatch.py has the requests to SLURM).
6. process.run_job starts a job as a process, in runs/PAPER/TABLE/NAME, unless the job is already done there. Start
   (outcomes.py) stores and prints each outcome. show.py prints the table at the end, and the plan of a dry run.

reads.py finds the data of a command for cse-data.
"""
