"""Attention and convolution on a GPU, forward and back, beside PyTorch, in one run.

    python -m benchmarks.part_three --save h200-part-three

Attention is causal, of (8, 8, 1024, 64); convolutions are those of lesson 17's second layer, 3 x 3,
of 256 images of 32 x 32 with 8 channels, to 16. Ours are the lesson's kernels, in float32, and
those on tensor cores, in TF32. PyTorch gets its own attention and convolution, compiled, once in
full float32 and once with TF32. What each computes is compared with PyTorch in float64 first.

Then a step of the training of lessons 17 and 19, from the same beginning. PyTorch's is compiled,
with TF32 and a fused optimiser; it is not asked to draw what it learns from.

Both sides are CUDA graphs of many launches, so that no time of the host is in it.
"""

import itertools
import sys

import numpy as np
from numba import cuda

from benchmarks.graph_time import microseconds
from benchmarks.machine import parser_of, require_gpu, save
from benchmarks.part_two_peers import on_gpu
from benchmarks.peers import seconds_per_step_in_graphs
from kernels.attention import backward as lesson_backward
from kernels.attention import forward as lesson_attention
from kernels.attention import fused as fused_attention
from kernels.attention import layer_norm, network
from kernels.attention import tensor_cores as fast_attention
from kernels.classifier.digits import draw_digits
from kernels.launch import on_gpu as launch_at_once
from kernels.launch import on_stream
from kernels.neighbours import gradients as lesson_gradients
from kernels.neighbours import learner
from kernels.neighbours import tensor_cores as fast_convolution
from kernels.neighbours.convolve import launch_convolve_tiled
from lessons.capstones.device import cuda_device

BATCH, HEADS, TOKENS, WIDTH = 8, 8, 1024, 64
IMAGES, SIDE, CHANNELS, FILTERS = 256, 32, 8, 16
BLOCKS_OF_FILTERS = 264  # that share the pieces, on tensor cores: two per processor of an H200
LARGEST_ERROR = 2e-3  # of a result, relative to its largest number
SEED, RATE, REPEATS = 1, 0.001, 20  # per graph of PyTorch's
ROWS, LAYERS = 128, 2  # of lesson 19
IMAGES_PER_STEP, PIXELS, CLASSES = 32, 16, 10  # of lesson 17


