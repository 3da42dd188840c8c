"""Settings that contradict each other, the text or the encoder are refused before a run has written anything."""

import os
import re
from pathlib import Path

import bad_copies
import pytest

import cse
from cse.errors import UserError

CONTRADICTIONS = [  # (words, what its sentence names)
    ("trainer.chunk=4 trainer.chunk_tokens=40", "trainer.chunk_tokens"),
    ("trainer.devices=3", "trainer.devices"),
    ("trainer.batch_size=999", "trainer.batch_size=999"),
    ("trainer.batch_size=99999999999999999999", "trainer.batch_size=9"),
    ("trainer.batch_size=1", "trainer.batch_size=1"),
    ("trainer.max_length=1000000", "trainer.max_length"),
    ("trainer.accumulate=100", "trainer.accumulate=100"),
    ("trainer.precision=fp16", "trainer.precision=fp16"),
    ("trainer.select=dev/stsb", "trainer.select=dev/stsb"),
    ("trainer.select=dev/stsb/kendall", "trainer.select=dev/stsb/kendall"),
    ("trainer.select=test/stsb/spearman", "trainer.select=test/stsb/spearman"),
    ("trainer.watch=nothing", "trainer.watch"),
    ("eval=null trainer.select=dev/stsb/spearman", "trainer.select"),
    ("eval=geometry", "trainer.select"),
    ("augmentation=none", "augmentation=none"),
    ("augmentation.p=0", "augmentation"),
    ("augmentation=spans", "augmentation"),
    ("augmentation=eda paths.wordnet=/no/wordnet", "/no/wordnet"),
    ("objective=simcse_sup", "column"),
    ("data.path=TRIPLETS data.columns=[sent0,sent1] objective.num_views=3", "objective.num_views"),
    ("data.path=TRIPLETS data.columns=[sent0,nothing]", "nothing"),
    ("objective=barlow trainer.batch_size=1 objective.head.out=8", "trainer.batch_size=1"),
    ("objective=declutr trainer.max_length=64", "augmentation"),
    ("objective=declutr augmentation.min_length=600", "augmentation.min_length"),
    ("objective=declutr data.path=DOCUMENTS trainer.max_length=64 augmentation.max_length=999", "augmentation"),
    ("objective=whitenedcse trainer.batch_size=2", "num_groups"),
    ("objective=whitenedcse objective.whitening.num_groups=5", "num_groups"),
    ("objective=whitenedcse objective.weights=[1,2,3]", "objective.weights"),
    ("masking.mask_share=0.9 masking.random_share=0.9", "masking.mask_share=0.9"),
    ("model.pooling=pooler", "model.pooling=pooler"),
    ("model.pooling=avg_first_last_0", "model.pooling=avg_first_last_0"),
    ("model.pooling=null", "pooling"),
    ("model.bidirectional=true", "model.bidirectional=true"),
    ("model.num_layers=3", "model.num_layers=3"),
    ("model.attention=flesh", "model.attention"),
    ("model.lora={r:0,alpha:8}", "model.lora.r"),
    ("model.lora={r:4}", "model.lora.alpha"),
    ("model.lora={r:4,alpha:8,rank:3}", "model.lora.rank"),
    ("model.lora={r:4,alpha:8,dropout:1.0}", "model.lora.dropout"),
    ("model.lora={r:4,alpha:8,targets:[nothing]}", "model.lora.targets"),
    ("data.preview=[999]", "data.preview"),
    ("data.encoding=utf-16", "utf-16"),
    ("data=nli data.rows.file=/no/file", "/no/file"),
    ("data=wiki1m data.rows.file=SENTENCES", "data=wiki1m"),
    ("data=wiki1m", "wiki1m"),
    ("data=wikipedia data.rows.language=xx", "data=wikipedia"),
    ("data=wikipedia data.rows.min_units=9 data.rows.max_units=3", "data=wikipedia"),
    ("~trainer.lr", "lr"),
    ("scale=laptop", "scale.model"),
    ("variant=released", "aux_modality"),
    ("paths.senteval=/no/folder", "/no/folder"),
    ("aux_modality=visual aux_modality.init=random", "imagenet"),
    ("aux_modality=audio", "LibriSpeech"),
    ("IMAGES aux_modality.data.size=33", "aux_modality.data.size=33"),
    ("IMAGES aux_modality.data.files=/no/list", "/no/list"),
    ("IMAGES aux_modality.init=vit aux_modality.weights=TINY", "aux_modality.weights"),
    ("IMAGES aux_modality.head_mode=shared objective.head=null", "objective.head=null"),
    ("SOUNDS aux_modality.data.batch_size=99", "aux_modality.data.batch_size=99"),
]
CHANGES = [
    ("nokey=1", "nokey"),
    ("objective=barlow objective.head.out=8", "objective"),
    ("data.limit=50", "data.limit"),
]
"""What a resume may not change; more of these, as commands, in test_refused_resume.py."""


@pytest.fixture(scope="module")
def refused(request, small_run_in, tmp_path_factory, tiny_bert, sentences, triplets, documents, images, sounds):
    """refused(words, more) -> what a small run with these words says; a run that starts, or writes, fails the test."""
    world = tmp_path_factory.mktemp("runs")
    small = [word for word in small_run_in(world) if not word.startswith("hydra.run.dir")]
    stands_for = {"TRIPLETS": triplets, "DOCUMENTS": documents, "SENTENCES": sentences, "TINY": tiny_bert}
    lists = {"IMAGES": images, "SOUNDS": sounds}

    def said(words: str, *others: str) -> str:
        for name, place in stands_for.items():
            words = words.replace(name, str(place))
        spelled = [one for word in words.split() for one in lists.get(word, [word])]
        keys = {one.removeprefix("~").partition("=")[0] for one in spelled}
        keys |= {"data.path"} if "data" in keys else set()
        kept = [word for word in small if word.partition("=")[0] not in keys]
        with pytest.raises(UserError) as error:
            cse.train(*(kept if not others else []), *spelled, *others, folder=None if others else world / "run")
        assert not (world / "run").exists()
        assert len(str(error.value).splitlines()) == 1
        return str(error.value)

    return said


@pytest.mark.parametrize(("words", "named"), CONTRADICTIONS)
def test_settings_that_contradict_each_other_are_named(refused, words, named):
    assert named in refused(words)


@pytest.fixture(scope="module")
def run(small_run_in, cse_train, tmp_path_factory) -> Path:
    """A run of six steps."""
    folder = tmp_path_factory.mktemp("done")
    assert cse_train(small_run_in(folder)) == 0
    return folder / "run"


def content(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of each file, but of logs."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".log"]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize(("words", "named"), CHANGES)
def test_a_resume_that_would_be_another_run_is_refused(refused, run, words, named):
    before = content(run)
    assert re.search(rf"(?<![\w.]){re.escape(named)}", refused(words, f"resume={run}"))
    assert content(run) == before


@pytest.mark.parametrize("change", bad_copies.RESUMED)
def test_a_damaged_run_is_not_gone_on_with(refused, run, tmp_path, change):
    bad_copies.write_copies(tmp_path, run, {change: bad_copies.RESUMED[change]})
    before = content(tmp_path)
    named = "random states" if change == "state_random" else str(tmp_path / change)
    assert named in refused("", f"resume={tmp_path / change}")
    assert content(tmp_path) == before
    assert os.listdir(tmp_path) == [change]
