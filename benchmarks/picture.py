"""README's picture of a report's page, light and dark: python -m benchmarks.picture reports/PAPER/TABLE/report.html

Writes docs/_static/table.png and table_dark.png. Needs Chromium.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STATIC = Path(__file__).parents[1] / "docs" / "_static"
WIDTH, HEIGHT = 800, 640


def main() -> None:
    """Two pictures of the top of the page that is named."""
    browser = shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("picture: needs Chromium")
    page = Path(sys.argv[1]).resolve().as_uri()
    for name, scheme in (("table", 1), ("table_dark", 0)):
        with tempfile.TemporaryDirectory() as folder:
            flags = [
                *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}"),
                *(f"--window-size={WIDTH},{HEIGHT}", f"--blink-settings=preferredColorScheme={scheme}"),
                f"--screenshot={STATIC / name}.png",
            ]
            subprocess.run([browser, *flags, page], check=True, capture_output=True)


if __name__ == "__main__":
    main()
