"""The two ways a run ends early. A user's mistake is one sentence and exit code 2; a failed run is exit code 1."""


class UserError(Exception):
    """Bad input: what is wrong, where (file, line, key) and what to do, in one sentence. Exit code 2."""


class MissingResource(UserError):
    """Weights or data that cannot be had: names the thing, where it was looked for, and what works here instead."""


class RunError(Exception):
    """A run that started well and cannot go on (NaN, collapse, a full disk). Exit code 1."""
