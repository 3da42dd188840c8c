import csv
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf
from toy_hub import parquet

from cse.data import corpora
from cse.errors import MissingResource, UserError
from cse.sources.catalogue import DATASETS

CONF = Path(__file__).parents[2] / "conf/data"


def config(name, tmp_path, **rows):
    loaded = OmegaConf.create({"data": OmegaConf.load(CONF / f"{name}.yaml"), "paths": {"cache": str(tmp_path)}})
    return OmegaConf.merge(loaded, {"data": {"rows": rows}}).data


def write(folder, name):
    """A small copy of a corpus's file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".txt":
        path.write_text("A first sentence.\n\nA line\u2028with an odd blank.\n", encoding="utf-8")
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(
                [["sent0", "sent1", "hard_neg"], ["A dog, it runs.", 'It "moves".', "It sleeps."], ["a", "b", "c"]]
            )
    else:
        rows = {"gem_id": ["0", "1"], "source": ["Normal one.", "Normal two."], "target": ["One.", "Two."]}
        path.write_bytes(parquet(**rows))
    return str(path)


@pytest.fixture
def hub(toy_hub, tmp_path):
    """A hub that has small copies of the files."""
    for name in ("wiki1m", "nli", "wikiauto"):
        repo, file = DATASETS[name].repo, DATASETS[name].files[0]
        content = Path(write(tmp_path / "made", Path(file).name)).read_bytes()
        toy_hub.repos.setdefault(f"datasets/{repo}", {})[file] = content
    return toy_hub


ROWS = {
    "wiki1m": [("A first sentence.",), (" ",), ("A line\u2028with an odd blank.",)],
    "nli": [("A dog, it runs.", 'It "moves".', "It sleeps."), ("a", "b", "c")],
    "wikiauto": [("Normal one.", "One."), ("Normal two.", "Two.")],
}


def rows_of(name, **options):
    """The corpus's reader with all of its columns."""
    columns = DATASETS[name].columns
    return getattr(corpora, name)(**({"columns": columns} if columns else {}), **options)


@pytest.mark.parametrize("name", ROWS)
def test_the_hubs_file_then_its_cache_then_a_copy(name, hub, tmp_path, monkeypatch):
    text = instantiate(config(name, tmp_path, allow_partial=True))
    text.prepare()
    assert text.name == name
    assert [tuple(text.text(i, c) for c in range(text.num_columns)) for i in range(len(text))] == ROWS[name]
    about, repo, file = text.provenance(), DATASETS[name].repo, DATASETS[name].files[0]
    assert about["source"] == f"{repo}/{file}@{DATASETS[name].revision or 'main'}"
    assert about["sha256"] == hashlib.sha256(hub.repos[f"datasets/{repo}"][file]).hexdigest()
    assert about["rows"] == len(ROWS[name])
    assert [path.split("/resolve/")[1].split("/")[0] for path in hub.downloads()] == [DATASETS[name].revision or "main"]
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    corpora.check_available(name)
    copy = write(tmp_path, f"copy{Path(file).suffix}")
    assert list(rows_of(name, allow_partial=True)) == ROWS[name] == list(rows_of(name, file=copy, allow_partial=True))
    assert len(hub.downloads()) == 1


@pytest.mark.parametrize(
    ("name", "columns", "expected"),
    [
        ("nli", ["sent0", "sent1"], [("A dog, it runs.", 'It "moves".'), ("a", "b")]),
        ("wikiauto", ["target", "source"], [("One.", "Normal one."), ("Two.", "Normal two.")]),
    ],
)
def test_columns_are_chosen_and_ordered_by_name(name, columns, expected, hub, tmp_path):
    """The non-contrastive paper's rows "Barlow Twins (NLI)" read two of the three columns."""
    chosen = config(name, tmp_path, allow_partial=True)
    chosen.columns = columns
    text = instantiate(chosen)
    text.prepare()
    assert text.num_columns == len(columns)
    assert [tuple(text.text(i, c) for c in range(len(columns))) for i in range(len(text))] == expected


@pytest.mark.parametrize(("name", "columns"), [("nli", ["sent0", "premise"]), ("wiki1m", ["a", "b"])])
def test_columns_that_a_corpus_lacks_are_refused(name, columns, hub, tmp_path):
    chosen = config(name, tmp_path)
    chosen.columns = columns
    with pytest.raises(UserError, match=r"data\.columns"):
        instantiate(chosen).prepare()


@pytest.mark.parametrize("name", ROWS)
def test_another_number_of_rows_is_an_error_at_the_end(name, hub, monkeypatch):
    rows = rows_of(name)
    assert [next(rows) for _ in ROWS[name]] == ROWS[name]
    with pytest.raises(UserError, match=rf"data={name} has \d rows, but .*allow_partial=true"):
        next(rows)
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], rows=(1, len(ROWS[name]))))
    assert list(rows_of(name)) == ROWS[name]


def test_published_counts():
    assert DATASETS["nli"].rows == (275_601,)
    assert DATASETS["wikiauto"].rows == (483_801,)
    assert 1_000_000 in DATASETS["wiki1m"].rows


@pytest.fixture
def openwebtext(toy_hub):
    """Its parquet files and, as in the repository, a script that is of no use."""
    words = {"train-00000-of-00002": (3, 5, 4), "train-00001-of-00002": (9, 2, 8, 7)}
    files = {
        f"plain_text/{name}.parquet": parquet(text=["  word \n\n" * n for n in counts])
        for name, counts in words.items()
    }
    toy_hub.add("datasets/Skylion007/openwebtext", {"openwebtext.py": b"x = 1\n", **files})
    return toy_hub


def test_documents_are_filtered_while_reading(openwebtext, tmp_path, caplog):
    text = instantiate(config("openwebtext", tmp_path, min_units=5, limit=3))
    with caplog.at_level("INFO"):
        text.prepare()
    assert [text.text(i) for i in range(len(text))] == [" ".join(["word"] * n) for n in (5, 9, 8)]
    assert "kept 3 of 6 documents" in caplog.text
    assert "Skylion007/openwebtext: fetching plain_text/" in caplog.text
    revision = DATASETS["openwebtext"].revision
    assert all(f"/resolve/{revision}/plain_text/" in path for path in openwebtext.downloads())


def test_files_after_the_last_document_are_not_fetched(openwebtext):
    assert len(list(corpora.openwebtext(5, None, 1))) == 1
    assert len(openwebtext.downloads()) == 1


def test_units_can_be_a_tokenizers_pieces(toy_hub, tiny_bert):
    """A word of the made-up tokenizer's vocabulary is one piece, another is one a letter."""
    toy_hub.add("models/lab/letters", Path(tiny_bert))
    toy_hub.add("datasets/Skylion007/openwebtext", {"plain_text/train.parquet": parquet(text=["kadan lofel", "abcde"])})
    assert list(corpora.openwebtext(5, "lab/letters", None)) == [("abcde",)]


@pytest.mark.parametrize("name", ["nli", "openwebtext", "wikipedia"])
def test_without_a_hub_one_sentence_says_what_to_use(name, toy_hub, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(
        MissingResource, match=f"data={name}: .*9 cannot be reached; .*data=text data.path=FILE"
    ) as error:
        corpora.check_available(name)
    assert "\n" not in str(error.value)
    if name != "wikipedia":
        with pytest.raises(MissingResource, match=f"data={name}: "):
            instantiate(config(name, tmp_path)).prepare()
