"""Part two's trainings in PyTorch, each written as fast as we know how.

    python -m benchmarks.part_two_peers siren inline derivatives classifier

prints a JSON line for each: µs per step, and what was learned. `benchmarks.part_two` starts it, in
a process of its own. Same models, beginnings, batches, steps and rates as ours; `torch.compile` for
the loss, a fused optimiser, and whole steps in a CUDA graph.
"""

import json
import math
import sys
import time
from functools import partial

import numpy as np

from benchmarks import part_two
from benchmarks.peers import seconds_per_step_in_graphs
from kernels.classifier import network as classifier
from kernels.config import BETA1, BETA2, EPSILON
from kernels.files.images import load_image
from kernels.files.psnr import psnr_of_loss
from kernels.inline import model as inline
from kernels.inline.sizes import CELL
from kernels.siren import network as siren


def on_gpu(torch, array):
    """A tensor that is learned."""
    return torch.tensor(array, device="cuda", requires_grad=True)


def adam(torch, parameters, learning_rate):
    return torch.optim.Adam(
        parameters, lr=torch.tensor(learning_rate, device="cuda"), betas=(BETA1, BETA2),
        eps=EPSILON, fused=True, capturable=True,
    )  # fmt: skip


# ---------------------------------------------------------------- networks of sines


def sine_network(width, layers):
    """(the lake, its height and width, the layers to begin with, omegas of all but the last)."""
    image = load_image(part_two.LAKE)
    shapes = siren.layer_shapes(width, layers)
    begin = siren.initial_parameters(part_two.SEED, shapes)
    network = siren.layers_of(begin, np.zeros_like(begin), shapes)
    return image, image.shape[:2], network, [float(layer.omega) for layer in network[:-1]]


def train_sines(torch, steps, width, layers):
    """Random pixels of the lake. Returns (seconds per step, dB)."""
    image, (height, columns), network, omegas = sine_network(width, layers)
    weights = [on_gpu(torch, layer.weights) for layer in network]
    biases = [on_gpu(torch, layer.biases) for layer in network]
    target = torch.tensor(image, device="cuda")
    size = torch.tensor([columns, height], device="cuda")

    def colours(pixels):
        values = 2 * (pixels + 0.5) / size - 1
        for omega, matrix, bias in zip(omegas, weights[:-1], biases[:-1], strict=True):
            values = torch.sin(omega * torch.addmm(bias, values, matrix))
        return torch.sigmoid(torch.addmm(biases[-1], values, weights[-1]))

    @torch.compile
    def loss_of(uv):
        pixels = (uv * size).long()
        wanted = target[pixels[:, 1], pixels[:, 0]]
        return torch.nn.functional.mse_loss(colours(pixels), wanted)

    optimizer = adam(torch, [*weights, *biases], siren.LEARNING_RATE)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_of(torch.rand(part_two.BATCH, 2, device="cuda")).backward()
        optimizer.step()

    seconds = seconds_per_step_in_graphs(torch, step, steps)
    with torch.no_grad():
        y, x = torch.meshgrid(
            torch.arange(height, device="cuda"), torch.arange(columns, device="cuda"), indexing="ij"
        )
        painted = colours(torch.stack([x, y], 2).reshape(-1, 2)).reshape(image.shape)
        return seconds, psnr_of_loss(float(((painted - target) ** 2).mean()))


def train_siren(torch, steps):
    return train_sines(torch, steps, siren.WIDTH, siren.SINE_LAYERS)


def train_written(torch, steps):
    return train_sines(torch, steps, part_two.WRITTEN_WIDTH, part_two.WRITTEN_LAYERS)


# ---------------------------------------------------------------- a whole picture per step


