"""Which backend trains: what was asked for, or the fastest one that works here."""

from functools import partial

import numpy as np

from kernels.config import Config
from kernels.plumbing.errors import InputError
from kernels.state import initial_state
from kernels.training.backend import BackendFactory, ChosenBackend
from kernels.training.cpu_backend import cpu_backend
from kernels.training.devices import (
    TENSOR_CORES_SINCE,
    adds_four_at_once,
    compute_capability,
    cuda_is_simulated,
    first_line,
    gpu_name,
    why_no_gpu,
)
from kernels.training.kept_kernels import keep
from kernels.training.staged_backends import STAGED_KERNELS, CudaBackend

BACKENDS = ("cpu", "cuda", "graph", "tensor", "persistent")
FASTEST_FIRST = ("persistent", "tensor", "graph", "cuda")
ON_TENSOR_CORES = ("persistent", "tensor")


def choose_backend(name: str, config: Config, deterministic: bool = False) -> ChosenBackend:
    """The backend that `name` asks for, if it can be had.

    name: "auto" or one of `BACKENDS`. config: what is to be trained; its network must fit.
    deterministic: the same bits in every run on the same GPU, or on the same kind of processor,
    however many threads it has. Where there are no tensor cores, or the network is too large for
    them, the float32 kernels take their place. Raises `InputError` if what was asked for cannot be
    had.
    """
    if name == "cpu":
        return on_the_cpu("training on the CPU", deterministic)
    if name == "auto" and cuda_is_simulated():
        return on_the_cpu("NUMBA_ENABLE_CUDASIM is set: training on the CPU", deterministic)
    keep(*STAGED_KERNELS)
    obstacle = why_no_gpu()
    if obstacle and name == "auto":
        return on_the_cpu(f"no usable GPU ({obstacle}): training on the CPU", deterministic)
    if obstacle:
        raise InputError(
            f"--backend {name} needs a usable NVIDIA GPU, but {obstacle}; "
            "train without one with --backend cpu"
        )
    if config.bits:
        return with_few_bits(config.bits, deterministic)
    if not config.is_usual_network and not (
        config.suits_tensor_cores and name in ("auto", *ON_TENSOR_CORES)
    ):
        return for_another_network(name, deterministic)
    if deterministic and name not in ("auto", *ON_TENSOR_CORES):
        raise InputError(
            f"--backend {name} adds gradients in an order that changes from run to run; "
            "for --deterministic take --backend auto, persistent, tensor or cpu"
        )
    if name == "auto":
        return first_that_works(config, deterministic)
    obstacle = why_not(name, config)
    if obstacle and deterministic:
        raise InputError(f"--backend {name} --deterministic: {obstacle}; try --backend cpu")
    if obstacle:
        staged = "graph" if config.is_usual_network else "cuda"
        note = f", in float32 (not {name}: {obstacle})"
        return on_the_gpu(staged, backend_factory(staged), note)
    return on_the_gpu(name, backend_factory(name, deterministic))


def with_few_bits(bits: int, deterministic: bool) -> ChosenBackend:
    """A network that sees a rounded grid, on a GPU."""
    if deterministic:
        raise InputError("--bits with --deterministic is for the CPU: add --backend cpu")
    from kernels.training.graph_backend import GraphFewBits

    return on_the_gpu("graph", GraphFewBits, f", {bits} bits for each number of the grid")


def for_another_network(name: str, deterministic: bool) -> ChosenBackend:
    """A network with other channels, octaves, activations or biases, on a GPU."""
    if deterministic:
        raise InputError(
            "--deterministic on a GPU is for networks on tensor cores: with 3 or 4 --channels, "
            "without --octaves, --activation, --output or --biases; take --backend cpu"
        )
    if name not in ("auto", "cuda"):
        raise InputError(
            f"--backend {name} is made for the usual network, without --octaves, --activation, "
            "--output or --biases; --channels 4 needs tensor or persistent, --hidden 128 needs "
            "persistent; take --backend cuda or cpu"
        )
    return on_the_gpu("cuda", backend_factory("cuda"), " (the fused kernels have another network)")


def first_that_works(config: Config, deterministic: bool) -> ChosenBackend:
    """The fastest backend that this GPU supports and that learns what it should."""
    reason = ""
    for name in FASTEST_FIRST:
        if name == "graph" and not config.is_usual_network:
            continue
        if deterministic and name not in ON_TENSOR_CORES:
            raise InputError(f"--deterministic cannot be had here ({reason}); try --backend cpu")
        factory = backend_factory(name, deterministic)
        obstacle = why_not(name, config) or why_it_does_not_learn(factory, config)
        if obstacle is None:
            return on_the_gpu(name, factory, f" ({reason})" if reason else "")
        reason = f"not {name}: {obstacle}"
    return on_the_cpu(f"training on the CPU ({reason})")


def on_the_cpu(explanation: str, deterministic: bool = False) -> ChosenBackend:
    factory = partial(cpu_backend, deterministic=True) if deterministic else cpu_backend
    return ChosenBackend("cpu", factory, explanation)


def on_the_gpu(name: str, factory: BackendFactory, note: str = "") -> ChosenBackend:
    return ChosenBackend(name, factory, f"training on the GPU: {gpu_name()}, {name}{note}")


def backend_factory(name: str, deterministic: bool = False) -> BackendFactory:
    """What makes a GPU backend. Only those in `ON_TENSOR_CORES` can be deterministic."""
    if name == "cuda":
        return CudaBackend
    # What these need cannot be imported where there is no CUDA compiler.
    from kernels.training.gpu_backends import TensorBackend
    from kernels.training.graph_backend import GraphBackend
    from kernels.training.persistent_backends import persistent_backend

    if name == "graph":
        return GraphBackend
    factory = TensorBackend if name == "tensor" else persistent_backend
    return partial(factory, deterministic=deterministic)


def why_not(name: str, config: Config) -> str | None:
    """None if the GPU and the network suit the backend, else the reason they do not."""
    if name not in ON_TENSOR_CORES:
        return None
    if compute_capability() < TENSOR_CORES_SINCE:
        major, minor = compute_capability()
        return (
            "tensor cores for bfloat16 come with compute capability 8.0, "
            f"this GPU has {major}.{minor}"
        )
    from kernels.fast.persistent_wide import wide_fits
    from kernels.fast.sizes import MOST_UNITS, network_size

    if name == "persistent" and wide_fits(config.hidden, config.layers):
        if adds_four_at_once():
            return None
        return f"{config.hidden} units need a GPU of compute capability 9.0"
    if config.hidden > MOST_UNITS:
        return f"{config.hidden} units are for persistent, in one or two layers"
    if network_size(config.hidden, config.layers, config.channels).warps == 0:
        return f"a network of {config.layers} x {config.hidden} does not fit into shared memory"
    return None


def why_it_does_not_learn(factory: BackendFactory, config: Config) -> str | None:
    """Train a tiny picture for a moment. None if the loss fell as it must, else what happened."""
    y, x = np.mgrid[:32, :32].astype(np.float32) / 32
    image = np.stack([x, y, x * y], axis=2)
    small = Config(
        steps=100,
        batch=max(512, config.batch),  # which decides what kernel is taken
        grid_width=8,
        grid_height=8,
        hidden=config.hidden,
        layers=config.layers,
        channels=config.channels,
    )
    rates = np.array([[0.01, 0.02]] * 50, np.float32)
    try:
        backend = factory(image, small, initial_state(small))
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
