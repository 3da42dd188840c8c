"""The papers' claims about their tables, compared with the papers' own numbers and with our runs.

    python -m benchmarks.claims [FOLDER]

The program writes the whole of CLAIMS.md each time. FOLDER (by default `runs`) has the runs of each sweep in
PAPER/TABLE, the folder in which `cse-train sweep=PAPER/TABLE` trains. A table without runs has only the paper's own
numbers. A claim has our numbers only if our runs test the claim.
"""

import argparse
from pathlib import Path

import pandas as pd

from cse.errors import UserError
from cse.files import write_text
from cse.lab.commands.report_settings import reporting_settings
from cse.lab.report.paper.claims import JudgedClaim, judge_claims
from cse.lab.report.paper.claims_table import claim_facts, headline
from cse.lab.report.paper.sweep_runs import read_sweep_runs
from cse.lab.report.verdicts import NOT_RUN, NOT_TESTED, SEE_FIGURE
from cse.lab.sections import to_markdown
from cse.lab.settings.groups import choices
from cse.lab.sweep import sweeps

PAGE = Path(__file__).parent / "CLAIMS.md"
ANYWAY = ("published", "measured by", "not tested")
IF_JUDGED = ("ours", "interval", "p", "n", "missing", "each part")
HEAD = """# What the papers claim from their tables

Made by `python -m benchmarks.claims`. {headline} They belong to {tables} tables and figures, and
are in `sweeps/` as data.

A claim is tested only on the paper's own score and setting, with three seeds or more of each trained side
([the rules](../docs/sweeps.md#verdicts)). No machine here can train a paper's encoder for its number of steps. So this
page asks only whether a paper's published numbers agree with its claims. Of {printed} claims with published numbers,
**{no} are not supported by all of these numbers, in the words used here** (*source* quotes the paper, which may promise
less). In {tie} other claims the two numbers are equal. [On a small encoder](study/RESULTS.md) methods were compared on
equal terms.

*Published*: the difference between the paper's published numbers, positive if it has the claimed sign. For a claim of
several parts it is the least favourable part. *Measured by*: what the paper measured. SEE FIGURE: a claim about a
figure, to be read beside its curve.

"""


def findings_of(name: str, folder: Path) -> list[JudgedClaim]:
    """Return a sweep's claims, with the verdicts of the sweep's runs in the folder, if there are any."""
    place = folder / sweeps.load_sweep(name).folder
    words = [f"sweep={name}", *([f"runs={place}"] if place.is_dir() else [])]
    config = reporting_settings(words)
    return judge_claims(read_sweep_runs(config, [place]))


def line(name: str, one: JudgedClaim) -> dict[str, str]:
    """Return a claim's row of the page, {column: text}."""
    facts = claim_facts(one)
    judged = one.verdict not in (SEE_FIGURE, NOT_TESTED, NOT_RUN)
    return {
        "table": name,
        "claim": one.claim.says,
        "source": one.claim.source,
        "verdict": "" if one.verdict == NOT_RUN else one.verdict_with_parts,
        **{key: facts[key] for key in ANYWAY},
        **{key: facts[key] if judged else "" for key in IF_JUDGED},
    }


def page(found: dict[str, list[JudgedClaim]]) -> str:
    """Return the page. found: {name of a sweep: its claims with their verdicts}."""
    every = [finding for claims in found.values() for finding in claims]
    table = pd.DataFrame([line(name, one) for name, claims in found.items() for one in claims])
    supports = [one.published_supports for one in every if one.published is not None]
    head = HEAD.format(
        headline=headline(every),
        tables=sum(len(claims) > 0 for claims in found.values()),
        printed=len(supports),
        no=supports.count(False),
        tie=supports.count(None),
    )
    return head + to_markdown(table.loc[:, (table != "").any()]) + "\n"


def main() -> None:
    """Write CLAIMS.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("runs"), help="PAPER/TABLE folders of runs")
    folder = parser.parse_args().folder
    names = [name for name in choices("sweep") if not name.startswith("study")]
    try:
        write_text(PAGE, page({name: findings_of(name, folder) for name in names}))
    except UserError as error:
        parser.error(str(error))
    print(f"{PAGE}: {len(names)} tables and figures")


if __name__ == "__main__":
    main()
