"""k-means in plain float64 NumPy, written from the equations; see lesson 18.

Nothing is imported from `kernels/`. Shape tags: N points, K centres, D channels.
"""

import numpy as np

from lessons.reference import philox4x32


def squared_distances(points, centres):
    """(N, K): of every point from every centre."""
    difference = np.asarray(points, float)[:, np.newaxis] - np.asarray(centres, float)
    return (difference**2).sum(axis=2)


def nearest(points, centres):
    """labels (N,), the lowest of those equally near, and squared distances (N,)."""
    distances = squared_distances(points, centres)
    return distances.argmin(axis=1), distances.min(axis=1)


def sums_of(points, labels, count):
    """sums (K, D) and counts (K,) of the points of every centre."""
    counts = np.bincount(labels, minlength=count)
    sums = np.zeros((count, points.shape[1]))
    np.add.at(sums, labels, np.asarray(points, float))
    return sums, counts


def moved(sums, counts, centres):
    """centres (K, D): each at the mean of its points; one without points stays."""
    means = sums / np.maximum(counts, 1)[:, np.newaxis]
    return np.where(counts[:, np.newaxis] > 0, means, centres)


def tickets(distances, number, seed):
    """(N,): -log(u) / distance, of u uniform in (0, 1); infinity where the distance is 0."""
    counter = np.zeros((len(distances), 4), np.uint32)
    counter[:, 0] = np.arange(len(distances))
    counter[:, 1] = number
    words = philox4x32(counter, (seed % 2**32, seed // 2**32))
    share = ((words[:, 0] >> 9) + 0.5) * 2.0**-23
    with np.errstate(divide="ignore"):
        return np.where(distances > 0, -np.log(share) / distances, np.inf)


def rounds(points, centres, count):
    """centres (K, D) after so many rounds of k-means."""
    for _ in range(count):
        labels, _ = nearest(points, centres)
        centres = moved(*sums_of(points, labels, len(centres)), centres)
    return centres
