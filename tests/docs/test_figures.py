"""README and the pages quote the figures of benchmarks/RESULTS.md, where each stands with its command and machine."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RESULTS = (ROOT / "benchmarks" / "RESULTS.md").read_text()
CLAIMS = (ROOT / "benchmarks" / "CLAIMS.md").read_text()
STUDY = (ROOT / "benchmarks" / "study2" / "RESULTS.md").read_text()
CLAIMED = re.findall(r"[|] [+-]([\d.]+) \[", STUDY)
BELOW = re.findall(r"with dropout, (?:Barlow Twins|VICReg) instead of SimCSE [|] -([\d.]+)", STUDY)
LOST = re.findall(r"Shuffle costs WhitenedCSE ([\d.]+[0-9])", STUDY)
MEASURED = re.compile(r"[\d.,]*\d ?(?:s|ms|hours|times|MiB|GFLOP)(?!\w)|\d\.\d+ ?%|\d ± ")
"""What looks like a measured figure."""


def said(section: str, words: str) -> str:
    """What the group in the pattern `words` matches first in the section of RESULTS.md."""
    text = RESULTS.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return (re.findall(words, text) or re.findall(words, " ".join(text.split())))[0]


def figure(section: str, row: str, column: str) -> str:
    """A cell of the section's tables, without its unit and spread."""
    for table in said(section, r"(?s).*").split("\n\n"):
        head, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()]
        for cells in rows:
            if cells[0] == row and column in head:
                return re.split(r" \(| MiB", cells[head.index(column)])[0]
    raise LookupError(f"RESULTS.md, {section}: {row}, {column}")


MINILM, BERT = (f"Training speed, {shape} shape, batch 64, on the CPU" for shape in ("minilm", "bert"))
OURS, OURS_BF16 = "ours, fp32", "ours, bf16"
PEER, PEER_BF16 = (f"Hugging Face Trainer, SimCSE's loss, {precision}" for precision in ("fp32", "bf16"))
ALL_TASKS = "TREC, MRPC, CR, SICK-E, SST5, SST2, MR"
TRANSFER = f"Transfer beside SentEval's procedure, every fit: {ALL_TASKS}"
COST = "Cost of the objectives, minilm shape, batch 64, on the CPU"
STS = "STS beside SentEval's procedure"
AUX, AUX_COST = "Images and sound beside the text", "What images and sound cost, on the CPU"
RECIPE = "The whole SimCSE recipe, minilm shape, on the CPU"
MEMORY = "Memory against the batch, on the CPU"
BF16 = "bf16 beside float32, on the CPU"
DRY_RUN = "Memory of a dry run beside its run, on the CPU"

step = {name: figure(MINILM, name, "seconds a step") for name in (OURS, OURS_BF16, PEER, PEER_BF16)}
bert_step, bert_bf16 = (figure(BERT, name, "seconds a step") for name in (OURS, OURS_BF16))
bert_hours, bert_bf16_hours = (f"{float(seconds) * 15_625 / 3600:.0f}" for seconds in (bert_step, bert_bf16))
gflop = [said(section, r"GFLOP a step: ([\d,]+) for the real tokens") for section in (MINILM, BERT)]
faster, fits_faster = (figure(TRANSFER, ALL_TASKS, column) for column in ("ratio", "of the fits alone"))
grown = [
    float(figure(DRY_RUN, run, "times as much"))
    for run in re.findall(r"\| ((?:bf16|fp32), \d+ x \d+, \d+ steps) \|", said(DRY_RUN, r"(?s).*"))
]
kept, freed = (
    {p: figure(DRY_RUN, f"{p}, {how}", "GiB at the peak") for p in ("fp32", "bf16")}
    for how in ("as it comes", "threshold 1 MiB")
)
longer = {p: figure(DRY_RUN, f"{p}, threshold 1 MiB", "times as long") for p in ("fp32", "bf16")}
ends = {
    name: figure("Every objective learns", name, "end")
    for name in ("simcse", "whitenedcse", "declutr", "declutr, contrastive alone", "barlow, shuffle", "vicreg, shuffle")
}
LEARNED = {
    "SimCSE": "simcse",
    "WhitenedCSE": "whitenedcse",
    "DeCLUTR": "declutr",
    "Barlow Twins, token shuffle": "barlow, shuffle",
    "VICReg, token shuffle": "vicreg, shuffle",
}
SECONDS = {", text alone": "text alone", " with images": "natural_small", " with sound": "speech_small"}
start = figure("Every objective learns", "simcse", "dev, step 0")
beside = {name: figure(AUX, name, "at the end") for name in ("text alone", "natural_small", "speech_small")}
ratio = {name: figure(COST, name, "ratio to simcse") for name in ("whitenedcse, m = 3", "barlow, 8192", "vicreg, 8192")}
aux = {name: figure(AUX_COST, name, "ratio to text alone") for name in ("natural_small", "speech_small")}
aux_step = {name: figure(AUX_COST, name, "seconds a step") for name in ("text alone", "natural_small")}
hours, scoring = said(RECIPE, r"[*]([0-9.]+) hours"), figure(RECIPE, "an evaluation on STS-B dev", "share of the whole")
sts_tasks = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
sts = [f"{float(figure(STS, task, 'ours')):.2f}" for task in sts_tasks]
columns = [f"{name}, {how}" for name in ("simcse", "barlow") for how in ("plain", "in chunks of 64")]

