"""The fused kernels: network on tensor cores, persistent training, painting.

Without a GPU they run in the checked simulator, warp by warp, on small sizes: it computes what the
instructions compute, and looks for races, also between the two halves of a step. On a GPU all
backends train for real.
"""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda, float32, uint32

from kernels.adam import bias_corrections
from kernels.config import Config
from kernels.fast.adam import rows_to_sum
from kernels.fast.graph import add_squared_errors, make_fused_step, make_paint
from kernels.fast.mlp import make_finish_gradient, make_forward_backward, make_pack_weights
from kernels.fast.persistent_two_barriers import make_train_two_barriers
from kernels.fast.products import make_weight_gradients
from kernels.fast.ptx import arrive, arrived, pack_halves
from kernels.fast.sample import FIXED_POINT
from kernels.fast.sizes import FEATURE_PITCH, network_size
from kernels.files.psnr import psnr
from kernels.plumbing.errors import InputError
from kernels.state import initial_state
from kernels.training import choose_backend, devices, gpu_backends
from kernels.training.cpu_backend import CpuBackend, cpu_backend
from kernels.training.kernel_arrays import flat_with_four_channels, fused_arrays, settings_of
from kernels.training.trainer import Trainer
from lessons import reference
from lessons.lab import checked_run
from lessons.lab.simulator.run import launch
from tests.kernels.test_backends_agree import picture
from tests.kernels.test_general import encoded

# That Numba compiles these kernels is tested in `test_compile.py`; here it would take long.
checked = partial(launch, ask_numba=False)

# 16-bit operands: 2^-11 for halves, 2^-8 for bfloat16, and some hundred of them in a sum.
HALF_TOLERANCE, BFLOAT16_TOLERANCE = 2e-3, 8e-3


def relative(got, expected):
    return np.linalg.norm(got - expected) / np.linalg.norm(expected)


# ---------------------------------------------------------------- the network


def make_network_kernel(hidden, layers, channels):
    size = network_size(hidden, layers, channels)
    columns = size.columns
    threads, words_size = size.threads, size.words
    transposed_shape, relu_masks_shape = size.transposed_shape, size.relu_masks_shape
    pack_weights, run = make_pack_weights(size), make_forward_backward(size)
    finish = make_finish_gradient(size)
    gradients = make_weight_gradients(size)
    floats, write = gradients.floats, gradients.write

    @cuda.jit
    def network(features, target, weights, count, scale, gradient, grad_features, errors):
        words = cuda.shared.array(words_size, uint32)
        rows = cuda.shared.array((threads, FEATURE_PITCH), uint32)
        staging = cuda.shared.array((threads, columns), float32)
        transposed = cuda.shared.array(transposed_shape, uint32)
        relu_masks = cuda.shared.array(relu_masks_shape, uint32)
        sums = cuda.local.array(floats, float32)
        thread = cuda.threadIdx.x
        for n in range(floats):
            sums[n] = float32(0)
        pack_weights(weights, words, thread)
        for pair in range(8):
            rows[thread, pair] = pack_halves(
                features[thread, 2 * pair], features[thread, 2 * pair + 1]
            )
        cuda.syncthreads()
        colours = target[thread, 0], target[thread, 1], target[thread, 2]
        shared = words, rows, staging, transposed, relu_masks
        errors[thread] = run(shared, colours, thread < count, sums, thread)
        for channel in range(channels):
            grad_features[thread, channel] = staging[thread, channel]
        finish(shared, sums, thread)
        write(sums, thread >> 5, thread & 31, scale, gradient, 0)

    return network, threads


