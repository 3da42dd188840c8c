"""`cse-data fetch` against our own hub and web server: whole, continued, refused; and what the catalogue promises."""

from dataclasses import replace
from pathlib import Path

import pyarrow
import pytest
import yaml
from pyarrow import parquet

from cse.config import groups
from cse.data import corpora
from cse.errors import MissingResource, UserError
from cse.sources.catalogue import DATASETS
from cse.sources.check import check
from cse.sources.fetch import FETCHES, fetch
from cse.sources.request import parse
from cse.sweep import needs

NLI = b"sent0,sent1,hard_neg\na,b,c\nd,e,f\n"


@pytest.fixture
def hub(toy_hub, monkeypatch):
    """A hub whose nli is whole with two rows."""
    monkeypatch.setitem(DATASETS, "nli", replace(DATASETS["nli"], rows=(2,)))
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", {"nli_for_simcse.csv": NLI})
    return toy_hub


def test_into_the_cache_and_into_a_folder(hub, tmp_path):
    cached = fetch(parse("nli", None, tmp_path))
    assert cached.read_bytes() == NLI
    copy = fetch(parse("nli", tmp_path / "mine", tmp_path))
    assert copy == tmp_path / "mine" / "nli" / "nli_for_simcse.csv"
    assert len(hub.downloads()) == 1
    (finding,) = check(tmp_path / "mine")
    assert (finding.state, finding.rows, finding.note) == ("whole", 2, "")


def test_a_file_that_is_not_the_hubs_is_refused(hub, tmp_path):
    cached = fetch(parse("nli", None, tmp_path))
    hub.lfs = {"nli_for_simcse.csv": "0" * 64}
    with pytest.raises(MissingResource, match="another sha256"):
        fetch(parse("nli", None, tmp_path))
    assert cached.exists()


def test_what_only_a_person_can_do_is_said(toy_hub, tmp_path):
    toy_hub.add("datasets/ILSVRC/imagenet-1k", {"data/train-0.parquet": b"x"})
    toy_hub.gated.add("datasets/ILSVRC/imagenet-1k")
    with pytest.raises(MissingResource, match=r"only you can accept the terms at .*paths\.images=FOLDER"):
        fetch(parse("imagenet", None, tmp_path))
    with pytest.raises(MissingResource, match="brings it"):
        fetch(parse("demo", None, tmp_path))


def test_unknown_names_and_languages_are_refused(tmp_path):
    with pytest.raises(UserError, match="there is no dataset sentevel; did you mean senteval"):
        parse("sentevel", None, tmp_path)
    with pytest.raises(UserError, match="only wikipedia and stsb_multi have languages"):
        parse("nli:de", None, tmp_path)
    assert parse("wikipedia:de", None, tmp_path).variant == "de"


def test_openwebtext_from_a_folder_of_ones_own(tmp_path):
    with pytest.raises(UserError, match="holds no parquet file"):
        list(corpora.openwebtext(2, None, None, str(tmp_path)))
    parquet.write_table(pyarrow.table({"text": ["one", "two  words", "three more words"]}), tmp_path / "a.parquet")
    assert list(corpora.openwebtext(2, None, None, str(tmp_path))) == [("two words",), ("three more words",)]


def test_the_catalogue_has_every_choice_that_reads_data():
    needing_none = {"data=text", "augmentation=dropout", "augmentation=none", "augmentation=shuffle",
                    "augmentation=spans", "aux_modality=none"}  # fmt: skip
    choices = {
        f"{group}={choice}"
        for group in ("data", "eval", "augmentation", "aux_modality")
        for choice in groups.choices(group)
    }
    assert {choice for about in DATASETS.values() for choice in about.reads} == choices - needing_none
    assert set(FETCHES) | {"demo", "mteb"} == set(DATASETS)


def test_what_sweeps_need_is_as_kept():
    """A sample composed anew (all of them take half a minute), and no sweep forgotten."""
    kept = needs.kept()
    assert set(kept) == set(DATASETS)
    assert {name for names in kept.values() for name in names} == set(groups.choices("sweep"))
    for name in ("nonling/table6", "declutr/table1", "noncontrastive/table1"):
        mine = {dataset for dataset, names in kept.items() if name in names}
        assert needs.needs([name]) == {dataset: [name] * (dataset in mine) for dataset in DATASETS}


def test_pinned_revisions_are_commits():
    entries = yaml.safe_load((Path(groups.PACKAGE_DIR) / "catalogue.yaml").read_text())
    for name, entry in entries.items():
        assert len(entry.get("revision", "0" * 40)) == 40, name
