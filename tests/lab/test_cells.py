"""Kernels that are written in a notebook: both engines run them, and messages name the cell."""

import base64
import linecache
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from lessons.lab import checked_run, native
from lessons.lab.source import file_label
from tests.lab.helpers import HAS_NUMBA_CUDA

ROOT = Path(__file__).resolve().parents[2]
IN_A_TERMINAL = "<ipython-input-5-06d831702804>"
IN_A_NOTEBOOK = "/tmp/ipykernel_27200/4208225315.py"

CELL = """from numba import cuda, float32


@cuda.jit(device=True)
def brighter(value):
    return value + float32(0.1)


@cuda.jit
def brighten(values, result):
    i = cuda.grid(1)
    result[i] = brighter(values[i])


@cuda.jit
def misspelt(values, result):
    i = cuda.grid(1)
    result[i] = bright(values[i])
"""


@pytest.fixture(params=[IN_A_TERMINAL, IN_A_NOTEBOOK])
def cell(request):
    """The names that a cell defines, after IPython has run it under one of its file names."""
    filename = request.param
    linecache.cache[filename] = (len(CELL), None, CELL.splitlines(keepends=True), filename)
    names = {"__name__": "__main__"}
    exec(compile(CELL, filename, "exec"), names)
    yield names
    linecache.cache.pop(filename, None)


@pytest.fixture
def jupyter(monkeypatch):
    """IPython as Jupyter runs it, so far as it is asked: the cell of a file is its third."""
    compiler = types.SimpleNamespace(
        format_code_name=lambda name: ("Cell", "In[3]") if name == IN_A_NOTEBOOK else None
    )
    shell = types.SimpleNamespace(compile=compiler)
    module = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", module)


def arrays(items):
    return np.linspace(0, 1, items, dtype=np.float32), np.zeros(items, np.float32)


def test_the_simulator_runs_a_cell_and_counts_lines_from_its_top(cell):
    assert checked_run(cell["brighten"], 1, 8, *arrays(8)).ok
    report = checked_run(cell["brighten"], 1, 8, *arrays(5))
    assert {finding.line for finding in report.findings if not finding.advice} == {12}


def test_the_native_engine_runs_a_cell(cell):
    values, result = arrays(8)
    native(cell["brighten"])[1, 8](values, result)
    np.testing.assert_allclose(result, values + np.float32(0.1))


@pytest.mark.slow
def test_a_wrong_index_names_the_cell(cell, jupyter):
    with pytest.raises(IndexError, match=r"^cell [35], line 12: index 5 of "):
        native(cell["brighten"])[1, 8](*arrays(5))


def test_what_does_not_compile_names_the_cell(cell, jupyter):
    with pytest.raises(Exception, match=r"^cell [35].*bright"):
        native(cell["misspelt"])[1, 8](*arrays(8))


def test_labels_of_files_and_cells(jupyter):
    assert file_label(str(Path("lessons", "01_grayscale", "exercise.py"))) == "exercise.py"
    assert file_label(IN_A_NOTEBOOK) == "cell 3"
    assert file_label(IN_A_TERMINAL) == "cell 5"
    assert file_label("/tmp/ipykernel_1/99.py") == "a cell of this notebook"


def test_labels_need_no_ipython(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert file_label(IN_A_NOTEBOOK) == "a cell of this notebook"
    assert file_label("exercise.py") == "exercise.py"
    assert "IPython" not in sys.modules


# ---------------------------------------------------------------- a report below a cell


def test_a_report_shows_findings_table_and_picture(cell):
    report = checked_run(cell["brighten"], 1, 8, *arrays(8), record=True)
    shown = report._repr_html_()
    assert shown.startswith("<p><b>brighten: no problem found")
    assert ("numba-cuda is not installed" in shown) != HAS_NUMBA_CUDA
    assert "result[i] = brighter(values[i])" in shown
    picture = base64.b64decode(shown.rpartition("base64,")[2].partition('"')[0])
    assert picture.startswith(b"\x89PNG")


def test_a_report_of_mistakes_shows_them_as_text(cell):
    report = checked_run(cell["brighten"], 1, 8, *arrays(5))
    shown = report._repr_html_()
    assert "<b>line 12: out-of-bounds</b>" in shown and "<img" not in shown
    assert "i &gt;= n" in shown and "i >= n" not in shown


@pytest.mark.slow
def test_without_a_picture_pillow_is_not_loaded():
    code = (
        "import numpy as np, sys; from lessons.lab import checked_run; from numba import cuda\n"
        "from kernels.image_ops import grayscale\n"
        "image, gray = np.zeros((3, 3, 3), np.float32), np.zeros((3, 3), np.float32)\n"
        "assert checked_run(grayscale, 1, (4, 4), image, gray)._repr_html_()\n"
        "assert 'PIL' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
