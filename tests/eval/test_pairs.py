"""The user's own pairs with scores: what is scored, by which a run chooses its step, and what is refused."""

import csv

import pytest
from toys import ready

from cse.errors import MissingResource, UserError
from cse.eval.pairs import Pairs, name_of_file
from cse.score import values

ROWS = [("a b", "a b c", 4), ("x y", "p q", 0), ("a", "a", 5), ("m n", "m k", -1)]


@pytest.fixture
def file(tmp_path):
    """A file of four pairs, whose texts are in a and b, and whose scores in s; t has no numbers."""
    with open(tmp_path / "pairs.csv", "w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("a", "s", "b", "t"), *((one, score, other, "x") for one, other, score in ROWS)])
    return tmp_path / "pairs.csv"


def pairs(dev=None, test=None, columns=("a", "b"), score="s", **more) -> Pairs:
    return Pairs(dev and str(dev), test and str(test), list(columns), score, **more)


def test_a_file_is_scored_as_a_task_of_its_own(file, bag_of_letters):
    from scipy.stats import spearmanr

    from cse.eval.sts import cosines

    found = ready(pairs(test=file))(bag_of_letters, "test")
    one, other, scores = zip(*ROWS, strict=True)
    expected = 100 * spearmanr(cosines(bag_of_letters([*one]), bag_of_letters([*other])), scores).statistic
    assert values(found)["pairs/spearman"] == pytest.approx(expected)
    assert [one.name for one in found] == ["pairs/spearman", "pairs/pearson"]
    assert {one.rows for one in found} == {4}


@pytest.mark.parametrize(("file", "name"), [
    ("pairs.csv", "pairs"), ("my.v1.csv", "my_v1"), ("my.v2.csv.gz", "my_v2"), ("folder.v1", "folder_v1"),
])  # fmt: skip
def test_scores_are_named_after_the_file(file, name):
    assert name_of_file(f"/somewhere.else/{file}") == name


def test_each_split_has_its_file_and_a_folder_is_all_its_files(file, tmp_path, bag_of_letters):
    (folder := tmp_path / "dev").mkdir()
    for name in ("one.csv", "two.csv"):
        (folder / name).write_bytes(file.read_bytes())
    both = ready(pairs(dev=folder, test=file))
    assert (both.splits, both.primary) == (("dev", "test"), "dev/spearman")
    assert both(bag_of_letters, "dev")[0].rows == 8
    assert len(both.source()["files"]) == 4  # the folder's sum of rows, its two files, and that of test
    assert pairs(dev=file).splits == ("dev",)


def test_leading_channels_are_scored_too(file, bag_of_letters):
    assert "width4/pairs/spearman" in values(ready(pairs(test=file, widths=[4]))(bag_of_letters, "test"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"columns": ("a", "c")}, "columns=c: .*pairs.csv has no column c; it has a, s, b, t"),
        ({"score": "t"}, "line 2: t holds 'x', not a number"),
    ],
)
def test_a_file_that_does_not_fit_is_named_with_the_evaluators_own_keys(file, settings, said):
    with pytest.raises(UserError, match=said):
        ready(pairs(test=file, **settings))


def test_a_missing_file_and_no_file_at_all_are_refused(tmp_path):
    with pytest.raises(MissingResource, match=r"dev=.*none.csv: there is no such file"):
        ready(pairs(dev=tmp_path / "none.csv"))
    with pytest.raises(UserError, match=r"test=FILE"):
        pairs()


def test_a_file_in_another_encoding_is_to_be_written_again_or_named(file, bag_of_letters):
    file.write_text("a,b,s\nä,b,1\n", encoding="utf-16")
    with pytest.raises(UserError, match=r"write the file again as UTF-8"):
        ready(pairs(test=file))
    file.write_text("a,b,s\nä,b,1\nc,d,2\n", encoding="latin-1")
    with pytest.raises(UserError, match=r"encoding$"):
        ready(pairs(test=file))
    assert {one.rows for one in ready(pairs(test=file, encoding="latin-1"))(bag_of_letters, "test")} == {2}


def test_a_pair_without_text_and_a_test_that_chooses_the_step_are_refused(file):
    with pytest.raises(UserError, match="are the same file"):
        pairs(dev=file, test=file.parent / "." / file.name)
    file.write_text("a,b,s\na,b,1\n , b,2\n")
    with pytest.raises(UserError, match=r"1 of 2 rows .*first: row 2"):
        ready(pairs(test=file))


@pytest.mark.parametrize("cell", ["", "NA", " NULL ", "\u200b", "a\0b"])
def test_a_text_that_training_cannot_use_is_not_scored(file, cell):
    file.write_text(f"a,b,s\na,b,1\na,{cell},2\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"1 of 2 rows .*row 2, where b "):
        ready(pairs(test=file))


def test_the_names_of_scores_are_known_before_the_file_is_read(file, bag_of_letters):
    known = pairs(dev=file, widths=[4]).score_names("dev")
    assert [one.name for one in ready(pairs(dev=file, widths=[4]))(bag_of_letters, "dev")] == known


@pytest.mark.parametrize(("columns", "score"), [(("a", "a"), "s"), (("a", "s"), "s")])
def test_a_column_is_not_read_twice(file, columns, score):
    with pytest.raises(UserError, match="name three different columns"):
        pairs(test=file, columns=columns, score=score)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_encoder_gets_the_texts_of_the_file_white_space_included(tmp_path, bag_of_letters, ending):
    """Code, or an encoder of bytes: SentEval's rule, single spaces, is for SentEval's data."""
    import pandas as pd

    rows = {"a": ["def f(x):\n\treturn x", "  b", "c\u3000d"], "b": ["f\n\n\ng", "b  b ", "c d"], "s": [3, 1, 2]}
    table, file, seen = pd.DataFrame(rows), tmp_path / f"mine.{ending}", []
    if ending == "csv":
        table.to_csv(file, index=False)
    elif ending == "jsonl":
        table.to_json(file, orient="records", lines=True)
    else:
        table.to_parquet(file)

    def spy(texts):
        seen.extend(texts)
        return bag_of_letters(texts)

    ready(pairs(test=file))(spy, "test")
    assert seen == rows["a"] + rows["b"]
