"""benchmarks/claims.py: the files grow with the runs there are, and outlive them."""

import shutil

from benchmarks import claims


def leave_table5(leave):
    for m, scores in {2: (70.0, 71.0, 69.5), 3: (72.1, 73.0, 71.4)}.items():
        for seed, score in enumerate(scores):
            config = {"objective.m": m, "seed": seed, "model.name": "/home/me/tiny", "paths.cache": "/home/me/cache"}
            leave(f"whitenedcse/table5/{m}-{seed}", config, {"dev/demo/average": score})


def lines(path):
    return claims.read(path)


def test_every_claim_of_the_runs_there_are_and_the_tables_without(leave, tmp_path, monkeypatch):
    leave_table5(leave)
    monkeypatch.setattr(claims, "HERE", tmp_path)
    claims.main(tmp_path / "runs", ["whitenedcse/table5", "nonling/table1"])
    text = (tmp_path / "CLAIMS.md").read_text()
    assert "from 6 finished runs of 1 of " in text
    assert "| whitenedcse | table5 | m = 3 is better than 2, 4 and 5 | +0.04 | yes | +2.00 (2) |" in text
    assert "declutr/figure2" in text.partition("Not carried out: ")[2]
    rows = lines(tmp_path / "all_runs.csv.gz")
    assert [row["folder"] for row in rows] == [f"whitenedcse/table5/{m}-{seed}" for m in (2, 3) for seed in range(3)]
    assert {row["objective.m"] for row in rows} == {"2", "3"}
    assert {row["model.name"] for row in rows} == {"tiny"}  # nothing says where this machine keeps it
    assert not any("/home/me" in value for row in rows for value in row.values())


def test_what_was_judged_before_stays_when_its_runs_are_gone(leave, tmp_path, monkeypatch):
    leave_table5(leave)
    monkeypatch.setattr(claims, "HERE", tmp_path)
    claims.main(tmp_path / "runs", ["whitenedcse/table5"])
    before = lines(tmp_path / "claims.csv")
    assert all(row["date"] and row["commit"] and row["runs"] == "6" for row in before)
    shutil.rmtree(tmp_path / "runs" / "whitenedcse")
    leave("whitenedcse/table3/a", {"seed": 1}, {"dev/demo/average": 50.0})
    claims.main(tmp_path / "runs", ["whitenedcse/table5", "whitenedcse/table3"])
    after = lines(tmp_path / "claims.csv")
    assert [row for row in after if row["table"] == "table5"] == before
    assert {row["table"] for row in after} == {"table3", "table5"}
    assert len(lines(tmp_path / "all_runs.csv.gz")) == 7
    assert "from 7 finished runs of 2 of " in (tmp_path / "CLAIMS.md").read_text()

    leave_table5(leave)  # judged again, and not twice
    claims.main(tmp_path / "runs", ["whitenedcse/table5"])
    assert len(lines(tmp_path / "claims.csv")) == len(after)
    assert len(lines(tmp_path / "all_runs.csv.gz")) == 7


def test_lines_of_before_the_rules_are_not_judged_by_them_either(tmp_path, monkeypatch):
    """claims.csv stays as it was; CLAIMS.md says what its runs are."""
    monkeypatch.setattr(claims, "HERE", tmp_path)
    row = {"paper": "whitenedcse", "table": "table5", "claim": "it", "verdict": "HOLDS", "n": "1 and 1, 2 parts"}
    ran = {"folder": "whitenedcse/table5/2", "status": "done", "steps": "6", "model.name": "tiny_minilm"}
    claims.write(tmp_path / "claims.csv", [row, {**row, "n": "3 seeds"}], claims.COLUMNS)
    claims.write(tmp_path / "all_runs.csv.gz", [ran], list(ran))
    before = (tmp_path / "claims.csv").read_bytes()
    claims.main(tmp_path / "none")
    page = (tmp_path / "CLAIMS.md").read_text()
    assert "Of 2 claims 2 are NOT JUDGED" in page
    assert "MiniLM, at most 6 steps; 1 and 1, where each trained side needs 3 seeds" in page
    assert "| HOLDS" not in page
    assert (tmp_path / "claims.csv").read_bytes() == before
    long = {**ran, "steps": "7813"}
    assert claims.by_the_rules({**row, "n": "3 seeds"}, [long])["verdict"] == "HOLDS"
    assert claims.by_the_rules(row, [long])["verdict"] == "NOT JUDGED"
