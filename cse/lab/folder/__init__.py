"""A run on disk. Read it in this order.

contents       what is in a run's folder, file by file and key by key, as it is on disk
events         metrics.jsonl, event by event
heartbeat      the lock of the process that works in the folder
status         the state of a run: running, failed, stopped, not started or done
runs           a run read back: its settings, its choices, its scores
jobs_file      jobs.jsonl: the jobs that a command planned
this_machine   the digests of this machine's code, files and encoders
facts          what a run was made of, as facts of several kinds
changes        facts of runs and of this machine, compared: what has changed
"""
