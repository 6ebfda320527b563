"""Compile every kernel for one compute capability, on a machine with or without a GPU.

    python -m tests.kernels.compile_kernels 9.0
    python -m tests.kernels.compile_kernels 9.0 --every-variant

prints one JSON object: kernel name -> how many lines of PTX use double precision; registers and
bytes of local memory per thread, as CUDA's assembler reports them. Kernels that are made for one
size of network are compiled for the usual one, or for several and in all their variants.
A process of its own, because Numba's simulator, in which the tests run, cannot compile.
"""

import argparse
import gc
import json
import re
from types import SimpleNamespace

import numpy as np
from numba import boolean, cuda, float32, int32, int64, typeof, uint32, uint64
from numba.cuda import dispatcher

from kernels import adam, backward, encode, histogram, image_ops, matmul, mlp_forward, sampler
from kernels.attention import backward as attention_backward
from kernels.attention import forward as attention_forward
from kernels.attention import fused as fused_attention
from kernels.attention import layer_norm as attention_norm
from kernels.attention import network as attention_network
from kernels.attention import recall
from kernels.attention import tensor_cores as attention_tiles
from kernels.bits import cells as bits_cells
from kernels.bits import quantise as bits_quantise
from kernels.bits import texel as bits_texel
from kernels.classifier import column_sums, gelu, sgd, softmax
from kernels.classifier import fused as fused_classifier
from kernels.config import Config
from kernels.derivatives.fused_writer import write_fused
from kernels.derivatives.models import siren
from kernels.derivatives.written import module_of
from kernels.fast.cells import fits, one_barrier_size
from kernels.fast.graph import add_squared_errors, make_fused_kernels
from kernels.fast.persistent_large_batch import large_batch_fits, make_train_large_batch
from kernels.fast.persistent_one_barrier import make_train_one_barrier
from kernels.fast.persistent_two_barriers import WIDEST_WITH_STATE, make_train_two_barriers
from kernels.fast.persistent_wide import make_paint_wide, make_train_wide, wide_fits
from kernels.fast.tensor_core_forward import tensor_core_forward
from kernels.fused import few_samples, tape_steps
from kernels.general import adam as general_adam
from kernels.general import encode as general_encode
from kernels.general import layers as general_layers
from kernels.inline import fused as inline_fused
from kernels.inline import learn as inline_learn
from kernels.inline import paint as inline_paint
from kernels.inline import scatter as inline_scatter
from kernels.neighbours import convolve, pool
from kernels.neighbours import gradients as convolution_gradients
from kernels.neighbours import tensor_cores as taps
from kernels.neighbours.product import convolve_as_product
from kernels.palette import accumulate as palette_accumulate
from kernels.palette import assign as palette_assign
from kernels.palette import draw as palette_draw
from kernels.plumbing import recording
from kernels.products.double_buffered import product_double_buffered
from kernels.products.epilogue import product_bias_gelu
from kernels.products.large_tiles import product_large_tiles
from kernels.products.tensor_cores import product_halves
from kernels.products.tiles import product_registers
from kernels.products.transposed import product_nt, product_tn
from kernels.reductions import columns, contrast, maximum, prefix_sum, sums
from kernels.siren import fused as siren_fused
from kernels.siren import layers as siren_layers
from kernels.siren import positions as siren_positions
from kernels.siren import sums as siren_sums
from kernels.siren.network import layer_shapes
from kernels.state import initial_state
from kernels.training.devices import TENSOR_CORES_SINCE, VECTOR_ATOMICS_SINCE
from kernels.training.kernel_arrays import fused_arrays, one_barrier_arrays, settings_of
from kernels.transfers import block_shapes
from kernels.warm_ups import gradients as warm_up_gradients
from kernels.warm_ups import layers as warm_up_layers

