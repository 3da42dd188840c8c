"""benchmarks/claims.py: every claim with the paper's own numbers, and figures of ours beside judged claims alone."""

import re
from pathlib import Path

import pytest
import yaml

from benchmarks import claims
from cse.lab.report.paper.claims_table import claim_facts

PAPERS = ["declutr", "noncontrastive", "nonling", "whitenedcse"]
SWEEPS = Path(__file__).resolve().parents[2] / "sweeps"
HEADING = re.compile(r"(?:#+ )?\**([A-F1-9](?:\.\d)?)\**\.? +[A-Z].{,90}$")
CAPTION = re.compile(r"(?:Table|Figure) ([\w.]+):")


def test_runs_of_another_setting_are_named_and_their_figures_left_out(leave, tmp_path):
    for m, score in {2: 70.0, 3: 72.1}.items():
        config = {"objective.m": m, "seed": 1, "model.name": "tiny"}
        leave(f"whitenedcse/table5/{m}", config, {"test/sts/average": score})
    found = {name: claims.findings_of(name, tmp_path / "runs") for name in ("whitenedcse/table5",)}
    line = claims.line("whitenedcse/table5", found["whitenedcse/table5"][0])
    assert line["verdict"].partition(" (")[0] == "NOT TESTED"
    assert line["published"] == "+0.04 (supports the claim)"
    assert "setting" in line["not tested"]
    assert [line[key] for key in claims.IF_JUDGED] == [""] * len(claims.IF_JUDGED)
    assert "2 claims: 2 NOT TESTED" in claims.page(found)


def test_a_table_without_runs_has_the_papers_own_numbers(tmp_path):
    found = claims.findings_of("noncontrastive/table1", tmp_path)
    published = {one.claim.says: claim_facts(one)["published"] for one in found}
    assert "does NOT support the claim" in published["dropout 0.05 is better than 0.2, in every row"]


def letters(text: str) -> str:
    """Letters and digits alone: papers.txt has LaTeX, broken lines and marks of its own."""
    return re.sub(r"\\(?:rm|leq)|[^a-z0-9]", "", text.lower())


def parts_of(paper: list[Path]) -> list[tuple[str, str]]:
    """(number, letters) of each section and caption."""
    sections, captions = [("", "")], []
    for line in "\n".join(path.read_text() for path in paper).splitlines():
        if caption := CAPTION.match(line):
            captions.append((caption[1], letters(line)))
        elif heading := HEADING.match(line):
            sections.append((heading[1], ""))
        else:
            sections[-1] = (sections[-1][0], sections[-1][1] + letters(line))
    return sections + captions


def claims_of(paper: str) -> list[tuple[str, dict]]:
    """(file's name, claim) of each claim in the paper's sweeps."""
    files = {path.name: yaml.safe_load(path.read_text()) for path in sorted((SWEEPS / paper).glob("*.yaml"))}
    return [(name, claim) for name, sweep in files.items() for claim in sweep.get("report", {}).get("claims", [])]


@pytest.mark.parametrize("paper", ["beyond", *PAPERS])
def test_the_page_has_every_claim(paper):
    page = letters(claims.PAGE.read_text())
    said = [letters(claim["says"] + claim["source"]) for _, claim in claims_of(paper)]
    assert [one for one in said if one not in page] == [], "python -m benchmarks.claims"


@pytest.mark.parametrize("paper", PAPERS)
def test_the_papers_words_stand_where_a_claim_says(shared, paper):
    parts, wrong = parts_of(sorted((shared / "papers").glob(f"{paper}*.txt"))), []
    for sweep, claim in claims_of(paper):
        place = claim["source"].partition(":")[0]
        for words in "...".join(re.findall(r'"([^"]+)"', claim["source"])).split("..."):
            numbers = {number for number, text in parts if letters(words) in text}
            if not numbers & set(place.replace(",", "").split()):
                wrong.append(f"{sweep}, {place}: {words}")
    assert wrong == []
