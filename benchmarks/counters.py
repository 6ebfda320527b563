"""What bounds the kernels: the GPU's own counters, read with Nsight Compute.

    python -m benchmarks.counters --save h200-counters

The persistent kernel at the usual batch and at a large one, and how long each staged kernel takes
once it runs. Clocks stay as they are, because a training is not slowed down for its reader either.
"""

import re
import subprocess
import sys

from benchmarks.machine import parser_of, save

METRICS = (
    "gpu__time_duration.sum",
    "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed.avg.per_cycle_elapsed",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "lts__t_sectors_op_red.sum",
)
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
RUN = """
import numpy as np
from kernels.training.choose_backend import backend_factory
from kernels.config import Config
from kernels.files.images import load_image
from kernels.state import initial_state

config = Config(batch={batch})
factory = backend_factory("{backend}")
backend = factory(load_image("images/lake.png"), config, initial_state(config))
backend.run(1, np.full(({steps}, 2), 0.001, np.float32))
"""
CASES = (("persistent", 16_384, 200), ("persistent", 1 << 20, 20), ("cuda", 16_384, 2))


def kernels_in(text):
    """Nsight Compute's report -> [(kernel, {metric: value})]; durations in microseconds."""
    found = []
    for line in text.splitlines():
        if line.startswith("  ") and ", Context " in line:
            name = re.split(r"[\[(]", line.strip())[0]
            found.append((name.rpartition("::")[2], {}))
        row = re.match(r"\s+(\w+__[\w.]+)\s+(\S+)\s+([\d,.]+)\s*$", line)
        if row and found:
            metric, unit, number = row.groups()
            value = float(number.replace(",", ""))
            found[-1][1][metric] = value * MICROSECONDS.get(unit, 1.0)
    return found


def profile(backend, batch, steps):
    program = RUN.format(backend=backend, batch=batch, steps=steps)
    command = ["ncu", "--clock-control", "none", "--metrics", ",".join(METRICS)]
    process = subprocess.run(
        [*command, sys.executable, "-c", program], capture_output=True, text=True
    )
    kernels = kernels_in(process.stdout)
    if not kernels:
        sys.exit(f"ncu found no kernel: {process.stdout[-500:]}{process.stderr[-500:]}")
    # Of a kernel that ran more than once, the last time: the others may have been cold.
    return [
        {"backend": backend, "batch": batch, "kernel": kernel, "steps": steps, **metrics}
        for kernel, metrics in dict(kernels).items()
    ]


def main():
    parser = parser_of(__doc__)
    options = parser.parse_args()
    rows = [row for case in CASES for row in profile(*case)]
    for row in rows:
        print(f"{row['backend']}, batch {row['batch']:,}: {row['kernel']}")
        for metric in METRICS:
            print(f"    {metric:78} {row.get(metric, float('nan')):16,.2f}")
    save(options.save, rows=rows)


if __name__ == "__main__":
    main()
