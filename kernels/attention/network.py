"""A network of attention alone, which reads a row and answers; and a step of its training.

    tokens (B, n)  ->  x (B n, d)  ->  layer after layer  ->  logits (B, DIGITS)

The idea: a place begins as what its token and its position are, d numbers. A layer lets each place
look at those before it, and adds what it has seen:

    h = layer_norm(x)        x += attention(h W_q, h W_k, h W_v) W_o

At the end the last place is normalised once more, and multiplied by a matrix: a number per digit.
There is one head, and nothing else: no hidden units, no biases.

The products are those of lesson 12, the sums over the batch those of lesson 13, softmax and cross
entropy those of lesson 16. `parameters` holds all matrices and gains, one behind the other, and
`gradients` likewise; Adam clears them.

Source: Vaswani and others, 2017; Elhage and others, "A mathematical framework for transformer
circuits", 2021, for networks of attention alone, and why two layers can do what one cannot.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float32

from kernels.attention import backward as attention_backward
from kernels.attention import forward as attention_forward
from kernels.attention import layer_norm as norms
from kernels.attention import recall
from kernels.classifier.column_sums import launch_column_sums
from kernels.classifier.softmax import launch_softmax_cross_entropy
from kernels.config import THREADS, AdamRates, falling_factor
from kernels.launch import blocks_for, on_gpu
from kernels.plumbing.recording import Learner
from kernels.products.tiles import launch_product_registers
from kernels.products.transposed import launch_product_nt
from kernels.siren.sums import CHUNK_SAMPLES, launch_chunk_sums, launch_sum_chunks

WIDTH = 32
LEARNING_RATE, WARM_UP = 0.01, 20  # steps until it is reached
SPREAD = 0.8  # of what tokens and positions begin with
GAIN_BLOCKS = 32  # that share the rows of a batch, for the gradient of a gain


class Stages(NamedTuple):
    """One launch function per stage; a lesson puts a student's in the place of these."""

    layer_norm: Callable[..., None] = norms.launch_layer_norm
    layer_norm_backward: Callable[..., None] = norms.launch_layer_norm_backward
    gain_gradients: Callable[..., None] = norms.launch_gain_gradients
    attention_naive: Callable[..., None] = attention_forward.launch_attention_naive
    flash_attention: Callable[..., None] = attention_forward.launch_flash_attention
    flash_backward_queries: Callable[..., None] = attention_backward.launch_flash_backward_queries
    flash_backward_keys: Callable[..., None] = attention_backward.launch_flash_backward_keys


# ---------------------------------------------------------------- small kernels


