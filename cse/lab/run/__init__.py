"""One run: how `cse-train objective=barlow model.name=FOLDER trainer.devices=2` becomes a folder with results.json.

1. start.start_training gets the arguments, and from_arguments.py composes the settings. With resume=FOLDER or
   rerun=FOLDER, resume.py reads the settings from that folder, and code_in_settings.py refuses code that only that
   folder names. needs.py refuses an encoder or a file that does not exist. Each value is checked.
2. refusals.py refuses a folder that cannot be used, and settings that contradict each other.
   from_arguments.cfg_of_new_run adds notes on the recipes, and smoke.py makes a smoke test small. The result is a Job
   (job.py).
3. launch.run_in_processes starts two processes, or joins the processes of torchrun or SLURM (slurm.py). Each process
   calls train.run, which has the steps 4 to 6. this_process.py silences libraries, and run_log.py has the run's log.
4. build.build makes the parts. instantiate.py makes any part, texts.py pairs the texts with their objectives, and
   evaluators.py makes the evaluators. compatible.py refuses parts that do not fit together.
5. unchanged.py compares the inputs of a resumed or repeated run with the earlier inputs. announce.py logs the run's
   plan. With dry_run=true or data.preview=N, dry_run.py logs more, and the run ends before it writes a file.
6. train.take_folder makes the folder, and record.begin_folder writes the first files. A Record writes results.json and
   feeds trackers. commit.py finds the commit. best.py saves best/ during training, and scores best/ at the end.

cse-eval has evaluation.py instead of steps 3 to 6. planned_steps.py computes the number of steps of a planned run.

In names, `config` is a DictConfig with the node `hydra`, `cfg` is a DictConfig without this node, and `plain` is a cfg
as a dictionary (PlainConfig).
"""
