"""Parts that do not fit each other are refused before anything is downloaded, read or tokenised."""

from contextlib import nullcontext
from itertools import product

import pytest
from hydra.utils import get_class, instantiate
from toys import composed, toy_of

from cse.errors import UserError
from cse.lab.run.build import make_objective
from cse.lab.run.compatible import check_text, check_views
from cse.lab.run.texts import TextWithObjective, for_columns, texts_with_objectives
from cse.lab.settings.groups import choices
from cse.sources.catalogue import DATASETS

TEXTS = [name for name in choices("data") if name != "mixture"]  # whose sources are texts


def columns_of(data: str) -> int:
    """The columns in the catalogue; the user's own file is plain text here, and STS-B comes from SentEval."""
    return 2 if data == "stsb" else len(DATASETS[data].columns or ["text"]) if data in DATASETS else 1


@pytest.mark.parametrize("objective", choices("objective"))
def test_the_number_of_views_is_known_before_there_is_an_encoder(objective):
    cfg = composed(f"objective={objective}").copy()
    cfg.merge_with_dotlist(toy_of("objective", objective, 32))
    node = cfg.objective
    kind = get_class(node._target_)
    assert kind.views_of(node) == make_objective(node, 32).num_views


@pytest.mark.parametrize(("objective", "data"), list(product(choices("objective"), TEXTS)))
def test_a_corpus_with_too_few_columns_for_an_objective_is_refused(objective, data):
    cfg = composed(f"objective={objective}")
    of_data = composed(f"data={data}", *["data.path=x.txt"] * (data == "text"))
    text, augmentation = instantiate(of_data.data), instantiate(cfg.augmentation)
    kind, columns = get_class(cfg.objective._target_), columns_of(data)
    assert text.num_columns == columns
    settings = for_columns(cfg.objective, columns)
    wanted = kind.views_of(settings)
    own_columns = cfg.hydra.runtime.choices.augmentation == "none"  # each view is a column
    own_columns |= kind.further_are_negatives and wanted > 2
    too_few = own_columns if columns == 1 else augmentation.positives > 1 or columns < wanted
    negative = columns == wanted == 3 and not kind.further_are_negatives  # among views that are all positives
    with pytest.raises(UserError, match=f"data={data}") if too_few or negative else nullcontext():
        check_views(TextWithObjective(None, text, of_data.data, settings, "objective"), augmentation)


@pytest.mark.parametrize(("words", "named"), [
    (["objective=gist", "objective.num_views=2", "data=wiki1m"], "2 views of a row, each from its own column"),
    (["objective=gist", "objective.num_views=2", "data=wiki1m", "augmentation=shuffle"], "use data with 2 columns"),
    (["objective=cosent", "data=stsb", "data.columns=[sentence1]", "augmentation=dropout"], "each from its own column"),
    (["objective=whitenedcse", "data=nli"], r"the third column of data=nli is a hard.*data\.columns=\[sent0,sent1\]"),
    (["objective=whitenedcse", "data=nli", "data.columns=[sent0,sent1]", "objective.m=2"], ""),
    (["objective=whitenedcse", "data=text", "data.path=x.csv", "data.columns=[a,b,c]"], ""),  # all paraphrases
    (["objective=mlm", "data=wiki1m", "augmentation=repetition"], "needs 1 view of a row, but augmentation=repet"),
])  # fmt: skip
def test_a_view_is_what_the_loss_takes_it_for(words, named):
    cfg = composed(*words)
    learned = TextWithObjective(None, instantiate(cfg.data), cfg.data, cfg.objective, "objective")
    with pytest.raises(UserError, match=named) if named else nullcontext():
        check_views(learned, instantiate(cfg.augmentation))


