"""A function that conducts: it starts kernels, of its own file and of kernels/, and no more."""

import numpy as np
import pytest
from numba import cuda
from numba.cuda.cudadrv.error import CudaSupportError

from kernels.launch import on_gpu
from kernels.matmul import matmul_naive
from lessons.grading.worker.own_kernels import (
    ConductedKernels,
    NoKernel,
    no_usual_launcher,
    watched,
)


@cuda.jit
def own_kernel(array):
    array[0] = 1


@pytest.fixture
def array():
    return np.zeros(3, np.float32)


@pytest.fixture
def kernels(array):
    return ConductedKernels([array], __file__, "training_step")


def started(kernel, blocks, threads, *arguments):
    """Stands for an engine: the kernel adds one."""
    arguments[0][:] += 1


@pytest.mark.parametrize("kernel", [own_kernel, matmul_naive], ids=["own", "of kernels/"])
def test_kernels_of_the_file_and_of_ours_may_be_started(kernels, array, kernel):
    watched(started, kernels)(kernel, 1, 32, *kernels.shown)
    kernels.at_the_end()
    assert array.tolist() == [1, 1, 1]


def test_a_kernel_from_elsewhere_may_not(array):
    kernels = ConductedKernels([array], "exercise.py", "training_step")
    with pytest.raises(NoKernel, match="own_kernel is not from your file"):
        watched(started, kernels)(own_kernel, 1, 32, array)


def test_it_has_to_start_one(kernels):
    with pytest.raises(NoKernel, match="training_step started no kernel"):
        kernels.at_the_end()


@pytest.mark.parametrize("when", ["before", "after"])
def test_it_changes_no_array_itself(kernels, when):
    launch = watched(started, kernels)
    (array,) = kernels.shown
    if when == "before":
        array[1] = 5
        with pytest.raises(NoKernel, match="itself has changed an array, before"):
            launch(own_kernel, 1, 32, array)
        return
    launch(own_kernel, 1, 32, array)
    array[1] = 5
    with pytest.raises(NoKernel, match="itself has changed an array, after"):
        kernels.at_the_end()


def test_a_launch_that_is_not_passed_on_finds_no_gpu_even_where_there_is_one():
    started = []

    class Kernel:  # stands for one that a GPU could start
        def __getitem__(self, size):
            return lambda *arguments: started.append(size)

    with no_usual_launcher(), pytest.raises(CudaSupportError):
        on_gpu(Kernel(), 1, 32)
    assert not started
    on_gpu(Kernel(), 1, 32)
    assert started == [(1, 32)]