@pytest.mark.parametrize(
    "hidden, layers, channels",
    [
        (32, 2, 3),
        (32, 2, 4),
        *(pytest.param(*net, 3, marks=pytest.mark.slow) for net in [(16, 1), (32, 3), (64, 2)]),
    ],
)
def test_network_and_its_gradients(hidden, layers, channels):
    kernel, samples = make_network_kernel(hidden, layers, channels)
    random = np.random.default_rng(hidden + layers)
    features = random.normal(size=(samples, 16)).astype(np.float32)
    target = random.random((samples, 3)).astype(np.float32)
    weights = initial_state(Config(hidden=hidden, layers=layers)).weights
    matrices = reference.split_weights(weights, hidden, layers)
    gradient, grad_features = np.zeros_like(weights), np.zeros((samples, channels), np.float32)
    errors = np.zeros(samples, np.float32)
    count, scale = samples - 5, np.float32(0.25)
    checked(
        kernel, 1, samples, features, target, weights, np.int64(count), scale, gradient,
        grad_features, errors,
    )  # fmt: skip

    loss, by_weights, by_features = gradients_of_halves(features, target, matrices, count)
    by_features = by_features[:, :channels]
    assert relative(errors, loss) < HALF_TOLERANCE
    assert relative(gradient, scale * by_weights) < BFLOAT16_TOLERANCE
    assert relative(grad_features, by_features) < BFLOAT16_TOLERANCE
    assert (grad_features[count:] == 0).all()


def half(values):
    return values.astype(np.float16).astype(np.float64)


def gradients_of_halves(features, target, matrices, count):
    """(squared errors, gradient of the weights, of all features), in float64, without factors.

    Operands forward are rounded to halves, so that every ReLU decides as in the kernel.
    """
    matrices = [half(matrix) for matrix in matrices]
    activations = [half(features)]
    for matrix in matrices[:-1]:
        activations.append(half(np.maximum(activations[-1] @ matrix, 0)))
    outputs = 1 / (1 + np.exp(-(activations[-1] @ matrices[-1])))[:, :3]
    error = outputs - target
    error[count:] = 0
    delta = np.zeros((len(features), 16))
    delta[:, :3] = error * outputs * (1 - outputs)
    by_weights = []
    for inputs, matrix in zip(reversed(activations), reversed(matrices), strict=True):
        by_weights.insert(0, (inputs.T @ delta).ravel())
        delta = delta @ matrix.T
        if inputs is not activations[0]:
            delta *= inputs > 0
    return (error**2).sum(axis=1), np.concatenate(by_weights), delta


def test_every_network_that_fits_into_shared_memory_is_taken():
    assert [network_size(16, n).warps for n in (1, 2, 3, 4)] == [4, 4, 4, 4]
    assert [network_size(32, n).warps for n in (1, 2, 3, 4)] == [4, 4, 2, 2]
    assert [network_size(64, n).warps for n in (1, 2, 3, 4)] == [2, 2, 1, 0]
    assert network_size(32, 2).shared_bytes <= 48 * 1024


# ---------------------------------------------------------------- whole steps


def arrays_for(config, image, blocks, threads, deterministic):
    return fused_arrays(
        image, initial_state(config), bias_corrections(config.beta1, config.beta2), blocks,
        rows_to_sum(blocks, threads), threads, deterministic,
    )  # fmt: skip


def moves_of(arrays):
    """How often each cell has been moved."""
    steps = getattr(arrays, "grid_steps", ())
    return steps if len(steps) else arrays.grid_v[:, 3]


def run_gradients(config, image, arrays, step, fused, blocks):
    samples = fused.threads

    @cuda.jit
    def first_part(arrays, step, settings):
        features = cuda.local.array(8, uint32)
        drawn = fused.draw(arrays, cuda.blockIdx.x * samples, step, settings, features)
        arrays.squared_errors[cuda.grid(1)] += fused.gradients(
            arrays, step, settings, drawn, features
        )

    checked(first_part, blocks, samples, arrays, np.int64(step), settings_of(config, image))


