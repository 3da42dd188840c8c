"""One run. How cse-train objective=barlow model.name=FOLDER trainer.devices=2 becomes a folder with results.json:

1. start.start_training gets the arguments. from_arguments.config_of composes them. needs.check_needs refuses an encoder
   or a file that is not there, before torch is imported. from_arguments.checked_config checks each value.
2. from_arguments.fitted adds notes on the recipes, and smoke.py shrinks the settings for smoke=true. The result is a
   Job (job.py). With resume=FOLDER or rerun=FOLDER, resume.py changes that run's settings instead.
3. launch.run_in_processes starts two processes, or joins the processes of torchrun or SLURM (slurm.py). startup.py
   prepares each process, logs.py keeps its log until the run has a folder. Each calls train.run, phase by phase.
4. build.build makes the parts: one part in instantiate.py, the texts with their objectives in texts.py, the evaluators
   in evaluators.py. compatible.py refuses parts that do not fit together.
5. unchanged.py compares what a resumed or repeated run reads with what it read before. announce.py logs what the run
   will do; for dry_run=true and data.preview=N, dry_run.py logs more, and the run ends. Nothing is written yet.
6. record.begin_folder makes the folder, and a Record keeps results.json and the trackers; commit.py names the code.
   best.py saves best/ on the way, and scores it at the end.

cse-eval has evaluation.py instead of steps 3 to 6.

A DictConfig is called config when it is composed, settings when it is checked, and cfg when a run uses it. The same as
a plain dict is called plain.
"""
