"""What a command prints or logs, at the width of a terminal."""

import fcntl
import os
import pty
import shlex
import struct
import subprocess
import sys
import termios

import pytest

from cse.lab.text_columns import as_shown

LONG = "/a/folder/that/is/wider/than/the/terminal/" + "x" * 60
LINES = f"""\
encoder    a name of two columns, and a text that goes on until it is wider than this terminal, twice at the least
truncation a name of ten letters has one blank behind it, and its text keeps its own column too, as the names above do
a sentence without a name in front of it, which is wider than the terminal, begins each line at the left
folder     {LONG}
    model = SentenceTransformer("{LONG}")
  cse-train -m experiment=demo data=text data.path='a  text.txt' objective=simcse,barlow trainer.max_steps=10 seed=4"""


@pytest.fixture
def terminal():
    """The stream of a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with open(theirs, "w") as stream:
        yield stream
    os.close(ours)


def test_no_line_on_a_terminal_ends_inside_a_word(terminal):
    """Every word stays whole, and a line is wider than the terminal only for a word or for code."""
    shown = as_shown(LINES, terminal)
    assert shown.replace(" \\\n", "\n").split() == LINES.split()
    assert all(len(line) <= 80 or LONG in line for line in shown.splitlines())
    assert "data.path='a  text.txt'" in shown
    assert f'    model = SentenceTransformer("{LONG}")' in shown.splitlines()


def test_a_text_keeps_the_column_after_its_name(terminal):
    """What continues a named line begins below its text."""
    for line in LINES.splitlines()[:2]:
        first, *others = as_shown(line, terminal).splitlines()
        assert first[:11] == line[:11]
        assert others
        assert all(other[:11].isspace() and not other[11].isspace() for other in others)


def test_a_text_after_a_wide_name_begins_below_the_name(terminal):
    """As in help: beside such a name, the text would have less than half of the line."""
    name, text = "path_of_a_folder_with_the_name_of_a_sentence-6048ebff", "a text that is wider than the rest"
    first, second = as_shown(f"{name}  {text}", terminal).splitlines()
    assert (first, second.strip()) == (name, text)


def test_a_shell_reads_a_wrapped_command_as_one_command(terminal):
    command = LINES.splitlines()[-1]
    lines = as_shown(command, terminal).splitlines()
    assert len(lines) > 1
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == shlex.split(command)
    assert [line.endswith(" \\") for line in lines] == [True] * (len(lines) - 1) + [False]


def test_a_file_gets_whole_lines(tmp_path):
    with (tmp_path / "file").open("w") as stream:
        assert as_shown(LINES, stream) == LINES


@pytest.mark.parametrize("name", ["stderr", "stdin"])
def test_a_pipe_gets_the_width_of_the_terminal_that_shows_it(terminal, name):
    """As in cse-train --help | head."""
    code = "from cse.lab.text_columns import terminal_width; print(terminal_width())"
    streams = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    plain = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))

    def width_with(**given) -> int:
        return int(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, **given).stdout)

    assert width_with(**streams, env=plain) == 80
    assert width_with(**streams | {name: terminal}, env=plain) == 70
    assert width_with(**streams | {name: terminal}, env=plain | {"COLUMNS": "50"}) == 50
