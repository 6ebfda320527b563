"""One layer of the network, forward and backward: a kernel per direction, of any width.

    inputs (B, fan_in), weights  ->  values (B, fan_out), slopes (B, fan_out)
    deltas (B, fan_out)          ->  gradients of the weights, deltas of the inputs (B, fan_in)

The idea: a thread per unit and sample, which is easy to read and needs no sizes known in advance.
What passes from layer to layer goes through global memory, so this is a long way from the fused
kernels; they are made for one network, and this for all.

Everything a sample has lies in one array, `workspace` (rows, B, width) float32: a row for the
values of each hidden layer, one for the slopes of each, and two for deltas, which take turns. In
the flat vector of weights a layer begins at `offset`: its matrix (fan_in, fan_out), row by row,
followed by its biases (fan_out,) if there are any.

Threads are numbered through, sample after sample: neighbours are units of one sample. So they write
side by side, and read neighbouring weights.

Source: Rumelhart, Hinton, Williams, "Learning representations by back-propagating errors", 1986.
"""

from numba import cuda, float32

from kernels.config import COLOURS, THREADS
from kernels.general.activations import value_and_slope
from kernels.launch import blocks_for, on_gpu

SAMPLES_PER_SUM = 256  # that a thread adds up before it adds to a gradient in global memory


@cuda.jit(device=True)
def weighted_sum(inputs, sample, fan_in, weights, offset, unit, fan_out, biases):
    """The sum of a unit of the layer at `offset`, for one sample of inputs: float32."""
    total = weights[offset + fan_in * fan_out + unit] if biases else float32(0)
    for i in range(fan_in):
        total += inputs[sample, i] * weights[offset + i * fan_out + unit]
    return total


@cuda.jit
def hidden_layer(
    inputs, fan_in, weights, offset, fan_out, biases, activation, workspace, value_row, slope_row
):
    """Write a layer's values and slopes: two rows of workspace (rows, B, width).

    inputs: (B, at least fan_in) float32. weights: (n,) float32. biases: whether there are any.
    activation: its number, see `activations.NUMBERS`.
    """
    i = cuda.grid(1)
    sample, unit = i // fan_out, i % fan_out
    if sample >= inputs.shape[0]:
        return

    total = weighted_sum(inputs, sample, fan_in, weights, offset, unit, fan_out, biases)
    value, slope = value_and_slope(activation, total)
    workspace[value_row, sample, unit] = value
    workspace[slope_row, sample, unit] = slope


@cuda.jit
def output_layer(inputs, fan_in, weights, offset, fan_out, biases, activation, outputs):
    """Write colours and their slopes, outputs[:, :3] and outputs[:, 3:6] of (B, 16) float32.

    The rest as in `hidden_layer`; of fan_out units only the colours are computed.
    """
    i = cuda.grid(1)
    sample, colour = i // COLOURS, i % COLOURS
    if sample >= inputs.shape[0]:
        return

    total = weighted_sum(inputs, sample, fan_in, weights, offset, colour, fan_out, biases)
    value, slope = value_and_slope(activation, total)
    outputs[sample, colour] = value
    outputs[sample, COLOURS + colour] = slope


@cuda.jit
def output_deltas(outputs, target, workspace, delta_row, loss_sum):
    """From colours to the deltas of their sums, workspace[delta_row, :, :3].

    outputs: as `output_layer` leaves it. target: (B, 3) float32. Adds the mean squared error to
    loss_sum (1,) float32.
    """
    sample = cuda.grid(1)
    batch = target.shape[0]
    if sample >= batch:
        return

    share = float32(1) / (float32(batch) * float32(COLOURS))
    squared_error = float32(0)
    for colour in range(COLOURS):
        error = outputs[sample, colour] - target[sample, colour]
        squared_error += error * error
        slope = outputs[sample, COLOURS + colour]
        workspace[delta_row, sample, colour] = float32(2) * share * error * slope
    # Every sample adds to one number: short, but not fast. `kernels/backward.py` adds up a block
    # before.
    cuda.atomic.add(loss_sum, 0, squared_error * share)


@cuda.jit
def weight_gradients(
    inputs, fan_in, workspace, delta_row, units, fan_out, biases, offset, grad_weights
):
    """Add the gradients of a layer's weights, and of its biases, to grad_weights (n,) float32.

    One thread per input (or for the bias), unit and SAMPLES_PER_SUM samples. units: how many of the
    layer's fan_out have a delta. The rest as in `hidden_layer`.
    """
    i = cuda.grid(1)
    rows = fan_in + (1 if biases else 0)
    row, unit = i // units % rows, i % units
    first = i // (units * rows) * SAMPLES_PER_SUM
    batch = inputs.shape[0]
    if first >= batch:
        return

    total = float32(0)
    for sample in range(first, min(first + SAMPLES_PER_SUM, batch)):
        # A bias is a weight whose input is always 1.
        value = inputs[sample, row] if row < fan_in else float32(1)
        total += value * workspace[delta_row, sample, unit]
    cuda.atomic.add(grad_weights, offset + row * fan_out + unit, total)


@cuda.jit
def input_deltas(
    workspace, delta_row, units, weights, offset, fan_out, fan_in, slope_row, below_row
):
    """Write the deltas of a layer's inputs, workspace[below_row, :, :fan_in].

    slope_row: of the layer below; negative if the inputs are the features, which have none. fan_in:
    how many inputs are asked for. The rest as in `weight_gradients`.
    """
    i = cuda.grid(1)
    sample, input_unit = i // fan_in, i % fan_in
    if sample >= workspace.shape[1]:
        return

    total = float32(0)
    for unit in range(units):
        delta = workspace[delta_row, sample, unit]
        # Neighbours read weights a row apart; most reads find their number in the L1 cache.
        total += delta * weights[offset + input_unit * fan_out + unit]
    if slope_row >= 0:
        total *= workspace[slope_row, sample, input_unit]
    workspace[below_row, sample, input_unit] = total


def launch_over(kernel, threads, *arguments, launch=on_gpu):
    """Start a kernel with one thread for each of so many elements."""
    launch(kernel, blocks_for(threads), THREADS, *arguments)
