"""Make the pictures of the documents again: `make pictures`, or `.venv/bin/python tests/gallery.py FOLDER`.

FOLDER has the runs, and gets the missing runs. Without FOLDER, all runs go to a temporary folder, which takes ten
minutes on two cores. The demo's run and the grid of docs/first-study.md are trained. The runs of the papers' sweeps and
of the search are synthetic, as in the golden tests. The numbers of the grid are also in the text of
docs/first-study.md.
"""

import base64
import io
import json
import os
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

import chromium
from PIL import Image
from run_folders import leave_run

from cse.data.demo import wikipedia_sentences

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "_static"
LARGEST = 150_000  # bytes of a picture
WIDTH = 900  # pixels of a page
SELECT, TEST = "dev/stsb/spearman", "test/sts/average"
GRID = (
    "-m experiment=demo data=text data.path=sentences.txt objective=simcse,barlow augmentation=dropout,shuffle "
    "seed=1,2,3 trainer.batch_size=32 trainer.max_steps=10 jobs.parallel=2 hydra.sweep.dir=multirun/grid"
)


def train(folder: Path) -> None:
    """Train the demo and the grid. A finished run is not trained again."""
    if not (folder / "outputs/demo/results.json").exists():
        command(folder, "cse-train", "experiment=demo", "hydra.run.dir=outputs/demo")
    if not (folder / "sentences.txt").exists():
        text = "\n".join(text for (text,) in islice(wikipedia_sentences(), 5000))
        (folder / "sentences.txt").write_text(text, encoding="utf-8")
    command(folder, "cse-train", *GRID.split())


def leave_table(folder: Path) -> None:
    """Write synthetic runs of WhitenedCSE's Table 5 and Figure 3."""
    scores = {2: (76.0, 76.6, 76.3), 3: (78.4, 78.9, 78.7), 4: (77.9, 77.7, 78.2)}
    choices = {"objective": "whitenedcse", "data": "wiki1m", "sweep": "whitenedcse/table5", "model": "bert"}
    for m, of in scores.items():
        for seed, score in enumerate(of, 1):
            words = ["sweep=whitenedcse/table5", f"objective.m={m}", f"seed={seed}"]
            config = {"objective.m": m, "seed": seed, "trainer.select": SELECT}
            found = {TEST: score, SELECT: score + 5}
            leave_run(folder / f"table5/{m}-{seed}", config, found, choices=choices, overrides=words)
    alignment, uniformity = "dev/geometry/alignment", "dev/geometry/uniformity"
    for case, shift in {"simcse_bert": 0.0, "whitened_bert": 0.1}.items():
        for seed in (1, 2, 3):
            last = {uniformity: -2.5 - shift - seed / 100, alignment: 0.25 + shift + seed / 100}
            events = [{name: value * k / 3 for name, value in last.items()} for k in range(4)]
            words = ["sweep=whitenedcse/figure3", f"case={case}", f"seed={seed}"]
            config = {"case": case, "seed": seed, "trainer.select": SELECT}
            about = {"choices": {"sweep": "whitenedcse/figure3", "model": "bert"}, "overrides": words}
            leave_run(folder / f"figure3/{case}-{seed}", config, last | {SELECT: 80.0 + seed}, events=events, **about)


