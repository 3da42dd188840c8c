"""cse-eval where something is wrong: one sentence, before anything is written."""

import pytest


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ([], ["either checkpoint=FOLDER_OR_NAME or model=NAME"]),
        (["checkpoint=x", "model=minilm"], ["either checkpoint=FOLDER_OR_NAME or model=NAME"]),
        (["checkpoint=TINY"], ["checkpoint=TINY records no pooling: say pooling=cls|mean|last|avg_top2"]),
        (["checkpoint=TINY", "pooling=max"], ["pooling=max", "cls, mean, last, avg_top2"]),
        (["checkpoint=/no/such/folder"], ["checkpoint=/no/such/folder: there is no such folder", "model=minilm"]),
        (["checkpoint=no-such-model-anywhere", "pooling=cls"], ["checkpoint=no-such-model-anywhere"]),
        (["checkpoint=/no/such/vectors.txt"], ["/no/such/vectors.txt: there is no such file"]),
        (["checkpoint=EMPTY"], ["is no encoder's folder (no config.json)"]),
        (["checkpoint=RUN"], ["is a run that has no best/ yet"]),
        (["checkpoint=BINARY"], ["is a file", ".vec"]),
        (["checkpoint=VECTORS", "pooling=cls"], ["pooling=cls does not apply to word vectors"]),
        (["checkpoint=VECTORS", "dtype=bf16"], ["dtype=bf16 does not apply to word vectors"]),
        (["checkpoint=TINY", "pooling=cls", "lowercase=true"], ["lowercase=true is for word vectors"]),
        (["checkpoint=TINY", "pooling=cls", "dtype=int8"], ["dtype=int8:"]),
        (["checkpoint=TINY", "pooling=cls", "max_length=65"], ["max_length=65: this encoder has positions for 64"]),
        (["checkpoint=VECTORS", "splits=[train]"], ["splits=[train]: must be", "one of dev, test"]),
        (["checkpoint=VECTORS", "splits=[]"], ["splits=[]:"]),
        (["checkpoint=VECTORS", "splits=test", "eval=demo"], ["splits=[test] leaves nothing to score"]),
        (["checkpoint=VECTORS", "eval=[]"], ["nothing is to be scored"]),
        (["checkpoint=VECTORS", "batch_size=0"], ["batch_size=0:"]),
        (["checkpoint=VECTORS", "max_length=-1"], ["max_length=-1:"]),
        (["checkpoint=VECTORS", "whitening.kind=pca"], ["whitening.fit=FILE"]),
        (["checkpoint=VECTORS", "whitening.fit=/x"], ["whitening.kind=pca"]),
        (["checkpoint=VECTORS", "whitening.kind=pca", "whitening.fit=/no/file.txt"], ["whitening.fit=/no/file.txt"]),
        (["checkpoint=VECTORS", "whitening.kind=pca", "whitening.fit=BINARY"], ["whitening.fit=BINARY"]),
        (["checkpoint=VECTORS", "whitening.kind=pca", "whitening.fit=TABLE"], ["must be a text file (.txt"]),
        (["checkpoint=VECTORS", "whitening.kind=ica", "whitening.fit=TEXT"], ["kind=ica:"]),
        (["checkpoint=VECTORS", "whitening.kind=pca", "whitening.fit=TEXT", "whitening.components=9"], ["have 8"]),
        (["checkpoint=VECTORS", "whitening.components=9"], ["whitening.kind=pca"]),
        (["checkpoint=VECTORS", "whitening=pca"], ["whitening=pca:"]),
        (["checkpoint=VECTORS", "whitening.kind=pca", "whitening.fit=TEXT", "whitening.components=x"], ["nts=x: must"]),
        (["checkpoint=VECTORS", "eval=transfer", "eval.tasks=TREK"], ["tasks=TREK: must", "one of MR"]),
        (["chekpoint=x"], ["there is no key chekpoint; did you mean checkpoint?"]),
        (["checkpoint=VECTORS", "eval.with_sicr=true"], ["no key eval.stsb.with_sicr; did you mean eval.stsb"]),
        (["checkpoint=VECTORS", "eval=[sts,stsb]", "eval.with_sickr=true"], ["no key eval.with_sickr; did you mean"]),
        (["checkpoint=VECTORS", "eval=mteb", "eval.benchmark=MTEB(eng, v0)"], ["eval.mteb.benchmark=MTEB(eng, v0)"]),
        (["model=minilmm"], ["minilmm", "did you mean minilm?"]),
        (["checkpoint=VECTORS", "eval=stbs"], ["stbs", "did you mean sts"]),
        (["checkpoint=VECTORS", "paths.senteval=/no/such/folder"], ["/no/such/folder"]),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence(cse_eval, capsys, tmp_path, tiny_bert, word_vectors, sentences, bad, told):
    (tmp_path / "folder").mkdir()
    (tmp_path / "half" / ".hydra").mkdir(parents=True)
    (tmp_path / "file.bin").write_bytes(b"x")
    (tmp_path / "tab.csv").write_text("a,b\n1,2\n")
    places = {"TINY": tiny_bert, "VECTORS": str(word_vectors), "TEXT": str(sentences), "EMPTY": f"{tmp_path}/folder",
              "RUN": f"{tmp_path}/half", "BINARY": f"{tmp_path}/file.bin", "TABLE": f"{tmp_path}/tab.csv"}  # fmt: skip

    def filled(text: str) -> str:
        for name, place in places.items():
            text = text.replace(f"={name}", f"={place}")
        return text

    assert cse_eval(*map(filled, bad)) == 2
    err = capsys.readouterr().err.strip()
    assert len(err.splitlines()) == 1, err
    for words in told:
        assert filled(words) in err
    assert not (tmp_path / "eval" / "scores.csv").exists()


def test_all_that_is_missing_is_said_at_once(cse_eval, capsys):
    assert (
        cse_eval("checkpoint=/no/model", "paths.senteval=/no/data", "whitening.kind=pca", "whitening.fit=/no.txt") == 2
    )
    err = capsys.readouterr().err.strip()
    assert len(err.splitlines()) == 1
    for missing in ("/no/model", "/no/data", "/no.txt"):
        assert missing in err


def test_altered_data_is_an_error_unless_allowed(cse_eval, word_vectors, capsys):
    assert cse_eval(f"checkpoint={word_vectors}", "allow_partial=false") == 2
    err = capsys.readouterr().err
    assert "sts-dev.csv holds 40 usable rows, not the official 1500" in err


def test_a_run_is_not_written_over(cse_eval, word_vectors, capsys, tmp_path):
    (tmp_path / "run" / "best").mkdir(parents=True)
    assert cse_eval(f"checkpoint={word_vectors}", f"hydra.run.dir={tmp_path}/run") == 2
    assert "hydra.run.dir=ANOTHER" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["best"]
