"""The page benchmarks/RESULTS.md. Each measurement has a section. A repeated measurement replaces only this section."""

import argparse
import platform
import re
import statistics
import subprocess
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
SHARED = HERE.resolve().parents[1] / "shared" / "data"
"""The real data beside the checkout."""


def write_section(title: str, command: str, body: str) -> None:
    """Replace the section `title` by a line with the command, machine, commit and today's date, and then `body`."""
    head = f"## {title}\n\n`{command}`, {machine()}, commit {commit()}, {date.today()}\n\n"
    old = (
        RESULTS.read_text(encoding="utf-8")
        if RESULTS.exists()
        else "# Measured\n\nEach section has its command, its machine, its commit and its date.\n\n"
    )
    rest = re.sub(rf"## {re.escape(title)}\n.*?(?=^## |\Z)", "", old, flags=re.DOTALL | re.MULTILINE)
    RESULTS.write_text(f"{rest.rstrip()}\n\n{head}{body.rstrip()}\n", encoding="utf-8")


def commit() -> str:
    return subprocess.run(
        ["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()


def machine() -> str:
    """Return the processor, its cores and threads, and torch's version; with a GPU, the GPU and torch's version."""
    import torch

    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    lines = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = re.findall(r"model name\s*: (.*)", lines)
    name = names[0] if names else platform.processor()
    return f"{name}, {len(names)} cores, {torch.get_num_threads()} threads, torch {torch.__version__}"


def where() -> str:
    """Return "on the GPU" or "on the CPU", for the title of a section."""
    import torch

    return "on the GPU" if torch.cuda.is_available() else "on the CPU"


def real_data(folder: str) -> Path:
    """Return the folder that --shared names. Raises ArgumentTypeError if there is no such folder."""
    if not Path(folder).is_dir():
        raise argparse.ArgumentTypeError(f"{folder} is not there: this benchmark needs the real data")
    return Path(folder)


def spread(values: list[float]) -> str:
    """Return the median as text, with minimum and maximum if there are several values."""
    low, middle, high = (in_three_digits(value) for value in (min(values), statistics.median(values), max(values)))
    return middle if len(values) == 1 else f"{middle} ({low} to {high})"


def in_three_digits(value: float) -> str:
    """Return a number with three significant digits, or as a whole number from 1,000 on."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
