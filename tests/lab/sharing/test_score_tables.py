"""Tables of scores: the suites to paste, and marks on modified data."""

from cse.lab.sharing import score_tables
from cse.score import Score


def test_modified_scores_are_marked_in_every_file(tmp_path):
    found = [Score("test/sts/STS12/spearman", 70.0, rows=3, modified=True), Score("test/sts/average", 0.5, rows=9)]
    frame = score_tables.csv_frame(found, {"sts": {"protocol": "mine"}}, "fp32", "an encoder", {"torch": "2"})
    score_tables.write_score_files(tmp_path, found, frame, score_tables.footnotes(frame), "Ours, 1%")
    lines = (tmp_path / "scores.csv").read_text().splitlines()
    assert lines[0].startswith("name,value,rows,unit,lower_is_better,modified,")
    assert lines[1].startswith("test/sts/STS12/spearman,70.0000,3,,False,True,")
    assert "| test/sts/STS12/spearman † | 70.0000 | 3 |" in (tmp_path / "scores.md").read_text()
    assert r"Ours, 1\% & 70.00\textsuperscript{$\dagger$} & 0.5000" in (tmp_path / "scores.tex").read_text()
    assert "allow_partial" in score_tables.terminal_table(found, score_tables.footnotes(frame))


def test_a_suite_is_one_line_to_paste_with_the_average_last():
    tasks = ["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R"]
    numbers = {"test/sts/average": 75.0} | {f"test/sts/{task}/spearman": 70.0 + n for n, task in enumerate(tasks)}
    numbers |= {"test/sts/width96/STS12/spearman": 60.0, "test/transfer/MR/accuracy": 80.0, "dev/stsb/spearman": 50.0}
    numbers |= {f"test/mteb/T{n}/accuracy": float(n) for n in range(20)}
    named = [Score(name, value, modified="STS13" in name) for name, value in numbers.items()]
    found = score_tables.suite_tables(named, "an encoder")
    assert list(found) == ["sts, test", "transfer, test", "stsb, dev", "mteb, test"]
    sts = found["sts, test"]
    assert list(sts) == ["", *tasks, "Avg."]
    assert sts[""].tolist() == ["an encoder", "an encoder, 96 wide"]
    assert sts.iloc[0, 1:4].tolist() == ["70.00", "71.00 †", "72.00"]
    assert sts.iloc[1, 1:].tolist() == ["60.00", *[""] * 7]
    assert list(found["transfer, test"]) == ["", "MR"]
    assert found["mteb, test"].shape == (1, 21)
