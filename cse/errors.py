"""The two ways a run ends early. A user's mistake is one sentence and exit code 2; a failed run is exit code 1."""


class UserError(Exception):
    """Bad input: what is wrong, where (file, line, key) and what to do, in one sentence. Exit code 2."""


class MissingResource(UserError):
    """Weights or data that cannot be had: names the thing, where it was looked for, and what works here instead."""


class RunError(Exception):
    """A run that started well and cannot go on (NaN, collapse, a full disk). Exit code 1."""


class Interrupted(KeyboardInterrupt):
    """A run that a signal stopped: what goes on, in one sentence. Exit code 128 + the signal's number, as a shell's.

    Like Ctrl-C it is no Exception, so that nothing that forgives errors takes it for one.
    """

    def __init__(self, sentence: str, code: int):
        super().__init__(sentence)
        self.code = code