heads = float32[:, :, :, ::1]
vector, matrix, cube = float32[::1], float32[:, ::1], float32[:, :, ::1]
counts, clock, bins = int32[:, ::1], int64[::1], int32[::1]
pictures, places = float32[:, :, :, ::1], int32[:, :, :, ::1]
words = uint32[::1]
rates = typeof(Config().adam_rates)

SIGNATURES = {
    sampler.sample_batch: (cube, uint64, uint64, matrix, matrix),
    sampler.pixel_centres: (int64, int32, int32, matrix),
    encode.encode: (matrix, cube, matrix),
    matmul.matmul_naive: (matrix, matrix, matrix),
    matmul.matmul_tiled: (matrix, matrix, matrix),
    mlp_forward.mlp_forward: (matrix, vector, cube, matrix),
    backward.backward: (matrix, matrix, cube, matrix, matrix, vector, vector, cube, vector),
    warm_up_layers.relu_unit: (matrix, vector, vector),
    warm_up_layers.mix_units: (matrix, int64, matrix),
    warm_up_gradients.relu_backward: (matrix, matrix),
    warm_up_gradients.add_weight_gradients: (matrix, matrix, matrix),
    adam.adam_weights: (vector, vector, vector, vector, int32, matrix, float32, rates),
    adam.adam_grid: (cube, cube, cube, cube, counts, matrix, float32, rates),
    image_ops.grayscale: (cube, matrix),
    product_registers: (matrix, matrix, matrix),
    product_double_buffered: (matrix, matrix, matrix),
    product_nt: (matrix, matrix, matrix),
    product_tn: (matrix, matrix, matrix),
    product_bias_gelu: (matrix, matrix, vector, matrix),
    product_large_tiles: (matrix, matrix, matrix),
    histogram.histogram_global: (vector, bins),
    histogram.histogram_shared: (vector, bins),
    histogram.sum_tree: (vector, vector),
    block_shapes.shrink: (matrix, matrix, int64),
    block_shapes.tint: (cube, vector, cube),
    sums.sum_blocks: (vector, vector),
    sums.sum_groups: (vector, int32, vector),
    maximum.max_blocks: (vector, vector),
    maximum.argmax_blocks: (vector, bins),
    maximum.argmax_candidates: (vector, bins, bins),
    columns.column_sums_by_threads: (matrix, vector),
    columns.column_sums_by_warps: (matrix, vector),
    columns.column_sums_by_blocks: (matrix, vector),
    columns.column_sums_of_blocks: (matrix, matrix),
    prefix_sum.sums_of_parts: (bins, bins),
    prefix_sum.prefix_sum: (bins, bins, bins),
    contrast.find_levels: (bins, bins, bins),
    contrast.stretch: (vector, bins, int32, vector),
    gelu.bias_gelu: (matrix, vector, matrix),
    gelu.gelu_backward: (matrix, vector, matrix),
    softmax.softmax_cross_entropy: (matrix, vector, bins, matrix, matrix, vector),
    column_sums.column_sums: (matrix, vector),
    sgd.sgd: (vector, vector, float32),
    general_encode.encode_channels: (matrix, cube, int64, matrix),
    general_encode.scatter: (matrix, cube, int64, cube),
    general_layers.hidden_layer: (
        matrix,
        int64,
        vector,
        int64,
        int64,
        boolean,
        int64,
        cube,
        int64,
        int64,
    ),
    general_layers.output_layer: (matrix, int64, vector, int64, int64, boolean, int64, matrix),
    general_layers.output_deltas: (matrix, matrix, cube, int64, vector),
    general_layers.weight_gradients: (
        matrix,
        int64,
        cube,
        int64,
        int64,
        int64,
        boolean,
        int64,
        vector,
    ),
    general_layers.input_deltas: (cube, int64, int64, vector, int64, int64, int64, int64, int64),
    general_adam.adam_grid_channels: (cube, cube, cube, cube, counts, matrix, float32, rates),
    image_ops.downsample: (cube, cube),
    image_ops.upsample: (cube, cube),
    inline_paint.paint: (cube, cube, cube),
    inline_scatter.scatter_direct: (cube, cube),
    inline_scatter.scatter_block: (cube, cube),
    inline_learn.learn: (cube, cube, cube, cube, cube, vector),
    attention_norm.layer_norm: (matrix, vector, matrix, vector, vector),
    attention_norm.layer_norm_backward: (matrix, *[vector] * 3, matrix, matrix),
    attention_norm.gain_gradients: (matrix, vector, vector, matrix, matrix),
    attention_forward.attention_naive: (*[heads] * 5,),
    attention_forward.flash_attention: (*[heads] * 4, cube),
    attention_backward.output_products: (heads, heads, cube),
    attention_backward.flash_backward_queries: (*[heads] * 4, cube, cube, heads),
    attention_backward.flash_backward_keys: (*[heads] * 4, cube, cube, heads, heads),
    recall.draw_rows: (clock, uint64, counts, bins),
    attention_network.embed: (counts, matrix, matrix, matrix),
    attention_network.embed_backward: (counts, matrix, matrix),
    attention_network.add: (matrix, matrix, matrix),
    attention_network.take_last: (matrix, matrix),
    attention_network.put_last: (matrix, matrix),
    palette_assign.assign: (matrix, matrix, bins, vector),
    palette_accumulate.accumulate: (matrix, bins, matrix, bins),
    palette_accumulate.move: (matrix, bins, matrix),
    palette_draw.draw: (matrix, matrix, int64, uint64, vector, clock),
    bits_quantise.quantise: (vector, int64, vector),
    bits_quantise.follow: (vector, vector, vector),
    bits_cells.pack_cells: (vector, int64, words),
    bits_cells.read_cells: (words, int64, bins, counts),
    bits_texel.decode_texels: (words, int64, int64, int64, vector, int64, int64, bins, matrix),
    palette_draw.place: (matrix, clock, int64, matrix),
    convolve.convolve_naive: (pictures, pictures, vector, int64, int64, pictures),
    convolve.convolve_tiled: (pictures, pictures, vector, pictures),
    convolve_as_product: (pictures, pictures, vector, int64, int64, pictures),
    convolution_gradients.image_gradients: (pictures, pictures, int64, int64, pictures),
    convolution_gradients.filter_gradients: (pictures, pictures, int64, int64, int64, cube),
    pool.max_pool: (pictures, float32, pictures, places),
    pool.unpool: (pictures, places, pictures),
    pool.average_pool: (pictures, pictures),
    pool.global_average_pool: (pictures, matrix),
    siren_layers.sine_layer: (matrix, matrix, vector, float32, matrix, matrix),
    siren_layers.sine_backward: (matrix, matrix, matrix, matrix),
    siren_layers.colour_layer: (matrix, matrix, vector, matrix),
    siren_layers.colour_deltas: (matrix, matrix, matrix, vector),
    siren_sums.chunk_sums: (matrix, matrix, cube),
    siren_sums.sum_chunks: (cube, matrix),
    siren_positions.random_pixels: (cube, uint64, clock, matrix, matrix),
    siren_positions.pixel_positions: (int64, int32, int32, matrix),
    siren_fused.siren_gradients: (
        clock,
        *[vector] * 2,
        int64,
        int64,
        float32,
        *[matrix] * 3,
        vector,
    ),
    fused_attention.reader_gradients: (
        clock,
        *[vector] * 2,
        counts,
        bins,
        pictures,
        matrix,
        vector,
    ),
    few_samples.move_by_adam: (
        clock,
        *[matrix] * 2,
        *[vector] * 2,
        bins,
        *[vector] * 2,
        matrix,
        rates,
    ),
    tape_steps.add_sums: (matrix, vector),
    tape_steps.count_step: (clock,),
    fused_classifier.classifier_gradients: (matrix, bins, vector, int64, int64, matrix, vector),
    fused_classifier.move_by_sums: (matrix, vector, float32),
    add_squared_errors: (vector, matrix, vector),
    recording.begin_step: (int64, float32, clock, matrix),
    recording.adam_weights_by_clock: (clock, matrix, *[vector] * 4, matrix, rates),
    recording.sample_batch_by_clock: (clock, cube, uint64, matrix, matrix),
    recording.adam_grid_by_clock: (clock, matrix, cube, cube, cube, cube, counts, matrix, rates),
}
words = uint32[:, ::1]
TENSOR_CORE_SIGNATURES = {
    tensor_core_forward: (matrix, vector, matrix),
    product_halves: (words, words, matrix),
    attention_tiles.attention_tiles: (*[matrix] * 3, int64, matrix, vector),
    attention_tiles.slopes_of_queries: (*[matrix] * 4, int64, matrix, vector, vector),
    attention_tiles.slopes_of_keys: (*[matrix] * 4, int64, matrix, matrix, vector, vector),
    taps.convolve_taps: (matrix, pictures, vector, int64, int64, matrix),
    taps.gradients_by_taps: (matrix, pictures, int64, int64, matrix),
    taps.one_place: (matrix, matrix, vector, matrix),
    taps.gradients_of_one_place: (matrix, matrix, matrix),
    taps.filter_parts: (matrix, matrix, int64, int64, int64, cube),
}