QUOTED = {
    "README.md": [
        f"With the time for encoding, our classifier is {faster} times as fast as the plain version;",
        f"without this time, it is {fits_faster} times as fast.",
        f"With CLS pooling, MiniLM scores {start} on STS-B dev.",
        f"it scores between {min(ends.values())} and {max(ends.values())}.",
        f"takes {step[OURS]} s on two cores in fp32, and {step[OURS_BF16]} s in bf16",
        f"Hugging Face's trainer takes {step[PEER]} s and {step[PEER_BF16]} s",
        f"{re.findall(r'[0-9]+ claims', CLAIMS)[0].removesuffix(' claims')} of the papers' claims",
        f"are better than SimCSE, by {CLAIMED[1]} and {CLAIMED[2]} points",
        f"are worse than SimCSE, by {' and '.join(BELOW)} points (both results are descriptive).",
        f"SimCSE gains {CLAIMED[0]} points, and WhitenedCSE loses {LOST[0]} points",
        f"With dropout, WhitenedCSE is better than SimCSE, by {CLAIMED[4]} points.",
        f"contrastive loss alone is {CLAIMED[8]} points better",
    ],
    "docs/measured.md": [
        f"| {' '.join(sts[:-1])} 77.58 |",  # SICK-R over all pairs has no section
        f"4,927 test pairs ({sts[-1]})",
        f"With the time for encoding, our classifier is {faster} times as fast as the plain version; "
        f"without this time, it is {fits_faster} times as fast |",
        *(f"| {name} | {start} | {ends[key]} | 1 |" for name, key in LEARNED.items()),
        *(f"| SimCSE{what} | {start} | {beside[key]} | 3 |" for what, key in SECONDS.items()),
        f"on the same machine, takes {step[PEER]} s in fp32, {step[PEER_BF16]} s in bf16 | "
        f"{step[OURS]} s in fp32, {step[OURS_BF16]} s in bf16 |",
    ],
    "docs/which-objective.md": [
        f"+{CLAIMED[1]} with shuffle |",
        f"+{CLAIMED[2]} with shuffle |",
        f"+{CLAIMED[4]} with dropout |",
        f"+{CLAIMED[8]} without the language-model loss |",
        f"{CLAIMED[9]} below DeCLUTR |",
        f"(`augmentation=shuffle`) adds {CLAIMED[0]}.",
        f"they are {CLAIMED[1]} and {CLAIMED[2]} above SimCSE",
        f"they are {BELOW[0]} and {BELOW[1]} below SimCSE",
        f"with token shuffle it is {LOST[0]} below its score with dropout",
        f"adds {CLAIMED[5]} with images and -{CLAIMED[6]} with sound",
        f"is {CLAIMED[8]} better than its sum with the language-model loss",
    ],
    "docs/evaluation.md": [
        f"in every fold, and it is {faster} times as fast with encoding included.",
        f"The fits alone are {fits_faster} times as fast",
    ],
    "docs/planning.md": [
        f"in {'seven' if len(grown) == 7 else len(grown)} tests",
        f"steps needed {min(grown):.2f} to {max(grown):.2f} times as much",
        f"needed {freed['fp32']} GiB instead of {kept['fp32']} GiB with this setting",
        f"but took {longer['fp32']} times as long",
        f"needed {freed['bf16']} GiB instead of {kept['bf16']} GiB, and took {longer['bf16']} times as long",
        f"GFLOP a step: MiniLM {gflop[0]}, BERT-base {gflop[1]} at batch 64",
        f"WhitenedCSE three: {ratio['whitenedcse, m = 3']} times SimCSE's time",
        f"VICReg: {ratio['barlow, 8192']} and {ratio['vicreg, 8192']} times SimCSE's time",
        f"takes {aux['natural_small']} (images) and {aux['speech_small']} (sound) times as long as with text alone",
        f"Libraries and weights take {said(MEMORY, r'([0-9]+) MiB. A batch')} MiB of this memory",
        f"BERT-base's `last/` takes {said('The host: checkpoint', r'waits .([0-9.]+ GB)')}",
        f"means more than {said(MEMORY, r'given up above ([0-9.]+) GiB')} GiB",
        *(
            f"| {rows} | {' | '.join(figure(MEMORY, rows, column) for column in columns)} |"
            for rows in ("256", "1,024", "4,096", "16,384", "65,536")
        ),
        f"| {step[OURS]} ({step[OURS_BF16]} in bf16, and "
        f"{figure(RECIPE, 'a step', 'seconds').removesuffix(' s')} in bf16 with real text) | "
        f"{hours} hours in bf16, from 300 measured steps; {scoring} of this time for dev scores",
        f"| {bert_step} ({bert_bf16} in bf16) | {bert_hours} hours of steps ({bert_bf16_hours} in bf16), by proportion",
        f"a step in fp32 took {figure(MINILM, OURS, 'time, ours in bf16 = 1')} times as long "
        f"({said(MINILM, r'ours, fp32 [|].*?[|].*?[|].*?[|].*?[(](.*?)[)]')})",
        f"ended at {figure(BF16, 'simcse', 'dev, bf16')} in bf16 and at {figure(BF16, 'simcse', 'dev, fp32')} in fp32",
    ],
    "docs/images-and-sound.md": [
        f"took {aux['natural_small']} to {aux['speech_small']} times as long",
        f"a step took {aux_step['text alone']} s, and {aux_step['natural_small']} s with images",
    ],
}


@pytest.mark.parametrize("page", QUOTED)
def test_quoted_figures_are_those_of_results(page):
    """And no figure stands there that is not compared here, except in a command's output. Where lines end does not
    matter."""
    text = " ".join(re.sub(r"(?ms)^```text$.*?^```$", "", (ROOT / page).read_text()).split())
    assert [one for one in QUOTED[page] if one not in text] == []
    for one in QUOTED[page]:
        text = text.replace(one, "")
    assert MEASURED.findall(text) == []
