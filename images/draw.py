"""Make the pictures of the README again: `python -m images.draw`; it takes some minutes.

    kernels, the lab's example  ->  lake.png, hero.jpg, bilinear_and_learned.jpg, replay.png

Each keeps the words that stand on it as its comment, so that a test can compare them with what the
README and the programs say now. The replay is drawn by Chromium, without a window.
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, PngImagePlugin

from lessons.lab import example
from tests.lab.browser import browser

TO = Path(__file__).resolve().parent
STEPS = 1, 10, 100, 1000, 40_000
WIDTH, HEIGHT = 1280, 880  # of the replay
QUALITY = 88


def main() -> None:
    run(TO / "paint_lake.py")
    with tempfile.TemporaryDirectory() as folder:
        draw_replay(Path(folder))
        draw_run(Path(folder) / "lake")


def run(*command: object) -> None:
    subprocess.run(
        [sys.executable, *map(str, command)], cwd=Path(__file__).resolve().parent.parent, check=True
    )


def draw_run(folder: Path) -> None:
    """The sheets of a run of train.py."""
    run("train.py", "--snapshots", ",".join(map(str, STEPS)), "--steps", STEPS[-1], "--out", folder)
    with open(folder / "loss.csv", encoding="utf-8") as file:
        measured = {int(row["step"]): row["psnr_db"] for row in csv.DictReader(file)}
    baseline = json.loads((folder / "summary.json").read_text("utf-8"))["baseline_psnr_db"]
    words = [f"step {step:,}: {float(measured[step]):.2f} dB" for step in STEPS]
    words.append(f"bilinear: {baseline:.2f} dB")
    for sheet, name in (("contact_sheet", "hero"), ("bilinear_and_learned",) * 2):
        picture = Image.open(folder / f"{sheet}.png").convert("RGB")
        comment = "; ".join(words).encode()
        picture.save(TO / f"{name}.jpg", quality=QUALITY, optimize=True, comment=comment)


def replay_page(folder: Path) -> Path:
    """The page of the lab's example, where it goes wrong."""
    assert example.main([str(folder / "accesses.png")]) == 0
    return folder / "accesses.html"


def words_of(window) -> str:
    """What can be read on the page that is open."""
    return window.run("document.body.innerText")


def draw_replay(folder: Path) -> None:
    with browser(folder) as window:
        window.open(replay_page(folder).as_uri(), WIDTH, HEIGHT)
        window.picture(folder / "replay.png")
        information = PngImagePlugin.PngInfo()
        information.add_itxt("Comment", words_of(window))
    picture = Image.open(folder / "replay.png").convert("P", palette=Image.Palette.ADAPTIVE)
    picture.save(TO / "replay.png", optimize=True, pnginfo=information)


if __name__ == "__main__":
    main()