def written_kernels():
    """The SIREN of lesson 15, as a machine has written it in blocks of eight samples."""
    model, shapes = siren(4, 30.0), {"positions": (8, 2), "target": (8, 3)}
    for layer, (inputs, units) in enumerate(layer_shapes(48, 4), 1):
        shapes |= {f"weights_{layer}": (inputs, units), f"biases_{layer}": (1, units)}
    module = module_of(write_fused("SIREN", model.tape, "loss", model.parameters, shapes), "SIREN")
    ends = (float32, int64)
    signatures = {
        module.forward: (matrix, matrix, vector, matrix, int64),
        module.backward: (matrix, matrix, vector, vector, matrix, matrix, *ends),
    }
    return [(f"written {name}", kernel, types) for name, kernel, types in named(signatures)]


def compile_to_ptx(kernel, signature, capability):
    # Functions called from a kernel ask the current device what to compile for; there may be none.
    device = SimpleNamespace(compute_capability=capability)
    dispatcher.get_current_device = lambda: device
    fastmath = kernel.targetoptions.get("fastmath", False)
    ptx, _ = cuda.compile_ptx(kernel.py_func, signature, cc=capability, fastmath=fastmath)
    return ptx


def named(signatures):
    """(name, kernel, signature) of the kernels of a table."""
    return [(kernel.py_func.__name__, kernel, types) for kernel, types in signatures.items()]


