"""Part two's trainings in JAX: all steps of each in one `fori_loop` in one `jit`.

    python -m benchmarks.part_two_jax siren inline derivatives classifier

As `benchmarks.part_two_peers`: the same models, beginnings, batches, steps and rates, and products
in TF32. XLA_FLAGS choose whether XLA records command buffers.
"""

import sys
import time
from functools import partial

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from benchmarks import part_two
from benchmarks.part_two_peers import (
    by_cells,
    classifier_layers,
    print_rows,
    shares_of_corners,
    sine_network,
)
from kernels.config import BETA1, BETA2, EPSILON
from kernels.files.images import load_image
from kernels.files.psnr import psnr_of_loss
from kernels.inline import model as inline
from kernels.siren import network as siren


def seconds_per_step(step, carried, steps):
    """step: a function (number from 0, carried) -> carried. Returns (seconds, carried at the end).

    The first run compiles, and is thrown away.
    """
    run = jax.jit(lambda carried, steps: lax.fori_loop(0, steps, step, carried))
    jax.block_until_ready(run(carried, 2))
    begin = time.perf_counter()
    end = jax.block_until_ready(run(carried, steps))
    return (time.perf_counter() - begin) / steps, end


def adam_steps(loss_of, parameters, rate, steps):
    """`seconds_per_step` of Adam for loss_of(parameters, step). Returns (seconds, parameters)."""

    def step(i, carried):
        gradients = jax.grad(loss_of)(carried[0], i)
        t = (i + 1).astype(jnp.float32)

        def moved(p, g, m, v):
            m, v = BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g * g
            root = jnp.sqrt(v / (1 - BETA2**t)) + EPSILON
            return p - rate * m / (1 - BETA1**t) / root, m, v

        return jax.tree.transpose(
            jax.tree.structure(gradients), jax.tree.structure((0, 0, 0)),
            jax.tree.map(moved, carried[0], gradients, *carried[1:]),
        )  # fmt: skip

    zeros = jax.tree.map(jnp.zeros_like, parameters)
    seconds, end = seconds_per_step(step, (parameters, zeros, zeros), steps)
    return seconds, end[0]


def train_sines(steps, width, layers):
    image, (height, columns), network, omegas = sine_network(width, layers)
    parameters = [(jnp.array(layer.weights), jnp.array(layer.biases)) for layer in network]
    target, size = jnp.array(image), jnp.array([columns, height])

    def colours(parameters, pixels):
        values = 2 * (pixels + 0.5) / size - 1
        for omega, (matrix, bias) in zip(omegas, parameters[:-1], strict=True):
            values = jnp.sin(omega * (values @ matrix + bias))
        matrix, bias = parameters[-1]
        return jax.nn.sigmoid(values @ matrix + bias)

    def loss_of(parameters, i):
        key = jax.random.fold_in(jax.random.key(part_two.SEED, impl="rbg"), i)
        pixels = (jax.random.uniform(key, (part_two.BATCH, 2)) * size).astype(jnp.int32)
        wanted = target[pixels[:, 1], pixels[:, 0]]
        return ((colours(parameters, pixels) - wanted) ** 2).mean()

    seconds, end = adam_steps(loss_of, parameters, siren.LEARNING_RATE, steps)
    y, x = jnp.mgrid[:height, :columns]
    painted = colours(end, jnp.stack([x, y], 2).reshape(-1, 2)).reshape(image.shape)
    return seconds, psnr_of_loss(float(((painted - target) ** 2).mean()))


def train_inline(steps):
    image = load_image(part_two.LAKE)
    values, matrices = inline.initial_parameters(*image.shape[:2], part_two.SEED)
    units, (rows, columns, _) = matrices.shape[2], values.shape
    shares, places = map(jnp.array, shares_of_corners())
    places = jnp.broadcast_to(places, (rows - 1, columns - 1, *places.shape))
    target, inside = (
        jnp.array(by_cells(array, rows, columns))
        for array in (image, np.ones_like(image[:, :, :1]))
    )

    def loss_of(parameters, _):
        grid, weights = parameters
        corners = [grid[:-1, :-1], grid[:-1, 1:], grid[1:, :-1], grid[1:, 1:]]
        x = jnp.concatenate([shares @ jnp.stack(corners, 2), places], 3)
        for layer, outputs in enumerate((units, units, 3)):
            matrix = weights[layer, :, :outputs]
            x = jax.nn.relu(x @ matrix[:units] + matrix[units])
        return (((x - target) * inside) ** 2).sum() / image.size

    begin = jnp.array(values), jnp.array(matrices)
    seconds, end = adam_steps(loss_of, begin, inline.LEARNING_RATE, steps)
    return seconds, psnr_of_loss(float(loss_of(end, 0)))


def train_classifier(steps):
    data = part_two.segments()
    images, labels = map(jnp.array, data.training)
    parameters = list(map(jnp.array, classifier_layers(images.shape[1])))
    batches = -(-len(labels) // part_two.IMAGES)
    # The last mini-batch of an epoch is filled up with images that count nothing.
    missing = batches * part_two.IMAGES - len(labels)
    images = jnp.pad(images, ((0, missing), (0, 0)))
    labels = jnp.pad(labels, (0, missing), constant_values=-1)

    def logits_of(parameters, part):
        w1, b1, w2, b2 = parameters
        return jax.nn.gelu(part @ w1 + b1) @ w2 + b2

    def loss_of(parameters, part, wanted):
        said = jax.nn.log_softmax(logits_of(parameters, part))
        return -(said * jax.nn.one_hot(wanted, said.shape[1])).sum()

    def step(i, parameters):
        first = i % batches * part_two.IMAGES
        part, wanted = (
            lax.dynamic_slice_in_dim(each, first, part_two.IMAGES) for each in (images, labels)
        )
        gradients = jax.grad(loss_of)(parameters, part, wanted)
        return [p - part_two.RATE * g for p, g in zip(parameters, gradients, strict=True)]

    seconds, end = seconds_per_step(step, parameters, steps)
    said = np.asarray(logits_of(end, jnp.array(data.held_out.images)).argmax(1))
    return seconds, 100 * float(np.mean(said == data.held_out.labels))


TRAININGS = {
    "siren": partial(train_sines, width=siren.WIDTH, layers=siren.SINE_LAYERS),
    "inline": train_inline,
    "derivatives": partial(
        train_sines, width=part_two.WRITTEN_WIDTH, layers=part_two.WRITTEN_LAYERS
    ),
    "classifier": train_classifier,
}


if __name__ == "__main__":
    jax.config.update("jax_default_matmul_precision", "tensorfloat32")
    print_rows(TRAININGS, f"jax {jax.__version__}", sys.argv[1:])
