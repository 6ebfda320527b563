"""Which backend trains: what was asked for, or the fastest one that works here."""

import numba
import numpy as np
from numba import cuda

from kernels.config import Config
from kernels.errors import InputError
from kernels.state import initial_state
from kernels.training.cpu_backend import CpuBackend
from kernels.training.devices import first_line, gpu_name, why_no_gpu
from kernels.training.staged_backends import CudaBackend

BACKENDS = ("cpu", "cuda", "graph", "tensor", "persistent")
FASTEST_FIRST = ("persistent", "tensor", "graph", "cuda")
ON_TENSOR_CORES = ("persistent", "tensor")
TENSOR_CORES_SINCE = (8, 0)  # compute capability whose tensor cores take bfloat16


def choose_backend(choice, config, deterministic=False):
    """Return (backend class, one line that says what was taken and why).

    choice: "auto" or one of `BACKENDS`. config: what is to be trained; its network must fit.
    deterministic: the same bits in every run on the same machine. Where there are no tensor cores,
    or the network is too large for them, the float32 kernels take their place. Raises
    `InputError` if what was asked for cannot be had.
    """
    if choice == "cpu":
        return CpuBackend, "training on the CPU"
    if choice == "auto" and numba.config.ENABLE_CUDASIM:
        return CpuBackend, "NUMBA_ENABLE_CUDASIM is set: training on the CPU"
    obstacle = why_no_gpu()
    if obstacle and choice == "auto":
        return CpuBackend, f"no usable GPU ({obstacle}): training on the CPU"
    if obstacle:
        raise InputError(
            f"--backend {choice} needs a usable NVIDIA GPU, but {obstacle}; "
            "train without one with --backend cpu"
        )
    if deterministic and choice not in ("auto", *ON_TENSOR_CORES):
        raise InputError(
            f"--backend {choice} adds gradients in an order that changes from run to run; "
            "for --deterministic take --backend auto, persistent, tensor or cpu"
        )
    if choice == "auto":
        return first_that_works(config, deterministic)
    obstacle = why_not(choice, config)
    if obstacle and deterministic:
        raise InputError(f"--backend {choice} --deterministic: {obstacle}; try --backend cpu")
    line = f"training on the GPU: {gpu_name()}, "
    if obstacle:
        return backend_class("graph"), f"{line}graph, in float32 (not {choice}: {obstacle})"
    return backend_class(choice, deterministic), line + choice


def first_that_works(config, deterministic):
    """The fastest backend that this GPU supports and that learns what it should."""
    reasons = []
    for name in FASTEST_FIRST:
        if deterministic and name not in ON_TENSOR_CORES:
            raise InputError(
                f"--deterministic cannot be had here ({reasons[-1]}); try --backend cpu"
            )
        kind = backend_class(name, deterministic)
        obstacle = why_not(name, config) or why_it_does_not_learn(kind, config)
        if obstacle is None:
            line = f"training on the GPU: {gpu_name()}, {name}"
            return kind, line + (f" ({reasons[-1]})" if reasons else "")
        reasons.append(f"not {name}: {obstacle}")
    return CpuBackend, f"training on the CPU ({reasons[-1]})"


def backend_class(name, deterministic=False):
    if name == "cuda":
        return CudaBackend
    # What these need cannot be imported where there is no CUDA compiler.
    from kernels.training.gpu_backends import GPU_BACKENDS

    kind = GPU_BACKENDS[name]
    return type(kind.__name__, (kind,), {"deterministic": True}) if deterministic else kind


def why_not(name, config):
    """None if the GPU and the network suit the backend, else the reason they do not."""
    if name not in ON_TENSOR_CORES:
        return None
    capability = tuple(cuda.get_current_device().compute_capability)
    if capability < TENSOR_CORES_SINCE:
        return (
            "tensor cores for bfloat16 come with compute capability 8.0, this GPU has {}.{}".format(
                *capability
            )
        )
    from kernels.fast.sizes import network_size

    if network_size(config.hidden, config.layers).warps == 0:
        return f"a network of {config.layers} x {config.hidden} does not fit into shared memory"
    return None


def why_it_does_not_learn(kind, config):
    """Train a tiny picture for a moment. None if the loss fell as it must, else what happened."""
    y, x = np.mgrid[:32, :32].astype(np.float32) / 32
    image = np.stack([x, y, x * y], axis=2)
    small = Config(
        steps=100,
        batch=512,
        grid_width=8,
        grid_height=8,
        hidden=config.hidden,
        layers=config.layers,
    )
    rates = np.array([[0.01, 0.02]] * 50, np.float32)
    try:
        backend = kind(image, small, initial_state(small))
        backend.run(1, rates[:1])
        before = sum(backend.take_losses())
        backend.run(2, rates)
        backend.take_losses()
        backend.run(52, rates[:1])
        after = sum(backend.take_losses())
    except Exception as error:  # whatever a driver raises, another backend may still work
        return f"a first run failed ({type(error).__name__}: {first_line(error)})"
    if not after < before / 4:
        return f"in a first run the loss went from {before:.3g} to {after:.3g}"
    return None
