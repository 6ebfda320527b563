"""One test suite, two places to run it.

`pytest` needs no GPU: kernels run in Numba's CUDA simulator. `pytest -m gpu --require-gpu` runs the
tests marked `gpu` on a real GPU, and fails at once, rather than skip in silence, if there is none.
"""

import os

import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--require-gpu", action="store_true", help="run kernels on a GPU; fail if there is none"
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: runs kernels, in the simulator or on a GPU")
    if not config.getoption("--require-gpu"):
        # Numba reads this when it is first imported, which no test module has done yet.
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
        return

    os.environ.pop("NUMBA_ENABLE_CUDASIM", None)
    from kernels.backends import why_no_gpu

    obstacle = why_no_gpu()
    if obstacle:
        raise pytest.UsageError(f"--require-gpu: {obstacle}")


@pytest.fixture
def real_gpu(request):
    """Skips, visibly, the tests that mean nothing in a simulator."""
    if not request.config.getoption("--require-gpu"):
        pytest.skip("needs a GPU: pytest -m gpu --require-gpu")
