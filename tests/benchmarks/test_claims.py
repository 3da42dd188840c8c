"""benchmarks/claims.py: every claim with the paper's own numbers, and figures of ours beside judged claims alone."""

from benchmarks import claims
from cse.report.findings import lines


def test_runs_of_another_setting_are_named_and_their_figures_left_out(leave, tmp_path):
    for m, score in {2: 70.0, 3: 72.1}.items():
        config = {"objective.m": m, "seed": 1, "model.name": "tiny"}
        leave(f"whitenedcse/table5/{m}", config, {"test/sts/average": score})
    found = {name: claims.findings_of(name, tmp_path / "runs", tmp_path) for name in ("whitenedcse/table5",)}
    line = claims.line("whitenedcse/table5", lines(found["whitenedcse/table5"])[0])
    assert (line["verdict"].partition(" (")[0], line["printed"], line["printed so"]) == ("NOT JUDGED", "+0.04", "yes")
    assert "setting" in line["not judged"]
    assert [line[key] for key in claims.IF_JUDGED] == [""] * len(claims.IF_JUDGED)
    assert "2 claims: 2 NOT JUDGED" in claims.page(found)


def test_a_table_without_runs_has_the_papers_own_numbers(tmp_path):
    found = claims.findings_of("noncontrastive/table1", tmp_path, tmp_path)
    printed = {line["claim"]: line["printed so"] for line in lines(found)}
    assert printed["dropout 0.05 is better than 0.2, in every row"] == "NO"
