"""How good is a run on photographs? Ours beside both baselines, on the CPU.

    pip install scikit-image        (only here; the project itself never needs it)
    python -m benchmarks.photographs [FILE ...]

Without FILE it takes five photographs that lie in the package of scikit-image. Each is learned for
6,000 steps. The baselines have as many cells as our grid: the picture made smaller and larger
again, and the best bilinear grid (least squares).
"""

import argparse
import json
import tempfile
from importlib.util import find_spec
from pathlib import Path

import train
from benchmarks.machine import RESULTS, description

STEPS = 6000
PHOTOGRAPHS = ("astronaut.png", "chelsea.png", "coffee.png", "motorcycle_left.png", "rocket.jpg")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--steps", type=int, default=STEPS)
    arguments = parser.parse_args()
    rows = [measure(path, arguments.steps) for path in arguments.files or shipped_photographs()]
    for row in rows:
        print(
            "{image:22} {width:4} x {height:<4}  grid {grid:9}  bilinear {bilinear:.2f}  "
            "best bilinear grid {best_bilinear:.2f}  ours {ours:.2f} ({gain:+.2f} dB)".format(**row)
        )
    saved = RESULTS / "photographs.json"
    saved.write_text(json.dumps({"machine": description(), "photographs": rows}, indent=1) + "\n")


def shipped_photographs():
    package = find_spec("skimage")
    if package is None:
        raise SystemExit("name files, or: python -m pip install scikit-image")
    return [Path(package.origin).parent / "data" / name for name in PHOTOGRAPHS]


def measure(path, steps):
    with tempfile.TemporaryDirectory() as folder:
        line = f"--backend cpu --steps {steps} --snapshots none --quiet --out {folder}/run"
        if train.main([str(path), *line.split()]) != train.EXIT_OK:
            raise SystemExit(f"{path} cannot be learned")
        summary = json.loads((Path(folder) / "run" / "summary.json").read_text())
    config = summary["config"]
    return {
        "image": path.name,
        "width": summary["width"],
        "height": summary["height"],
        "steps": steps,
        "grid": f"{config['grid_width']} x {config['grid_height']}",
        "bilinear": round(summary["baseline_psnr_db"], 2),
        "best_bilinear": round(summary["baseline_best_psnr_db"], 2),
        "ours": round(summary["psnr_db"], 2),
        "gain": round(summary["psnr_db"] - summary["baseline_best_psnr_db"], 2),
    }


if __name__ == "__main__":
    main()
