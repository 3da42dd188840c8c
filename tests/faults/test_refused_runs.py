"""Settings that contradict each other, the encoder or the data are refused before anything is written."""

from pathlib import Path

import damaged
import pytest

import cse
from cse.api import evaluate_into
from cse.errors import MissingResource, UserError

ALONE = (  # each is refused on its own, and the sentence names the key
    "trainer.devices=3 trainer.batch_size=1 trainer.batch_size=500 trainer.accumulate=100 trainer.precision=fp16"
    " trainer.select=test/stsb/spearman model.pooling=pooler model.pooling=avg_first_last_0 model.bidirectional=true"
    " model.attention=flesh model.num_layers=7 model.name=/no/such/folder resume=/no/such/run data.path=no/such_dataset"
    " paths.senteval=/no/such/folder data.columns=[a] trainer.watch=[sts] trainer.max_length=1000000"
)
TRAINING = [  # (settings, words that the sentence has to contain)
    *((word, word.partition("=")[0]) for word in ALONE.split()),
    ("trainer.chunk=4 trainer.chunk_tokens=40", "trainer.chunk_tokens"),
    ("eval=null trainer.select=dev/stsb/spearman", "trainer.select"),
    ("objective=gist objective.teacher=/no/such/folder", "objective.teacher"),
    ("eval=geometry", "trainer.select"),
    ("eval=[stsb,transfer]", "paths.senteval="),
    ("augmentation.p=0", "augmentation"),
    ("augmentation=spans", "augmentation"),
    ("objective=simcse_sup data.path=TRIPLETS", "sent0, sent1, hard_neg"),
    ("data.path=TRIPLETS data.columns=[sent0,sent1] objective.num_views=3", "objective.num_views"),
    ("objective=declutr trainer.max_length=64", "augmentation"),
    ("objective=declutr data.path=DOCUMENTS trainer.max_length=64 augmentation.max_length=999", "augmentation"),
    ("data=nli data.rows.file=/no/file", "/no/file"),
    ("data=wikipedia data.rows.min_units=9 data.rows.max_units=3", "data=wikipedia"),
    ("aux_modality=visual aux_modality.init=random", "imagenet"),
    ("aux_modality=audio", "librispeech"),
    ("IMAGES aux_modality.data.size=33", "aux_modality.data.size=33"),
    ("IMAGES aux_modality.data.files=/no/list", "/no/list"),
    ("SOUNDS aux_modality.data.batch_size=99", "aux_modality.data.batch_size=99"),
]
SCORED = (  # each beside checkpoint=VECTORS
    "pooling=cls dtype=bf16 whitening.fit=/x whitening.components=9 whitening.kind=pca paths.senteval=/no/such/folder"
)
EVALUATION = [
    *((f"checkpoint=VECTORS {word}", word.partition("=")[0].partition(".")[0]) for word in SCORED.split()),
    ("", "checkpoint="),
    ("checkpoint=x model=minilm", "checkpoint="),
    ("checkpoint=TINY", "pooling=cls"),
    ("checkpoint=no-such-model-anywhere pooling=cls", "checkpoint=no-such-model-anywhere"),
    ("checkpoint=a/b/c pooling=cls", "checkpoint=a/b/c"),
    ("checkpoint=/no/such/vectors.txt", "/no/such/vectors.txt"),
    ("checkpoint=EMPTY", "config.json"),
    ("checkpoint=HALF", "best/"),
    ("checkpoint=BINARY", "BINARY"),
    ("checkpoint=TINY pooling=cls lowercase=true", "lowercase=true"),
    ("checkpoint=TINY pooling=cls max_length=65", "max_length=65"),
    ("checkpoint=VECTORS splits=test eval=demo", "splits=[test]"),
    ("checkpoint=VECTORS eval=[]", "eval="),
    ("checkpoint=VECTORS whitening.kind=pca whitening.fit=BINARY", "whitening.fit="),
    ("checkpoint=VECTORS whitening.kind=pca whitening.fit=TABLE", "whitening.fit="),
    ("checkpoint=VECTORS whitening.kind=pca whitening.fit=TEXT whitening.components=9", "components"),
    ("checkpoint=VECTORS eval=[sts,stsb] eval.with_sickr=true", "eval.with_sickr"),
    ("checkpoint=VECTORS allow_partial=false", "1500"),
    ("checkpoint=/no/model whitening.kind=pca whitening.fit=/no.txt", "/no/model /no.txt"),
    ("checkpoint=/no/model paths.senteval=/no/data", "no/model /no/data"),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """What cannot be scored (an empty folder, half a run, a binary file, a table), and word vectors, which can."""
    place = tmp_path_factory.mktemp("world")
    (place / "empty").mkdir()
    (place / "half").mkdir()
    (place / "half" / "run.yaml").touch()
    (place / "file.bin").write_bytes(b"x")
    (place / "table.csv").write_text("a,b\n1,2\n")
    (place / "whole.vec").write_text(damaged.VECTORS)
    return place


@pytest.fixture(scope="module")
def refused(world, small_run_in, tiny_bert, sentences, triplets, documents, images, sounds):
    """refused(job, settings) -> the error; a job that starts or writes anything fails the test."""
    places = {"TRIPLETS": triplets, "DOCUMENTS": documents, "TEXT": sentences, "TINY": tiny_bert,
              "EMPTY": world / "empty", "HALF": world / "half", "BINARY": world / "file.bin",
              "TABLE": world / "table.csv", "VECTORS": world / "whole.vec"}  # fmt: skip
    lists = {"IMAGES": images, "SOUNDS": sounds}
    small = [word for word in small_run_in(world) if not word.startswith("hydra.run.dir")]

    def said(job, line: str) -> str:
        words = [one for word in line.split() for one in lists.get(word, [word])]
        words = [f"{key}={places.get(value, value)}" for key, _, value in (word.partition("=") for word in words)]
        keys = {word.partition("=")[0] for word in words}
        keys |= {"data.path"} if "data" in keys else set()
        kept = [word for word in small if word.partition("=")[0] not in keys]
        if job is evaluate_into:
            kept = [word for word in kept if not word.startswith(("model", "data", "trainer"))]
        with pytest.raises(UserError) as error:
            job(*kept, *words, folder=world / "run")
        assert not (world / "run").exists()
        assert isinstance(error.value, MissingResource) or len(str(error.value).splitlines()) == 1
        return str(error.value).replace(str(world / "file.bin"), "BINARY")

    return said


@pytest.mark.parametrize(
    ("job", "words", "named"),
    [(cse.train, *case) for case in TRAINING] + [(evaluate_into, *case) for case in EVALUATION],
)
def test_settings_that_cannot_work_are_named(refused, job, words, named):
    sentence = refused(job, words)
    assert all(name in sentence for name in named.split()), sentence
    assert len(sentence.splitlines()) <= len(named.split())  # a line for each missing thing at most
