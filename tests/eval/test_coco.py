"""Image-caption retrieval: loss and recalls against loops, a planted signal, damaged and malicious pickles."""

import pickle
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from damaged import Payload
from toys import ready

from cse.errors import MissingResource, UserError
from cse.eval.coco import CAPTIONS, Coco, recalls
from cse.eval.senteval.pickles import read_pickle
from cse.score import values

COLOURS = ["red", "blue", "green", "black", "white", "brown", "pink", "grey"]


@pytest.fixture
def folder(tmp_path) -> Path:
    """Images whose features encode a colour and a letter, with six captions each that name both."""
    rng = np.random.default_rng(0)
    for name, images in (("train", 60), ("valid", 16), ("test", 16)):
        features, captions, ids = [], {}, {}
        for image in range(images):
            feature = np.zeros(12)
            feature[image % 8] = 3
            feature[8 + image // 8 % 4] = 3
            features.append(feature + 0.1 * rng.standard_normal(12))
            ids[image] = [100 * image + j for j in range(6)]
            for key in ids[image]:
                captions[key] = {"cleaned_caption": f"{COLOURS[image % 8]}  {'abcd'[image // 8 % 4] * 4} {key % 10}"}
        content = {"features": features, "captions": captions, "image_to_caption_ids": ids}
        (tmp_path / f"{name}.pkl").write_bytes(pickle.dumps(content, protocol=2))
    return tmp_path


def evaluator(folder: Path | None, **changes) -> Coco:
    options = dict(width=16, margin=0.2, contrasts=5, lr=1e-2, batch_size=32, tenacity=3, max_epoch=8, fold_images=8,
                   seed=1111, device="cpu")  # fmt: skip
    return Coco(None if folder is None else str(folder), **(options | changes))


def test_recalls_are_those_of_a_loop():
    cosine = torch.randn(7, 7 * CAPTIONS, generator=torch.Generator().manual_seed(0))
    found = recalls(cosine)
    i2t, t2i = [], []
    for image in range(7):
        order = np.argsort(-cosine[image].numpy())
        i2t.append(min(np.flatnonzero(order == CAPTIONS * image + j)[0] for j in range(CAPTIONS)))
    for caption in range(35):
        t2i.append(np.flatnonzero(np.argsort(-cosine[:, caption].numpy()) == caption // CAPTIONS)[0])
    for direction, ranks in (("i2t", np.array(i2t)), ("t2i", np.array(t2i))):
        for k in (1, 5, 10):
            assert found[f"{direction}/recall@{k}"] == pytest.approx(100 * np.mean(ranks < k))
        assert found[f"{direction}/median_rank"] == np.floor(np.median(ranks)) + 1


def test_a_collapsed_encoder_finds_nothing():
    found = recalls(torch.ones(20, 100))
    assert found["i2t/recall@10"] == found["t2i/recall@10"] == 0


def test_the_loss_is_the_sum_of_hinges():
    suite = evaluator(None)
    torch.manual_seed(0)
    maps = torch.nn.ModuleList([torch.nn.Linear(12, 16), torch.nn.Linear(5, 16)])
    images, sentences = torch.randn(4, 12), torch.randn(20, 5)
    rng = np.random.default_rng(0)
    rows, image, sentence = rng.integers(0, 20, 3), rng.integers(0, 20, (3, 5)), rng.integers(0, 20, (3, 5))

    def score(i: int, j: int) -> torch.Tensor:
        return torch.cosine_similarity(maps[0](images[i // CAPTIONS]), maps[1](sentences[j]), dim=0)

    expected = sum(
        (0.2 - score(row, row) + score(row, sentence[b, c])).clamp(min=0)
        + (0.2 - score(row, row) + score(image[b, c], row)).clamp(min=0)
        for b, row in enumerate(rows)
        for c in range(5)
    )
    found = suite._loss(maps, (images, sentences), (rows, image, sentence))
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(loss, maps[0].weight)[0] for loss in (found, expected)]
    torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-4)


def test_matching_captions_and_images_are_found(folder, bag_of_letters):
    encode, suite = Mock(wraps=bag_of_letters), ready(evaluator(folder))
    found = suite(encode, "test")
    scores = values(found)
    ((captions,),) = (call.args for call in encode.call_args_list)
    assert len(captions) == CAPTIONS * (60 + 16 + 16)  # the sixth caption of each image is left out
    assert captions[0] == "red aaaa 0 ."
    assert scores["t2i/recall@1"] > 60  # 12.5 by chance
    assert scores["average"] == np.mean([value for key, value in scores.items() if "recall" in key])
    assert 0 < scores["dev_average"] <= 100
    assert suite(bag_of_letters, "test") == found  # the same seed, the same fit
    assert {one.rows for one in found} == {80}
    assert [one.name for one in found if one.lower_is_better] == ["i2t/median_rank", "t2i/median_rank"]
    assert len(suite.source()["files"]["valid.pkl"]["sha256"]) == 64


def test_missing_and_damaged_pickles_are_named(folder):
    with pytest.raises(MissingResource, match=r"folder"):
        evaluator(None).prepare()
    with pytest.raises(MissingResource, match=r"train\.pkl"):
        evaluator(folder.parent).prepare()
    whole = (folder / "valid.pkl").read_bytes()
    few, infinite = pickle.loads(whole), pickle.loads(whole)
    few["image_to_caption_ids"][3].pop()
    few["image_to_caption_ids"][3].pop()
    infinite["features"][2][0] = np.nan
    for damaged in (whole[:100], *map(pickle.dumps, ({"features": [1]}, few, infinite))):
        (folder / "valid.pkl").write_bytes(damaged)
        with pytest.raises(UserError, match=r"valid\.pkl"):
            evaluator(folder).prepare()


def test_a_pickle_runs_no_code(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (folder / "valid.pkl").write_bytes(pickle.dumps({"features": [Payload()]}))
    with pytest.raises(UserError, match=r"valid\.pkl .*system"):
        evaluator(folder).prepare()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("protocol", [0, 5])  # the fixture has 2
def test_pickles_of_arrays_text_and_scalars_are_read(tmp_path, protocol):
    content = {"a": np.arange(6.0).reshape(2, 3), "b": [np.float32(2), "text", b"bytes", 3, None, (True,)]}
    back = read_pickle(pickle.dumps(content, protocol=protocol), tmp_path)
    assert np.array_equal(back["a"], content["a"])
    assert back["b"] == content["b"]
