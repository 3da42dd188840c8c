"""Fetching from a hub, web server and package of our own; the catalogue and the choices of conf/."""

import gzip
import io
import random
import re
import tarfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from unittest.mock import Mock

import pytest
from toy_hub import parquet, tar_of
from toy_web import serving

from cse.errors import MissingResource, UserError
from cse.lab.settings import groups
from cse.sources import hub
from cse.sources.catalogue import DATASETS, find_dataset
from cse.sources.fetch import download, fetch_dataset, unpacked

CLIPS = {"84/121123/0000.flac": b"one", "174/50561/0000.flac": random.Random(0).randbytes(5_000_000)}
SENTENCES = b"sent0,sent1,hard_neg\na,b,c\nd,e,f\n"


def serve_dataset(monkeypatch, name: str, files: dict[str, bytes]) -> None:
    """Let a dataset's server have these files."""

    def get(url: str, target: Path) -> Path:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files[url.removeprefix("http://server/")])
        return target

    monkeypatch.setattr("cse.sources.fetch.download", get)
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], urls="http://server/"))


def test_a_file_of_the_hub_is_fetched_into_its_cache(toy_hub, tmp_path):
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", {"nli_for_simcse.csv": SENTENCES})
    assert find_dataset("nli", tmp_path) is None
    cached = fetch_dataset("nli", tmp_path)
    assert cached.read_bytes() == SENTENCES
    assert find_dataset("nli", tmp_path) == cached == fetch_dataset("nli", tmp_path)
    assert len(toy_hub.downloads()) == 1


def test_a_folder_of_the_hub_is_fetched_without_other_files(toy_hub, tmp_path):
    files = {f"plain_text/{name}.parquet": name.encode() for name in ("a", "b")}
    toy_hub.add("datasets/Skylion007/openwebtext", files | {"script.py": b"x"})
    assert sorted(one.name for one in fetch_dataset("openwebtext", tmp_path).iterdir()) == ["a.parquet", "b.parquet"]


def test_a_tar_of_the_hub_is_unpacked(toy_hub, tmp_path):
    tar = tar_of({"STS/sts.txt": b"line\n"})
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", {"senteval.tar": tar})
    assert (fetch_dataset("senteval", tmp_path) / "STS" / "sts.txt").read_text() == "line\n"
    (tmp_path / "broken.tar").write_bytes(tar[:700])
    with pytest.raises(UserError, match=r"broken\.tar"):
        unpacked(tmp_path / "broken.tar", tmp_path / "broken_folder")
    assert not list(tmp_path.glob("broken_*"))


def test_files_are_fetched_from_a_server(monkeypatch, tmp_path):
    serve_dataset(monkeypatch, "coco", {name: name.encode() for name in DATASETS["coco"].files})
    assert len(list(fetch_dataset("coco", tmp_path).iterdir())) == 3
    assert find_dataset("coco", tmp_path) == tmp_path / "datasets" / "coco"


def test_captions_are_made_from_multi30k(monkeypatch, tmp_path):
    files = {"image_splits/val_images.txt": b"1.jpg\n2.jpg\n"}
    files |= {f"raw/val.{n}.en.gz": gzip.compress(f"one {n} \ntwo {n}\n".encode()) for n in range(1, 6)}
    serve_dataset(monkeypatch, "flickr", files)
    monkeypatch.setitem(DATASETS, "flickr", replace(DATASETS["flickr"], files=("val.tsv.gz",)))
    made = "".join(
        f"{image}\t{n}\t{word} {n + 1}\n" for image, word in (("1.jpg", "one"), ("2.jpg", "two")) for n in range(5)
    )
    folder = fetch_dataset("flickr", tmp_path)
    assert gzip.decompress((folder / "val.tsv.gz").read_bytes()).decode() == made
    files["raw/val.3.en.gz"] = b"damaged"
    (folder / "val.tsv.gz").unlink()
    with pytest.raises(MissingResource, match="damaged"):
        fetch_dataset("flickr", tmp_path)


@pytest.fixture
def speech(monkeypatch):
    """A server with an archive of two clips and the corpus's licence, whose first answer breaks off."""
    inside = {f"LibriSpeech/train-clean-100/{name}": content for name, content in CLIPS.items()}
    with serving(
        "/12/train-clean-100.tar.gz", gzip.compress(tar_of({"LibriSpeech/LICENSE.TXT": b"CC"} | inside))
    ) as web:
        urls = web.url.removesuffix("train-clean-100.tar.gz")
        monkeypatch.setitem(DATASETS, "librispeech", replace(DATASETS["librispeech"], urls=urls))
        yield web