def drawn(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def empty(*shape):
    return cuda.device_array(shape, np.float32)


# ---------------------------------------------------------------- kernels


def our_attention(module, q, k, v, grad_out):
    """(forward, backward, results); both take a launcher. module: with forward's functions."""
    backward_module = lesson_backward if module is lesson_attention else module
    shape = BATCH, HEADS, TOKENS, WIDTH
    out, sums, products = empty(*shape), empty(*shape[:3]), empty(*shape[:3])
    grads = [empty(*shape) for _ in range(3)]

    def forward(launch):
        module.launch_flash_attention(q, k, v, out, sums, launch)

    def backward(launch):
        lesson_backward.launch_output_products(out, grad_out, products, launch)
        given = q, k, v, grad_out, sums, products
        backward_module.launch_flash_backward_queries(*given, grads[0], launch)
        backward_module.launch_flash_backward_keys(*given, *grads[1:], launch)

    return forward, backward, [out, *grads]


def our_convolution(module, images, filters, bias, deltas):
    """As `our_attention`. module: that of the gradients."""
    out, grad_images = empty(IMAGES, SIDE, SIDE, FILTERS), empty(*images.shape)
    rows, lesson = 9 * CHANNELS + 1, module is lesson_gradients
    blocks = lesson_gradients.chunks_of(IMAGES, SIDE, SIDE) if lesson else BLOCKS_OF_FILTERS
    parts, grad_filters = empty(blocks, rows, FILTERS), empty(rows * FILTERS)

    def forward(launch):
        if lesson:
            launch_convolve_tiled(images, filters, bias, out, launch)
        else:
            module.launch_convolve(images, filters, bias, 1, 1, out, launch)

    def backward(launch):
        module.launch_image_gradients(deltas, filters, 1, 1, grad_images, launch)
        module.launch_filter_gradients(images, deltas, 3, 1, 1, parts, launch)
        lesson_gradients.launch_add_parts(parts, grad_filters, launch)

    return forward, backward, [out, grad_images, grad_filters]


def attention(torch, q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def convolve(torch, images, filters, bias):
    """Channels last, as ours."""
    images, filters = images.permute(0, 3, 1, 2), filters.permute(3, 2, 0, 1)
    return torch.nn.functional.conv2d(images, filters, bias, padding=1).permute(0, 2, 3, 1)


WORK = {
    "attention": (
        [drawn(seed, BATCH, HEADS, TOKENS, WIDTH) for seed in range(4)],
        our_attention, {"lesson": lesson_attention, "tensor cores": fast_attention}, attention,
    ),
    "convolution": (
        [drawn(0, IMAGES, SIDE, SIDE, CHANNELS), drawn(1, 3, 3, CHANNELS, FILTERS),
         drawn(2, FILTERS), drawn(3, IMAGES, SIDE, SIDE, FILTERS)],
        our_convolution, {"lesson": lesson_gradients, "tensor cores": fast_convolution}, convolve,
    ),
}  # fmt: skip


def gradients(torch, function, given, grad_out):
    """The result of a function, and its gradients; that of a bias is behind its filters'."""
    out = function(*given)
    first, *others = torch.autograd.grad(out, given, grad_out)
    if others[-1].dim() == 1:
        others = [torch.cat([one.flatten() for one in others])]
    return [out.detach(), first, *others]


def errors_of(torch, results, exact):
    """(of the first result, of the others): the largest, relative to its largest number."""
    found = []
    for one, right in zip(results, exact, strict=True):
        if not isinstance(one, torch.Tensor):
            one = torch.tensor(one.copy_to_host(), device="cuda")
        found.append(float((one - right).abs().max() / right.abs().max()))
    return {"forward": found[0], "forward and back": max(found)}


def kernel_rows(torch, name):
    """The rows of one entry of `WORK`."""
    arrays, make, modules, function = WORK[name]
    on_device = [*map(cuda.to_device, arrays)]
    *given, grad_out = (torch.tensor(one, device="cuda") for one in arrays)
    doubles = [one.double().requires_grad_() for one in given]
    exact = gradients(torch, lambda *x: function(torch, *x), doubles, grad_out.double())
    for kernels, module in modules.items():
        forward, backward, results = make(module, *on_device)
        forward(launch_at_once)
        backward(launch_at_once)
        errors = errors_of(torch, results, exact)
        if not max(errors.values()) < LARGEST_ERROR:
            sys.exit(f"error: {name}, {kernels}: {errors}")
        ways = {"forward": (forward,), "forward and back": (forward, backward)}
        for way, works in ways.items():
            us, *_ = microseconds(lambda stream, works=works: run(works, on_stream(stream)))
            yield {"what": name, "way": f"{way}, {kernels}", "us": us, "error": errors[way]}
    if name == "convolution":  # in the order in memory that PyTorch likes best
        given[1] = given[1].permute(3, 0, 1, 2).contiguous().permute(1, 2, 3, 0)
    given = [one.requires_grad_() for one in given]
    for precision in ("highest", "high"):  # float32, TF32
        torch.set_float32_matmul_precision(precision)
        torch.backends.cudnn.allow_tf32 = precision == "high"
        torch._dynamo.reset()
        compiled = torch.compile(lambda *x: function(torch, *x))
        both = lambda f=compiled: gradients(torch, f, given, grad_out)  # noqa: E731
        errors = errors_of(torch, both(), exact)
        with torch.no_grad():
            times = {"forward": graph_of(torch, lambda f=compiled: f(*given))}
        times["forward and back"] = graph_of(torch, both)
        for way, us in times.items():
            error = errors[way]
            yield {"what": name, "way": f"{way}, PyTorch {precision}", "us": us, "error": error}


def run(works, launch):
    for work in works:
        work(launch)


def graph_of(torch, work):
    """Microseconds of one call, in a graph of PyTorch's."""
    return 1e6 * seconds_per_step_in_graphs(torch, work, 50 * REPEATS, REPEATS)


# ---------------------------------------------------------------- steps of training


def our_reader(kind):
    """(a step of lesson 19, its loss at the beginning, the tokens and answers that it drew)."""
    device = cuda_device()
    reader = kind(SEED, ROWS, device, LAYERS)
    reader.numbers.set(1, RATE, launch_at_once)
    reader.launch_step(launch_at_once)
    # Copies: further steps draw others.
    given = [device.to_host(one) for one in (reader.tokens, reader.answers)]
    return reader.launch_step, reader.loss(), given


def their_reader(torch, tokens, answers):
    """(what is learned, an optimiser of it, loss_of()): of rows that are always the same."""
    begin = network.parts_of(network.initial_parameters(SEED, LAYERS), LAYERS)
    learned = [on_gpu(torch, part) for part in (*begin[:2], *sum(begin.layers, ()), *begin[3:])]
    rows, places, *layers, gain, answer = learned

    def normal(x, gain):
        return torch.nn.functional.layer_norm(x, gain.shape, gain, eps=layer_norm.EPSILON)

    def loss_of():
        x = rows[tokens] + places
        for i in range(0, len(layers), 5):
            h = normal(x, layers[i])
            q, k, v = ((h @ matrix)[:, None] for matrix in layers[i + 1 : i + 4])
            x = x + attention(torch, q, k, v)[:, 0] @ layers[i + 4]
        logits = normal(x[:, -1], gain) @ answer
        return torch.nn.functional.cross_entropy(logits, answers)

    rate = torch.tensor(RATE, device="cuda")
    return torch.optim.Adam(learned, lr=rate, fused=True, capturable=True), loss_of


def our_convolutions(stages):
    """As `our_reader`, of lesson 17."""
    device, shapes = cuda_device(), learner.shapes_of(PIXELS, CLASSES)
    begin = learner.initial_parameters(shapes, SEED)
    made = learner.new_network(begin, shapes, PIXELS, IMAGES_PER_STEP, device.to_device)
    images, labels = draw_digits(IMAGES_PER_STEP, PIXELS, SEED)
    given = images.reshape(-1, PIXELS, PIXELS, 1), labels
    arrays = [device.to_device(one) for one in given]
    losses, rate = device.empty(IMAGES_PER_STEP), np.float32(RATE / IMAGES_PER_STEP)

    def step(launch):
        learner.training_step(stages, *arrays, losses, made, rate, launch)

    step(launch_at_once)
    return step, float(device.to_host(losses).mean()), given


def their_convolutions(torch, images, labels):
    """As `their_reader`."""
    shapes = learner.shapes_of(PIXELS, CLASSES)
    made = learner.new_network(learner.initial_parameters(shapes, SEED), shapes, PIXELS, 1)
    layers = [
        (on_gpu(torch, layer.filters.transpose(3, 2, 0, 1).copy()), on_gpu(torch, layer.bias))
        for layer in made.layers
    ]

    def loss_of():
        x = images.permute(0, 3, 1, 2)
        for filters, bias in layers[:-1]:
            x = torch.nn.functional.conv2d(x, filters, bias, padding=1)
            x = torch.nn.functional.max_pool2d(torch.relu(x), 2)
        logits = torch.nn.functional.conv2d(x, *layers[-1]).flatten(1)
        return torch.nn.functional.cross_entropy(logits, labels)

    return torch.optim.SGD(sum(layers, ()), lr=RATE, fused=True), loss_of


STAGES = learner.Stages()
CONVOLUTIONS = {"lesson": STAGES, "tensor cores": fast_convolution.on_tensor_cores(STAGES)}
READERS = {"lesson": network.Reader, "fused": fused_attention.FusedReader}
TRAININGS = {
    "step of 17": (our_convolutions, their_convolutions, CONVOLUTIONS),
    "step of 19": (our_reader, their_reader, READERS),
}


def training_rows(torch, name):
    """The rows of one entry of `TRAININGS`."""
    ours, theirs, ways = TRAININGS[name]
    losses = []
    for way, one in ways.items():
        step, loss, given = ours(one)
        losses.append(loss)
        us, *_ = microseconds(lambda stream, step=step: step(on_stream(stream)))
        yield {"what": name, "way": way, "us": us}
    inputs, wanted = (torch.tensor(one, device="cuda") for one in given)
    inputs = inputs if inputs.is_floating_point() else inputs.long()
    optimizer, loss_of = theirs(torch, inputs, wanted.long())
    losses.append(loss_of().item())
    if not np.ptp(losses) < LARGEST_ERROR * losses[0]:
        sys.exit(f"error: {name}: the losses differ at the beginning: {losses}")
    torch._dynamo.reset()
    compiled = torch.compile(loss_of)

    def step():
        optimizer.zero_grad(set_to_none=True)
        compiled().backward()
        optimizer.step()

    yield {"what": name, "way": "PyTorch high", "us": graph_of(torch, step)}


def main():
    options = parser_of(__doc__).parse_args()
    require_gpu()
    import torch  # what is compared with

    rows = []
    parts = [*(kernel_rows(torch, name) for name in WORK)]
    parts += [training_rows(torch, name) for name in TRAININGS]  # after them: with TF32
    for row in itertools.chain(*parts):
        rows.append(row)
        error = f"{row['error']:.1e}" if "error" in row else ""
        print(f"{row['what']:12} {row['way']:34} {row['us']:9.1f} us {error}", flush=True)
    save(options.save, rows=rows)


if __name__ == "__main__":
    main()
