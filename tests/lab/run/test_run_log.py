"""The log of a run: kept until the run has a folder, and handed on to another process."""

import logging
import pickle
from logging.handlers import MemoryHandler

from cse.lab.run.run_log import begin_log_files, logging_to, take_lines


def test_a_log_file_is_continued_by_another_process(tmp_path):
    """It has the lines from before there was a folder, once and in order. Then come the lines of both processes."""
    with logging_to(tmp_path / "train.log"):
        logging.error("from %s", tmp_path)
        handed = pickle.loads(pickle.dumps(take_lines()))
        logging.error("after it")
        with logging_to(tmp_path / "train.log", handed):
            logging.error("step 1")
            begin_log_files()
        begin_log_files()
    lines = [line.rpartition("]")[2] for line in (tmp_path / "train.log").read_text().splitlines()]
    assert lines == [f" from {tmp_path}", " step 1", " after it"]


def test_the_lines_of_every_log_file_are_handed_on(tmp_path):
    """A program of the user's may keep lines of its own in the same way."""
    with logging_to(tmp_path / "train.log"):
        logging.error("from cse")
        logging.getLogger().addHandler(MemoryHandler(10))
        assert [record.msg for record in take_lines()] == ["from cse"]
