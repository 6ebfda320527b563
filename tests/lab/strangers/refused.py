"""Kernels that Numba does not compile, each for another reason."""

import random as python_random

import numba
import numpy as np
from numba import cuda, float64

from tests.lab.strangers.case import wrong

x = np.linspace(0, 1, 40)
out = np.zeros(40)
square = np.arange(36.0).reshape(6, 6)
TILE = 8


def undecorated(v):
    return v * v


@cuda.jit
def calls_undecorated(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = undecorated(x[i])  # HERE


@cuda.jit
def returns_value(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]
    return out  # HERE


@cuda.jit
def size_from_argument(x, out):
    s = cuda.shared.array(x.shape[0], float64)  # HERE
    s[cuda.threadIdx.x] = x[cuda.threadIdx.x]
    out[cuda.threadIdx.x] = s[cuda.threadIdx.x]


@cuda.jit
def size_computed(x, out):
    s = cuda.shared.array((TILE + 2, TILE + 2), float64)  # HERE
    s[0, cuda.threadIdx.x % TILE] = x[0]
    out[0] = s[0, 0]


@cuda.jit
def size_of_block(x, out):
    s = cuda.local.array(cuda.blockDim.x, float64)  # HERE
    s[0] = x[0]
    out[0] = s[0]


@cuda.jit
def list_of_neighbours(x, out):
    i = cuda.grid(1)
    near = []  # HERE
    if i < x.size:
        near.append(x[i])  # HERE
        out[i] = len(near)


@cuda.jit
def allocates(x, out):
    i = cuda.grid(1)
    tmp = np.zeros(3)  # HERE
    if i < x.size:
        tmp[0] = x[i]
        out[i] = tmp[0]


@cuda.jit
def whole_row_assigned(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        y = cuda.local.array(6, float64)
        for k in range(6):
            y[k] = x[i, k]
        out[i, :] = y  # HERE


@cuda.jit
def dict_in_kernel(x, out):
    i = cuda.grid(1)
    table = {0: 1.0, 1: 2.0}  # HERE
    if i < x.size:
        out[i] = table[i % 2]


@cuda.jit
def formatted(x, out):
    i = cuda.grid(1)
    if i == 0:
        print(f"x = {x[0]}")  # HERE


@cuda.jit
def python_module(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = python_random.random()  # HERE


@cuda.jit
def misspelt_name(x, out):
    i = cuda.grid(1)
    if i < x.size:
        if x[i] > 2:
            out[i] = y[i]  # HERE


@cuda.jit
def misspelt_function(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]
    if i > 1000:
        cuda.synchthreads()  # HERE


@cuda.jit
def host_synchronize(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]
    cuda.synchronize()  # HERE


@cuda.jit
def changes_type(x, out):
    i = cuda.grid(1)
    v = 0
    if i < x.size:
        v = x  # HERE
    out[0] = v  # HERE


@cuda.jit
def too_many_indices(x, out):
    i, j = cuda.grid(2)
    if i < x.shape[0]:
        out[i] = x[i, j]  # HERE


@cuda.jit
def grid_four(x, out):
    i = cuda.grid(4)  # HERE
    out[0] = x[0]


@cuda.jit
def thread_as_call(x, out):
    i = cuda.threadIdx().x  # HERE
    out[i] = x[i]


@cuda.jit
def wrong_attribute(x, out):
    i = cuda.grid(1)
    if i < x.length:  # HERE
        out[i] = x[i]


@cuda.jit
def array_method(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x.argsort()[i]  # HERE


@cuda.jit
def numpy_dot(x, out):
    i = cuda.grid(1)
    if i < 6:
        out[i] = np.dot(x[i], x[i])  # HERE


@cuda.jit
def norm(x, out):
    i = cuda.grid(1)
    if i < 6:
        out[i] = np.linalg.norm(x[i])  # HERE


@cuda.jit
def try_except(x, out):
    i = cuda.grid(1)
    try:  # HERE
        out[i] = 1 / x[i]
    except ZeroDivisionError:
        out[i] = 0


@cuda.jit
def with_statement(x, out):
    i = cuda.grid(1)
    with np.errstate(all="ignore"):  # HERE
        out[i] = x[i]


@cuda.jit
def yields(x, out):
    i = cuda.grid(1)
    yield x[i]  # HERE


@cuda.jit
def comprehension(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = sum([x[k] for k in range(3)])  # HERE


@cuda.jit
def atomic_on_int8(x, counts):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(counts, 0, 1)  # HERE


@cuda.jit
def atomic_three_arguments(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out[0], x[i])  # HERE


@cuda.jit
def unsigned_times(x, out):
    i = numba.uint64(cuda.grid(1))
    j = i * cuda.blockDim.x / 2
    if 0 < i < x.size:
        out[i] = x[j]  # HERE


@cuda.jit
def global_array_written(x):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]  # HERE


@cuda.jit
def nonlocal_counter(x):
    global total  # HERE
    total = 0  # HERE


@cuda.jit
def vote_of_truth(x, out):
    i = cuda.grid(1)
    if cuda.syncthreads_or(x[i % 40] > 0.5):  # HERE
        out[i % 40] = 1


@cuda.jit
def complex_compare(x, out):
    i = cuda.grid(1)
    if i < x.size:
        z = complex(x[i], 1)
        if z > 0:  # HERE
            out[i] = 1


@cuda.jit
def too_many_values(x, out):
    x0, y0, z0 = cuda.grid(2)  # HERE
    out[0] = x[0]


@cuda.jit
def class_inside(x, out):
    i = cuda.grid(1)

    class Point:  # HERE
        pass

    out[i] = x[i]


def refused(kernel, *arguments, says=(), rules=True):
    wrong(kernel, 1, 32, *arguments, kind="compile", says=says, rules=rules)


refused(calls_undecorated, x, out, says="device=True")
refused(returns_value, x, out)
refused(size_from_argument, x, out)
refused(size_computed, x, out)
refused(size_of_block, x, out)
refused(list_of_neighbours, x, out, says="local.array")
refused(allocates, x, out, says="local.array")
refused(whole_row_assigned, square, square.copy(), says="loop", rules=False)
refused(dict_in_kernel, x, out)
refused(formatted, x, out)
refused(python_module, x, out, says="numba.cuda.random")
refused(misspelt_name, x, out, says="y")
refused(misspelt_function, x, out, says="syncthreads")
refused(host_synchronize, x, out, says="syncthreads")
refused(changes_type, x, out)
refused(too_many_indices, x, out, says="1")
refused(grid_four, x, out)
refused(thread_as_call, x, out, says="threadIdx.x")
refused(wrong_attribute, x, out, says="size")
refused(array_method, x, out)
refused(numpy_dot, square, out)
refused(norm, square, out)
refused(try_except, x, out)
refused(with_statement, x, out)
refused(yields, x, out)
refused(comprehension, x, out)
refused(atomic_on_int8, x, np.zeros(4, np.int8), says="int32")
refused(atomic_three_arguments, x, out)
refused(unsigned_times, x, out, says="whole number")
refused(global_array_written, x)
refused(nonlocal_counter, x)
refused(vote_of_truth, x, out)
refused(complex_compare, x, out)
refused(too_many_values, x, out)
refused(class_inside, x, out)
