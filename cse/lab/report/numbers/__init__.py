"""The numbers of both reports, and what to know of them. Read it in this order:

groups            the runs behind one number, and how two such groups compare
statistics        intervals, tests and power over seeds
resampling        a test over test items, for encoders without seeds
keys_that_differ  in which keys of their settings runs differ
unlike            in what runs may not differ if one number joins them, and do
notes             what both reports say of this in a line
"""
