"""The stages of a training step, made for the network that a `Config` describes.

They take the places of the usual ones in `training_step.Stages`, with the same arguments; only
`hidden` is larger, and is the `workspace` of `layers`.
"""

from kernels.adam import launch_adam_weights
from kernels.config import COLOURS, OUTPUTS
from kernels.general.activations import NUMBERS
from kernels.general.adam import launch_adam_grid
from kernels.general.encode import launch_encode, launch_scatter
from kernels.general.layers import (
    SAMPLES_PER_SUM,
    hidden_layer,
    input_deltas,
    launch_over,
    output_deltas,
    output_layer,
    weight_gradients,
)
from kernels.launch import blocks_for
from kernels.sampler import launch_pixel_centres, launch_sample_batch
from kernels.training_step import Stages


def workspace_shape(config, batch):
    """(rows, batch, width) of all that the network keeps of a batch: see `layers`.

    Rows: the values of each hidden layer, the slopes of each, and two for deltas.
    """
    return 2 * config.layers + 2, batch, max(config.hidden, config.features)


def offsets_of_layers(config):
    """Where each layer's weights begin in the flat vector; at last, where they end."""
    offsets = [0]
    for fan_in, fan_out in config.layer_shapes:
        offsets.append(offsets[-1] + (fan_in + config.biases) * fan_out)
    return offsets


def general_stages(config):
    """`Stages` for the network of a config."""
    layers, width, biases = config.layers, config.hidden, config.biases
    offsets = offsets_of_layers(config)
    activation, last = NUMBERS[config.activation], NUMBERS[config.output_activation]
    first_delta = 2 * layers

    def inputs_of(layer, features, hidden):
        """(what the layer reads, its fan_in)."""
        return (features, config.features) if layer == 0 else (hidden[layer - 1], width)

    def encode(uv, feature_grid, features, launch):
        launch_encode(uv, feature_grid, config.octaves, features, launch=launch)

    def mlp_forward(features, weights, hidden, outputs, launch):
        batch = features.shape[0]
        for layer in range(layers):
            inputs, fan_in = inputs_of(layer, features, hidden)
            launch_over(
                hidden_layer, batch * width, inputs, fan_in, weights, offsets[layer], width, biases,
                activation, hidden, layer, layers + layer, launch=launch,
            )  # fmt: skip
        inputs, fan_in = inputs_of(layers, features, hidden)
        launch_over(
            output_layer, batch * COLOURS, inputs, fan_in, weights, offsets[layers], OUTPUTS,
            biases, last, outputs, launch=launch,
        )  # fmt: skip

    def backward(
        uv, features, hidden, outputs, target, weights, grad_weights, grad_feature_grid, loss_sum,
        launch,
    ):  # fmt: skip
        batch = features.shape[0]
        delta, below = first_delta, first_delta + 1
        launch_over(output_deltas, batch, outputs, target, hidden, delta, loss_sum, launch=launch)
        for layer in range(layers, -1, -1):
            inputs, fan_in = inputs_of(layer, features, hidden)
            # The last layer's other outputs are padding, and have no delta.
            fan_out, units = (OUTPUTS, COLOURS) if layer == layers else (width, width)
            sums = (fan_in + biases) * units * blocks_for(batch, SAMPLES_PER_SUM)
            launch_over(
                weight_gradients, sums, inputs, fan_in, hidden, delta, units, fan_out, biases,
                offsets[layer], grad_weights, launch=launch,
            )  # fmt: skip
            # Of the features, only those that come from the grid pass a gradient on.
            asked = fan_in if layer else config.channels
            slope_row = layers + layer - 1 if layer else -1
            launch_over(
                input_deltas, batch * asked, hidden, delta, units, weights, offsets[layer], fan_out,
                asked, slope_row, below, launch=launch,
            )  # fmt: skip
            delta, below = below, delta
        launch_scatter(uv, hidden, delta, grad_feature_grid, launch=launch)

    return Stages(
        sample_batch=launch_sample_batch,
        pixel_centres=launch_pixel_centres,
        encode=encode,
        mlp_forward=mlp_forward,
        backward=backward,
        adam_weights=launch_adam_weights,
        adam_grid=launch_adam_grid,
    )
