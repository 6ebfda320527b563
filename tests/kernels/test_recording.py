"""Work that is recorded: on a GPU the graph itself, elsewhere what decides whether it is used."""

import numpy as np
import pytest
from numba import cuda

from kernels.adam import bias_corrections, launch_adam_weights
from kernels.classifier import network as classifier
from kernels.classifier.training import train_epoch
from kernels.config import PUBLISHED_RATES
from kernels.derivatives.learner import WrittenSiren
from kernels.inline.model import LearningSteps, Stages, make_arrays
from kernels.plumbing import recording
from kernels.siren.fused import FusedSiren
from kernels.siren.network import Siren
from lessons.capstones.device import cuda_device, native_device
from tests.engines import Checked

RATES = 1e-3, 3e-3, 1e-4, 2e-3, 1e-3


def random(*shape, seed=0, low=0.0):
    return np.random.default_rng(seed).uniform(low, 1, shape).astype(np.float32)


# ---------------------------------------------------------------- a step's numbers


def test_adam_by_clock_is_adam():
    launch = Checked().launch
    corrections = bias_corrections(0.9, 0.999)
    numbers = recording.step_numbers(np.array)
    ours, theirs = ([random(9), None, *np.zeros((2, 9), np.float32)] for _ in range(2))
    for step, rate in ((1, 1e-2), (2, 3e-2), (40_000, 1e-3)):
        ours[1], theirs[1] = (random(9, seed=step, low=-1) for _ in range(2))
        launch_adam_weights(*ours, step, corrections, rate, PUBLISHED_RATES, launch)
        numbers.set(step, rate, launch)
        recording.launch_adam_weights_by_clock(
            *numbers, *theirs, corrections, PUBLISHED_RATES, launch
        )
        assert all(np.array_equal(*pair) for pair in zip(ours, theirs, strict=True))


# ---------------------------------------------------------------- when a graph is used


class StandIn:
    """An array as it would lie on a GPU: one number."""

    def __init__(self, value):
        self.value = value

    def copy_to_host(self):
        return np.array([self.value])

    def copy_to_device(self, values):
        self.value = values[0]


class StandInGraph:
    """Does what it was given."""

    def __init__(self, launched):
        self.launched = launched

    def launch(self, stream):
        for kernel, arguments in self.launched:
            kernel(*arguments)


def add(array, amount):
    array.value += amount


def add_from(array, other):
    array.value += other.value


@pytest.fixture
def launched(monkeypatch):
    """How each kernel was launched: by itself, or while it was recorded."""
    found = []

    def start(kernel, blocks, threads, *arguments):
        found.append("launched")
        kernel(*arguments)

    def on_stream(stream):
        def note(kernel, blocks, threads, *arguments):
            found.append("recorded")
            stream.append((kernel, arguments))

        return note

    def record(start):
        stream = []
        start(stream)
        return StandInGraph(stream)

    monkeypatch.setattr(recording, "on_gpu", start)
    monkeypatch.setattr(recording, "on_stream", on_stream)
    monkeypatch.setattr(recording, "record", record)
    monkeypatch.setattr(recording, "default_stream", lambda: None)
    return found


def times_called(work, proof, times=4):
    again = recording.Recorded(work, proof)
    for _ in range(times):
        again()
    return again.how


def test_from_the_second_time_on_it_is_a_graph(launched):
    total = StandIn(0.0)
    how = times_called(lambda launch: launch(add, 1, 1, total, 1.5), ())
    assert (how, total.value, launched) == ("as a graph", 6.0, ["launched", "recorded"])


def test_a_graph_that_leaves_the_same_bits_is_used(launched):
    total = StandIn(0.0)
    how = times_called(lambda launch: launch(add, 1, 1, total, 1.5), [total])
    assert (how, total.value) == ("as a graph", 6.0)
    assert launched == ["launched", "recorded", "launched"]


def test_what_does_more_than_launch_stays_as_it_is(launched):
    """It counts on the host: a graph would add 2 for ever."""
    total, calls = StandIn(0.0), []

    def work(launch):
        calls.append(None)
        launch(add, 1, 1, total, float(len(calls)))

    how = times_called(work, [total])
    assert how == "one by one: as a graph it leaves other numbers"
    assert total.value == 1 + 3 + 4 + 5 and launched.count("recorded") == 1


def test_what_a_launch_leaves_does_not_hide_what_a_graph_lacks(launched):
    """The middle one is started in a way of its own."""
    count, part, total = StandIn(0.0), StandIn(0.0), StandIn(0.0)

    def work(launch):
        launch(add, 1, 1, count, 1.0)
        part.value = count.value
        launch(add_from, 1, 1, total, part)

    assert "other numbers" in times_called(work, [total, count])
    assert total.value == 1 + 2 + 3 + 4


def test_what_cannot_be_recorded_stays_as_it_is(launched):
    total, here = StandIn(0.0), np.zeros(1)

    def work(launch):
        launch(lambda array, unused: add(array, 1.0), 1, 1, total, here)

    assert "an array of the host's" in times_called(work, ())
    assert total.value == 4 and "recorded" not in launched


