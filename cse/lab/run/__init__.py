"""One job: from its settings to a complete folder. Read it in this order.

The way in
    start        the words of one line become a job and run
    from_words   the settings that the words give, checked. smoke: any config made small
    job          the job before its work: its settings, words, folder, and how many steps it makes
From another run, by resume= or rerun=
    resume       load that run's settings, apply the words, refuse code that only that run's folder names
    unchanged    when all is built: compare what is read now with what that run read
From settings to parts
    needs        what a config reads, asked of its parts before anything is read
    instantiate  make one part, and say what is wrong by the keys that the user types; the evaluators of a config
    build        all parts of a training. compatible: refuse those that do not fit together
The work
    train        the phases of a training. evaluation: the phases of a scoring
    announce     what a run says before it starts, or instead of starting
    record       results.json and the trackers. best: the encoder, and all that is left at the end
    commit       the commit of this code and the versions of packages, which a record has
The processes
    launch       one process for each device. startup: what is around a process. slurm: its scheduler
    logs         where lines go
"""
