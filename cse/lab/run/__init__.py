"""One run. How cse-train objective=barlow model.name=FOLDER trainer.devices=2 becomes a folder with results.json:

1. start.start_training gets the arguments. from_arguments.py composes them, or with resume=FOLDER or rerun=FOLDER,
   resume.py takes the settings of that run, and code_in_settings.py refuses code that the folder alone names. needs.py
   refuses an encoder or a file that is not there, and each value is checked.
2. refusals.py refuses a folder that cannot be used, and settings that contradict each other.
   from_arguments.cfg_of_new_run adds notes on the recipes, and smoke.py makes a smoke test small. The result is a Job
   (job.py).
3. launch.run_in_processes starts two processes, or joins the processes of torchrun or SLURM (slurm.py). Each calls
   train.run, phase by phase. this_process.py silences libraries, and run_log.py has the run's log.
4. build.build makes the parts: one part in instantiate.py, the texts with their objectives in texts.py, the evaluators
   in evaluators.py. compatible.py refuses parts that do not fit together.
5. unchanged.py compares what a resumed or repeated run reads with what it read before. announce.py logs what the run
   will do; for dry_run=true and data.preview=N, dry_run.py logs more, and the run ends. Nothing is written yet.
6. record.begin_folder makes the folder, and a Record keeps results.json and the trackers; commit.py names the code.
   best.py saves best/ on the way, and scores it at the end.

cse-eval has evaluation.py instead of steps 3 to 6. planned_steps.py tells a plan how many steps a run will make.

A config is a DictConfig with Hydra's node in it, a cfg is a DictConfig without it, and plain is a cfg as a dictionary
(the type PlainConfig).
"""
