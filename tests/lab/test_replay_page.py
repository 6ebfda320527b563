"""The replay in a browser: its own logic, and pages of kernels with every kind of finding."""

import re
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32

from lessons.lab import checked_run
from lessons.lab.simulator.replay.page import replay_page
from tests.lab.browser import VIEWS, browser
from tests.lab.helpers import block_sum, floats, no_guard, three_dimensions

SELF_TEST = Path(__file__).with_name("replay_selftest.js")


@cuda.jit
def turn_around_too_early(values, result):
    tile = cuda.shared.array(8, float32)
    thread = cuda.threadIdx.x
    tile[thread] = values[thread]
    result[thread] = tile[7 - thread]


@cuda.jit
def barrier_in_a_branch(values):
    i = cuda.grid(1)
    if i < values.shape[0]:
        values[i] += float32(1)
        cuda.syncthreads()


@cuda.jit
def local_sums(values):
    mine = cuda.local.array(3, float32)
    i = cuda.grid(1)
    for k in range(3):
        mine[k] = values[i] * float32(k)
    values[i] = mine[2]


@cuda.jit
def not_for_a_gpu(values):
    words = {"</script><b id=injected>": 1}
    values[0] = words


@cuda.jit
def touches_nothing(values):
    cuda.syncthreads()


RUNS = {
    "race": (turn_around_too_early, 1, 8, floats(8), floats(8)),
    "outside": (no_guard, 2, 8, floats(13), floats(13)),
    "barrier": (barrier_in_a_branch, 2, 40, floats(70)),
    "three dimensions": (three_dimensions, (2, 2, 2), (4, 2, 2), floats(3, 4, 8)),
    "sum": (block_sum, 3, 64, floats(150), np.zeros(1, np.float32)),
    "local": (local_sums, 2, 48, floats(96)),
    "compile": (not_for_a_gpu, 1, 8, floats(8)),
    "nothing": (touches_nothing, 1, 8, floats(8)),
    "large": (no_guard, 700, 256, floats(700 * 256 - 5), floats(700 * 256 - 5)),
}


@pytest.fixture
def window(tmp_path):
    with browser(tmp_path) as found:
        yield found
        assert found.problems == []


def show(window, name, folder):
    """Open the page of a run."""
    path = folder / f"{name}.html"
    kernel, grid, block, *arrays = RUNS[name]
    checked_run(kernel, grid, block, *(array.copy() for array in arrays), record=True).html(path)
    window.open(path.as_uri())


def text_of(window, identity):
    return window.run(f"document.getElementById('{identity}').textContent")


@pytest.mark.slow
def test_the_page_moves_in_a_browser_as_it_is_written(window, tmp_path):
    show(window, "race", tmp_path)
    assert text_of(window, "words").endswith("8 threads read tile (shared memory).")
    assert "Nothing puts them in order" in text_of(window, "here")
    assert text_of(window, "step") == "Step 3 of 4"
    assert results_of(window) == []


def results_of(window):
    """What is wrong with stepping, colours and memory on the page that is open."""
    window.run(SELF_TEST.read_text(encoding="utf-8"))
    results = text_of(window, "results").splitlines()
    assert len(results) > 60
    return [line for line in results if not line.startswith("ok: ")]


@pytest.mark.each(3)
@pytest.mark.parametrize("name", sorted(set(RUNS) - {"race"}))
def test_a_page_of_every_kind_works(window, tmp_path, name):
    show(window, name, tmp_path)
    assert "injected" in window.run("document.body.textContent") or name != "compile"
    assert window.run("document.querySelector('#injected')") is None
    assert results_of(window) == []


@cuda.jit
def transposed(a, b, sums, c):
    """2-D arrays of several widths, and long lines with a badge."""
    column, row = cuda.grid(2)
    tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[x, y] = a[row, column]
    if row < c.shape[0] and column < c.shape[1]:
        total = tile[y, x] * float32(2) + tile[x, y] * float32(3) + a[row, column]
        c[row, column] = total + b[0, 0] + sums[y % 4]
    b[y % 4, x % 4] = float32(1)


@pytest.fixture(scope="module")
def wide_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("wide") / "page.html"
    arrays = floats(32, 70), floats(4, 4), floats(4), floats(32, 70)
    checked_run(transposed, (2, 1), (32, 32), *arrays, record=True).html(path)
    return path


LAID_OUT = """(() => {
  const boxes = [...document.querySelectorAll(".array")].map((one) => one.getBoundingClientRect());
  const covered = [...document.querySelectorAll("#source li")].filter((row) => {
    const badge = row.querySelector(".badge:not(.none)"), words = document.createRange();
    words.selectNodeContents(row.querySelector("code"));
    return badge && badge.getBoundingClientRect().left < words.getBoundingClientRect().right - 1;
  });
  const footer = document.getElementById("transport").getBoundingClientRect();
  return {
    besides: boxes.filter((box, i) => i && box.top < boxes[i - 1].bottom - 1).length,
    badges: document.querySelectorAll("#source .badge:not(.none)").length,
    covered: covered.length, inReach: footer.bottom <= innerHeight && footer.right <= innerWidth,
  };
})()"""


@pytest.mark.slow
def test_two_dimensions_fit_a_phone_and_use_a_desk(wide_page, window):
    for view in VIEWS:
        window.open(wide_page.as_uri(), *view)
        for cells in ("thread", "value"):
            window.run(f"window.replay.set('cells', '{cells}')")
            assert window.audit(wide_page.as_uri()) == [], (view, cells)
            found = window.run(LAID_OUT)
            assert found["badges"] and not found["covered"] and found["inReach"], (view, cells)
        assert (found["besides"] > 0) == (view[0] > 1000), view


@pytest.mark.slow
def test_a_link_leads_to_a_step_and_the_address_follows(wide_page, window):
    step = "document.getElementById('step').textContent"
    window.open(wide_page.as_uri() + "#step=3")
    assert window.run(step).startswith("Step 3 of ")
    window.press("ArrowRight", 39)
    assert window.run("location.hash") == "#step=4"
    on_change = f"onhashchange = () => done({step}); location.hash = 'step=2'"
    told = window.run(f"new Promise((done) => {{ {on_change}; }})")
    assert told.startswith("Step 2 of ")
    window.open(wide_page.as_uri() + "#step=9999")
    first, last = re.findall(r"\d+", window.run(step))
    assert first == last


@pytest.mark.slow
def test_data_of_any_kind_never_becomes_html(window, tmp_path):
    evil = '</script><img src=x onerror=\\"document.title=1\\"><!--'
    run = turn_around_too_early, 1, 8, floats(8), floats(8)
    report = checked_run(*run, record=True)
    data = report.replay_data().replace("tile", evil).replace("turn_around_too_early", evil)
    page = tmp_path / "evil.html"
    page.write_text(replay_page(data), encoding="utf-8")
    window.open(page.as_uri())
    assert window.run("document.images.length") == 0 and text_of(window, "step") == "Step 3 of 4"
