"""One training on a GPU, of a backend of ours or of a peer; and how well ours learn.

    python -m benchmarks.gpu_step --save h200-quality

Trains each backend with several seeds, on the lake and, with --photo, on a photograph.
`benchmarks.compare` times them: wall clock around a run of 16,384 samples per step, synchronised,
batches and Adam inside, compiling not. PSNR stands beside it: a peer that does not learn as well is
no peer, and each is in a process of its own.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial

import numpy as np
from numba import cuda

from benchmarks.machine import parser_of, save
from kernels.config import Config
from kernels.files.images import load_image
from kernels.files.psnr import psnr
from kernels.training.choose_backend import backend_factory
from kernels.training.gpu_backends import PersistentBackend
from kernels.training.trainer import Trainer

LAKE = "images/lake.png"
OURS = (
    "cuda", "graph", "tensor", "two barriers", "two barriers deterministic", "persistent",
    "persistent deterministic",
)  # fmt: skip
COMMAND_BUFFERS = (
    "--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,WHILE "
    "--xla_gpu_graph_min_graph_size=1"
)
PEERS = [("torch", "f32", ""), ("torch", "bf16", "")] + [
    ("jax", precision, flags) for precision in ("f32", "bf16") for flags in ("", COMMAND_BUFFERS)
]
AS_GOOD = 0.3  # dB that a peer may lie below us


def ours(name, image, config):
    """A whole run, as one call. Returns a row."""
    deterministic = "deterministic" in name
    if name.startswith("two barriers"):
        # What `persistent` is for batches that do not fit onto the GPU at once.
        factory = partial(PersistentBackend, deterministic=deterministic)
    else:
        factory = backend_factory(name.split()[0], deterministic)
    begin = time.perf_counter()
    trainer = Trainer(image, config, factory)
    trainer.compile()
    if name == "cuda":
        trainer.backend.run(1, np.zeros((1, 2), np.float32))
        trainer = Trainer(image, config, factory)
    cuda.synchronize()
    compiled = time.perf_counter()
    rates = trainer.learning_rates(1, config.steps)
    start = time.perf_counter()
    trainer.backend.run(1, rates)
    cuda.synchronize()
    seconds = time.perf_counter() - start
    row = {
        "backend": name,
        "batch": config.batch,
        "us_per_step": seconds / config.steps * 1e6,
        "seconds": seconds,
        "psnr_db": psnr(trainer.render(), image),
        "seconds_to_compile": compiled - begin,
        "registers": registers(trainer.backend),
    }
    return row


def registers(backend):
    """kernel -> (registers per thread, bytes of local memory)."""
    found = {}
    for name in ("train", "first", "second", "paint"):
        kernel = getattr(backend, name, None)
        for compiled in getattr(kernel, "overloads", {}).values():
            found[name] = compiled.regs_per_thread, compiled.local_mem_per_thread
    return found


def peer(name, precision, flags, steps):
    command = [sys.executable, "-m", "benchmarks.peers", name, precision, str(steps), "1"]
    environment = dict(os.environ, XLA_FLAGS=flags, TF_CPP_MIN_LOG_LEVEL="3")
    process = subprocess.run(command, env=environment, capture_output=True, text=True)
    if process.returncode:
        lines = process.stderr.strip().splitlines() or ["no message"]
        print(f"{name} {precision} {flags}: {lines[-1]}", flush=True)
        return None
    return json.loads(process.stdout.strip().splitlines()[-1])


def quality(images, seeds, steps):
    """PSNR of each backend, picture and seed."""
    rows = []
    for picture, image in images.items():
        for name, count in (("cuda", 2), ("graph", 3), ("tensor", seeds), ("persistent", seeds)):
            reached = []
            for seed in range(1, count + 1):
                config = Config(steps=steps, seed=seed)
                trainer = Trainer(image, config, backend_factory(name))
                trainer.compile()
                trainer.backend.run(1, trainer.learning_rates(1, steps))
                reached.append(psnr(trainer.render(), image))
            row = {"backend": name, "picture": picture, "psnr_db": reached}
            row["mean_db"] = statistics.mean(reached)
            rows.append(row)
            print(f"{picture:8} {name:12} {row['mean_db']:.3f} dB over {count} seeds", flush=True)
    return rows


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--steps", type=int, default=40_000, help="of each run (default: 40,000)")
    parser.add_argument("--photo", help="a second picture for the comparison of quality")
    parser.add_argument("--seeds", type=int, default=10, help="for quality (default: 10)")
    options = parser.parse_args()
    images = {"lake": load_image(LAKE)}
    if options.photo:
        images["photo"] = load_image(options.photo)
    rows = quality(images, options.seeds, options.steps)
    save(options.save, steps=options.steps, quality=rows)


if __name__ == "__main__":
    main()
