"""Every backend is what `kernels.training.backend` says, and none is imported without need.

`BACKENDS` below is also a proof for mypy: each entry has to be a `BackendFactory`.
"""

import inspect
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from kernels.config import Config
from kernels.state import initial_state
from kernels.training import choose_backend, devices, persistent_backends
from kernels.training.backend import Backend, BackendFactory
from kernels.training.cpu_backend import CpuBackend
from kernels.training.gpu_backends import FusedBackend, PersistentBackend, TensorBackend
from kernels.training.graph_backend import GraphBackend
from kernels.training.persistent_backends import persistent_backend
from kernels.training.staged_backends import CudaBackend
from lessons.native_backend import NativeBackend
from tests.engines import CheckedBackend

BACKENDS: dict[str, BackendFactory] = {
    "cpu": CpuBackend,
    "cuda": CudaBackend,
    "graph": GraphBackend,
    "tensor": TensorBackend,
    "persistent": PersistentBackend,
    "native": NativeBackend,
    "checked": CheckedBackend,
}
ATTRIBUTES = set(Backend.__annotations__)
METHODS = {
    name: member
    for name, member in vars(Backend).items()
    if inspect.isfunction(member) and not name.startswith("_")
}


def parameters_of(function):
    return list(inspect.signature(function).parameters.values())


def named(parameters):
    return [(parameter.name, parameter.default) for parameter in parameters]


def test_the_contract_is_what_this_test_reads():
    assert ATTRIBUTES == {"name", "partitions", "deterministic", "samples_per_chunk"}
    wanted = "run take_losses state feature_grid render mean_squared_error bilinear_baseline"
    assert set(METHODS) == set(wanted.split())


@pytest.mark.parametrize("name, kind", BACKENDS.items(), ids=BACKENDS)
def test_every_class_keeps_the_contract(name, kind):
    """Read from the class, so that it is tested also where there is no GPU."""
    assert not inspect.isabstract(kind)
    assert kind.name == name
    assert kind.samples_per_chunk > 0
    assert isinstance(inspect.getattr_static(kind, "device"), (property, str))
    for method, promised in METHODS.items():
        found = parameters_of(getattr(kind, method))
        bound = method == "bilinear_baseline"  # needs no instance: there is no `self` to see
        assert named(found) == named(parameters_of(promised)[bound:]), method
    promised = parameters_of(BackendFactory.__call__)[1:]
    assert named(parameters_of(kind)[: len(promised)]) == named(promised)
    assert all(p.default is not p.empty for p in parameters_of(kind)[len(promised) :])


@pytest.mark.parametrize(
    "name", ["cpu", *(pytest.param(one, marks=pytest.mark.slow) for one in ("native", "checked"))]
)
def test_what_backends_return(name):
    config = Config(steps=5, batch=3, grid_width=3, grid_height=2, hidden=16, layers=1)
    image, before = np.random.default_rng(0).random((4, 5, 3), np.float32), initial_state(config)
    backend = BACKENDS[name](image, config, before)
    backend.run(1, np.zeros((0, 2), np.float32))
    assert sum(backend.take_losses()) == 0
    backend.run(1, np.full((2, 2), 0.01, np.float32))
    losses = backend.take_losses()
    assert isinstance(losses, list) and sum(losses) > 0 and sum(backend.take_losses()) == 0

    after = backend.state()
    for old, new in zip(before, after, strict=True):
        assert isinstance(new, np.ndarray)
        assert (old.shape, old.dtype) == (new.shape, new.dtype)
    assert (after.weights != before.weights).any()
    np.testing.assert_array_equal(backend.feature_grid(), after.feature_grid)
    # Copies: what is done to them must not reach the backend.
    after.feature_grid[:] = 7
    assert (backend.feature_grid() != 7).all()

    for picture, shape in (
        (backend.render(7, 6), (6, 7, 3)),
        (backend.bilinear_baseline(image, 3, 2), image.shape),
    ):
        assert (picture.shape, picture.dtype) == (shape, np.float32)
        assert 0 <= picture.min() and picture.max() <= 1
    error = np.mean((backend.render(5, 4).astype(float) - image) ** 2)
    assert backend.mean_squared_error() == pytest.approx(error, rel=1e-6)
    assert isinstance(backend.device, str) and backend.device
    assert backend.partitions >= 1 and backend.deterministic is False


