import csv
from pathlib import Path

import datasets
import huggingface_hub
import pyarrow
import pyarrow.parquet
import pytest
import transformers
from hydra.utils import instantiate
from omegaconf import OmegaConf

from cse.data import corpora
from cse.errors import MissingResource, UserError

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
        pyarrow.parquet.write_table(pyarrow.table(rows), path)
    return str(path)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub that has small copies of the files, and these streams: (repo, config) -> rows."""
    streams = {}

    def load_dataset(repo, config, split, streaming):
        assert (split, streaming) == ("train", True)
        if (repo, config) not in streams:
            raise ValueError(f"BuilderConfig '{config}' not found. Available: ['20231101.de']\nmore")
        return streams[repo, config]

    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_, **__: None)
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", lambda *_, **__: None)
    monkeypatch.setattr(
        huggingface_hub, "hf_hub_download", lambda repo, file, repo_type: write(tmp_path / repo_type / repo, file)
    )
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return streams


@pytest.fixture
def no_hub(monkeypatch):
    def refuse(*_, **__):
        raise ConnectionError("no route\nto the host")

    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_, **__: None)
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", refuse)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", refuse)


ROWS = {
    "wiki1m": [("A first sentence.",), (" ",), ("A line\u2028with an odd blank.",)],
    "nli": [("A dog, it runs.", 'It "moves".', "It sleeps."), ("a", "b", "c")],
    "wikiauto": [("Normal one.", "One."), ("Normal two.", "Two.")],
}


def rows_of(name, **options):
    """The corpus's reader with all of its columns."""
    columns = corpora.HUB[name].columns
    return getattr(corpora, name)(**({"columns": columns} if columns else {}), **options)


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_a_file(name, hub):
    assert list(rows_of(name, allow_partial=True)) == ROWS[name]


@pytest.mark.parametrize("name", ROWS)
def test_a_local_copy_needs_no_hub(name, no_hub, tmp_path):
    copy = write(tmp_path, f"copy{Path(corpora.HUB[name].file).suffix}")
    assert list(rows_of(name, file=copy, allow_partial=True)) == ROWS[name]


@pytest.mark.parametrize(
    ("name", "columns", "expected"),
    [
        ("nli", ["sent0", "sent1"], [("A dog, it runs.", 'It "moves".'), ("a", "b")]),
        ("nli", ["hard_neg", "sent0"], [("It sleeps.", "A dog, it runs."), ("c", "a")]),
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


def test_a_column_that_the_corpus_lacks_is_named(hub, tmp_path):
    chosen = config("nli", tmp_path)
    chosen.columns = ["sent0", "premise"]
    with pytest.raises(UserError, match=r"has no column premise; it has sent0, sent1, hard_neg"):
        instantiate(chosen).prepare()


def test_columns_of_a_corpus_that_has_one_text_are_refused(hub, tmp_path):
    chosen = config("wiki1m", tmp_path)
    chosen.columns = ["a", "b"]
    with pytest.raises(UserError, match=r"data.columns=\['a', 'b'\]: data=wiki1m has 1 column"):
        instantiate(chosen).prepare()


@pytest.mark.parametrize("name", ROWS)
def test_another_number_of_rows_is_an_error_at_the_end(name, hub, monkeypatch):
    rows = rows_of(name)
    assert [next(rows) for _ in ROWS[name]] == ROWS[name]
    with pytest.raises(UserError, match=rf"data={name} has \d rows, but .*allow_partial=true"):
        next(rows)
    monkeypatch.setitem(corpora.HUB, name, corpora.HUB[name]._replace(rows=(1, len(ROWS[name]))))
    assert list(rows_of(name)) == ROWS[name]


@pytest.mark.parametrize("name", ROWS)
def test_the_yaml_makes_a_text_of_them(name, hub, tmp_path):
    text = instantiate(config(name, tmp_path, allow_partial=True))
    text.prepare()
    assert text.name == name
    assert [tuple(text.text(i, c) for c in range(text.num_columns)) for i in range(len(text))] == ROWS[name]


def test_published_counts():
    assert corpora.HUB["nli"].rows == (275_601,)
    assert corpora.HUB["wikiauto"].rows == (483_801,)
    assert 1_000_000 in corpora.HUB["wiki1m"].rows


def test_documents_are_filtered_while_streaming(hub, tmp_path, caplog):
    drawn = []

    def documents():
        for n in (3, 5, 4, 9, 2, 8, 7):
            drawn.append(n)
            yield {"text": "  word \n\n" * n}

    hub["Skylion007/openwebtext", None] = documents()
    text = instantiate(config("openwebtext", tmp_path, min_units=5, limit=3))
    with caplog.at_level("INFO"):
        text.prepare()
    assert [text.text(i) for i in range(len(text))] == [" ".join(["word"] * n) for n in (5, 9, 8)]
    assert drawn == [3, 5, 4, 9, 2, 8, 7]  # one more is asked for, none after it
    assert "kept 3 of 6 documents" in caplog.text


def test_units_can_be_a_tokenizers_pieces(hub, monkeypatch):
    class Letters:
        def __call__(self, text, add_special_tokens, verbose):
            assert not add_special_tokens
            return {"input_ids": list(text)}

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda name: Letters())
    hub["Skylion007/openwebtext", None] = [{"text": "a b"}, {"text": "abcd"}]
    assert list(corpora.openwebtext(5, "letters", None)) == [("abcd",)]  # " abcd" has five


@pytest.mark.parametrize("name", corpora.HUB)
def test_without_a_hub_one_sentence_says_what_to_use(name, no_hub):
    with pytest.raises(MissingResource) as error:
        corpora.available(name)
    message = str(error.value)
    assert message.startswith(f"data={name} is {corpora.HUB[name].repo} on the Hugging Face hub")
    assert "(ConnectionError)" in message
    assert "data=text data.path=FILE" in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["wiki1m", "nli", "wikiauto", "openwebtext"])
def test_reading_without_a_hub_is_missing_too(name, no_hub, tmp_path):
    with pytest.raises(MissingResource, match=f"data={name} "):
        instantiate(config(name, tmp_path)).prepare()


def test_a_file_in_the_hubs_cache_needs_no_hub(no_hub, hub, monkeypatch, tmp_path):
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_, **__: write(tmp_path, "nli.csv"))
    corpora.available("nli")
    assert list(rows_of("nli", allow_partial=True)) == ROWS["nli"]
