"""The numbers of both reports, and what to know of them. Read it in this order:

groups            the runs behind one number, and how two such groups compare
statistics        intervals, tests and power over seeds
resampling        a test over test items, for encoders without seeds
keys_that_differ  in which keys of their settings runs differ
unlike            how the runs of one number are unlike: in code, training data or scoring
notes             the notes and remarks that both reports have below their tables
"""