def leave_search(folder: Path) -> None:
    """Write twelve synthetic trials of a search for the learning rate."""
    (folder / "search/.smac").mkdir(parents=True, exist_ok=True)
    rates = [1e-5, 3e-5, 1e-4, 3e-6, 6e-5, 2e-5, 4e-5, 1.5e-4, 5e-5, 8e-6, 4.5e-5, 3.5e-5]
    lines: list[dict] = [{"ranges": {"trainer.lr": "interval(1e-6,1e-3)"}, "fixed": {}}]
    for number, lr in enumerate(rates):
        config = {"trainer.lr": lr, "seed": 42}
        score = 84 - 3 * abs(10**5 * lr - 5) ** 0.5
        events = [{"time": 100.0 + number, "train/loss": 2.0 / (number + 1)}]
        words = [f"trainer.lr={lr}", "seed=42"]
        leave_run(folder / f"search/{lr}", config, {SELECT: score}, overrides=words, events=events)
        lines.append({"asked": {"trainer.lr": lr}})
    (folder / "search/.smac/a-0.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def command(folder: Path, program: str, *words: str) -> None:
    """Run a command of cse in the folder."""
    subprocess.run([Path(sys.executable).parent / program, *words], cwd=folder, check=True)


def keep(name: str, image: Image.Image) -> None:
    """Write a picture of 256 colours, at most 1,280 pixels wide. MAXCOVERAGE keeps the colours of small areas."""
    image = image.convert("RGB")
    image.thumbnail((1280, 2000))
    file = PICTURES / f"{name}.png"
    image.quantize(method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, optimize=True)
    assert file.stat().st_size < LARGEST, f"{file} is too large"


def shoot(shown: chromium.Page, name: str, element: str, most: int = 2000) -> None:
    """Write the picture of a page's element. element: a JavaScript expression. most: the largest height in pixels."""
    box = f"(({element}).getBoundingClientRect())"
    read = f"[{box}.x, {box}.y + scrollY, {box}.width, {box}.height]"
    x, y, width, height = shown.run(read)
    clip = {"x": x, "y": y, "width": width, "height": min(height, most), "scale": 1}
    shot = shown.ask("Page.captureScreenshot", captureBeyondViewport=True, format="png", clip=clip)
    keep(name, Image.open(io.BytesIO(base64.b64decode(shot["data"]))))


def chart(title: str) -> str:
    """Return the JavaScript expression for the first chart whose title begins with `title`."""
    return f"[...document.querySelectorAll('.charts section')].find((one) => one.innerText.startsWith({title!r}))"


def open_page(file: Path, folder: Path, width: int = WIDTH) -> chromium.Page:
    """Return the page of a report in a browser."""
    return chromium.Page(file, folder / "chromium", width=width)


def wait(shown: chromium.Page) -> None:
    """Wait until the page's charts are drawn."""
    drawn = "document.querySelectorAll('.chart .main-svg:first-of-type').length"
    asked = "document.querySelectorAll('.chart').length"
    look = f"const look = () => ({drawn} >= {asked}) ? setTimeout(done, 3000) : setTimeout(look, 200)"
    shown.run(f"new Promise((done) => {{ {look}; look() }})")


def take(folder: Path) -> None:
    """Make the reports of the runs in the folder, and write every picture."""
    (PICTURES / "gallery").mkdir(exist_ok=True)
    plots = folder / "outputs/demo/plots"
    keep("gallery/run-scores", Image.open(plots / "scores.png"))
    keep("gallery/run-cosines", Image.open(plots / "cosines_demo_lee_dev.png"))
    command(folder, "cse-report", "runs=multirun", "out=grid")
    for name in ("scores", "curves"):
        keep(f"gallery/paper-{name}", Image.open(folder / f"grid/figures/{name}.png"))
    with open_page(folder / "grid/report.html", folder) as shown:
        wait(shown)
        shoot(shown, "gallery/report-page", "document.body", most=1000)
        shoot(shown, "gallery/report-settings", chart("Score by setting"))
        shoot(shown, "gallery/report-curves", chart("Curves"))
    with open_page(folder / "grid/report.html", folder, width=1280) as shown:
        wait(shown)
        shoot(shown, "first-study", "document.body", most=1450)
    command(folder, "cse-report", "runs=multirun", "metrics=[dev/demo/average]", "out=short")
    with open_page(folder / "short/report.html", folder, width=1135) as shown:
        wait(shown)
        shoot(shown, "report", "document.body", most=1425)
    command(folder, "cse-report", "sweep=whitenedcse/table5", "runs=table5", "out=paper")
    with open_page(folder / "paper/report.html", folder) as shown:
        shoot(shown, "gallery/sweep-page", "document.body", most=1100)
    command(folder, "cse-report", "sweep=whitenedcse/figure3", "runs=figure3", "out=figure")
    (figure,) = (folder / "figure/figures").glob("*.png")
    keep("gallery/sweep-figure", Image.open(figure))
    command(folder, "cse-report", "runs=search", "out=searched")
    with open_page(folder / "searched/report.html", folder) as shown:
        wait(shown)
        shoot(shown, "gallery/search-rate", chart("Score by"))
        shoot(shown, "gallery/search-best", chart("Best so far"))


def main() -> None:
    """Make the missing runs, and write the pictures."""
    os.environ["TERM"] = "dumb"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        train(folder)
        leave_table(folder)
        leave_search(folder)
        take(folder)


if __name__ == "__main__":
    main()
