"""docs/promises.md: every file that it names is there and tests something, and no test of tests/faults is left out."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| promise")]


def named(text: str) -> list[str]:
    return re.findall(r"`((?:tests|benchmarks)/[\w/]+\.(?:py|md)|Makefile|SECURITY\.md)`", text)


def test_each_promise_names_what_holds_it():
    assert len(ROWS) > 20
    for row in ROWS:
        assert named(row.rpartition(" | ")[2]), row


def test_what_is_named_exists_and_tests_something():
    for name in named(PAGE):
        content = (ROOT / name).read_text()
        assert not name.startswith("tests/") or "\ndef test_" in content, name


def test_no_test_of_faults_is_forgotten():
    tests = {f"tests/faults/{path.name}" for path in Path(__file__).parent.glob("test_*.py")} - {
        f"tests/faults/{Path(__file__).name}"
    }
    assert tests <= set(named(PAGE))
