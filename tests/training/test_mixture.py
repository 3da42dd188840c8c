"""Runs of data=mixture: against plain torch, against a run of its only source, and resumed."""

import pytest
import torch
from accelerate import Accelerator
from killed import assert_same_run, train_to
from run_folders import logged_of, results_of
from safetensors.torch import load_file
from torch.nn.functional import cosine_similarity, cross_entropy, normalize
from transformers import AutoModel

import cse
from cse.lab.folder.contents import TrainingData
from cse.lab.run.build import build

STILL = ["augmentation=none", "augmentation.model_dropout=0.0", "trainer.select=null", "eval=[]", "trainer.warmup=0",
         "objective=simcse_sup", "objective.head=none", "model.pooling=cls"]  # fmt: skip


@pytest.fixture
def mixture(small_run, triplets):
    """Words for a run of pairs, triplets and scored pairs, each of the 60 rows of the triplets."""
    kept = [word for word in small_run if not word.startswith("data") and not word.startswith("eval=")]
    pairs = f"{{path:{triplets},columns:[sent0,sent1]}}"
    three = f"{{path:{triplets},columns:[sent0,sent1,hard_neg],limit:30}}"
    scored = f"{{path:{triplets},columns:[sent0,sent1],scores:score,score_range:[0,5],objective:cosent}}"
    return [*kept, "data=mixture", f"data.sources={{pairs:{pairs},three:{three},scored:{scored}}}"]


def test_eight_steps_are_those_of_plain_torch(mixture, tiny_bert, tmp_path, cse_train):
    """Two losses, one encoder, one AdamW; whose batch is next is asked of the run."""
    line = [*mixture, *STILL, "trainer.max_steps=8", "trainer.lr=1e-3", "trainer.schedule=constant",
            "trainer.bias_correction=torch", "trainer.clip=null", "trainer.eps=1e-3"]  # fmt: skip
    assert cse_train(line) == 0
    ours = load_file(tmp_path / "run/best/model.safetensors")
    batches = build(cse.compose(*line), Accelerator()).batches
    model = AutoModel.from_pretrained(tiny_bert, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.999), eps=1e-3, weight_decay=0.0)
    sources = []
    for step in range(8):
        batch = batches[step]
        sources.append(batch.source)
        hidden_BTD = model(batch.tokens.ids_BT, batch.tokens.mask_BT).last_hidden_state
        views = hidden_BTD[:, 0].split(batch.sizes)
        if batch.source == "scored":
            s_B, t_B = cosine_similarity(*views) / 0.05, batch.known["targets_B"][: batch.sizes[0]]
            differences = (s_B[None] - s_B[:, None])[t_B[:, None] > t_B[None]]
            loss = torch.cat([torch.zeros(1), differences]).logsumexp(0)
        else:
            unit = [normalize(view) for view in views]
            loss = cross_entropy(unit[0] @ torch.cat(unit[1:]).T / 0.05, torch.arange(len(unit[0])))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert set(sources) == {"pairs", "three", "scored"}
    for name, value in model.state_dict().items():
        if name in ours and not name.startswith("pooler"):  # which nothing reads
            torch.testing.assert_close(ours[name], value, rtol=1e-4, atol=1e-5, msg=name)


def test_a_mixture_of_one_source_is_that_source_alone_bit_for_bit(mixture, small_run, triplets, tmp_path, cse_train):
    own = ["trainer.select=null", "eval=[]", "objective=simcse_sup", "objective.keep_head=false"]
    columns = "columns:[sent0,sent1,hard_neg]"
    alone = [*mixture[:-2], "data=text", f"data.path={triplets}", "data.columns=[sent0,sent1,hard_neg]", *own]
    one = [*mixture[:-1], f"data.sources={{only:{{path:{triplets},{columns}}}}}", *own, f"hydra.run.dir={tmp_path}/one"]
    assert cse_train(alone) == cse_train(one) == 0
    found = [load_file(tmp_path / name / "last/state.safetensors") for name in ("run", "one")]
    for name, value in found[0].items():
        if not name.startswith("random"):
            assert value.equal(found[1][name.replace("objective/", "objective/objectives.0.")]), name


def test_a_resumed_mixture_ends_with_the_same_bits_and_logs_each_source(mixture, tmp_path, cse_train):
    """Its sources have a head each; two batches an update."""
    line = [*mixture, "objective=simcse_sup", "objective.keep_head=false", "trainer.accumulate=2", "eval=[]",
            "trainer.select=null", "trainer.lr=1e-3"]  # fmt: skip
    straight = train_to(cse_train, line, tmp_path / "straight", 8)
    assert_same_run(straight, train_to(cse_train, line, tmp_path / "paused", 4, 8))
    for name in ("loss", "loss/pairs", "contrastive/pairs", "loss/three", "loss/scored"):
        assert logged_of(straight, f"train/{name}"), name
    results = results_of(straight)
    assert results["training_data"].keys() <= TrainingData.__annotations__.keys()
    assert [*results["training_data"]["sources"]] == [*results["overlap"]["sources"]] == ["pairs", "three", "scored"]


