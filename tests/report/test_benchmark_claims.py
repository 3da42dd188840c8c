"""benchmarks/claims.py: both files from whatever runs there are."""

import csv

from benchmarks import claims


def test_every_claim_of_the_runs_there_are_and_the_tables_without(leave, tmp_path, monkeypatch):
    for m, scores in {2: (70.0, 71.0, 69.5), 3: (72.1, 73.0, 71.4)}.items():
        for seed, score in enumerate(scores):
            config = {"objective.m": m, "seed": seed, "model.name": "tiny"}
            leave(f"whitenedcse/table5/{m}-{seed}", config, {"dev/demo/average": score})
    monkeypatch.setattr(claims, "HERE", tmp_path)
    claims.main(str(tmp_path / "runs"))
    text = (tmp_path / "CLAIMS.md").read_text()
    assert "from 6 finished runs of 1 of 42 tables" in text
    assert "| whitenedcse | table5 | m = 3 is better than 2, 4 and 5 | +0.04 | yes | +2.00 (2) |" in text
    assert "Not carried out: declutr/figure2" in text
    rows = list(csv.DictReader((tmp_path / "all_runs.csv").open()))
    assert len(rows) == 6
    assert {row["objective.m"] for row in rows} == {"2", "3"}