@cuda.jit
def embed(tokens, token_rows, place_rows, x):
    """x (B n, d) = token_rows[token] + place_rows[place]; one thread per number of x.

    tokens (B, n) int32; token_rows (TOKENS, d), place_rows (n, d), x: float32.
    """
    i = cuda.grid(1)
    places, width = tokens.shape[1], x.shape[1]
    row, channel = i // width, i % width
    if row >= x.shape[0]:
        return
    token = tokens[row // places, row % places]
    x[row, channel] = token_rows[token, channel] + place_rows[row % places, channel]


@cuda.jit
def embed_backward(tokens, grad_rows, grad_x):
    """Add grad_x (B n, d) to grad_rows (TOKENS, d), each row to that of its token.

    One thread per number of grad_x; atomic, and few meet: 36 rows of 32 channels are 1,152 places.
    """
    i = cuda.grid(1)
    places, width = tokens.shape[1], grad_x.shape[1]
    row, channel = i // width, i % width
    if row < grad_x.shape[0]:
        token = tokens[row // places, row % places]
        cuda.atomic.add(grad_rows, (token, channel), grad_x[row, channel])


@cuda.jit
def add(first, second, total):
    """total = first + second, all (rows, d) float32; one thread per number."""
    i = cuda.grid(1)
    row, channel = i // total.shape[1], i % total.shape[1]
    if row < total.shape[0]:
        total[row, channel] = first[row, channel] + second[row, channel]


@cuda.jit
def take_last(x, last):
    """last (B, d): of x (B n, d) the last place of each row; one thread per number of `last`."""
    i = cuda.grid(1)
    row, channel = i // last.shape[1], i % last.shape[1]
    if row < last.shape[0]:
        last[row, channel] = x[(row + 1) * (x.shape[0] // last.shape[0]) - 1, channel]


@cuda.jit
def put_last(last, x):
    """x (B n, d): last (B, d) at the last place of each row, else zeros; one thread per number."""
    i = cuda.grid(1)
    row, channel = i // x.shape[1], i % x.shape[1]
    if row < x.shape[0]:
        places = x.shape[0] // last.shape[0]
        is_last = row % places == places - 1
        x[row, channel] = last[row // places, channel] if is_last else float32(0)


def launch_per_number(kernel, arguments, launch=on_gpu):
    """Start a kernel with one thread per number of its last argument, a matrix."""
    rows, width = arguments[-1].shape
    launch(kernel, blocks_for(rows * width), THREADS, *arguments)


# ---------------------------------------------------------------- parameters and arrays


class Layer(NamedTuple):
    """A layer's part of the parameters, or of their gradients: views."""

    gain: Any  # (d,)
    query: Any  # (d, d), and so are the others
    key: Any
    value: Any
    output: Any


class Parts(NamedTuple):
    """All of the parameters, or of their gradients: views."""

    tokens: Any  # (TOKENS, d)
    places: Any  # (n, d)
    layers: list[Layer]
    gain: Any  # (d,), of the last layer norm
    answer: Any  # (d, DIGITS)


def shapes_of(layers):
    square = [(WIDTH, WIDTH)] * 4
    of_layers = [shape for _ in range(layers) for shape in ((WIDTH,), *square)]
    ends = (WIDTH,), (WIDTH, recall.DIGITS)
    return [(recall.TOKENS, WIDTH), (recall.PLACES, WIDTH), *of_layers, *ends]


def parts_of(flat, layers):
    """The `Parts` that a flat array (n,) holds."""
    parts, first = [], 0
    for shape in shapes_of(layers):
        size = int(np.prod(shape))
        part = flat[first : first + size]
        parts.append(part.reshape(*shape) if len(shape) == 2 else part)
        first += size
    of_layers = [Layer(*parts[2 + 5 * i : 7 + 5 * i]) for i in range(layers)]
    return Parts(parts[0], parts[1], of_layers, parts[-2], parts[-1])


def initial_parameters(seed, layers):
    """(n,) float32, a pure function of the seed: gains of 1, matrices that keep sizes."""
    random, shapes = np.random.Generator(np.random.Philox(seed)), shapes_of(layers)
    # A layer that looks everywhere, and adds little, at first, learns sooner where to look.
    spreads = [SPREAD] * 2 + [0.5 * WIDTH**-0.5] * (len(shapes) - 3) + [WIDTH**-0.5]
    parts = [
        random.normal(0, spread, shape) if len(shape) == 2 else np.ones(shape)
        for shape, spread in zip(shapes, spreads, strict=True)
    ]
    return np.concatenate([part.ravel() for part in parts]).astype(np.float32)


class Kept(NamedTuple):
    """What a layer leaves for the way back; (B, 1, n, d) where attention reads it."""

    x: Any  # (B n, d), what came in
    normal: Any  # (B n, d)
    means: Any  # (B n,)
    scales: Any
    query: Any
    key: Any
    value: Any
    seen: Any
    log_sums: Any  # (B, 1, n)


# ---------------------------------------------------------------- the network


def rate_at(step, steps):
    """The learning rate of step `step` of `steps`, the first is 1: it rises, stays, and falls."""
    return LEARNING_RATE * min(1, step / WARM_UP) * falling_factor(step, steps)


class Reader(Learner):
    """A network in training, as `Learner`, on rows that it draws.

    layers: how many. stages: in the place of ours.
    """

    rates = AdamRates(np.float32(0.9), np.float32(0.98), np.float32(1e-8))

    def __init__(self, seed, batch, device, layers=2, stages=None):
        super().__init__(np.uint64(seed), initial_parameters(seed, layers), device)
        self.batch, self.layers, self.stages = batch, layers, stages or Stages()
        empty = device.empty
        self.parts, self.slopes = (
            parts_of(flat, layers) for flat in (self.parameters, self.gradients)
        )
        places, rows = recall.PLACES, batch * recall.PLACES
        self.tokens, self.answers = empty((batch, places), np.int32), empty(batch, np.int32)
        self.kept = [self.new_kept(rows) for _ in range(layers)]
        self.x, self.update, *self.spare = (empty((rows, WIDTH)) for _ in range(7))
        self.last, self.normal_last, *self.spare_last = (empty((batch, WIDTH)) for _ in range(4))
        self.statistics_last = empty(batch), empty(batch)
        self.logits, self.probabilities, self.delta = (
            empty((batch, recall.DIGITS)) for _ in range(3)
        )
        self.no_bias = device.to_device(np.zeros(recall.DIGITS, np.float32))
        self.losses = empty(batch)
        self.products = empty((batch, 1, places))
        chunks = blocks_for(rows, CHUNK_SAMPLES)
        self.partial = empty((chunks, WIDTH + 1, WIDTH))
        self.partial_answer = empty((blocks_for(batch, CHUNK_SAMPLES), WIDTH + 1, recall.DIGITS))
        self.partial_gain = empty((GAIN_BLOCKS, WIDTH))

    def new_kept(self, rows):
        empty = self.device.empty
        four = [empty((self.batch, 1, recall.PLACES, WIDTH)) for _ in range(4)]
        matrices = empty((rows, WIDTH)), empty((rows, WIDTH))
        log_sums = empty((self.batch, 1, recall.PLACES))
        return Kept(*matrices, empty(rows), empty(rows), *four, log_sums)

    def new_step_work(self):
        """Without a proof: `embed_backward` adds atomically, and leaves other bits each time."""
        return self.device.repeated(self.launch_step)

    def draw(self, launch):
        recall.launch_draw_rows(self.numbers.clock, self.seed, self.tokens, self.answers, launch)

    def find_gradients(self, launch):
        self.forward(launch)
        self.backward(launch)

    def forward(self, launch):
        """From `tokens` and `answers` to logits, probabilities, delta and losses."""
        parts, stages = self.parts, self.stages
        arguments = self.tokens, parts.tokens, parts.places, self.kept[0].x
        launch_per_number(embed, arguments, launch)
        for number, (layer, kept) in enumerate(zip(parts.layers, self.kept, strict=True)):
            stages.layer_norm(
                kept.x, layer.gain, kept.normal, kept.means, kept.scales, launch=launch
            )
            for weights, result in zip(layer[1:4], kept[4:7], strict=True):
                launch_product_registers(kept.normal, weights, flat(result), launch)
            stages.flash_attention(*kept[4:], launch=launch)
            launch_product_registers(flat(kept.seen), layer.output, self.update, launch)
            after = self.kept[number + 1].x if number + 1 < self.layers else self.x
            launch_per_number(add, (kept.x, self.update, after), launch)
        launch_per_number(take_last, (self.x, self.last), launch)
        stages.layer_norm(
            self.last, parts.gain, self.normal_last, *self.statistics_last, launch=launch
        )
        launch_product_registers(self.normal_last, parts.answer, self.logits, launch)
        launch_softmax_cross_entropy(
            self.logits, self.no_bias, self.answers, self.probabilities, self.delta, self.losses,
            launch,
        )  # fmt: skip

    def backward(self, launch):
        """From `delta` to the gradients, which are sums over the batch; they begin as zeros."""
        parts, slopes = self.parts, self.slopes
        grad_normal, grad_last = self.spare_last
        grad_x, *spare = self.spare
        self.weights(self.normal_last, self.delta, slopes.answer, launch, self.partial_answer)
        launch_product_nt(self.delta, parts.answer, grad_normal, launch)
        arrays = self.last, parts.gain, *self.statistics_last
        self.norm_backward(arrays, grad_normal, grad_last, slopes.gain, launch)
        launch_per_number(put_last, (grad_last, grad_x), launch)
        for number in range(self.layers - 1, -1, -1):
            self.layer_backward(number, grad_x, spare, launch)
        launch_per_number(embed_backward, (self.tokens, slopes.tokens, grad_x), launch)
        by_rows = grad_x.reshape(self.batch, -1)
        launch_column_sums(by_rows, slopes.places.reshape(-1), launch)

    def layer_backward(self, number, grad_x, spare, launch):
        """grad_x (B n, d) is that of what comes out of a layer, and becomes that of its input."""
        layer, slopes, kept = (each[number] for each in (self.parts[2], self.slopes[2], self.kept))
        grad_seen, *three = spare
        self.weights(flat(kept.seen), grad_x, slopes.output, launch)
        launch_product_nt(grad_x, layer.output, grad_seen, launch)
        shape = kept.query.shape
        seen_slopes = grad_seen.reshape(*shape)
        grads = [array.reshape(*shape) for array in three]
        attention_backward.launch_output_products(kept.seen, seen_slopes, self.products, launch)
        given = kept.query, kept.key, kept.value, seen_slopes, kept.log_sums, self.products
        self.stages.flash_backward_queries(*given, grads[0], launch=launch)
        self.stages.flash_backward_keys(*given, *grads[1:], launch=launch)
        # The sum of three products; grad_seen has been read, and holds the first two of them.
        total, addend = grad_seen, self.update
        for i, grad in enumerate(map(flat, grads)):
            self.weights(kept.normal, grad, slopes[1 + i], launch)
            launch_product_nt(grad, layer[1 + i], addend if i else total, launch)
            if i:
                launch_per_number(add, (total, addend, total), launch)
        arrays = kept.x, layer.gain, kept.means, kept.scales
        self.norm_backward(arrays, total, addend, slopes.gain, launch)
        launch_per_number(add, (grad_x, addend, grad_x), launch)

    def weights(self, inputs, deltas, gradients, launch, partial=None):
        """gradients (fan_in, fan_out) = inputs^T @ deltas, in two stages."""
        partial = self.partial if partial is None else partial
        launch_chunk_sums(inputs, deltas, partial, launch)
        launch_sum_chunks(partial, gradients, launch)

    def norm_backward(self, arrays, grad_out, grad_x, grad_gain, launch):
        """arrays: x, gain, means, scales of a layer norm. Sets grad_x and grad_gain."""
        x, _, means, scales = arrays
        self.stages.layer_norm_backward(*arrays, grad_out, grad_x, launch=launch)
        self.stages.gain_gradients(x, means, scales, grad_out, self.partial_gain, launch=launch)
        launch_column_sums(self.partial_gain, grad_gain, launch)

    def loss(self):
        """The mean cross entropy of the latest rows."""
        return float(self.device.to_host(self.losses).mean(dtype=np.float64))

    def held_out(self, count):
        """tokens (count, n) and answers (count,) that are never trained with, on the host."""
        device = self.device
        tokens = device.empty((count, recall.PLACES), np.int32)
        answers = device.empty(count, np.int32)
        clock = device.to_device(np.array([0, 0, recall.HELD_OUT], np.int64))
        recall.launch_draw_rows(clock, self.seed, tokens, answers, device.launch)
        return device.to_host(tokens), device.to_host(answers)

    def probabilities_of(self, tokens):
        """(count, DIGITS) for rows (count, n) of the host; the batch must divide their count."""
        found = []
        training = self.tokens, self.answers
        for first in range(0, len(tokens), self.batch):
            rows = tokens[first : first + self.batch]
            self.tokens = self.device.to_device(rows)
            self.answers = self.device.to_device(np.zeros(self.batch, np.int32))
            self.forward(self.device.launch)
            found.append(self.device.to_host(self.probabilities))
        self.tokens, self.answers = training
        return np.concatenate(found)

    def maps(self, row=0):
        """Who looked at whom in row `row` of the latest forward pass: (n, n) of each layer."""
        device, shape = self.device, (1, 1, recall.PLACES, recall.PLACES)
        found = []
        for kept in self.kept:
            q, k, v = (device.to_device(device.to_host(a)[row : row + 1]) for a in kept[4:7])
            weights = device.empty(shape)
            out = device.empty(q.shape)
            self.stages.attention_naive(q, k, v, weights, out, launch=device.launch)
            found.append(device.to_host(weights)[0, 0])
        return found


def flat(array):
    """(B, 1, n, d) as (B n, d): the same memory."""
    return array.reshape(-1, array.shape[-1])
