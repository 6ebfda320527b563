"""One warm process for all tests of grading: a worker that is forked from it starts in no time."""

import pytest

from lessons.grading.judge.warm_workers import WarmWorkers


@pytest.fixture(scope="session")
def warm():
    """`WarmWorkers`; where they cannot be (see there), their pools give fresh workers."""
    workers = WarmWorkers()
    workers.warm_up()
    yield workers
    workers.stop()


@pytest.fixture(scope="session")
def forks(warm):
    """The same, for tests of the forks themselves."""
    if warm.socket is None:
        pytest.skip("workers are not forked here: no Linux, or there is a GPU")
    return warm