@pytest.mark.parametrize(
    "batch, blocks, deterministic, vector_atomics, channels",
    [
        (200, 2, False, True, 3),
        pytest.param(450, 2, False, False, 3, marks=pytest.mark.slow),
        pytest.param(130, 1, True, True, 3, marks=pytest.mark.slow),
        (130, 3, False, True, 3),
        pytest.param(200, 2, False, True, 4, marks=pytest.mark.slow),
        pytest.param(130, 3, False, False, 4, marks=pytest.mark.slow),
        pytest.param(450, 2, True, True, 4, marks=pytest.mark.thorough),
    ],
)
def test_first_part_of_a_step(batch, blocks, deterministic, vector_atomics, channels):
    """Several tiles per block, a ragged last one, a block with none: against float64."""
    config = Config(steps=40, batch=batch, grid_width=23, grid_height=29, seed=5, channels=channels)
    image = picture(31, 44)
    fused = make_fused_step(32, 2, deterministic, vector_atomics, channels)
    arrays = arrays_for(config, image, blocks, fused.threads, deterministic)
    run_gradients(config, image, arrays, 7, fused, blocks)
    expect_gradients(config, image, arrays, deterministic)


def expect_gradients(config, image, arrays, deterministic):
    """Those of step 7 that a kernel has left, one row of weights for each block."""
    by_weights = arrays.grad_weights.reshape(-1, len(arrays.weights)).sum(axis=0)
    by_grid = arrays.grad_feature_grid / (FIXED_POINT if deterministic else 1)
    expect_sums(config, image, arrays.weights, arrays.squared_errors, by_weights, by_grid)


def expect_sums(config, image, weights, squared_errors, by_weights, by_grid):
    """A kernel's sums in step 7, against float64."""
    height, width, channels = initial_state(config).feature_grid.shape
    uv, target = reference.sample(image, 7, config.seed, config.batch)
    features, _ = encoded(config, uv, initial_state(config).feature_grid)
    matrices = reference.split_weights(weights, config.hidden, config.layers)
    loss, of_weights, of_features = gradients_of_halves(features, target, matrices, config.batch)
    scale, of_grid = 2 / (3 * config.batch), np.zeros((height * width, channels))
    cells, shares, _ = reference.bilinear_corners(uv, width, height)
    np.add.at(of_grid, cells, shares[..., np.newaxis] * of_features[:, np.newaxis, :channels])
    assert squared_errors.sum() == pytest.approx(loss.sum(), rel=HALF_TOLERANCE)
    assert relative(by_weights, scale * of_weights) < BFLOAT16_TOLERANCE
    assert relative(by_grid[:, :channels], scale * of_grid) < BFLOAT16_TOLERANCE


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.slow
def test_second_part_of_a_step(deterministic, channels):
    """More cells and groups of weights than threads and blocks: Adam, against float64."""
    config = Config(grid_width=23, grid_height=29, channels=channels)
    fused = make_fused_step(32, 2, deterministic, channels=channels)
    state_shape, blocks = fused.state.shape, 2
    random = np.random.default_rng(11)
    shape = config.grid_height, config.grid_width
    start = initial_state(config)._replace(
        grid_m=random.normal(size=(*shape, channels)).astype(np.float32),
        grid_v=random.random((*shape, channels)).astype(np.float32),
        grid_steps=random.integers(0, 3, shape).astype(np.int32),
        weights_v=random.random(config.weight_count).astype(np.float32),
    )
    corrections = bias_corrections(0.9, 0.99)
    arrays = fused_arrays(
        picture(2, 2), start, corrections, blocks, rows_to_sum(blocks, fused.threads),
        fused.threads, deterministic,
    )  # fmt: skip
    grad_grid = random.normal(size=(*shape, channels)).astype(np.float32)
    grad_grid[random.random(shape) < 0.4] = 0
    grad_grid[:, ::2, 1] = 0
    grad_grid[::3, :, :-1] = 0  # cells of which only the last channel is touched
    flat = grad_grid.reshape(-1, channels).astype(np.float64)
    arrays.grad_feature_grid[:, :channels] = np.rint(flat * FIXED_POINT) if deterministic else flat
    grad_weights = random.normal(size=(blocks, config.weight_count)).astype(np.float32)
    arrays.grad_weights[: grad_weights.size] = grad_weights.ravel()

    @cuda.jit
    def second_part(arrays, step, rates):
        state = cuda.local.array(state_shape, float32)
        cell, stride = cuda.grid(1), cuda.gridsize(1)
        fused.state.read(arrays, cell, stride, state)
        fused.update(arrays, step, float32(0.01), float32(0.02), rates, state)
        fused.state.write_averages(arrays, cell, stride, state)

    checked(second_part, blocks, fused.threads, arrays, np.int64(5), config.adam_rates)
    expected, m, v = reference.adam(
        start.weights, grad_weights.sum(axis=0, dtype=np.float64), start.weights_m,
        start.weights_v, 5, 0.01, 0.9, 0.99, config.epsilon,
    )  # fmt: skip
    np.testing.assert_allclose(arrays.weights, expected, atol=1e-6)
    np.testing.assert_allclose(arrays.weights_m, m, atol=1e-6)
    np.testing.assert_allclose(arrays.weights_v, v, atol=1e-6)
    expected, m, v, steps = reference.adam_grid(
        start.feature_grid, grad_grid, start.grid_m, start.grid_v, start.grid_steps, 0.02, 0.9,
        0.99, config.epsilon,
    )  # fmt: skip
    for got, wanted, atol in [
        (arrays.feature_grid, expected, 1e-5),
        (arrays.grid_m, m, 1e-6),
        (arrays.grid_v, v, 1e-6),
    ]:
        flat = wanted.reshape(-1, channels)
        np.testing.assert_allclose(got[:, :channels], flat, atol=atol)
    np.testing.assert_array_equal(moves_of(arrays), steps.ravel())
    assert (arrays.grad_feature_grid == 0).all()


