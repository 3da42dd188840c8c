"""The numbers of both reports: runs that make one number, how two of these compare, and what to know of them."""