def test_the_factories_are_the_classes_that_they_name():
    for name in choose_backend.BACKENDS:
        if name != "cpu":
            factory = choose_backend.backend_factory(name)
            kind = factory.func if isinstance(factory, partial) else factory
            assert kind is (persistent_backend if name == "persistent" else BACKENDS[name])


@pytest.mark.parametrize(
    "capability, batch, hidden, layers, channels, kind",
    [
        ((9, 0), 16_384, 32, 2, 3, "OneBarrierBackend"),
        ((9, 0), 16_384, 32, 2, 4, "PersistentBackend"),
        ((9, 0), 50_000, 32, 2, 3, "PersistentBackend"),
        ((9, 0), 60_000, 32, 2, 4, "LargeBatchBackend"),
        ((9, 0), 60_000, 64, 2, 3, "PersistentBackend"),
        ((9, 0), 100, 128, 2, 3, "WideBackend"),
        ((8, 0), 60_000, 32, 2, 3, "PersistentBackend"),
    ],
)
def test_the_kernel_that_suits_a_run(
    capability, batch, hidden, layers, channels, kind, monkeypatch
):
    class Device:
        compute_capability = capability

    monkeypatch.setattr(devices.cuda, "get_current_device", Device, raising=False)
    monkeypatch.setattr(persistent_backends, "processors", lambda: 132)
    monkeypatch.setattr(FusedBackend, "__init__", lambda self, *arguments: None)
    config = Config(batch=batch, hidden=hidden, layers=layers, channels=channels)
    assert type(persistent_backend(None, config, None)).__name__ == kind


@pytest.mark.parametrize("name", choose_backend.ON_TENSOR_CORES)
def test_deterministic_is_an_argument(name, monkeypatch):
    """Also of the copy on which a step is rehearsed: other kernels would be compiled there."""
    given = []

    def init(self, image, config, state, partitions=None, deterministic=False):
        self.image, self.config, self.deterministic = image, config, deterministic
        given.append(deterministic)

    monkeypatch.setattr(FusedBackend, "__init__", init)
    monkeypatch.setattr(FusedBackend, "state", lambda self: None)
    monkeypatch.setattr(persistent_backends, "takes_one_barrier", lambda config: True)
    for deterministic in (False, True):
        factory = choose_backend.backend_factory(name, deterministic)
        backend = factory(np.zeros((1, 1, 3), np.float32), Config(), None)
        if name == "tensor":
            backend.duplicate()
    assert given == ([False, False, True, True] if name == "tensor" else [False, True])


# ---------------------------------------------------------------- what is imported for what


def modules_after(program):
    """The modules of this project that are loaded when a program ends."""
    script = f"import sys\n{program}\nprint(*sys.modules)"
    root = Path(__file__).resolve().parents[2]
    run = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    names = run.stdout.split()
    return {name for name in names if name.partition(".")[0] in ("kernels", "lessons", "tests")}


@pytest.mark.slow
def test_asking_for_a_gpu_loads_no_backend():
    program = "from kernels.training.devices import why_no_gpu\nwhy_no_gpu()"
    needed = (
        "config", "field_math", "image_ops", "launch", "plumbing", "plumbing.errors",
        "plumbing.front_end", "training", "training.devices",
    )  # fmt: skip
    assert modules_after(program) == {"kernels", *(f"kernels.{name}" for name in needed)}


def test_training_without_lessons_loads_none():
    loaded = modules_after("import train")
    assert not [name for name in loaded if name.startswith(("lessons", "tests"))]
    assert not [name for name in loaded if name.startswith("kernels.fast")]
