"""One barrier per step against two, in one run.

    python -m benchmarks.barriers --save h200-barriers

Each kind in a process of its own, in turn, 40,000 steps each time. "before" is the kernel with two
barriers as it was while numba-cuda linked with optimisation, which leaves fast arithmetic out.
"""

import argparse
import dataclasses
import functools
import json
import statistics
import subprocess
import sys
import time

from numba import cuda

from benchmarks.gpu_step import LAKE, registers
from benchmarks.machine import RESULTS, description
from kernels.config import Config
from kernels.files.images import load_image
from kernels.files.psnr import psnr
from kernels.training.gpu_backends import PersistentBackend
from kernels.training.persistent_backends import OneBarrierBackend
from kernels.training.trainer import Trainer


@functools.cache
def as_before(kernel):
    return cuda.jit(kernel.py_func, fastmath=True)


class Before(PersistentBackend):
    def prepare_kernels(self):
        super().prepare_kernels()
        self.train = as_before(self.train)


KINDS = {"before": Before, "two barriers": PersistentBackend, "one barrier": OneBarrierBackend}
NAMES = [f"{kind}{how}" for kind in KINDS for how in ("", " deterministic")]


def new_trainer(name, image, config):
    deterministic = name.endswith(" deterministic")
    kind = KINDS[name.removesuffix(" deterministic")]
    return Trainer(image, config, functools.partial(kind, deterministic=deterministic))


def microseconds(trainer, steps):
    rates = trainer.learning_rates(1, steps)
    begin = time.perf_counter()
    trainer.backend.run(1, rates)
    return (time.perf_counter() - begin) / steps * 1e6


def work(name, steps, seeds):
    """Compile; time a run per line read; at the end train with several seeds."""
    image, config = load_image(LAKE), Config(steps=steps)
    trainer = new_trainer(name, image, config)
    microseconds(trainer, 100)
    print(json.dumps(registers(trainer.backend)["train"]), flush=True)
    while sys.stdin.readline().strip() == "time":
        print(microseconds(trainer, steps), flush=True)
    reached = []
    for seed in range(1, seeds + 1):
        trainer = new_trainer(name, image, dataclasses.replace(config, seed=seed))
        microseconds(trainer, steps)
        reached.append(psnr(trainer.render(), image))
    print(json.dumps(reached), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", metavar="NAME", help="write results/NAME.json")
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=10, help="for quality (default: 10)")
    parser.add_argument("--worker", choices=NAMES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker, options.steps, options.seeds)
        return
    workers = {
        name: subprocess.Popen(
            [sys.executable, "-m", "benchmarks.barriers", "--worker", name,
             "--steps", str(options.steps), "--seeds", str(options.seeds)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for name in NAMES
    }  # fmt: skip

    def ask(name, what=""):
        if what:
            workers[name].stdin.write(what + "\n")
            workers[name].stdin.flush()
        return json.loads(workers[name].stdout.readline())

    used = {name: ask(name) for name in NAMES}
    times = {name: [] for name in NAMES}
    for _ in range(options.rounds):
        for name in NAMES:
            times[name].append(ask(name, "time"))
    rows = []
    for name in NAMES:
        reached = ask(name, "quality")
        before = "before deterministic" if name.endswith(" deterministic") else "before"
        row = {
            "kernel": name, "us_per_step": min(times[name]), "all_us_per_step": times[name],
            "of_before": min(times[name]) / min(times[before]), "psnr_db": reached,
            "mean_db": statistics.mean(reached), "registers_and_local_bytes": used[name],
        }  # fmt: skip
        rows.append(row)
        print(f"{name:26} {row['us_per_step']:6.3f} us {row['of_before']:.3f} of before "
              f"{row['mean_db']:.3f} dB, registers and local bytes {used[name]}")  # fmt: skip
    if options.save:
        result = {**description(), "steps": options.steps, "rows": rows}
        (RESULTS / f"{options.save}.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
