"""What has changed: code, settings that decide, inputs; and in which words a change is told."""

from pathlib import Path

from cse.files import sha256
from cse.lab.folder import changes
from cse.lab.folder.facts import as_facts
from cse.lab.folder.runs import Run
from cse.lab.folder.status import State


def test_changes_are_told_in_the_same_words_by_kind():
    before = as_facts("science", {"trainer.lr": 1e-4, "seed": 1, "smoke": False})
    now = as_facts("science", {"trainer.lr": 3e-5, "seed": 1.0, "smoke": None})
    changed = changes.changes(before, now)
    assert list(map(str, changed)) == ["trainer.lr=0.0001 (now 3e-05)", "smoke=false (now null)"]
    assert changes.changes_in_words(changed, most=1) == "trainer.lr=0.0001 (now 3e-05) and 1 more"


def test_code_of_no_known_commit_is_named_by_its_digest():
    (told,) = changes.changed_code({"code": "0123456789abcdef", "git_commit": None}, {})
    assert "0123456789abcdef" in told.name
    assert "None" not in told.name


def test_a_setting_changed_if_it_decides_numbers_and_both_have_it():
    """Workers decide none, `auto` is what the machine decided, and an older run may lack a newer key."""
    before = {"trainer": {"lr": 1e-4, "workers": 0, "precision": "bf16", "max_steps": 3}, "seed": 1}
    now = {"trainer": {"lr": 3e-5, "workers": 2, "precision": "auto", "max_steps": 3, "newer": 1}, "seed": 1}
    assert list(map(str, changes.changed_settings(before, now))) == ["trainer.lr=0.0001 (now 3e-05)"]
    assert changes.changed_settings(before, before) == []


def test_inputs_changed_if_a_digest_did_or_one_of_them_is_gone():
    """Of evaluators, the files that last/ names, of those that both have."""
    last = {"inputs": {"a.txt": "1", "b.txt": "2", "c.txt": "3"}, "dev_data": {"stsb": {"dev.csv": {"sha256": "4"}}}}
    found = changes.changed_inputs(last, {"a.txt": "1", "b.txt": "5", "d.txt": "6"}, {"stsb": {}, "sts": {"x": {}}})
    assert list(map(str, found)) == [
        "b.txt (other content)",
        "c.txt (now missing)",
        "dev.csv of eval=stsb (now missing)",
        "d.txt (new)",
    ]


def test_a_folder_of_text_changed_if_it_has_another_file_also_as_a_source_of_a_mixture(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    learned = {"rows": 1, "sha256": {f"{folder}/a.txt": sha256(folder / "a.txt")}}
    one = run_on({"path": str(folder)}, learned)
    several = run_on({"sources": {"mine": {"path": str(folder)}}}, learned | {"sources": {"mine": learned}})
    assert changes.changed_files(one) == changes.changed_files(several) == []
    (folder / "b.txt").write_text("b\n")
    for run, key in ((one, "data.path"), (several, "data.sources.mine.path")):
        (change,) = changes.changed_files(run)
        assert change.name == f"{key}={folder}"


def run_on(data: dict, learned: dict) -> Run:
    """A finished run with these settings of its text, and what it recorded of it."""
    return Run(Path("nowhere"), State.DONE, {"data": data}, {}, {}, {"status": "done", "training_data": learned})
