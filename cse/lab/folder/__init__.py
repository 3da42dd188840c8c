"""A run on disk. Read the modules in this order.

contents    the files of a run's folder, key by key
events      metrics.jsonl, event by event
heartbeat   heartbeat.json: the lock of the process that works in the folder
status      the state of a run: running, failed, stopped, not started or done
runs        a run that is read from its folder: its settings, its choices, its scores
jobs_file   jobs.jsonl: the jobs that a command planned, and how jobs without a run ended
digests     the digests of this machine's code, files and encoders
facts       the facts that describe a run, by kind
changes     the changes between two runs, or between a run and this machine
"""