def test_where_there_is_no_gpu_each_launch_is_one_of_its_own():
    again = native_device().repeated(lambda launch: found.append(launch), ["no array"])
    found = []
    again(), again()
    assert len(found) == 2 and again.how == "one by one"


# ---------------------------------------------------------------- on a GPU


def both_ways(train):
    """What train(device) returns, launch by launch and recorded; it returns arrays and `how`."""
    device = cuda_device()
    (one_by_one, how), (recorded, how_recorded) = map(
        train, (device._replace(records=False), device)
    )
    assert (how, how_recorded) == ("one by one", "as a graph")
    return zip(one_by_one, recorded, strict=True)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", [Siren, FusedSiren])
def test_a_siren_recorded_has_the_same_bits(real_gpu, kind):
    def train(device):
        siren = kind(random(6, 9, 3), 1, 100, device)
        losses = []
        for step, rate in enumerate(RATES, 1):
            siren.train(step, rate)
            losses.append(siren.loss())
        picture = siren.paint(9, 6)
        siren.train(6)  # what was painted between disturbs nothing
        return (siren.parameters.copy_to_host(), losses, picture), siren.step_work.how

    assert all(np.array_equal(*pair) for pair in both_ways(train))


@pytest.mark.gpu
def test_a_written_siren_recorded_has_the_same_bits(real_gpu):
    def train(device):
        siren = WrittenSiren(random(6, 9, 3), 1, 100, device, 16, 2)
        begin = siren.parameters.copy_to_host()
        for _ in range(2):
            siren.begin_again(begin)
            for step, rate in enumerate(RATES, 1):
                siren.train(step, rate)
        return (siren.parameters.copy_to_host(), siren.loss()), siren.step_work.how

    assert all(np.array_equal(*pair) for pair in both_ways(train))


@pytest.mark.gpu
def test_inline_recorded_learns_the_same_but_for_rounding(real_gpu):
    """Its sums are atomic, in any order; and Adam turns a gradient near zero into a whole step."""

    def train(device):
        arrays = make_arrays(random(20, 37, 3), 1, device.to_device)
        learner = LearningSteps(Stages(), arrays, device)
        for step, rate in enumerate(RATES, 1):
            learner.train(step, rate)
        losses = arrays.loss_sum.copy_to_host(), arrays.parameters.copy_to_host()
        return losses, learner.step_work.how

    (loss, recorded_loss), (parameters, recorded) = both_ways(train)
    assert recorded_loss == pytest.approx(loss, rel=1e-4)
    assert np.mean(np.abs(parameters - recorded) > 1e-5) < 0.05


@pytest.mark.gpu
def test_epochs_recorded_have_the_same_bits(real_gpu):
    images, labels = random(70, 11), np.arange(70, dtype=np.int32) % 5

    def train(device):
        parameters = classifier.initial_parameters(11, 19, 5, 1)
        network = classifier.new_network(parameters, 19, 5, 32, device.to_device)
        part = device.to_device(images), device.to_device(labels), device.empty(70)
        epoch = device.repeated(
            lambda launch: train_epoch(*part, network, 32, 0.01, launch), [network.parameters]
        )
        for _ in range(4):
            epoch()
        return (network.parameters.copy_to_host(), part[2].copy_to_host()), epoch.how

    assert all(np.array_equal(*pair) for pair in both_ways(train))


@pytest.mark.gpu
def test_what_the_host_does_between_launches_is_noticed(real_gpu):
    """Clearing an array by assignment is no launch, and so in no graph."""
    device = cuda_device()
    total, part = device.to_device(np.zeros(4, np.float32)), device.empty(4)

    def work(launch):
        part[:] = np.float32(0)
        launch(add_one, 1, 4, part)
        launch(add_to, 1, 4, part, total)

    again = device.repeated(work, [total])
    for _ in range(4):
        again()
    assert (total.copy_to_host() == 4).all()
    assert again.how == "one by one: as a graph it leaves other numbers"


@pytest.mark.gpu
def test_a_kernel_that_is_started_in_another_way_is_noticed(real_gpu):
    """It runs while the others are recorded, and never again."""
    device = cuda_device()
    total, count = (device.to_device(np.zeros(4, np.float32)) for _ in range(2))
    part = device.to_device(np.zeros(4, np.float32))

    def work(launch):
        launch(add_one, 1, 4, count)
        copy[1, 4](count, part)
        launch(add_to, 1, 4, part, total)

    again = device.repeated(work, [total, count])
    for _ in range(4):
        again()
    assert (total.copy_to_host() == 1 + 2 + 3 + 4).all()
    assert again.how == "one by one: as a graph it leaves other numbers"


@cuda.jit
def copy(array, target):
    target[cuda.grid(1)] = array[cuda.grid(1)]


@cuda.jit
def add_one(array):
    array[cuda.grid(1)] += np.float32(1)


@cuda.jit
def add_to(array, total):
    total[cuda.grid(1)] += array[cuda.grid(1)]
