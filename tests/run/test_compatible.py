"""What does not go together is refused before anything is downloaded, read or tokenised."""

from functools import cache
from itertools import product

import pytest
from hydra.utils import get_class, instantiate
from toys import composed, toy_of

from cse.config.groups import choices
from cse.errors import UserError
from cse.run.build import make_objective
from cse.run.compatible import check_scores, check_views
from cse.sources.catalogue import DATASETS


def columns_of(data: str) -> int:
    """By the catalogue; a file of one's own is plain text here, and STS-B's is a file of SentEval's."""
    return 2 if data == "stsb" else len(DATASETS[data].columns or ["text"]) if data in DATASETS else 1


@pytest.mark.parametrize("objective", choices("objective"))
def test_the_number_of_views_is_known_before_there_is_an_encoder(objective):
    node = composed(f"objective={objective}", *toy_of("objective", objective, 32)).objective
    kind = get_class(node._target_)
    assert kind.views_of(node) == make_objective(node, 32).num_views


once = cache(composed)


@pytest.mark.parametrize(("objective", "data"), list(product(choices("objective"), choices("data"))))
def test_an_objective_takes_a_corpus_or_says_why_its_columns_do_not_fit(objective, data):
    cfg, of_data = once(f"objective={objective}"), once(f"data={data}", *["data.path=x.txt"] * (data == "text"))
    text, augmentation = instantiate(of_data.data), instantiate(cfg.augmentation)
    columns, views = columns_of(data), get_class(cfg.objective._target_).views_of(cfg.objective)
    assert text.num_columns == columns

    def check() -> None:
        check_views(augmentation, text, get_class(cfg.objective._target_), cfg.objective)

    if 1 < columns < views:
        with pytest.raises(UserError, match=rf"wants {views} views of a row, but data={data} has {columns} columns"):
            check()
    elif columns == 1 and cfg.hydra.runtime.choices.augmentation == "none":
        with pytest.raises(UserError, match=f"data={data} has one column"):
            check()
    else:
        check()


@pytest.mark.parametrize("objective", choices("objective"))
def test_scores_are_asked_for_where_the_loss_reads_them(objective):
    cfg = composed(f"objective={objective}", "data=text", "data.path=x.csv", "data.columns=[a,b]")
    kind = get_class(cfg.objective._target_)
    if "targets_B" in kind.reads:
        with pytest.raises(UserError, match=r"data\.scores=COLUMN"):
            check_scores(instantiate(cfg.data), kind)
    cfg.data.scores = "c"
    check_scores(instantiate(cfg.data), kind)


@pytest.mark.parametrize(("line", "named"), [
    ("model=bert objective=simcse_sup data=wikiauto", "data=wikiauto has 2 columns"),
    ("model.name=MODERNBERT model.pooling=mean data=wiki1m", "trains without dropout"),
    ("model.name=BERT data=wiki1m trainer.max_length=1000", "trainer.max_length=70 at most"),
])  # fmt: skip
def test_it_is_said_before_the_hub_is_asked(toy_hub, tiny, small_run, cse_train, tmp_path, capsys, line, named):
    kept = [word for word in small_run if not word.startswith(("model", "data"))]
    line = line.replace("MODERNBERT", str(tiny("modernbert"))).replace("BERT", str(tiny("bert")))
    assert cse_train([*kept, *line.split()]) == 2
    assert named in capsys.readouterr().err
    assert toy_hub.requests == []
    assert not (tmp_path / "cache" / "text").exists()


def test_a_corpus_is_not_fetched_for_a_model_that_is_missing(toy_hub, small_run, cse_train, capsys):
    """It may be 24 GB; that it is there is asked, and what is missing beside it is said in the same sentence."""
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", {"wiki1m_for_simcse.txt": b"a line\n" * 9})
    kept = [word for word in small_run if not word.startswith(("model", "data"))]
    assert cse_train([*kept, "model.name=lab/nothing", "data=wiki1m"]) == 2
    assert "the model lab/nothing does not exist on the hub" in capsys.readouterr().err
    assert toy_hub.downloads() == []
    assert cse_train([*kept, "model.name=lab/nothing", "data=openwebtext"]) == 2
    err = capsys.readouterr().err
    assert "the model lab/nothing does not exist on the hub" in err
    assert "data=openwebtext" in err
