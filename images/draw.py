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
from argparse import ArgumentParser
from pathlib import Path

from PIL import Image, PngImagePlugin

from images import paint_lake
from lessons.lab import example
from tests.lab.browser import browser

ROOT = Path(__file__).resolve().parent.parent
TO = ROOT / "images"
STEPS = 1, 10, 100, 1000, 40_000


def draw_run(folder):
    """The sheets of a run of train.py, which it leaves in a folder."""
    steps = "--snapshots", ",".join(map(str, STEPS)), "--steps", str(STEPS[-1])
    subprocess.run([sys.executable, "train.py", *steps, "--out", folder], cwd=ROOT, check=True)
    with open(folder / "loss.csv", encoding="utf-8") as file:
        decibels = {f"step {int(row['step']):,}": row["psnr_db"] for row in csv.DictReader(file)}
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    decibels["bilinear"] = summary["baseline_psnr_db"]
    shown = [*(f"step {step:,}" for step in STEPS), "bilinear"]
    comment = "; ".join(f"{name}: {float(decibels[name]):.2f} dB" for name in shown).encode()
    for sheet, name in (("contact_sheet", "hero"), ("bilinear_and_learned",) * 2):
        picture = Image.open(folder / f"{sheet}.png").convert("RGB")
        picture.save(TO / f"{name}.jpg", quality=88, optimize=True, comment=comment)


def open_replay(window, folder):
    """Open the page of the lab's example, where it goes wrong. Returns what can be read on it."""
    assert example.main([str(folder / "accesses.png")]) == 0
    window.open((folder / "accesses.html").as_uri(), 1280, 880)
    return window.run("document.body.innerText")


def draw_replay(folder):
    information = PngImagePlugin.PngInfo()
    with browser(folder) as window:
        information.add_itxt("Comment", open_replay(window, folder))
        window.picture(folder / "replay.png")
    picture = Image.open(folder / "replay.png").convert("P", palette=Image.Palette.ADAPTIVE)
    picture.save(TO / "replay.png", optimize=True, pnginfo=information)


def main(arguments=None):
    ArgumentParser("python -m images.draw", description=__doc__).parse_args(arguments)
    paint_lake.write_png(TO / "lake.png", paint_lake.paint())
    with tempfile.TemporaryDirectory() as found:
        draw_replay(Path(found))
        draw_run(Path(found) / "lake")


if __name__ == "__main__":
    main()
