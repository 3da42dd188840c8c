"""One rule for the files of a folder, whether text, images or sound: hidden ones are left out, others are named."""

import logging
import os
from pathlib import Path

import numpy as np
import pytest
import soundfile
from made_up_images import images
from PIL import Image

from cse.data.audio import files_of_speakers
from cse.data.images import _from_folder
from cse.data.listing import files_of, list_files
from cse.data.text import Text
from cse.errors import UserError

HIDDEN = ("._a", ".ipynb_checkpoints/a", "b/.Trash-1000/a", "b/._a", "$RECYCLE.BIN/a.x", "b/@eaDir/a.x", "__MACOSX/a.x")


def paths(root: Path, *names: str) -> list[Path]:
    """Empty files of these names."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")
    return [root / name for name in names]


def test_hidden_files_and_folders_are_in_neither_list(tmp_path):
    root = tmp_path / ".cache"  # a hidden folder that was named is read
    paths(root, *HIDDEN)
    seen = paths(root, "a.x", "b/a.x", "b/a.y", "c/d/e/a.x")
    assert list_files(root, lambda file: file.suffix == ".x") == ([seen[0], seen[1], seen[3]], [seen[2]])


def test_a_systems_own_folders_are_no_classes(tmp_path, caplog):
    folder = tmp_path / "images"
    paths(folder, "a/0.png", "b/0.JFIF", "b/1.pnm", "$RECYCLE.BIN/0.png", "@eaDir/0.png", "lost+found/0.png")
    with caplog.at_level(logging.WARNING):
        names, labels = _from_folder(str(folder), None)
    assert [Path(name).relative_to(folder).as_posix() for name in names] == ["a/0.png", "b/0.JFIF", "b/1.pnm"]
    assert labels.tolist() == [0, 1, 1]
    assert not caplog.text


def test_links_are_followed_unless_they_lead_back(tmp_path):
    paths(tmp_path, "elsewhere/a.x", "root/b/a.x")
    links = {"linked": "../elsewhere", "again": "b", "b/up": "../..", "file.x": "b/a.x"}
    for name, target in links.items():
        (tmp_path / "root" / name).symlink_to(target)
    (tmp_path / "elsewhere" / "self").symlink_to(".")
    read, others = list_files(tmp_path / "root", lambda file: file.suffix == ".x")
    root = tmp_path / "root"
    assert read == [root / "b" / "a.x", root / "file.x", root / "linked" / "a.x"]
    assert others == [root / "again", root / "b" / "up", root / "linked" / "self"]


def test_a_name_that_is_no_utf8_is_refused_if_the_file_is_read(tmp_path):
    for ending in (b".y", b".x"):
        (tmp_path / os.fsdecode(b"l\xfc" + ending)).write_bytes(b"")
    assert len(list_files(tmp_path, lambda file: False)[1]) == 2
    with pytest.raises(UserError, match=r"l\\xfc\.x.*rename it"):
        list_files(tmp_path, lambda file: file.suffix == ".x")


def test_a_folder_of_text_names_what_is_not_read(tmp_path, caplog):
    folder = tmp_path / "text"
    paths(folder, "b.txt.bz2", "c.text", "e.text", "._a.txt", ".Trash-1000/a.txt")
    (folder / "A.TXT").write_text("kadan\nlofel\n")
    with caplog.at_level(logging.WARNING):
        text = Text("text", str(tmp_path / "cache"), str(folder)).read()
    assert len(text) == 2
    assert "3 files are not read: .text (2, the first: c.text), .bz2 (b.txt.bz2)" in caplog.text


def test_a_folder_of_images_reads_gif_and_names_the_rest(tmp_path, caplog):
    for name in ("cats/0.JPG", "dogs/0.png", "birds/0.gif", "birds/1.gif", ".ipynb_checkpoints/0.png", "lonely.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.fromarray(np.zeros((40, 40, 3), np.uint8)).save(tmp_path / name)
    paths(tmp_path, "eels/0.heic", "cats/._0.JPG")
    with caplog.at_level(logging.WARNING):
        stream = images(tmp_path)
    assert [Path(name).relative_to(tmp_path).as_posix() for name in stream.names] == [
        "birds/0.gif", "birds/1.gif", "cats/0.JPG", "dogs/0.png",
    ]  # fmt: skip
    assert stream.labels.tolist() == [0, 0, 1, 2]
    assert "2 files are not read: .heic (eels/0.heic), .png (lonely.png)" in caplog.text
    assert caplog.text.rstrip().endswith(": eels")


def test_a_folder_of_speakers_reads_mp3_and_names_the_rest(tmp_path, caplog):
    for name in ("ann/0.wav", "bob/1/0.mp3", "eve/0.FLAC", ".Trash-1000/0.wav"):
        (tmp_path / name).parent.mkdir(parents=True)
        soundfile.write(tmp_path / name, np.zeros(16_000), 16_000)
    paths(tmp_path, "ann/._0.wav", "ann/.x/0.wav", "dan/0.m4a")
    with caplog.at_level(logging.WARNING):
        found = files_of_speakers(tmp_path, None)
    assert {name: len(files) for name, files in found.items()} == {"ann": 1, "bob": 1, "eve": 1}
    assert "1 file is not read: .m4a (dan/0.m4a)" in caplog.text
    assert caplog.text.rstrip().endswith(": dan")


def test_a_folder_without_folders_of_files_is_one_class(tmp_path, caplog):
    for name in ("1.png", "3.png", "0.jpg", "2.gif"):
        Image.fromarray(np.zeros((40, 40, 3), np.uint8)).save(tmp_path / name)
    soundfile.write(tmp_path / "0.wav", np.zeros(16_000), 16_000)
    with caplog.at_level(logging.WARNING):
        stream = images(tmp_path)
        found = files_of_speakers(tmp_path, None)
    assert [Path(name).name for name in stream.names] == ["0.jpg", "1.png", "2.gif", "3.png"]
    assert (stream.num_classes, len(stream.inputs)) == (1, 1)
    assert [*found.values()] == [[tmp_path / "0.wav"]]
    assert "1 file is not read: .wav (0.wav)" in caplog.text


def test_a_folder_without_files_to_read_is_refused(tmp_path):
    paths(tmp_path, "notes.txt", "a/b.txt")
    with pytest.raises(UserError, match="holds no audio"):
        files_of_speakers(tmp_path, None)


@pytest.mark.parametrize(("name", "ending"), [("a.json", ".jsonl"), ("a.json.gz", ".jsonl"), ("a.xlsx", ".csv")])
def test_a_file_of_another_format_is_answered_with_the_format_to_save_it_in(tmp_path, name, ending):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(UserError) as error:
        files_of(tmp_path / name)
    assert f"as {ending}" in error.value.instead
