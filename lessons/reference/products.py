"""Matrix products and what follows them, in float64 NumPy, from the equations.

Sources: the definition of the product; Hendrycks and Gimpel, "Gaussian error linear units", 2016;
IEEE 754 for halves.
"""

import numpy as np


def product(a, b):
    """a (m, k), b (k, n) -> (m, n): each row of a times each column of b, number by number."""
    return np.asarray(a, np.float64) @ np.asarray(b, np.float64)


def product_nt(a, b):
    """a (m, k), b (n, k) -> (m, n) = a @ b.T."""
    return product(a, np.transpose(b))


def product_tn(a, b):
    """a (k, m), b (k, n) -> (m, n) = a.T @ b."""
    return product(np.transpose(a), b)


def gelu(x):
    """The tanh form: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))."""
    x = np.asarray(x, np.float64)
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def product_bias_gelu(a, b, bias):
    """a (m, k), b (k, n), bias (n,) -> (m, n) = gelu(a @ b + bias)."""
    return gelu(product(a, b) + np.asarray(bias, np.float64))


def rounded_to_halves(x):
    """The nearest numbers with 11 significant bits (IEEE float16), as float64."""
    return np.asarray(x).astype(np.float16).astype(np.float64)


def words_of_halves(matrix):
    """(rows, columns) -> (rows, words) uint32: two halves per word, the first in its lower bits.

    Zeros fill the rows up to a multiple of four words.
    """
    rows, columns = matrix.shape
    halves = np.zeros((rows, (columns + 7) // 8 * 8), np.float16)
    halves[:, :columns] = matrix
    bits = halves.view(np.uint16).astype(np.uint32)
    return bits[:, 0::2] | bits[:, 1::2] << np.uint32(16)
