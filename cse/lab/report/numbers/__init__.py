"""The numbers that reports compare, with their tests and notes. Read the files in this order:

groups            the runs behind one number, and how two such groups are compared
statistics        intervals, tests and power over seeds
resampling        a test over test items, for encoders without seeds
keys_that_differ  the keys in which runs differ
unlike            how the runs behind one number differ in code, training data or scoring
notes             the notes and remarks that several reports have below their tables
"""
