"""The file of a search: what was written before a power cut, and after it."""

from cse.lab.sweep.memory import Memory


def test_a_line_that_a_power_cut_left_incomplete_hides_no_later_point(tmp_path):
    memory = Memory(tmp_path / ".smac" / "search.jsonl", {"trainer.lr": "interval(1e-5,1e-3)"}, {"seed": "1"})
    memory.add({"trainer.lr": 1e-4})
    memory.file.write_text(memory.file.read_text() + '{"asked": {"trainer.lr": 2e-')
    memory.add({"trainer.lr": 3e-4})
    assert memory.points() == [{"trainer.lr": 1e-4}, {"trainer.lr": 3e-4}]