@pytest.mark.parametrize("keep_state, channels", [(True, 3), (False, 3), (True, 4), (False, 4)])
@pytest.mark.each(4)
def test_steps_in_one_kernel(keep_state, channels):
    """The persistent loop, barriers and all: no race, and it learns as the CPU does."""
    config = Config(steps=40, batch=200, grid_width=9, grid_height=7, channels=channels)
    image = picture(31, 44)
    train, threads = make_train_two_barriers(32, 2, channels=channels, keep_state=keep_state)
    arrays = arrays_for(config, image, 2, threads, False)
    expect_steps_of_the_cpu(train, threads, config, image, arrays, 4)


def run_steps(train, threads, config, image, arrays, rates, first_step=1, engine=checked):
    return engine(
        train, 2, threads, arrays, rates, np.int64(first_step), settings_of(config, image),
        np.zeros(1, np.uint32),
    )  # fmt: skip


def expect_steps_of_the_cpu(train, threads, config, image, arrays, steps):
    """Run a kernel that trains; no race, and it learns as the CPU does."""
    cpu = Trainer(image, config, cpu_backend)
    rates = cpu.learning_rates(1, steps)
    run_steps(train, threads, config, image, arrays, rates)
    cpu.backend.run(1, rates)
    state = cpu.backend.state()
    loss = arrays.squared_errors.sum() / (3 * config.batch)
    assert loss == pytest.approx(sum(cpu.backend.take_losses()), rel=1e-3)
    assert relative(arrays.weights, state.weights) < 0.02
    # A cell that few samples touch moves by a full step in the direction of its gradient's sign,
    # which rounding may turn. (The gradients themselves are compared above.)
    grid = arrays.feature_grid[:, : config.channels]
    assert relative(grid.ravel(), state.feature_grid.ravel()) < 0.1
    np.testing.assert_array_equal(moves_of(arrays), state.grid_steps.ravel())


def neighbours_kernel(before, waits, after):
    """Each thread writes a number and reads the next block's, with parts of a barrier between."""

    @cuda.jit
    def read_next_block(numbers, result, counter):
        i = cuda.grid(1)
        numbers[i] = i
        if before:
            cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            arrive(counter)
        if cuda.threadIdx.x == 0 and waits:
            while arrived(counter) < cuda.gridDim.x:
                pass
        if after:
            cuda.syncthreads()
        result[i] = numbers[(i + cuda.blockDim.x) % numbers.shape[0]]

    return read_next_block


