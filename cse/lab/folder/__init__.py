"""A run on disk. Read it in this order.

contents       what is in a run's folder, file by file and key by key, as it is on disk
runs           a run read back: its settings, its choices, what it scored; status: done, running, stopped or failed
facts          what a run was made of, by kind; this_machine: what this machine has, and what of a run is another now
events         metrics.jsonl, line by line
heartbeat      the lock of the process that works in the folder; commit: the commit of its code, and versions
jobs_file      jobs.jsonl: what a line of many jobs was to run
"""
