"""`cse-data check`: whole, altered and missing files, in made-up and real copies."""

import gzip
import hashlib
import random
import shutil
from pathlib import Path

import pytest

from cse.errors import UserError
from cse.sources.check import check, write_sums


def states(folder: Path) -> dict[str, str]:
    return {file.relative_to(folder).as_posix(): state for file, state in check(folder).items()}


def test_files_named_in_sha256sums(tmp_path):
    folder = tmp_path / "nli"
    folder.mkdir()
    for name in "abc":
        (folder / name).write_text(name)
    write_sums(folder, [folder / "a"])
    write_sums(folder, [folder / "b", folder / "c"])
    (folder / "b").write_text("B")
    (folder / "c").unlink()
    assert states(tmp_path) == {"nli/a": "whole", "nli/b": "altered", "nli/c": "missing"}


def test_large_files_of_the_hubs_cache_are_checked_by_their_names(tmp_path):
    for content, name in (("other", "0" * 64), ("aaa", hashlib.sha256(b"aaa").hexdigest())):
        (tmp_path / name).write_text(content)
        (tmp_path / f"{content}.bin").symlink_to(tmp_path / name)
    assert states(tmp_path) == {"aaa.bin": "whole", "other.bin": "altered"}
    (tmp_path / ("0" * 64)).unlink()
    assert states(tmp_path)["other.bin"] == "missing"


@pytest.mark.parametrize("place", [0, 12, 1000, None])
def test_a_gzip_file_with_damage_or_other_content_is_altered(tmp_path, place):
    content = bytearray(gzip.compress(random.Random(0).randbytes(2000)))
    if place is not None:
        content[place] ^= 0xFF
    (tmp_path / "val.tsv.gz").write_bytes(content)
    assert states(tmp_path) == {"val.tsv.gz": "altered", "train.tsv.gz": "missing", "test_2016.tsv.gz": "missing"}


def test_a_folder_without_known_checksums_is_refused(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UserError, match=str(place)):
            check(place)


def test_real_copies_are_checked_by_known_checksums(shared, tmp_path):
    copies = [Path(shared, "data", name) for name in ("senteval", "stsb_multi_mt", "flickr30k_captions")]
    if not all(copy.is_dir() for copy in copies):
        pytest.skip("needs the real data in ../shared")
    for copy in copies[1:]:
        assert set(states(copy).values()) == {"whole"}
    folder = tmp_path / "senteval"
    shutil.copytree(copies[0] / "SICK", folder / "SICK", copy_function=shutil.copyfile)
    for path in (folder / "SICK").iterdir():
        path.chmod(0o644)
    (folder / "SICK" / "SICK_train.txt").write_text("other\n")
    (folder / "SICK" / "SICK_trial.txt").unlink()
    found = {name: state for name, state in states(folder).items() if name.startswith("SICK")}
    assert found == {
        "SICK/SICK_train.txt": "altered",
        "SICK/SICK_trial.txt": "missing",
        "SICK/SICK_test_annotated.txt": "whole",
    }


def test_a_list_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "SHA256SUMS").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=str(tmp_path)):
        check(tmp_path)