@pytest.mark.parametrize(("words", "named"), [
    (["augmentation=spans", "objective=declutr"], r"data\.sources\.qa has 2 columns.* in data\.sources\.qa\.columns"),
    (["objective.num_views=3"], r"data\.sources\.qa has 2 columns.* one or 3 columns, or objective\.num_views=2"),
])  # fmt: skip
def test_views_that_a_source_cannot_have_are_refused_by_the_keys_of_the_source(words, named):
    cfg = composed("data=mixture", "data.sources={qa:{path:qa.csv,columns:[q,a]}}", *words)
    (learned,) = texts_with_objectives(cfg)
    with pytest.raises(UserError, match=named):
        check_views(learned, instantiate(cfg.augmentation))


def test_a_run_says_that_without_dropout_the_views_of_a_clip_are_equal(small_run, sounds, cse_train, capsys):
    for more, says in ([], True), (["augmentation.model_dropout=0.1"], False):
        assert cse_train([*small_run, *sounds, "augmentation=shuffle", "dry_run=true", *more]) == 0
        assert ("both views of a clip are equal" in "".join(capsys.readouterr())) == says


@pytest.mark.parametrize("objective", choices("objective"))
def test_a_loss_that_reads_scores_needs_a_column_of_them_and_no_other_may_have_one(objective):
    cfg = composed(f"objective={objective}", "data=text", "data.path=x.csv", "data.columns=[a,b]")
    texts = [
        TextWithObjective(None, instantiate(cfg.data, **scores), cfg.data, cfg.objective, "objective")
        for scores in ({}, {"scores": "c"})
    ]
    reads = texts[0].objective.reads_scores
    with pytest.raises(UserError, match=r"data\.scores=COLUMN") if reads else nullcontext():
        check_text(texts[0], batch_size=64)
    with nullcontext() if reads else pytest.raises(UserError, match=r"data\.scores=c"):
        check_text(texts[1], batch_size=64)


@pytest.mark.parametrize(("line", "named"), [
    ("model=bert objective=simcse_sup objective.num_views=3 data=wikiauto", "data=wikiauto has 2 columns"),
    ("objective=simcse_sup objective.num_views=3 augmentation=dropout data=wiki1m",
     "use objective.num_views=2, or data with 3 columns"),
])  # fmt: skip
def test_nothing_is_downloaded_before_the_refusal(toy_hub, tiny, small_run, cse_train, tmp_path, capsys, line, named):
    kept = [word for word in small_run if not word.startswith(("model", "data"))]
    line = line.replace("MODERNBERT", str(tiny("modernbert"))).replace("BERT", str(tiny("bert")))
    assert cse_train([*kept, *line.split()]) == 2
    assert named in capsys.readouterr().err
    assert toy_hub.requests == []
    assert not (tmp_path / "cache" / "text").exists()


def test_a_corpus_is_not_fetched_for_a_model_that_is_missing(toy_hub, small_run, cse_train, capsys):
    """It may be 24 GB. The hub is only asked whether it exists; one error names all that is missing."""
    toy_hub.add("datasets/princeton-nlp/datasets-for-simcse", {"wiki1m_for_simcse.txt": b"a line\n" * 9})
    kept = [word for word in small_run if not word.startswith(("model", "data"))]
    assert cse_train([*kept, "model.name=lab/nothing", "data=wiki1m"]) == 2
    assert "lab/nothing" in capsys.readouterr().err
    assert toy_hub.downloads() == []
    assert cse_train([*kept, "model.name=lab/nothing", "data=openwebtext", "aux_modality=visual"]) == 2
    said = capsys.readouterr().err.partition("all that is missing: ")[2].partition(";")[0]
    assert said == "lab/nothing, openwebtext, google/vit-base-patch16-224-in21k, imagenet"


@pytest.mark.parametrize(("more", "says"), [([], True), (["model.name=lab/nothing"], False)])
def test_if_only_data_of_scores_is_missing_the_error_names_eval(toy_hub, small_run, cse_train, capsys, more, says):
    kept = [word for word in small_run if not word.startswith(("paths.senteval", "eval"))]
    assert cse_train([*kept, "eval=stsb", *more]) == 2
    error = capsys.readouterr().err
    assert "senteval" in error
    assert ("eval=[]" in error, "eval=pairs eval.dev=FILE" in error) == (says, says)
