"""One run. How cse-train objective=barlow model.name=FOLDER trainer.devices=2 becomes a folder with results.json:

1. start.start_training gets the arguments. from_arguments.py composes them. With resume=FOLDER or rerun=FOLDER,
   resume.py takes the settings of that run instead, and code_in_settings.py refuses code that only the folder names.
   needs.py refuses an encoder or a file that does not exist. Each value is checked.
2. refusals.py refuses a folder that cannot be used, and settings that contradict each other.
   from_arguments.cfg_of_new_run adds notes on the recipes, and smoke.py makes a smoke test small. The result is a Job
   (job.py).
3. launch.run_in_processes starts two processes, or joins the processes of torchrun or SLURM (slurm.py). Each calls
   train.run, phase by phase. this_process.py silences libraries, and run_log.py has the run's log.
4. build.build makes the parts. instantiate.py makes one part, texts.py pairs the texts with their objectives, and
   evaluators.py makes the evaluators. compatible.py refuses parts that do not fit together.
5. unchanged.py compares the inputs of a resumed or repeated run with its earlier inputs. announce.py logs what the run
   will do. With dry_run=true or data.preview=N, dry_run.py logs more, and the run ends. Nothing is written yet.
6. record.begin_folder makes the folder, and a Record keeps results.json and the trackers; commit.py names the code.
   best.py saves best/ during training, and scores it at the end.

cse-eval has evaluation.py instead of steps 3 to 6. planned_steps.py gives the number of steps of a planned run.

A config is a DictConfig with Hydra's node in it, a cfg is a DictConfig without it, and plain is a cfg as a dictionary
(the type PlainConfig).
"""
