"""The replay in a browser: its own logic, and pages of kernels with every kind of finding."""

import html
import re
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32

from lessons.lab import checked_run
from lessons.lab.simulator.replay.page import replay_page
from tests.lab.browser import VIEWS, browser, dump_dom
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


def page_of(name, folder):
    path = folder / f"{name}.html"
    kernel, grid, block, *arrays = RUNS[name]
    checked_run(kernel, grid, block, *(array.copy() for array in arrays), record=True).html(path)
    return path


def text_of(dom, identity):
    """The text of the element with this id, which holds no other element."""
    found = re.search(rf'id="{identity}"[^>]*>([^<]*)<', dom)
    return html.unescape(found[1]) if found else None


@pytest.mark.slow
def test_the_page_moves_in_a_browser_as_it_is_written(tmp_path):
    dom = dump_dom(page_of("race", tmp_path), tmp_path)
    assert text_of(dom, "words").endswith("8 threads read tile (shared memory).")
    assert "Nothing puts them in order" in text_of(dom, "here")
    assert text_of(dom, "step") == "Step 3 of 4"


def page_with_self_test(name, folder):
    """A page that tests itself, without the policy that forbids other scripts than its own."""
    page = page_of(name, folder)
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text("utf-8"))
    assert text != page.read_text("utf-8")
    errors = "<script>window.onerror = (m) => { document.title = 'ERROR ' + m; };</script>"
    test = SELF_TEST.read_text(encoding="utf-8")
    text = text.replace("<head>", f"<head>{errors}").replace(
        "</body>", f"<script>{test}</script></body>"
    )
    page.write_text(text, encoding="utf-8")
    return page


def results_of(name, folder):
    dom = dump_dom(page_with_self_test(name, folder), folder)
    assert "ERROR" not in re.search("<title>(.*?)</title>", dom, re.S)[1]
    results = text_of(dom, "results").splitlines()
    assert len(results) > 60
    return [line for line in results if not line.startswith("ok: ")]


@pytest.mark.slow
def test_stepping_colours_and_memory_are_right(tmp_path):
    assert results_of("race", tmp_path) == []


@pytest.mark.each(3)
@pytest.mark.parametrize("name", sorted(set(RUNS) - {"race"}))
def test_a_page_of_every_kind_works(tmp_path, name):
    assert results_of(name, tmp_path) == []
    if name == "compile":
        dom = dump_dom(page_of(name, tmp_path), tmp_path)
        assert "injected" in dom and not re.search("<b id=.?injected", dom)


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
def test_two_dimensions_fit_a_phone_and_use_a_desk(wide_page, tmp_path):
    with browser(tmp_path) as window:
        for view in VIEWS:
            window.open(wide_page.as_uri(), *view)
            for cells in ("thread", "value"):
                window.run(f"window.replay.set('cells', '{cells}')")
                assert window.audit(wide_page.as_uri()) == [], (view, cells)
                found = window.run(LAID_OUT)
                assert found["badges"] and not found["covered"] and found["inReach"], (view, cells)
            assert (found["besides"] > 0) == (view[0] > 1000), view


@pytest.mark.slow
def test_a_link_leads_to_a_step_and_the_address_follows(wide_page, tmp_path):
    step = "document.getElementById('step').textContent"
    with browser(tmp_path) as window:
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
def test_data_of_any_kind_never_becomes_html(tmp_path):
    evil = '</script><img src=x onerror=\\"document.title=1\\"><!--'
    run = turn_around_too_early, 1, 8, floats(8), floats(8)
    report = checked_run(*run, record=True)
    data = report.replay_data().replace("tile", evil).replace("turn_around_too_early", evil)
    page = tmp_path / "evil.html"
    page.write_text(replay_page(data), encoding="utf-8")
    dom = dump_dom(page, tmp_path)
    assert "<img" not in dom and text_of(dom, "step") == "Step 3 of 4"
