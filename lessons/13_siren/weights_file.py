"""A trained network as JSON, with samples by which a reader can see whether it reads it right."""

import json
from pathlib import Path

import numpy as np

from kernels.files.atomic import make_output_folder, refuse_to_replace
from kernels.plumbing.errors import InputError
from kernels.siren.network import FIRST_OMEGA, layers_of

SAMPLES_PER_SIDE = 8
OF_A_RUN = ("run.json", "summary.json")


def require_place(path: Path, overwrite: bool) -> None:
    """Raise `InputError` if the file cannot be written later, before a training is lost by that."""
    if path.suffix != ".json" or path.name in OF_A_RUN:
        raise InputError(f"--weights {path}: name a file of its own that ends in .json")
    if not path.parent.is_dir():
        raise InputError(f"--weights {path}: there is no folder {path.parent}; make it first")
    refuse_to_replace(path, overwrite)
    make_output_folder(path.parent)  # it is there; this tries to write


def weights_text(
    parameters: np.ndarray, shapes: list[tuple[int, int]], omega: float, picture: np.ndarray
) -> str:
    """The file's text. picture: (H, W, 3) float32, what these parameters paint.

    `metadata` says how to evaluate the network; `mlp.layers` has weights, a row per input, and
    biases; `samples` are positions with the colours that the kernels have painted there.
    """
    network = layers_of(parameters, parameters, shapes, omega)
    height, width, _ = picture.shape
    sines = len(network) - 1
    content = {
        "metadata": {
            "type": "SIREN",
            "width": width,
            "height": height,
            "positions": "x = 2 (column + 0.5) / width - 1, y = 2 (row + 0.5) / height - 1",
            "layer": "outputs = activation(omega * (inputs @ weights + biases))",
            "activations": ["sine"] * sines + ["sigmoid"],
            "omega": [FIRST_OMEGA, *[omega] * (sines - 1), 1.0],
            "parameters": parameters.size,
        },
        "mlp": {
            "layers": [
                {"weights": numbers(layer.weights), "biases": numbers(layer.biases)}
                for layer in network
            ]
        },
        "samples": samples(picture),
    }
    return json.dumps(content)


def numbers(array: np.ndarray) -> list:
    """float32 numbers, in lists of lists, with the digits that tell each from its neighbours."""
    if array.ndim == 1:
        return [float(str(number)) for number in array]
    return [numbers(row) for row in array]


def samples(picture: np.ndarray) -> list[dict]:
    """Position and colour of pixels all over the picture."""
    height, width, _ = picture.shape
    found = []
    for row in np.linspace(0, height - 1, min(SAMPLES_PER_SIDE, height)).astype(int):
        for column in np.linspace(0, width - 1, min(SAMPLES_PER_SIDE, width)).astype(int):
            position = [2 * (column + 0.5) / width - 1, 2 * (row + 0.5) / height - 1]
            found.append({"position": position, "value": numbers(picture[row, column])})
    return found
