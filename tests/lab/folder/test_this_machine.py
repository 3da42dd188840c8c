"""What this machine has now, and what of a run is another now: own code, settings that decide, inputs."""

import importlib

from cse.lab.folder import this_machine


def test_the_code_of_ones_own_parts_has_digests(tmp_path, monkeypatch):
    """Not a library's, whose version is recorded."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "my_own_part.py"
    file.write_text("one = 1\n")
    importlib.import_module("my_own_part")
    targets = ["cse.objective.simcse.Simcse", "numpy.array", "my_own_part.Mine"]
    parts = {name: {"_target_": target} for name, target in zip("abc", targets, strict=True)}
    before = this_machine.own_code(parts)
    file.write_text("one = 2\n")
    assert [*before] == [*(after := this_machine.own_code(parts))] == ["my_own_part"]
    assert before != after
    run = {"own_code": before, "code": this_machine.code_digest()}
    assert this_machine.changed_code(run, parts) == ["my_own_part"]
    assert this_machine.changed_code(run | {"own_code": after}, parts) == []


def test_code_of_no_known_commit_is_named_by_its_digest():
    (told,) = this_machine.changed_code({"code": "0123456789abcdef", "git_commit": None}, {})
    assert "0123456789abcdef" in told
    assert "None" not in told


def test_a_setting_changed_if_it_decides_numbers_and_both_have_it():
    """Workers decide none, `auto` is what the machine decided, and an older run may lack a newer key."""
    before = {"trainer": {"lr": 1e-4, "workers": 0, "precision": "bf16", "max_steps": 3}, "seed": 1}
    now = {"trainer": {"lr": 3e-5, "workers": 2, "precision": "auto", "max_steps": 3, "newer": 1}, "seed": 1}
    assert list(map(str, this_machine.changed_settings(before, now))) == ["trainer.lr=0.0001 (now 3e-05)"]
    assert this_machine.changed_settings(before, before) == []


def test_inputs_changed_if_a_digest_did_or_one_of_them_is_gone():
    """Of evaluators, the files that last/ names, of those that both have."""
    last = {"inputs": {"a.txt": "1", "b.txt": "2", "c.txt": "3"}, "dev_data": {"stsb": {"dev.csv": {"sha256": "4"}}}}
    found = this_machine.changed_inputs(
        last, {"a.txt": "1", "b.txt": "5", "d.txt": "6"}, {"stsb": {}, "sts": {"x": {}}}
    )
    assert list(map(str, found)) == [
        "other content of b.txt",
        "c.txt, which is not there now",
        "dev.csv of eval=stsb, which is not there now",
        "d.txt, which was not there",
    ]
