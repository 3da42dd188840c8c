"""STS-B's training pairs: SentEval's, complete, and identified by their content."""

import pytest
from toys import composed

from cse.data.stsb import FILE
from cse.errors import MissingResource, UserError
from cse.lab.run.instantiate import make

LINE = "made\tup\ttrain\t1\t{score}\ta cat .\ta dog ."


def stsb(folder, cache, *more):
    return make(composed("data=stsb", f"paths.senteval={folder}", f"paths.cache={cache}", *more).data).read()


def test_pairs_and_scores_are_those_of_sentevals_file(shared, tmp_path):
    text = stsb(shared / "data" / "senteval", tmp_path)
    assert (len(text), text.num_columns) == (5749, 2)
    assert (text.text(1, 0), text.text(1, 1)) == ("a man is playing a large flute .", "a man is playing a flute .")
    assert text.targets_N[1] == pytest.approx(3.8 / 5)
    assert (text.targets_N.min(), text.targets_N.max()) == (0, 1)


def test_an_incomplete_copy_is_refused_and_a_changed_one_is_read_again(tmp_path):
    file = tmp_path / FILE
    with pytest.raises(MissingResource, match=FILE):
        stsb(tmp_path, tmp_path / "cache")
    file.parent.mkdir(parents=True)
    refused = [("\n".join(LINE.format(score=score) for score in (2, 3)), "allow_partial"), ("a\tb", "line 1: 2 fields")]
    refused += [(LINE.format(score=score), "line 1: score") for score in ("x", 6)]
    for content, named in refused:
        file.write_text(content + "\n")
        with pytest.raises(UserError, match=named):
            stsb(tmp_path, tmp_path / "cache")
    for scores in ([1, 5], [2, 3]):
        file.write_text("\n".join(LINE.format(score=score) for score in scores) + "\n")
        text = stsb(tmp_path, tmp_path / "cache", "allow_partial=true")
        assert (5 * text.targets_N).tolist() == pytest.approx(scores)
    assert text.inputs().keys() == {str(file)}
    with pytest.raises(UserError, match="allow_partial"):  # though its rows are in the cache now
        stsb(tmp_path, tmp_path / "cache")