def fused_kernels(capability, every_variant=True):
    """(name, kernel, signature) of the kernels that are made for a size of network."""
    sizes = [(32, 2, False, 3)]
    if every_variant:
        sizes += [(32, 2, True, 3), (32, 2, capability >= VECTOR_ATOMICS_SINCE, 4)]
    if every_variant and capability >= VECTOR_ATOMICS_SINCE:
        sizes += [(16, 1, False, 3), (32, 1, False, 3), (64, 2, False, 3), (128, 2, False, 3)]
    for hidden, layers, deterministic, channels in sizes:
        variant = hidden, layers, deterministic, capability >= VECTOR_ATOMICS_SINCE, channels
        config = Config(hidden=hidden, layers=layers, channels=channels)
        image = np.zeros((2, 2, 3), np.float32)
        state = initial_state(config)
        corrections = np.zeros((2, 2), np.float32)
        arrays = typeof(fused_arrays(image, state, corrections, 1, 1, 32, deterministic))
        settings = typeof(settings_of(config, image))
        if wide_fits(hidden, layers):
            train, _ = make_train_wide(hidden, layers, deterministic, channels)
            yield f"wide {variant}", train, (arrays, matrix, int64, settings, uint32[::1])
            paint, _ = make_paint_wide(hidden, layers, channels)
            yield f"paint {variant}", paint, (matrix, vector, int32, int32, vector, int32, int32)
            continue
        for keep_state in (True, False) if every_variant else (True,):
            if keep_state and hidden > WIDEST_WITH_STATE:
                continue
            train, _ = make_train_two_barriers(*variant, keep_state=keep_state)
            name = f"train {variant} {keep_state}"
            yield name, train, (arrays, matrix, int64, settings, uint32[::1])
        new_enough = capability >= VECTOR_ATOMICS_SINCE
        if every_variant and new_enough and channels == 3 and fits(hidden, layers, 1, 1):
            train, _ = make_train_one_barrier(hidden, layers, deterministic)
            size = one_barrier_size(hidden, layers, deterministic)
            one = typeof(one_barrier_arrays(image, state, corrections, 1, size, deterministic))
            yield f"one barrier {variant}", train, (one, matrix, int64, settings, uint32[::1])
        if every_variant and new_enough and large_batch_fits(hidden, layers):
            train, _ = make_train_large_batch(hidden, layers, deterministic, channels)
            yield f"large batch {variant}", train, (arrays, matrix, int64, settings, uint32[::1])
        if hidden != 32:
            continue
        gradients, update, paint, _ = make_fused_kernels(*variant)
        if every_variant:  # `train` holds both
            yield f"gradients {variant}", gradients, (clock, arrays, settings)
            yield f"update {variant}", update, (clock, matrix, arrays, settings)
        yield f"paint {variant}", paint, (matrix, vector, int32, int32, vector, int32, int32)