@pytest.mark.parametrize("without", ["nothing", "before", "waits", "after"])
def test_a_barrier_of_the_grid_needs_each_of_its_parts(without):
    parts = {name: name != without for name in ("before", "waits", "after")}
    numbers, result = np.zeros(128, np.float32), np.zeros(128, np.float32)
    counter = np.zeros(1, np.uint32)
    report = checked_run(
        neighbours_kernel(**parts), 2, 64, numbers, result, counter, ask_numba=False
    )
    assert report.ok == (without == "nothing")
    assert {f.kind for f in report.findings if not f.advice} <= {"race"}
    if report.ok:
        np.testing.assert_array_equal(result, np.roll(np.arange(128), -64))


@pytest.mark.parametrize("channels", [3, 4])
def test_painting(channels):
    config = Config(steps=40, grid_width=9, grid_height=7, channels=channels)
    state = initial_state(config)
    state.feature_grid[:] = np.random.default_rng(channels).normal(size=state.feature_grid.shape)
    size = network_size(32, 2, channels)
    arrays = fused_arrays(picture(2, 2), state, bias_corrections(0.9, 0.99), 1, 1, size.threads)
    colours = np.zeros(17 * 13 * 3, np.float32)
    sizes = np.int32(9), np.int32(7)
    checked(
        make_paint(size), 2, size.threads, arrays.feature_grid, arrays.weights, *sizes, colours,
        np.int32(17), np.int32(13),
    )  # fmt: skip
    features, _ = encoded(config, reference.pixel_centres(17, 13), state.feature_grid)
    expected, _ = reference.mlp_forward(features, reference.split_weights(state.weights, 32, 2))
    assert abs(colours.reshape(-1, 3) - expected[:, :3]).max() < 5e-3


