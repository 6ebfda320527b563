"""How fast the persistent backend was, commit by commit, in one run.

    git worktree add ../a4366d0 a4366d0   (and so on)
    python -m benchmarks.history ../a4366d0 ../3906766 . --save h200-history

Each folder holds a checkout of the project, and is named after its commit. Each trains the lake in
a process of its own; the time is that of `benchmarks.gpu_step`: wall clock around the run,
synchronised, compiling not included.
"""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.machine import parser_of, save

STEPS = 20_000
TIMED = f"""
import json, time
from numba import cuda
from kernels.config import Config
try:
    from kernels.files.images import load_image
    from kernels.training.gpu_backends import PersistentBackend
    from kernels.training.trainer import Trainer
except ModuleNotFoundError:  # a commit from before these folders
    from kernels.gpu_backends import PersistentBackend
    from kernels.image_files import load_image
    from kernels.trainer import Trainer

trainer = Trainer(load_image("images/lake.png"), Config(steps={STEPS}), PersistentBackend)
trainer.compile()
rates = trainer.learning_rates(1, {STEPS})
times = []
for _ in range(5):
    cuda.synchronize()
    begin = time.perf_counter()
    trainer.backend.run(1, rates)
    cuda.synchronize()
    times.append(time.perf_counter() - begin)
kernel = next(iter(trainer.backend.train.overloads.values()))
print(json.dumps([min(times) / {STEPS} * 1e6, kernel.regs_per_thread, kernel.local_mem_per_thread]))
"""


def measure(folder):
    process = subprocess.run(
        [sys.executable, "-c", TIMED], cwd=folder, capture_output=True, text=True
    )
    if process.returncode:
        sys.exit(f"{folder}: {process.stderr.strip().splitlines()[-1]}")
    us, registers, local_bytes = json.loads(process.stdout.splitlines()[-1])
    return {
        "commit": Path(folder).resolve().name, "us_per_step": us, "registers": registers,
        "local_bytes": local_bytes,
    }  # fmt: skip


def main():
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="+", help="checkouts, named after their commits")
    options = parser.parse_args()
    rows = []
    for folder in options.folders:
        rows.append(measure(folder))
        print(
            "{commit:12} {us_per_step:6.2f} us per step, {registers} registers, "
            "{local_bytes} bytes of local memory".format(**rows[-1]),
            flush=True,
        )
    save(options.save, rows=rows)


if __name__ == "__main__":
    main()