def assemble(ptx, capability, most_registers=None):
    """(registers, bytes of stack, of local memory) per thread, from the assembler's own report."""
    from cuda.bindings import nvjitlink

    program = ptx.encode()
    options = ["-arch=sm_{}{}".format(*capability), "-verbose"]
    if most_registers:
        options.append(f"-maxrregcount={most_registers}")
    linker = nvjitlink.create(len(options), options)
    nvjitlink.add_data(linker, nvjitlink.InputType.PTX, program, len(program), "kernel")
    nvjitlink.complete(linker)
    report = bytearray(nvjitlink.get_info_log_size(linker))
    nvjitlink.get_info_log(linker, report)
    nvjitlink.destroy(linker)
    used = re.search(r"used (\d+) registers.* (\d+) stack.* (\d+) bytes lmem", report.decode())
    return tuple(map(int, used.groups()))


def report_on(capability, every_variant=False):
    """kernel name -> what the compiler and the assembler made of it."""
    kernels = named(SIGNATURES)
    if capability >= inline_fused.SINCE:
        kernels += named({inline_fused.learn_by_warps: SIGNATURES[inline_learn.learn]})
    if capability >= TENSOR_CORES_SINCE:
        kernels += named(TENSOR_CORE_SIGNATURES)
        kernels += written_kernels() if every_variant else []
        kernels += fused_kernels(capability, every_variant)
    report = {}
    for name, kernel, signature in kernels:
        ptx = compile_to_ptx(kernel, signature, capability)
        most = kernel.targetoptions.get("max_registers")
        registers, stack, local = assemble(ptx, capability, most)
        report[name] = {
            "target": "sm_{}{}".format(*capability) in ptx,
            "double": sum(".f64" in line for line in ptx.splitlines()),
            "local": stack + local,
            "registers": registers,
        }
    return report


def capability(text):
    major, minor = map(int, text.split("."))
    return major, minor


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("capability", type=capability, help="of the GPU, such as 9.0")
    parser.add_argument("--every-variant", action="store_true", help="of the fused kernels")
    options = parser.parse_args()
    gc.disable()  # the compiler's objects stay: looking through them takes a seventh of the time
    print(json.dumps(report_on(options.capability, options.every_variant)))


if __name__ == "__main__":
    main()
