"""Part two's trainings on a GPU: one by one, as CUDA graphs, fused, and the peers, in one run.

    python -m benchmarks.part_two --save h200-part-two

First the fused kernels are compared with the readable ones: both go a few steps from the same
beginning, with the same batches, and must end at nearly the same parameters.

Each trains as its lesson's command does, with the lesson's model, batch and data and a constant
learning rate, one after another. Time is wall clock, synchronised, with batches and optimiser
inside, and compiling, recording and the first steps not. What was learned stands beside it: who
does not learn as well does other work. PyTorch and JAX, where they are installed, are asked in
processes of their own (`benchmarks.part_two_peers`, `benchmarks.part_two_jax`).
"""

import importlib
import importlib.util
import itertools
import json
import math
import os
import subprocess
import sys
import time

import numpy as np

from benchmarks.gpu_step import COMMAND_BUFFERS
from benchmarks.machine import parser_of, require_gpu, save
from kernels.classifier import fused as fused_classifier
from kernels.classifier.network import first_rows, initial_parameters, new_network
from kernels.classifier.training import classify, train_epoch
from kernels.derivatives.fused import FusedWrittenSiren
from kernels.derivatives.learner import WrittenSiren
from kernels.files.images import load_image
from kernels.files.psnr import psnr
from kernels.inline.fused import launch_learn_by_warps
from kernels.inline.model import LearningSteps, Stages, make_arrays
from kernels.siren.fused import FusedSiren
from kernels.siren.network import Siren
from lessons.capstones.device import cuda_device

LAKE = "images/lake.png"
SEED, BATCH = 1, 1024  # pixels per step, of both networks of sines
WRITTEN_WIDTH, WRITTEN_LAYERS = 48, 4  # of the network of lesson 15
HIDDEN, IMAGES = 64, 256  # units, and images per mini-batch, of the classifier
RATE = 0.5 / IMAGES  # for the sum of a mini-batch's gradients
STEPS = {"siren": 2000, "inline": 1000, "derivatives": 2000, "classifier": 640}
UNITS = {name: "%" if name == "classifier" else "dB" for name in STEPS}
FIRST = 5  # passes that are not timed: they compile and record
PARTS = 4  # of the others, each timed by itself; the fastest one counts
PEERS = (
    ("PyTorch", "torch", "benchmarks.part_two_peers", ""),
    ("JAX", "jax", "benchmarks.part_two_jax", ""),
    ("JAX, buffers", "jax", "benchmarks.part_two_jax", COMMAND_BUFFERS),
)
PEER_SECONDS = 100  # for each
CHECKED_PASSES = 4  # in which they are compared with the readable ones
# Of how far the parameters have moved, in the mean. Adam moves a weight by as much as ever if its
# gradient is nearly zero, where another order of the sums decides which way.
LARGEST_DIFFERENCE = 0.02


class SirenTraining:
    """Lesson 13's. A pass is a step."""

    steps_per_pass = 1

    def __init__(self, device):
        self.image = load_image(LAKE)
        self.model = self.new_model(device)

    def new_model(self, device):
        return (FusedSiren if device.fused else Siren)(self.image, SEED, BATCH, device)

    def parameters(self):
        return self.model.device.to_host(self.model.parameters)

    def train(self, number):
        self.model.train(number)

    def how(self):
        return self.model.step_work.how

    def quality(self):
        height, width, _ = self.image.shape
        return psnr(self.model.paint(width, height), self.image)


class WrittenTraining(SirenTraining):
    """Lesson 15's, with kernels that a machine has written."""

    def new_model(self, device):
        kind = FusedWrittenSiren if device.fused else WrittenSiren
        return kind(self.image, SEED, BATCH, device, WRITTEN_WIDTH, WRITTEN_LAYERS)


class InlineTraining(SirenTraining):
    """Lesson 14's."""

    def new_model(self, device):
        arrays = make_arrays(self.image, SEED, device.to_device)
        stages = Stages(launch_learn_by_warps) if device.fused else Stages()
        return LearningSteps(stages, arrays, device)

    def parameters(self):
        return self.model.device.to_host(self.model.arrays.parameters)

    def quality(self):
        device, arrays = self.model.device, self.model.arrays
        picture = device.empty(self.image.shape)
        Stages().paint(arrays.grid, arrays.weights, picture, launch=device.launch)
        return psnr(device.to_host(picture), self.image)


class ClassifierTraining:
    """Lesson 16's. A pass is an epoch."""

    def __init__(self, device):
        data = segments()
        self.device = device
        self.training, self.held_out = (
            (
                device.to_device(part.images),
                device.to_device(part.labels),
                device.empty(len(part.labels)),
            )
            for part in (data.training, data.held_out)
        )
        self.labels = data.held_out.labels
        self.steps_per_pass = math.ceil(len(data.training.labels) / IMAGES)
        parameters = initial_parameters(data.training.images.shape[1], HIDDEN, 10, SEED)
        rows = max(IMAGES, len(self.labels))
        self.network = new_network(parameters, HIDDEN, 10, rows, device.to_device)
        self.train_epoch = train_epoch
        if device.fused:
            self.train_epoch = fused_classifier.make_train_epoch(self.network, IMAGES, device.empty)
        self.epoch = device.repeated(self.launch_epoch, (self.network.parameters,))

    def launch_epoch(self, launch):
        network = first_rows(self.network, IMAGES)
        self.train_epoch(*self.training, network, IMAGES, RATE, launch)

    def train(self, number):
        self.epoch()

    def how(self):
        return self.epoch.how

    def parameters(self):
        return self.device.to_host(self.network.parameters)

    def quality(self):
        network = first_rows(self.network, len(self.labels))
        classify(*self.held_out, network, self.device.launch)
        said = self.device.to_host(network.probabilities).argmax(axis=1)
        return 100 * float(np.mean(said == self.labels))


