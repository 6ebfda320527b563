"""The whole comparison, on whatever GPU is there: our backends, and the peers that are installed.

    python -m benchmarks.compare
    python -m benchmarks.compare --tiny-cuda-nn ../tiny-cuda-nn/build/mlp_learning_an_image

Each trains the lake with the same batch and as many steps, in a process of its own, one after
another. A peer is compared with the fastest of ours that has a grid of as many channels per cell:
PyTorch and JAX train three, tiny-cuda-nn four. One that learns worse by more than 0.3 dB is
refused: its time is not that of the same work. PyTorch and JAX are taken if they can be imported.
tiny-cuda-nn is a program of its own, which `benchmarks/README.md` says how to build; it has to
print "us per step" and "PSNR". Then `benchmarks.part_two` trains the rest, saved as NAME-part-two.
"""

import importlib.util
import re
import subprocess
import sys

from benchmarks.gpu_step import AS_GOOD, LAKE, OURS, PEERS, ours, peer
from benchmarks.machine import description, parser_of, require_gpu, save
from kernels.config import Config
from kernels.files.images import load_image
from kernels.plumbing.errors import InputError

FOUR = 4  # channels per cell of the grid
OURS_WITH_FOUR = ("tensor", "persistent", "persistent deterministic")
FIGURES = {"us_per_step": r"([\d.]+) us per step", "psnr_db": r"PSNR ([\d.]+)"}


def our_rows(names, steps, channels):
    image, config = load_image(LAKE), Config(steps=steps, channels=channels)
    for name in names:
        try:
            row = min((ours(name, image, config) for _ in range(3)), key=time_of)
        except Exception as error:  # an older GPU has no tensor cores, say
            print(f"{name}: left out ({type(error).__name__}: {error})", flush=True)
        else:
            yield {**row, "channels": channels}


def peer_rows(steps):
    for name, precision, flags in PEERS:
        if importlib.util.find_spec(name) is None:
            continue
        row = peer(name, precision, flags, steps)
        if row:
            yield {**row, "channels": Config.channels}
    for name in sorted({name for name, _, _ in PEERS}):
        if importlib.util.find_spec(name) is None:
            print(f"{name}: not installed", flush=True)


def figures_of(command):
    """What a program that trains the lake printed last; raises `InputError` if that is nothing."""
    run = subprocess.run(command, capture_output=True, text=True)
    found = {key: re.findall(pattern, run.stdout) for key, pattern in FIGURES.items()}
    if run.returncode or not all(found.values()):
        lines = (run.stderr or run.stdout).strip().splitlines() or ["nothing was printed"]
        raise InputError(f"--tiny-cuda-nn {' '.join(command)} gives no figures: {lines[-1]}")
    return {key: float(found[key][-1]) for key in FIGURES}


def tiny_cuda_nn(command, steps):
    figures = figures_of([*command.split(), LAKE, str(steps)])
    return {"backend": "tiny-cuda-nn", "channels": FOUR, **figures}


def time_of(row):
    return row["us_per_step"]


def verdict(row, fastest):
    """How a row compares with the fastest of ours that has as many channels, in words."""
    best = fastest[row["channels"]]
    below = best["psnr_db"] - row["psnr_db"]
    if below > AS_GOOD:
        return f"does not count: learns {below:.2f} dB worse"
    if row is best:
        return ""
    return f"{time_of(row) / time_of(best):.2f} times as long as {best['backend']}"


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--steps", type=int, default=40_000, help="of each run (default: 40,000)")
    parser.add_argument("--tiny-cuda-nn", metavar="COMMAND", help="a program of it (default: none)")
    options = parser.parse_args()
    require_gpu()
    rows = list(our_rows(OURS, options.steps, Config.channels))
    rows += our_rows(OURS_WITH_FOUR, options.steps, FOUR)
    if not rows:
        sys.exit("error: none of our backends runs on this GPU: see python -m lessons doctor")
    fastest = {row["channels"]: row for row in sorted(rows, key=time_of, reverse=True)}
    rows += peer_rows(options.steps)
    if options.tiny_cuda_nn:
        try:
            rows.append(tiny_cuda_nn(options.tiny_cuda_nn, options.steps))
        except (InputError, OSError) as error:
            print(f"error: {error}")
    print(f"\n{description()['device']}, {options.steps:,} steps of {Config().batch:,} samples")
    for row in sorted(rows, key=time_of):
        name = f"{row['backend']}{', command buffers' if row.get('flags') else ''}"
        print(
            f"{name:28} {row['channels']} channels {time_of(row):9.2f} us  "
            f"{row['psnr_db']:6.2f} dB  {verdict(row, fastest)}"
        )
    for row in rows:
        row["verdict"] = verdict(row, fastest)
    save(options.save, steps=options.steps, rows=rows)
    more = ["--save", f"{options.save}-part-two"] if options.save else []
    sys.exit(subprocess.run([sys.executable, "-m", "benchmarks.part_two", *more]).returncode)


if __name__ == "__main__":
    main()
