"""What a run was made of, and the digests of this machine."""

import importlib

from cse.lab.folder import changes, facts


def test_facts_have_a_kind_and_leave_out_what_a_run_does_not_say(leave, runs):
    leave("a", {"trainer.lr": 1e-4, "trainer.workers": 2, "note": None, "seed": 1}, {"dev/x": 1.0}, code="abcd")
    known = facts.facts(runs()[0])
    assert known["scores", "dev/x"] == 1.0
    assert known["science", "trainer.lr"] == 1e-4
    assert known["machine", "trainer.workers"] == 2
    assert known["versions", "code"] == "abcd"
    assert None not in known.values()


def test_the_checksum_of_the_hubs_data_follows_their_revisions():
    first, second = ({"revisions": {"STS12": revision}} for revision in ("a1", "b2"))
    assert facts.data_digest(first) != facts.data_digest(second)
    assert facts.data_digest({"files": {}}) == ""
    # printf 'aa  x.txt\nbb  y.txt\n' | sha256sum
    files = {"files": {"y.txt": {"sha256": "bb"}, "x.txt": {"sha256": "aa"}, "x.txt + y.txt": {"rows": 2}}}
    assert facts.data_digest(files) == "3d6ca651ba2d032dcf64f44154e405b76624af6fed229900c8211d242fabea39"


def test_the_code_of_ones_own_parts_has_digests(tmp_path, monkeypatch):
    """Not a library's, whose version is recorded."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "my_own_part.py"
    file.write_text("one = 1\n")
    importlib.import_module("my_own_part")
    targets = ["cse.objective.simcse.Simcse", "numpy.array", "my_own_part.Mine"]
    parts = {name: {"_target_": target} for name, target in zip("abc", targets, strict=True)}
    before = facts.own_code(parts)
    file.write_text("one = 2\n")
    assert [*before] == [*(after := facts.own_code(parts))] == ["my_own_part"]
    assert before != after
    run = {"own_code": before, "code": facts.code_digest()}
    assert [change.name for change in changes.changed_code(run, parts)] == ["my_own_part"]
    assert changes.changed_code(run | {"own_code": after}, parts) == []
    file.unlink()  # which the module that is loaded does not notice
    assert facts.own_code(parts) == {}
    assert changes.changed_code(run, parts) == []