TRAININGS = {
    "siren": SirenTraining,
    "inline": InlineTraining,
    "derivatives": WrittenTraining,
    "classifier": ClassifierTraining,
}


def segments():
    """The classifier's pictures: they are drawn, so nothing has to be fetched."""
    return importlib.import_module("lessons.16_classifier.data").load("segments", SEED)


def ours(name, device):
    """A whole run of a training. Returns a row."""
    training = TRAININGS[name](device)
    passes = STEPS[name] // training.steps_per_pass
    ends = np.linspace(FIRST, passes, PARTS + 1, dtype=int).tolist()
    for number in range(1, FIRST + 1):
        training.train(number)
    seconds = []
    for first, last in itertools.pairwise(ends):
        device.synchronize()
        begin = time.perf_counter()
        for number in range(first + 1, last + 1):
            training.train(number)
        device.synchronize()
        steps = (last - first) * training.steps_per_pass
        seconds.append((time.perf_counter() - begin) / steps)
    return {
        "training": name,
        "launches": training.how(),
        "us_per_step": min(seconds) * 1e6,
        "us_of_parts": [each * 1e6 for each in seconds],
        "steps": passes * training.steps_per_pass,
        "quality": training.quality(),
        "unit": UNITS[name],
    }


def differences(names, device):
    """training -> how far the fused kernels end from the readable ones, of the way, in the mean."""
    found = {}
    for name in names:
        readable, fused = (
            TRAININGS[name](where) for where in (device, device._replace(fused=True))
        )
        begin = readable.parameters()
        for number in range(1, CHECKED_PASSES + 1):
            readable.train(number)
            fused.train(number)
        end = readable.parameters()
        found[name] = float(np.abs(fused.parameters() - end).mean() / np.abs(end - begin).mean())
    return found


def our_rows(names, device):
    """One row for each training and way."""
    ways = {"one by one": device._replace(records=False), "graph": device}
    ways["fused"] = device._replace(fused=True)
    for name in names:
        for way, where in ways.items():
            yield {"way": way, **ours(name, where)}


def peer_rows(names):
    """What PyTorch and JAX do; a line says what is missing."""
    for way, library, module, flags in PEERS:
        if importlib.util.find_spec(library) is None:
            print(f"{way}: not installed", flush=True)
            continue
        command = [sys.executable, "-m", module, *names]
        environment = dict(os.environ, XLA_FLAGS=flags, TF_CPP_MIN_LOG_LEVEL="3")
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=PEER_SECONDS, env=environment
            )
            printed, complaint = done.stdout, done.stderr if done.returncode else ""
        except subprocess.TimeoutExpired as late:
            printed = (late.stdout or b"").decode()
            complaint = f"more than {PEER_SECONDS} s"
        for line in printed.splitlines():
            if line.startswith("{"):
                yield {**json.loads(line), "way": way}
        if complaint.strip():
            print(f"{way}: {complaint.strip().splitlines()[-1]}", flush=True)


def show(row):
    if "error" in row:
        print(f"{row['training']:12} {row['way']:12} {row['error']}", flush=True)
        return
    print(
        f"{row['training']:12} {row['way']:12} {row['us_per_step']:9.1f} us per step "
        f"{row['quality']:7.2f} {row['unit']:3} {row['launches']}",
        flush=True,
    )


def ratios(rows):
    """training -> way -> how many times as long as our fastest the others take."""
    times = {(row["training"], row["way"]): row.get("us_per_step") for row in rows}
    found = {}
    for (name, way), value in times.items():
        ours = times.get((name, "fused"))
        if way != "fused" and ours and value:
            found.setdefault(name, {})[way] = value / ours
    return found


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--only", choices=STEPS, help="one training (default: all)")
    options = parser.parse_args()
    require_gpu()
    names = [options.only] if options.only else list(STEPS)
    rows, device = [], cuda_device()
    checked = differences(names, device)
    for name, difference in checked.items():
        print(f"{name}: fused, {difference:.1e} of the way from the readable kernels", flush=True)
    wrong = [name for name, difference in checked.items() if not difference < LARGEST_DIFFERENCE]
    if wrong:
        sys.exit(f"error: fused kernels that compute something else: {', '.join(wrong)}")
    for row in itertools.chain(our_rows(names, device), peer_rows(names)):
        show(row)
        rows.append(row)
    found = ratios(rows)
    for name, others in found.items():
        words = ", ".join(f"{way} {ratio:.2f}" for way, ratio in others.items())
        print(f"{name}: times as long as our fastest: {words}")
    save(options.save, rows=rows, ratios=found, differences=checked)


if __name__ == "__main__":
    main()