def shares_of_corners():
    """Of a cell's pixels: (pixels, 4), how much of each corner; (pixels, 2), where they lie."""
    y, x = (axis.reshape(-1, 1) / np.float32(CELL) for axis in np.mgrid[:CELL, :CELL])
    shares = np.hstack([(1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y])
    return shares.astype(np.float32), np.hstack([x, y]).astype(np.float32)


def by_cells(array, rows, columns):
    """(H, W, n), of a grid of so many corners -> (cells down, across, pixels of a cell, n)."""
    padded = np.zeros(((rows - 1) * CELL, (columns - 1) * CELL, array.shape[2]), np.float32)
    padded[: array.shape[0], : array.shape[1]] = array
    cells = padded.reshape(rows - 1, CELL, columns - 1, CELL, -1).transpose(0, 2, 1, 3, 4)
    return np.ascontiguousarray(cells.reshape(rows - 1, columns - 1, CELL * CELL, -1))


def train_inline(torch, steps):
    """All pixels of the lake, cell by cell, so that nothing has to be gathered pixel by pixel."""
    image = load_image(part_two.LAKE)
    values, matrices = inline.initial_parameters(*image.shape[:2], part_two.SEED)
    grid, weights = on_gpu(torch, values), on_gpu(torch, matrices)
    units, (rows, columns, _) = matrices.shape[2], values.shape

    shares, places = (torch.tensor(part, device="cuda") for part in shares_of_corners())
    places = places.expand(rows - 1, columns - 1, -1, -1)
    target, inside = (
        torch.tensor(by_cells(array, rows, columns), device="cuda")
        for array in (image, np.ones_like(image[:, :, :1]))
    )

    @torch.compile
    def loss_of():
        corners = [grid[:-1, :-1], grid[:-1, 1:], grid[1:, :-1], grid[1:, 1:]]
        features = shares @ torch.stack(corners, 2)
        x = torch.cat([features, places], 3)
        for layer, outputs in enumerate((units, units, 3)):
            x = torch.relu(x @ weights[layer, :units, :outputs] + weights[layer, units, :outputs])
        return (((x - target) * inside) ** 2).sum() / image.size

    optimizer = adam(torch, [grid, weights], inline.LEARNING_RATE)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_of().backward()
        optimizer.step()

    seconds = seconds_per_step_in_graphs(torch, step, steps)
    with torch.no_grad():
        return seconds, psnr_of_loss(float(loss_of()))


# ---------------------------------------------------------------- a classifier


def classifier_layers(inputs):
    """(weights, biases, weights, biases) to begin with."""
    parameters = classifier.initial_parameters(inputs, part_two.HIDDEN, 10, part_two.SEED)
    return classifier.layers_of(
        parameters, classifier.new_network(parameters, part_two.HIDDEN, 10, 1)
    )


def train_classifier(torch, steps):
    """Mini-batches in order, a whole epoch in each graph. Returns (seconds per step, %)."""
    data = part_two.segments()
    images, labels = (torch.tensor(array, device="cuda") for array in data.training)
    labels = labels.long()
    layers = classifier_layers(images.shape[1])
    w1, b1, w2, b2 = learned = [on_gpu(torch, part) for part in layers]

    def logits_of(part):
        hidden = torch.nn.functional.gelu(torch.addmm(b1, part, w1), approximate="tanh")
        return torch.addmm(b2, hidden, w2)

    @torch.compile(dynamic=False)
    def loss_of(part, wanted):
        return torch.nn.functional.cross_entropy(logits_of(part), wanted, reduction="sum")

    optimizer = torch.optim.SGD(learned, lr=part_two.RATE, fused=True)
    firsts = range(0, len(labels), part_two.IMAGES)

    def epoch():
        for first in firsts:
            optimizer.zero_grad(set_to_none=True)
            part = slice(first, first + part_two.IMAGES)
            loss_of(images[part], labels[part]).backward()
            optimizer.step()

    epochs = math.ceil(steps / len(firsts))
    seconds = seconds_per_step_in_graphs(torch, epoch, epochs, 1) / len(firsts)
    with torch.no_grad():
        said = logits_of(torch.tensor(data.held_out.images, device="cuda")).argmax(1).cpu().numpy()
    return seconds, 100 * float(np.mean(said == data.held_out.labels))


TRAININGS = {
    "siren": train_siren,
    "inline": train_inline,
    "derivatives": train_written,
    "classifier": train_classifier,
}


def print_rows(trainings, version, names):
    """Run some of the trainings, and print a JSON line for each."""
    for name in names:
        begin = time.perf_counter()
        row = {"training": name, "launches": version}
        try:
            seconds, quality = trainings[name](part_two.STEPS[name])
        except Exception as error:  # the others may still work
            row["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
        else:
            row |= {"us_per_step": seconds * 1e6, "steps": part_two.STEPS[name], "quality": quality}
            row |= {"unit": part_two.UNITS[name], "seconds_in_all": time.perf_counter() - begin}
        print(json.dumps(row), flush=True)


def main():
    import torch

    torch.set_float32_matmul_precision("high")  # TF32 where it helps
    torch.manual_seed(part_two.SEED)
    trainings = {name: partial(train, torch) for name, train in TRAININGS.items()}
    print_rows(trainings, f"torch {torch.__version__}", sys.argv[1:])


if __name__ == "__main__":
    main()
