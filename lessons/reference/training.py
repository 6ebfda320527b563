"""Whole training steps in float64 NumPy, made of the stages of `reference`."""

from typing import NamedTuple

import numpy as np

from lessons import reference


class State(NamedTuple):
    """All that training changes."""

    step: int  # steps taken so far
    weights: np.ndarray  # flat
    weights_m: np.ndarray
    weights_v: np.ndarray
    feature_grid: np.ndarray  # (GH, GW, 3)
    feature_grid_m: np.ndarray
    feature_grid_v: np.ndarray
    feature_grid_steps: np.ndarray  # (GH, GW) int


def initial_state(feature_grid, weights):
    """A state that has taken no step: feature_grid (GH, GW, 3), weights flat."""
    return State(
        step=0,
        weights=np.array(weights, np.float64),
        weights_m=np.zeros(np.shape(weights)),
        weights_v=np.zeros(np.shape(weights)),
        feature_grid=np.array(feature_grid, np.float64),
        feature_grid_m=np.zeros(np.shape(feature_grid)),
        feature_grid_v=np.zeros(np.shape(feature_grid)),
        feature_grid_steps=np.zeros(np.shape(feature_grid)[:2], int),
    )


def train_step(
    image,
    state,
    seed,
    batch,
    *,
    hidden,
    layers,
    weight_learning_rate,
    grid_learning_rate,
    beta1,
    beta2,
    epsilon,
):
    """Sample, encode, forward, backward, Adam. Returns the loss before the step, and State."""
    step = state.step + 1
    uv, target = reference.sample(image, step, seed, batch)
    matrices = reference.split_weights(state.weights, hidden, layers)
    gradients = reference.backward(uv, state.feature_grid, matrices, target)
    weights, weights_m, weights_v = reference.adam(
        state.weights,
        gradients.grad_weights,
        state.weights_m,
        state.weights_v,
        step,
        weight_learning_rate,
        beta1,
        beta2,
        epsilon,
    )
    feature_grid, feature_grid_m, feature_grid_v, feature_grid_steps = reference.adam_grid(
        state.feature_grid,
        gradients.grad_feature_grid,
        state.feature_grid_m,
        state.feature_grid_v,
        state.feature_grid_steps,
        grid_learning_rate,
        beta1,
        beta2,
        epsilon,
    )
    return gradients.loss, State(
        step,
        weights,
        weights_m,
        weights_v,
        feature_grid,
        feature_grid_m,
        feature_grid_v,
        feature_grid_steps,
    )


def train(image, feature_grid, weights, steps, seed, batch, **settings):
    """Train from scratch at constant learning rates; settings are `train_step`'s.

    Returns losses (steps,), feature_grid (GH, GW, 3), weights (flat).
    """
    state = initial_state(feature_grid, weights)
    losses = np.empty(steps)
    for i in range(steps):
        losses[i], state = train_step(image, state, seed, batch, **settings)
    return losses, state.feature_grid, state.weights