@pytest.mark.parametrize("threads", [64, 300, 1000])
def test_the_error_of_a_whole_picture(threads):
    """Fewer sums than pixels, and more; a last block that is not full."""
    painted, image = picture(17, 13), picture(17, 13)[::-1]
    sums = np.full(threads, np.nan, np.float32)
    checked(
        add_squared_errors, -(-threads // 128), 128,
        painted.ravel(), np.ascontiguousarray(flat_with_four_channels(image)), sums,
    )  # fmt: skip
    expected = np.sum((painted.astype(float) - image) ** 2)
    np.testing.assert_allclose(sums.sum(dtype=float), expected, rtol=1e-5)


# ---------------------------------------------------------------- which backend


def test_what_was_asked_for_and_cannot_be_had_is_told(monkeypatch):
    monkeypatch.setattr(choose_backend, "why_no_gpu", lambda: "there is none")
    for name in ("cuda", "graph", "tensor", "persistent"):
        with pytest.raises(InputError, match="there is none"):
            choose_backend.choose_backend(name, Config())
    chosen = choose_backend.choose_backend("auto", Config())
    assert chosen.factory is cpu_backend and "there is none" in chosen.explanation
    monkeypatch.setattr(choose_backend, "why_no_gpu", lambda: None)
    with pytest.raises(InputError, match="order that changes"):
        choose_backend.choose_backend("graph", Config(), deterministic=True)


def test_four_channels_are_for_tensor_cores_and_the_staged_kernels(monkeypatch):
    monkeypatch.setattr(choose_backend, "why_no_gpu", lambda: None)
    monkeypatch.setattr(choose_backend, "gpu_name", lambda: "a GPU")
    monkeypatch.setattr(choose_backend, "backend_factory", lambda name, deterministic=False: name)
    monkeypatch.setattr(choose_backend, "why_it_does_not_learn", lambda kind, config: None)
    why_not = {name: None for name in choose_backend.FASTEST_FIRST}
    monkeypatch.setattr(choose_backend, "why_not", lambda name, config: why_not[name])
    four = Config(channels=4)
    for name in ("tensor", "persistent", "cuda"):
        assert choose_backend.choose_backend(name, four).factory == name
    assert choose_backend.choose_backend("auto", four).factory == "persistent"
    with pytest.raises(InputError, match="--channels 4 needs tensor or persistent"):
        choose_backend.choose_backend("graph", four)
    why_not |= {"persistent": "it is old", "tensor": "it is old"}
    for name in ("auto", "tensor"):
        chosen = choose_backend.choose_backend(name, four)
        assert chosen.factory == "cuda" and "it is old" in chosen.explanation


def test_without_tensor_cores_float32_takes_their_place(monkeypatch):
    monkeypatch.setattr(choose_backend, "why_no_gpu", lambda: None)
    monkeypatch.setattr(choose_backend, "gpu_name", lambda: "an old GPU")
    monkeypatch.setattr(choose_backend, "backend_factory", lambda name, deterministic=False: name)
    old = SimpleNamespace(compute_capability=(7, 5))
    monkeypatch.setattr(devices.cuda, "get_current_device", lambda: old, raising=False)
    chosen = choose_backend.choose_backend("tensor", Config())
    assert chosen.factory == "graph" and "float32 (not tensor:" in chosen.explanation
    assert "has 7.5" in chosen.explanation
    with pytest.raises(InputError, match=r"has 7\.5"):
        choose_backend.choose_backend("persistent", Config(), deterministic=True)
    monkeypatch.setattr(choose_backend, "why_it_does_not_learn", lambda kind, config: None)
    chosen = choose_backend.choose_backend("auto", Config())
    assert chosen.factory == "graph" and "has 7.5" in chosen.explanation
    with pytest.raises(InputError, match="cannot be had here"):
        choose_backend.choose_backend("auto", Config(), deterministic=True)


def test_auto_falls_back_until_something_works(monkeypatch):
    monkeypatch.setattr(choose_backend, "why_no_gpu", lambda: None)
    monkeypatch.setattr(choose_backend, "gpu_name", lambda: "a GPU")
    monkeypatch.setattr(choose_backend, "backend_factory", lambda name, deterministic: name)
    works = {"persistent": "it hangs", "tensor": "it is wrong", "graph": None}
    monkeypatch.setattr(choose_backend, "why_not", lambda name, config: None)
    monkeypatch.setattr(choose_backend, "why_it_does_not_learn", lambda name, config: works[name])
    chosen = choose_backend.choose_backend("auto", Config())
    assert chosen.factory == "graph"
    assert chosen.explanation.endswith("a GPU, graph (not tensor: it is wrong)")
    with pytest.raises(InputError, match="cannot be had here"):
        choose_backend.choose_backend("auto", Config(), deterministic=True)


class Launches:
    """In place of the persistent kernel and its counter: notes what each launch is given."""

    def __init__(self):
        self.count, self.seen = 0, []

    def __getitem__(self, shape):
        return self.launch

    def copy_to_device(self, array):
        self.count = int(array[0])

    def launch(self, arrays, rates, first_step, settings, counter):
        assert counter.count == 0
        counter.count = 2 * 132 * len(rates)
        self.seen.append((int(first_step), rates))


def test_long_runs_are_divided_before_the_barrier_has_counted_too_far(monkeypatch):
    here = SimpleNamespace(to_device=np.copy, synchronize=lambda: None)
    monkeypatch.setattr(gpu_backends, "cuda", here)
    monkeypatch.setattr(gpu_backends, "MAX_STEPS_PER_LAUNCH", 3)
    backend, launches = object.__new__(gpu_backends.PersistentBackend), Launches()
    backend.train = backend.counter = launches
    backend.arrays = backend.settings = None
    backend.blocks, backend.threads = 132, 128
    rates = np.arange(14, dtype=np.float32).reshape(7, 2)
    backend.run(11, rates)
    assert [(first, len(part)) for first, part in launches.seen] == [(11, 3), (14, 3), (17, 1)]
    np.testing.assert_array_equal(np.concatenate([part for _, part in launches.seen]), rates)
    backend.run(1, rates[:0])  # compiles, and takes no step
    assert len(launches.seen) == 4 and len(launches.seen[3][1]) == 0


def test_the_barrier_of_a_launch_cannot_count_too_far():
    most_blocks = 1 << 14  # more than any GPU holds at once
    assert 2 * gpu_backends.MAX_STEPS_PER_LAUNCH * most_blocks < 1 << 32


def test_a_backend_that_does_not_learn_is_noticed():
    class Idle(CpuBackend):
        def run(self, first_step, learning_rates):
            super().run(first_step, np.zeros_like(learning_rates))

    class Broken(CpuBackend):
        def run(self, first_step, learning_rates):
            raise RuntimeError("no such instruction")

    assert choose_backend.why_it_does_not_learn(CpuBackend, Config()) is None
    assert "the loss went from" in choose_backend.why_it_does_not_learn(Idle, Config())
    assert "no such instruction" in choose_backend.why_it_does_not_learn(Broken, Config())


# ---------------------------------------------------------------- on a GPU

NAMES = ("graph", "tensor", "persistent")


@pytest.mark.gpu
@pytest.mark.usefixtures("real_gpu")
@pytest.mark.parametrize(
    "hidden, layers, batch, channels",
    [(32, 2, 16_384, 3), (16, 1, 70, 3), (64, 2, 100_000, 3), (32, 2, 16_384, 4), (16, 3, 5000, 4)],
)
@pytest.mark.parametrize("name", NAMES)
def test_fast_backends_follow_the_cpu(name, hidden, layers, batch, channels):
    if name == "graph" and channels == 4:
        pytest.skip("the staged kernels of other networks are not recorded")
    config = Config(steps=40_000, hidden=hidden, layers=layers, batch=batch, channels=channels)
    image = picture(275, 400)
    factory = choose_backend.choose_backend(name, config).factory
    fast, cpu = Trainer(image, config, factory), Trainer(image, config, cpu_backend)
    for trainer in (fast, cpu):
        for step in (1, 10, 40):
            trainer.advance(step)
            trainer.log()
    mine, theirs = ([loss for _, loss in t.progress.history] for t in (fast, cpu))
    np.testing.assert_allclose(mine, theirs, rtol=5e-3)
    assert relative(fast.backend.state().weights, cpu.backend.state().weights) < 0.05
    assert abs(fast.render() - cpu.render()).mean() < 0.01


@pytest.mark.gpu
@pytest.mark.usefixtures("real_gpu")
@pytest.mark.parametrize(
    "name, channels", [*((name, 3) for name in NAMES), ("tensor", 4), ("persistent", 4)]
)
def test_state_goes_in_and_out_unchanged(name, channels):
    image, config = picture(55, 80), Config(steps=100, batch=1000, channels=channels)
    factory = choose_backend.choose_backend(name, config).factory
    backend = factory(image, config, initial_state(config))
    backend.run(1, np.full((20, 2), 0.01, np.float32))
    state = backend.state()
    again = factory(image, config, state).state()
    for one, other in zip(state, again, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.gpu
@pytest.mark.usefixtures("real_gpu")
@pytest.mark.parametrize("channels", (3, 4))
@pytest.mark.parametrize("name", ("tensor", "persistent"))
def test_deterministic_means_the_same_bits(name, channels):
    image, config = picture(275, 400), Config(steps=2000, channels=channels)
    factory = choose_backend.choose_backend(name, config, deterministic=True).factory
    runs = [Trainer(image, config, factory) for _ in range(2)]
    for trainer in runs:
        trainer.advance(500)
    for one, other in zip(*(trainer.backend.state() for trainer in runs), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.gpu
@pytest.mark.usefixtures("real_gpu")
def test_two_thousand_steps_learn_as_well_on_every_backend():
    image, config = picture(550, 800), Config(steps=2000)
    reached = []
    for name in ("cuda", *NAMES):
        trainer = Trainer(image, config, choose_backend.backend_factory(name))
        trainer.advance(2000)
        reached.append(psnr(trainer.render(), image))
    assert max(reached) - min(reached) < 0.3


@pytest.mark.gpu
@pytest.mark.usefixtures("real_gpu")
def test_auto_takes_the_fastest():
    assert choose_backend.choose_backend("auto", Config()).name == "persistent"
    chosen = choose_backend.choose_backend("auto", Config(hidden=64, layers=4))
    assert chosen.name == "graph" and "does not fit" in chosen.explanation