def with_own(mixture: list[str], objective: str) -> list[str]:
    """The words of a run whose pairs have an objective of their own; the triplets have SimCSE's, without its head."""
    sources = mixture[-1].replace("[sent0,sent1]}", f"[sent0,sent1],objective:{objective}}}", 1)
    return [*mixture[:-1], sources, "objective=simcse_sup", "objective.keep_head=false", "eval=[]",
            "trainer.select=null", "trainer.lr=1e-3"]  # fmt: skip


def test_a_source_learns_from_a_teacher_of_its_own(mixture, tiny_roberta, tmp_path, cse_train, capsys):
    """It is resumed to the same bits. The card names each objective, and a rerun may pool the teacher otherwise."""
    gist = f"choice:gist,teacher:{tiny_roberta}"
    assert cse_train(with_own(mixture, f"{{{gist}}}")) == 2
    said = capsys.readouterr().err
    assert f"data.sources.pairs.objective.teacher={tiny_roberta} records no pooling" in said
    assert "data.sources.pairs.objective.teacher_pooling=mean" in said
    line = with_own(mixture, f"{{{gist},teacher_pooling:mean}}")
    straight = train_to(cse_train, line, tmp_path / "straight", 8)
    assert_same_run(straight, train_to(cse_train, line, tmp_path / "paused", 4, 8))
    assert logged_of(straight, "train/loss/pairs")
    card = (straight / "best/README.md").read_text()
    assert "# GISTEmbed + Supervised SimCSE + CoSENT from " in card
    assert "data.sources.pairs.objective.temperature: 0.01" in card
    assert "(150 rows, " in card
    assert card.count("`triplets.csv`") == 1
    again = [f"rerun={straight}", "data.sources.pairs.objective.teacher_pooling=cls", "trainer.max_steps=1"]
    assert cse_train([*again, f"hydra.run.dir={tmp_path}/again"]) == 0


def test_a_source_masks_and_the_others_do_not(mixture, tmp_path, cse_train):
    line = with_own(mixture, "{choice:simcse_sup,keep_head:false,mlm_weight:0.1}")
    straight = train_to(cse_train, line, tmp_path / "straight", 8)
    assert_same_run(straight, train_to(cse_train, line, tmp_path / "paused", 4, 8))
    assert logged_of(straight, "train/mlm/pairs")
    assert not logged_of(straight, "train/mlm/three")


@pytest.mark.parametrize("modality", ["images", pytest.param("sounds", marks=pytest.mark.nightly)])
def test_a_mixture_beside_images_or_sound(modality, mixture, tmp_path, cse_train, request):
    aux = [*request.getfixturevalue(modality), "aux_modality.head_mode=own"]
    line = [*with_own(mixture, "null"), *aux]
    straight = train_to(cse_train, line, tmp_path / "straight", 6)
    assert_same_run(straight, train_to(cse_train, line, tmp_path / "paused", 2, 6))
    assert logged_of(straight, "train/aux/loss")
    learned = results_of(straight)["training_data"]
    assert [*learned["sources"]] == ["pairs", "three", "scored"]
    assert learned["aux_modality"]["items"] == 16


def test_a_smoke_test_makes_each_source_and_its_objective_small(mixture, cse_train, tmp_path):
    """The teacher that the source's objective names by default is on the hub alone."""
    line = with_own(mixture, "gist")
    assert cse_train([*line, "smoke=true", f"hydra.run.dir={tmp_path}/run"]) == 0
    config = results_of(tmp_path / "run")["config"]
    pairs = config["data"]["sources"]["pairs"]
    assert pairs["limit"] == 64
    assert config["replaced"]["data.sources.pairs.objective.teacher"] == "WhereIsAI/UAE-Large-V1"


def test_a_run_says_each_source(mixture, cse_train, capsys):
    assert cse_train([*mixture, "objective=simcse_sup", "objective.keep_head=false", "eval=[]", "dry_run=true"]) == 0
    said = "".join(capsys.readouterr())
    assert "an epoch has 20 batches: 8 of pairs (Simcse), 4 of three (Simcse), 8 of scored (Cosent)" in said
    assert "three: sent0, sent1, hard_neg" in said
    assert cse_train([*mixture, "objective=simcse_sup", "objective.head=none", "data.preview=1"]) == 0
    assert "".join(capsys.readouterr()).count("row 1:") == 3


@pytest.mark.parametrize(("words", "named"), [
    (["objective=simcse_sup"], ["objective.keep_head=false", "objective.head=null"]),
    (["objective=esimcse", "augmentation=dropout"], ["momentum encoder"]),
    (["objective=simcse_sup", "objective.head=null", "aux_modality=visual"], ["aux_modality.head_mode"]),
])  # fmt: skip
def test_what_a_mixture_cannot_have_is_refused(mixture, images, cse_train, capsys, words, named):
    more = [word for word in images if not word.startswith("aux_modality=")] if "aux_modality=visual" in words else []
    assert cse_train([*mixture, "eval=[]", *words, *more]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert all(one in said for one in named), said
