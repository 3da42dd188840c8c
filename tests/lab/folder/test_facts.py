"""What a run was made of: code of one's own by digest, settings that decide, and what of them is another now."""

import importlib

from cse.lab.folder import digests, facts


def test_the_code_of_ones_own_parts_has_digests(tmp_path, monkeypatch):
    """Not a library's, whose version is recorded."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "my_own_part.py"
    file.write_text("one = 1\n")
    importlib.import_module("my_own_part")
    targets = ["cse.objective.simcse.Simcse", "numpy.array", "my_own_part.Mine"]
    parts = {name: {"_target_": target} for name, target in zip("abc", targets, strict=True)}
    before = digests.own_code(parts)
    file.write_text("one = 2\n")
    assert [*before] == [*(after := digests.own_code(parts))] == ["my_own_part"]
    assert before != after
    run = {"own_code": before, "code": digests.code_digest()}
    assert facts.changed_code(run, parts) == ["my_own_part"]
    assert facts.changed_code(run | {"own_code": after}, parts) == []


def test_code_of_no_known_commit_is_named_by_its_digest():
    (told,) = facts.changed_code({"code": "0123456789abcdef", "git_commit": None}, {})
    assert "0123456789abcdef" in told
    assert "None" not in told


def test_a_setting_changed_if_it_decides_numbers_and_both_have_it():
    """Workers decide none, `auto` is what the machine decided, and an older run may lack a newer key."""
    before = {"trainer": {"lr": 1e-4, "workers": 0, "precision": "bf16", "max_steps": 3}, "seed": 1}
    now = {"trainer": {"lr": 3e-5, "workers": 2, "precision": "auto", "max_steps": 3, "newer": 1}, "seed": 1}
    assert list(map(str, facts.changed_settings(before, now))) == ["trainer.lr=0.0001 (now 3e-05)"]
    assert facts.changed_settings(before, before) == []


def test_facts_have_a_kind_and_leave_out_what_a_run_does_not_say(leave, runs):
    leave("a", {"trainer.lr": 1e-4, "trainer.workers": 2, "note": None, "seed": 1}, {"dev/x": 1.0}, code="abcd")
    known = facts.facts(runs()[0])
    assert known["scores", "dev/x"] == 1.0
    assert known["science", "trainer.lr"] == 1e-4
    assert known["machine", "trainer.workers"] == 2
    assert known["versions", "code"] == "abcd"
    assert None not in known.values()


def test_changes_are_told_in_the_same_words_by_kind():
    before = facts.as_facts("science", {"trainer.lr": 1e-4, "seed": 1, "smoke": False})
    now = facts.as_facts("science", {"trainer.lr": 3e-5, "seed": 1.0, "smoke": None})
    changed = facts.changes(before, now)
    assert list(map(str, changed)) == ["trainer.lr=0.0001 (now 3e-05)", "smoke=false (now null)"]
    assert facts.changes_in_words(changed, most=1) == "trainer.lr=0.0001 (now 3e-05) and 1 more"


def test_inputs_changed_if_a_digest_did_or_one_of_them_is_gone():
    """Of evaluators, the files that last/ names, of those that both have."""
    last = {"inputs": {"a.txt": "1", "b.txt": "2", "c.txt": "3"}, "dev_data": {"stsb": {"dev.csv": {"sha256": "4"}}}}
    found = facts.changed_inputs(last, {"a.txt": "1", "b.txt": "5", "d.txt": "6"}, {"stsb": {}, "sts": {"x": {}}})
    assert list(map(str, found)) == [
        "other content of b.txt",
        "c.txt, which is not there now",
        "dev.csv of eval=stsb, which is not there now",
        "d.txt, which was not there",
    ]
