"""The study's eight verdicts (benchmarks/study/RESULTS.md), from its printed means and deviations.

Five seeds that have such a mean and deviation: Welch's test knows no more of them. Their further digits are chosen so
that all eight lines come out as printed.
"""

import csv
from functools import partial

import numpy as np
import pytest
from typed import exit_code

ARMS = {  # mean and sd of test/sts/average
    "simcse": (70.1474, 0.3608),
    "temperature_1": (59.4749, 0.2649),
    "whitenedcse": (70.9735, 0.5602),
    "whitening": (71.3682, 0.9983),
    "positives": (70.7249, 0.2405),
    "barlow": (68.7437, 1.3138),
    "vicreg": (63.3851, 0.1899),
}
UNTOUCHED = 60.414
SEEDS = np.array([-2, -1, 0, 1, 2]) / np.sqrt(2.5)  # mean 0, sd 1

PRINTED = """
+10.67 [+10.20, +11.14] | 0.000 | HOLDS
+9.73 [+9.29, +10.18] | 0.000 | HOLDS
+0.83 [+0.12, +1.53] | 0.141 | INCONCLUSIVE
+1.22 [+0.00, +2.44] | 0.199 | INCONCLUSIVE
+0.58 [+0.12, +1.04] | 0.937 | INCONCLUSIVE
-0.39 [-1.63, +0.84] | 0.937 | INCONCLUSIVE
+1.40 [-0.20, +3.01] | 0.222 | INCONCLUSIVE
+5.36 [+3.74, +6.98] | 0.004 | HOLDS
"""
P = [7.1468219e-10, 3.1660799e-06, 0.14146081, 0.19872054, 0.93734282, 0.93734282, 0.22200832, 0.0041327266]

cse_report = partial(exit_code, "cse-report")


def test_the_studys_eight_verdicts_come_out_to_the_digit(leave, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    leave("untouched", {"case": "untouched"}, {"test/sts/average": UNTOUCHED})
    for case, (mean, sd) in ARMS.items():
        for seed, score in enumerate(mean + sd * SEEDS, 1):
            leave(f"{case}-{seed}", {"case": case, "seed": seed}, {"test/sts/average": score})
    assert cse_report("sweep=study/methods", "runs=runs", "out=out") == 0
    with open("out/claims.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = [[float(row[name]) for name in ("effect", "low", "high", "p")] for row in rows]
    told = [
        f"{effect:+.2f} [{low:+.2f}, {high:+.2f}] | {p:.3f} | {row['verdict']}"
        for row, (effect, low, high, p) in zip(rows, numbers, strict=True)
    ]
    assert told == PRINTED.strip().splitlines()
    assert [p for *_, p in numbers] == pytest.approx(P, rel=1e-7)
