"""Attention and convolution on a GPU, forward and back, beside PyTorch, in one run.

    python -m benchmarks.part_three --save h200-part-three

Attention is causal, of (8, 8, 1024, 64); convolutions are those of lesson 17's second layer, 3 x 3,
of 256 images of 32 x 32 with 8 channels, to 16. All in float32. What both compute is compared
first. PyTorch gets its own attention and convolution, once in full float32 and once with TF32, in
a compiled function. Time is that of the fastest of several parts of many launches, by events.
"""

import argparse
import json
import sys

import numpy as np
from numba import cuda

from benchmarks.machine import RESULTS, description
from kernels.attention.backward import (
    launch_flash_backward_keys,
    launch_flash_backward_queries,
    launch_output_products,
)
from kernels.attention.forward import launch_flash_attention
from kernels.neighbours.convolve import launch_convolve_tiled
from kernels.neighbours.gradients import (
    chunks_of,
    launch_add_parts,
    launch_filter_gradients,
    launch_image_gradients,
)
from kernels.neighbours.product import launch_convolve_as_product
from kernels.training.devices import why_no_gpu

BATCH, HEADS, TOKENS, WIDTH = 8, 8, 1024, 64
IMAGES, SIDE, CHANNELS, FILTERS = 256, 32, 8, 16
REPEATS, PARTS = 20, 5
LARGEST_DIFFERENCE = 1e-3  # of a result, relative to its largest number


def drawn(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def empty(*shape):
    return cuda.device_array(shape, np.float32)


def our_attention(q, k, v, grad_out):
    shape = BATCH, HEADS, TOKENS, WIDTH
    out, sums, products = empty(*shape), empty(*shape[:3]), empty(*shape[:3])
    grads = [empty(*shape) for _ in range(3)]

    def forward():
        launch_flash_attention(q, k, v, out, sums)

    def backward():
        launch_output_products(out, grad_out, products)
        launch_flash_backward_queries(q, k, v, grad_out, sums, products, grads[0])
        launch_flash_backward_keys(q, k, v, grad_out, sums, products, grads[1], grads[2])

    return {"forward": forward, "backward": backward}, [out, *grads]


def our_convolution(images, filters, bias, deltas):
    out, grad_images = empty(IMAGES, SIDE, SIDE, FILTERS), empty(*images.shape)
    rows = 9 * CHANNELS + 1
    parts = empty(chunks_of(IMAGES, SIDE, SIDE), rows, FILTERS)
    grad_filters = empty(rows * FILTERS)

    def backward():
        launch_image_gradients(deltas, filters, 1, 1, grad_images)
        launch_filter_gradients(images, deltas, 3, 1, 1, parts)
        launch_add_parts(parts, grad_filters)

    ways = {
        "forward, tiled": lambda: launch_convolve_tiled(images, filters, bias, out),
        "forward, as a product": lambda: launch_convolve_as_product(
            images, filters, bias, 1, 1, out
        ),
        "backward": backward,
    }
    return ways, [out, grad_images]


def their_attention(torch, q, k, v, grad_out):
    function = torch.compile(
        lambda *given: torch.nn.functional.scaled_dot_product_attention(*given, is_causal=True)
    )
    return ways_of(torch, function, (q, k, v), grad_out)


def their_convolution(torch, images, filters, bias, deltas):
    """Channels last, as ours; weights in PyTorch's order of axes."""
    images, deltas = images.permute(0, 3, 1, 2), deltas.permute(0, 3, 1, 2)
    weights = filters.permute(3, 2, 0, 1).contiguous()
    function = torch.compile(lambda x, w, b: torch.nn.functional.conv2d(x, w, b, padding=1))
    ways, (out, grads) = ways_of(torch, function, (images, weights, bias), deltas)
    return ways, [out.permute(0, 2, 3, 1), grads[0].permute(0, 2, 3, 1)]


def ways_of(torch, function, given, grad_out):
    given = [one.detach().requires_grad_() for one in given]
    out = function(*given)

    def backward():
        return torch.autograd.grad(out, given, grad_out, retain_graph=True)

    return {"forward": lambda: function(*given), "backward": backward}, (out, backward())


def microseconds(torch, work):
    """Of one call of `work`, by PyTorch's events, which see what runs on the default stream."""
    work()
    torch.cuda.synchronize()
    found = []
    for _ in range(PARTS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(REPEATS):
            work()
        end.record()
        torch.cuda.synchronize()
        found.append(1000 * begin.elapsed_time(end) / REPEATS)
    return min(found)


def compare(name, ours, theirs):
    for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        one, other = one.copy_to_host(), other.detach().cpu().numpy()
        difference = np.abs(one - other).max() / np.abs(other).max()
        print(f"{name}, result {i}: {difference:.1e} from PyTorch's", flush=True)
        if not difference < LARGEST_DIFFERENCE:
            sys.exit(f"error: {name} computes something else than PyTorch")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", metavar="NAME", help="write results/NAME.json")
    options = parser.parse_args()
    obstacle = why_no_gpu()
    if obstacle:
        sys.exit(f"error: this is measured on a GPU, but {obstacle}")
    import torch  # what is compared with

    rows = []
    shape = BATCH, HEADS, TOKENS, WIDTH
    work = {
        "attention": ([drawn(seed, *shape) for seed in range(4)], our_attention, their_attention),
        "convolution": (
            [drawn(0, IMAGES, SIDE, SIDE, CHANNELS), drawn(1, 3, 3, CHANNELS, FILTERS),
             drawn(2, FILTERS), drawn(3, IMAGES, SIDE, SIDE, FILTERS)],
            our_convolution, their_convolution,
        ),
    }  # fmt: skip
    for name, (arrays, make_ours, make_theirs) in work.items():
        ours, results = make_ours(*map(cuda.to_device, arrays))
        tensors = [torch.tensor(one, device="cuda") for one in arrays]
        theirs = {}
        for precision in ("highest", "high"):  # float32, TF32
            torch.set_float32_matmul_precision(precision)
            torch.backends.cudnn.allow_tf32 = precision == "high"
            torch._dynamo.reset()
            ways, found = make_theirs(torch, *tensors)
            if precision == "highest":
                for way in ours.values():
                    way()
                flat = [found[0], *found[1]] if name == "attention" else found
                compare(name, results, flat)
            theirs |= {
                f"{way}, PyTorch {precision}": microseconds(torch, one) for way, one in ways.items()
            }
        for way, one in [*ours.items()]:
            rows.append({"what": name, "way": way, "us": microseconds(torch, one)})
        rows += [{"what": name, "way": way, "us": us} for way, us in theirs.items()]
    for row in rows:
        print(f"{row['what']:12} {row['way']:28} {row['us']:9.1f} us", flush=True)
    if options.save:
        result = {**description(), "rows": rows}
        (RESULTS / f"{options.save}.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
