"""Evaluate a network that `python -m lessons.13_siren --weights FILE` has written, in plain NumPy.

    python lessons/13_siren/read_weights.py FILE

It computes the file's samples again, and compares. It imports nothing of ours.
"""

import json
import sys

import numpy as np


def evaluate(content, positions):
    """positions (n, 2), from -1 to 1  ->  colours (n, 3) in (0, 1), in float64."""
    values = np.asarray(positions, float)
    metadata, layers = content["metadata"], content["mlp"]["layers"]
    for layer, omega, name in zip(layers, metadata["omega"], metadata["activations"], strict=True):
        angles = omega * (values @ np.array(layer["weights"]) + np.array(layer["biases"]))
        values = np.sin(angles) if name == "sine" else 1 / (1 + np.exp(-angles))
    return values


def largest_difference(content):
    """Between the file's samples and what this reader computes."""
    samples = content["samples"]
    found = evaluate(content, [sample["position"] for sample in samples])
    return np.abs(found - [sample["value"] for sample in samples]).max()


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        content = json.load(file)
    difference = largest_difference(content)
    print(f"{len(content['samples'])} samples, largest difference {difference:.1e}")
    sys.exit(int(difference > 1e-5))
