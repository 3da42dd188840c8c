"""One job: from its settings to a complete folder. Read it in this order.

start       the way in: the words of one line, checked, become a job and run
job         a job before its work: its settings, its words, its folder; checked without torch; steps: how many
train       the phases of a training; evaluation: those of a scoring
build       from settings to parts, with compatible and teacher; needs: what a line reads, before anything is read
resume      resume= and rerun=: load a run, apply KEY=VALUE; foreign: no code that only the run names; unchanged: its
            inputs are compared
announce    what a run says before it starts, or instead of starting
record      what is written of its start, results.json, the trackers; best: the encoder, and all that is left at the end
launch      one process per device; startup: what is around a process; slurm: its scheduler; logs: where lines go
"""
