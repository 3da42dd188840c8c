"""`cse-data check`: whole, altered, truncated and missing copies of made-up and of real data."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cse.errors import UserError
from cse.sources.catalogue import DATASETS
from cse.sources.check import check
from cse.sources.checked import write_sums

REAL = Path(__file__).resolve().parents[3] / "shared" / "data"
real = pytest.mark.skipif(not REAL.is_dir(), reason="the real corpora are not beside this checkout")


def states(folder: Path) -> dict[str, str]:
    return {f"{one.dataset} {one.part}": one.state for one in check(folder)}


@pytest.fixture
def nli(tmp_path, monkeypatch) -> Path:
    """A whole nli of two rows."""
    monkeypatch.setitem(DATASETS, "nli", replace(DATASETS["nli"], rows=(2,)))
    file = tmp_path / "nli" / "nli_for_simcse.csv"
    file.parent.mkdir()
    file.write_text("sent0,sent1,hard_neg\na,b,c\nd,e,f\n")
    return file


def test_a_corpus_by_rows_and_by_checksum(nli):
    (finding,) = check(nli)
    assert (finding.state, finding.rows) == ("whole", 2)
    assert "no checksum" in finding.note
    write_sums(nli.parent, [nli])
    (finding,) = check(nli.parent.parent)
    assert (finding.state, finding.note) == ("whole", "")
    nli.write_text(nli.read_text().replace("d,e,f", "d,é,f"))
    (finding,) = check(nli)
    assert finding.state == "altered"
    assert "other content" in finding.note
    nli.write_text("sent0,sent1,hard_neg\na,b,c\n")
    (finding,) = check(nli)
    assert (finding.state, finding.rows) == ("altered", 1)
    assert "2 rows are published" in finding.note


def test_folders_of_images_and_of_speech(images, sounds, tmp_path):
    pictures = Path(next(word for word in images if word.startswith("paths.images=")).partition("=")[2])
    folder = shutil.copytree(pictures, tmp_path / "pictures")
    assert set(states(folder).values()) == {"whole"}
    (folder / "1" / "0.png").unlink()
    (folder / "2" / "0.png").write_bytes((folder / "2" / "0.png").read_bytes()[:100])
    found = states(folder)
    assert (found["images 1"], found["images 2"], found["images 3"]) == ("missing", "altered", "whole")

    clips = Path(next(word for word in sounds if word.startswith("paths.audio=")).partition("=")[2])
    folder = shutil.copytree(clips, tmp_path / "clips")
    (folder / "1" / "0.wav").write_bytes(b"no sound")
    assert states(folder) == {"speech 0": "whole", "speech 1": "altered", "speech 2": "whole"}


def test_a_folder_without_a_known_dataset_is_refused(tmp_path):
    with pytest.raises(UserError, match="holds nothing that cse-data knows"):
        check(tmp_path)
    with pytest.raises(UserError, match="there is no such folder"):
        check(tmp_path / "nowhere")


@real
def test_senteval_whole_altered_truncated_and_missing(tmp_path):
    folder = shutil.copytree(REAL / "senteval", tmp_path / "senteval", copy_function=shutil.copyfile)
    for place in (folder, *folder.rglob("*")):
        place.chmod(0o755)
    found = states(folder)
    missing = {name for name, state in found.items() if state == "missing"}
    assert missing == {"senteval SUBJ", "senteval MPQA", "senteval SNLI"}  # what the copy lacks
    assert set(found.values()) == {"whole", "missing"}

    (folder / "MR" / "rt-polarity.pos").write_text("one good film\n")
    stsb = folder / "STS" / "STSBenchmark" / "sts-dev.csv"
    stsb.write_text(stsb.read_text().replace("a man", "a woman", 1))
    (folder / "SICK" / "SICK_trial.txt").unlink()
    altered = {name: state for name, state in states(folder).items() if found[name] != state}
    assert altered == {"senteval MR": "altered", "senteval STS-B dev": "altered", "senteval SICK-R dev": "missing"}


@real
def test_real_copies_are_whole():
    for name in ("stsb_multi_mt", "flickr30k_captions", "nltk_data"):
        assert set(states(REAL / name).values()) == {"whole"}, name
