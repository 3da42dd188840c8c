"""cse-eval where something is wrong: it is named before anything is written."""

import pytest

from cse.api import evaluate_into
from cse.errors import UserError


@pytest.fixture
def refused(tmp_path, senteval, tiny_bert, word_vectors, sentences):
    """refused(line) -> the sentence; TINY, VECTORS, ... stand for places, and no folder of scores is made."""
    places = {"TINY": tiny_bert, "VECTORS": word_vectors, "TEXT": sentences, "EMPTY": tmp_path / "empty",
              "RUN": tmp_path / "half", "BINARY": tmp_path / "file.bin", "TABLE": tmp_path / "tab.csv"}  # fmt: skip
    places["EMPTY"].mkdir()
    (places["RUN"] / ".hydra").mkdir(parents=True)
    places["BINARY"].write_bytes(b"x")
    places["TABLE"].write_text("a,b\n1,2\n")

    def sentence(line: str) -> str:
        words = [
            f"{key}={places.get(value, value)}" for key, _, value in (word.partition("=") for word in line.split())
        ]
        usual = ["eval=stsb", "allow_partial=true", f"paths.senteval={senteval}", f"paths.cache={tmp_path}/cache"]
        given = {word.partition("=")[0] for word in words}
        usual = [word for word in usual if word.partition("=")[0] not in given]
        with pytest.raises(UserError) as error:
            evaluate_into(*usual, *words, folder=tmp_path / "eval")
        assert not (tmp_path / "eval").exists()
        assert len(str(error.value).splitlines()) == 1
        return str(error.value)

    return sentence


@pytest.mark.parametrize(("line", "named"), [
    ("", "checkpoint=FOLDER_OR_NAME"), ("checkpoint=x model=minilm", "checkpoint=FOLDER_OR_NAME"),
    ("checkpoint=TINY", "pooling=cls"), ("checkpoint=/no/such/folder", "checkpoint=/no/such/folder"),
    ("checkpoint=no-such-model-anywhere pooling=cls", "checkpoint=no-such-model-anywhere"),
    ("checkpoint=/no/such/vectors.txt", "/no/such/vectors.txt"), ("checkpoint=EMPTY", "no config.json"),
    ("checkpoint=RUN", "has no best/ yet"), ("checkpoint=BINARY", "is a file"),
    ("checkpoint=VECTORS pooling=cls", "pooling=cls"), ("checkpoint=VECTORS dtype=bf16", "dtype=bf16"),
    ("checkpoint=TINY pooling=cls lowercase=true", "lowercase=true"),
    ("checkpoint=TINY pooling=cls max_length=65", "max_length=65"),
    ("checkpoint=VECTORS splits=test eval=demo", "splits=[test]"), ("checkpoint=VECTORS eval=[]", "nothing is to be"),
    ("checkpoint=VECTORS whitening.kind=pca", "whitening.fit"),
    ("checkpoint=VECTORS whitening.fit=/x", "whitening.kind"),
    ("checkpoint=VECTORS whitening.components=9", "whitening.kind"),
    ("checkpoint=VECTORS whitening.kind=pca whitening.fit=/no/file.txt", "whitening.fit=/no/file.txt"),
    ("checkpoint=VECTORS whitening.kind=pca whitening.fit=BINARY", "whitening.fit="),
    ("checkpoint=VECTORS whitening.kind=pca whitening.fit=TABLE", "whitening.fit="),
    ("checkpoint=VECTORS whitening.kind=pca whitening.fit=TEXT whitening.components=9", "components"),
    ("checkpoint=VECTORS eval=[sts,stsb] eval.with_sickr=true", "eval.with_sickr"),
    ("checkpoint=VECTORS paths.senteval=/no/such/folder", "/no/such/folder"),
    ("checkpoint=VECTORS allow_partial=false", "1500"),
])  # fmt: skip
def test_a_mistake_is_named_and_nothing_is_written(refused, line, named):
    assert named in refused(line)


def test_all_that_is_missing_is_said_at_once(refused):
    said = refused("checkpoint=/no/model paths.senteval=/no/data whitening.kind=pca whitening.fit=/no.txt")
    assert all(missing in said for missing in ("/no/model", "/no/data", "/no.txt"))


def test_a_run_is_not_written_over(cse_eval, word_vectors, capsys, tmp_path):
    (tmp_path / "run" / "best").mkdir(parents=True)
    assert cse_eval(f"checkpoint={word_vectors}", f"hydra.run.dir={tmp_path}/run") == 2
    assert "hydra.run.dir=ANOTHER" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["best"]