def test_jobs_that_start_together_continue_the_download_of_an_archive_and_unpack_it_once(speech, tmp_path):
    with pytest.raises(MissingResource, match=r"paths\.audio"):  # the first answer breaks off
        fetch_dataset("librispeech", tmp_path)
    together = Barrier(3)

    def fetched(_: int):
        together.wait(600)
        return fetch_dataset("librispeech", tmp_path)

    with ThreadPoolExecutor(3) as pool:
        (folder,) = set(pool.map(fetched, range(3)))
    assert {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")} == CLIPS
    assert [path.name for path in folder.parent.iterdir()] == ["librispeech"]
    first, second = speech.asked
    assert first is None
    assert second.startswith("bytes=")
    assert fetch_dataset("librispeech", tmp_path) == find_dataset("librispeech", tmp_path) == folder
    assert len(speech.asked) == 2


def test_a_damaged_archive_leaves_nothing(speech, tmp_path):
    speech.content = speech.content[:-2000]
    speech.asked.append(None)  # no answer breaks off
    with pytest.raises(MissingResource, match="damaged"):
        fetch_dataset("librispeech", tmp_path)
    assert not list((tmp_path / "datasets").iterdir())


def test_what_another_package_brings_and_nltk_downloads(monkeypatch, tmp_path):
    with pytest.raises(MissingResource, match="pip install 'gensim"):
        fetch_dataset("demo", tmp_path)
    monkeypatch.setattr("nltk.download", Mock(return_value=True))
    assert fetch_dataset("wordnet", tmp_path) == tmp_path / "datasets" / "wordnet"
    monkeypatch.setattr("nltk.download", Mock(side_effect=ValueError("no network")))
    with pytest.raises(MissingResource, match=r"wordnet: .*no network.*paths\.wordnet"):
        fetch_dataset("wordnet", tmp_path)


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_that_broke_off_is_continued_or_made_again(tmp_path, ranges):
    content = bytes(range(256)) * 20_000
    target = tmp_path / "file.bin"
    with serving("/file.bin", content, ranges=ranges) as web:
        with pytest.raises(MissingResource):
            download(web.url, target)
        assert not target.exists()
        assert download(web.url, target).read_bytes() == content
        assert [asked is None for asked in web.asked] == [True, not ranges]
        with pytest.raises(MissingResource, match="404"):
            download(web.url.replace("file", "other"), tmp_path / "other.bin")
    assert [path.name for path in tmp_path.iterdir()] == ["file.bin"]


def test_a_dataset_is_found_where_runs_keep_it_and_in_a_package(tmp_path):
    kept = tmp_path / "images" / "0123"
    kept.mkdir(parents=True)
    assert find_dataset("imagenet", tmp_path) == kept
    assert find_dataset("imagenet", tmp_path, str(tmp_path)) == tmp_path
    assert "gensim" in str(find_dataset("demo", tmp_path))


def test_the_catalogue_names_every_choice_that_reads_data():
    groups_that_read = ("data", "eval", "augmentation", "aux_modality")
    names = {f"{group}={choice}" for group in groups_that_read for choice in groups.choices(group)}
    needing_none = {"data=text", "data=mixture", "eval=pairs", "eval=beir", "eval=classification", "aux_modality=none"}
    needing_none |= {f"augmentation={name}" for name in ("dropout", "none", "repetition", "shuffle", "spans")}
    assert {choice for about in DATASETS.values() for choice in about.reads} == names - needing_none
    for name, about in DATASETS.items():
        assert about.revision is None or len(about.revision) == 40, name
        comes_from = {"hub": about.repo, "server": about.urls, "package": about.package, "later": about.package}
        assert comes_from.get(about.fetch, name), name


def link(name: str, target: str) -> tarfile.TarInfo:
    one = tarfile.TarInfo(name)
    one.type, one.linkname = tarfile.SYMTYPE, target
    return one


@pytest.mark.parametrize("member", [
    tarfile.TarInfo("../outside"), link("STS/link", "../../outside"), link("STS/link", "/etc/passwd"),
])  # fmt: skip
def test_a_tar_that_leads_out_of_its_folder_is_refused(tmp_path, member):
    tar = tmp_path / "cache" / "senteval.tar"
    tar.parent.mkdir()
    with tarfile.open(tar, "w") as archive:
        archive.addfile(tarfile.TarInfo("first"), io.BytesIO())
        archive.addfile(member, io.BytesIO())
    with pytest.raises(UserError, match=re.escape(str(tar))):
        unpacked(tar, tmp_path / "folder")
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == [tar]


@pytest.mark.parametrize("name", ["../outside.parquet", "data/../../outside.parquet", "/tmp/outside.parquet"])
def test_a_repository_whose_files_lie_outside_it_is_refused(toy_hub, tmp_path, name):
    toy_hub.add("datasets/lab/table", {"data/train-0.parquet": parquet(a=["x"]), name: b"x"})
    with pytest.raises(UserError, match=re.escape(name)):
        hub.fetch_file(hub.Repo("lab/table", "dataset", "data.path=lab/table", "give a file"), name)
    assert not toy_hub.downloads()
