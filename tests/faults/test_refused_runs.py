"""Settings that contradict each other, the text or the encoder are refused before a run has written anything."""

import pytest

import cse
from cse.errors import UserError

CONTRADICTIONS = [  # (words, what its sentence names)
    ("trainer.chunk=4 trainer.chunk_tokens=40", "trainer.chunk_tokens"),
    ("trainer.devices=3", "trainer.devices"),
    ("trainer.batch_size=1", "trainer.batch_size=1"),
    ("trainer.max_length=1000000", "trainer.max_length"),
    ("trainer.accumulate=100", "trainer.accumulate=100"),
    ("trainer.precision=fp16", "trainer.precision=fp16"),
    ("trainer.select=test/stsb/spearman", "trainer.select=test/stsb/spearman"),
    ("eval=null trainer.select=dev/stsb/spearman", "trainer.select"),
    ("eval=geometry", "trainer.select"),
    ("augmentation.p=0", "augmentation"),
    ("augmentation=spans", "augmentation"),
    ("objective=simcse_sup", "column"),
    ("data.path=TRIPLETS data.columns=[sent0,sent1] objective.num_views=3", "objective.num_views"),
    ("objective=declutr trainer.max_length=64", "augmentation"),
    ("objective=declutr data.path=DOCUMENTS trainer.max_length=64 augmentation.max_length=999", "augmentation"),
    ("model.pooling=pooler", "model.pooling=pooler"),
    ("model.pooling=avg_first_last_0", "model.pooling=avg_first_last_0"),
    ("model.bidirectional=true", "model.bidirectional=true"),
    ("model.attention=flesh", "model.attention"),
    ("data=nli data.rows.file=/no/file", "/no/file"),
    ("data=wiki1m data.rows.file=SENTENCES", "data=wiki1m"),
    ("data=wikipedia data.rows.language=xx", "data=wikipedia"),
    ("data=wikipedia data.rows.min_units=9 data.rows.max_units=3", "data=wikipedia"),
    ("aux_modality=visual aux_modality.init=random", "imagenet"),
    ("aux_modality=audio", "LibriSpeech"),
    ("IMAGES aux_modality.data.size=33", "aux_modality.data.size=33"),
    ("IMAGES aux_modality.data.files=/no/list", "/no/list"),
    ("SOUNDS aux_modality.data.batch_size=99", "aux_modality.data.batch_size=99"),
]


@pytest.fixture(scope="module")
def refused(small_run_in, tmp_path_factory, sentences, triplets, documents, images, sounds):
    """refused(words) -> what a small run with these words says; a run that starts, or writes, fails the test."""
    world = tmp_path_factory.mktemp("runs")
    small = [word for word in small_run_in(world) if not word.startswith("hydra.run.dir")]
    stands_for = {"TRIPLETS": triplets, "DOCUMENTS": documents, "SENTENCES": sentences}
    lists = {"IMAGES": images, "SOUNDS": sounds}

    def said(words: str) -> str:
        for name, place in stands_for.items():
            words = words.replace(name, str(place))
        spelled = [one for word in words.split() for one in lists.get(word, [word])]
        keys = {one.removeprefix("~").partition("=")[0] for one in spelled}
        keys |= {"data.path"} if "data" in keys else set()
        kept = [word for word in small if word.partition("=")[0] not in keys]
        with pytest.raises(UserError) as error:
            cse.train(*kept, *spelled, folder=world / "run")
        assert not (world / "run").exists()
        assert len(str(error.value).splitlines()) == 1
        return str(error.value)

    return said


@pytest.mark.parametrize(("words", "named"), CONTRADICTIONS)
def test_settings_that_contradict_each_other_are_named(refused, words, named):
    assert named in refused(words)
