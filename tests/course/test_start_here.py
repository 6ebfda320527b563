"""lessons/start_here.ipynb: lesson 1 as a notebook, which runs from top to bottom anywhere."""

import ast
import importlib.util
import json
import linecache
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.plumbing.errors import InputError
from lessons import notebook
from lessons.course import progress
from lessons.course.exercises import SourceFile, exercise_text, solution_text
from lessons.course.lesson import find_lesson

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "lessons" / "start_here.ipynb"
RUN_CELLS = Path(__file__).parent / "run_cells.py"
LARGEST = 300_000  # bytes: it is opened over the web

needs_jupyter = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("nbclient", "ipykernel"))),
    reason="needs Jupyter: python -m pip install nbclient ipykernel",
)


@pytest.fixture
def project(tmp_path):
    """A copy of what the notebook needs, with an exercise in which nothing is written."""
    leave_out = shutil.ignore_patterns("__pycache__", ".*", "*.bak-*")
    for folder in ("kernels", "lessons"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=leave_out)
    (tmp_path / "images").mkdir()
    shutil.copy(ROOT / "images" / "lake.png", tmp_path / "images")
    exercise = tmp_path / "lessons" / "01_grayscale" / "exercise.py"
    exercise.write_text(exercise_text(find_lesson(1)), encoding="utf-8")
    return tmp_path


def cells_of(path, kind):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == kind]


def exercise_cell(cells):
    """The cell that the student completes."""
    (found,) = [cell for cell in cells if "def luminance" in "".join(cell["source"])]
    return found


def run_all(project):
    """Run the notebook in a process of its own: what each code cell shows, and what it prints."""
    path = project / "lessons" / NOTEBOOK.name
    process = subprocess.run(
        [sys.executable, RUN_CELLS, path, project / "shown.json"],
        cwd=path.parent, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return json.loads((project / "shown.json").read_text(encoding="utf-8")), process.stdout


def write_solution(project):
    """Put our own functions into the cell that the student completes."""
    path = project / "lessons" / NOTEBOOK.name
    content = json.loads(path.read_text(encoding="utf-8"))
    solution = SourceFile(solution_text(find_lesson(1)), None)
    functions = [solution.text_of(solution.functions[name]) for name in find_lesson(1).blank]
    imports = "from numba import cuda, float32\nfrom numba.extending import register_jitable"
    exercise_cell(content["cells"])["source"] = "\n\n\n".join([imports, *functions])
    path.write_text(json.dumps(content), encoding="utf-8")


# ---------------------------------------------------------------- the whole notebook


@pytest.mark.slow
def test_it_runs_from_top_to_bottom_with_nothing_written(project):
    shown, printed = run_all(project)
    texts = [cell["text"] for cell in shown]
    stored = [stored_text(cell) for cell in cells_of(NOTEBOOK, "code")]
    again = "what it shows has changed: run all cells of the notebook, and save it"
    for now, then in zip(texts, stored, strict=True):
        assert now == then or not then or "Image" in then, again
    (first,) = [cell for cell in shown if cell["text"].startswith("brighten: ")]
    assert "brighten: no problem found" in first["text"] and "data:image/png" in first["html"]
    (second,) = [text for text in texts if text.startswith("brighten_all: ")]
    assert "line 4: out-of-bounds: values[13] is outside its shape (13,)" in second
    assert any(text.startswith("Still to write: luminance and grayscale.") for text in texts)
    assert printed.startswith("Ready.") and "0 of 100 points" in printed


def stored_text(cell):
    results = [output for output in cell["outputs"] if output["output_type"] == "execute_result"]
    return "".join(results[0]["data"]["text/plain"]) if results else ""


@pytest.mark.slow
def test_a_cell_that_fails_is_noticed(project):
    path = project / "lessons" / NOTEBOOK.name
    cells = [{"cell_type": "code", "source": [text]} for text in ("x = 1", "x / 0")]
    path.write_text(json.dumps({"cells": cells}))
    with pytest.raises(AssertionError, match="<cell 2>"):
        run_all(project)


@pytest.mark.slow
def test_a_right_cell_passes_is_kept_and_makes_the_lake_gray(project):
    write_solution(project)
    shown, printed = run_all(project)
    (grade,) = [cell["text"] for cell in shown if cell["text"].startswith("Lesson 1: ")]
    assert "10 of 10 points" in grade and "saved as lessons" in grade
    assert "PIL.Image" in shown[-2]["text"]
    assert "10 of 100 points" in printed and "-> " in printed.splitlines()[2]
    exercise = project / "lessons" / "01_grayscale" / "exercise.py"
    assert "write me" not in exercise.read_text(encoding="utf-8")


@needs_jupyter
def test_it_runs_in_jupyter(project):
    import nbclient
    import nbformat

    path = project / "lessons" / NOTEBOOK.name
    content = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(content, timeout=300, resources=resources).execute()
    shown = [
        cell.outputs[-1] for cell in content.cells if cell.cell_type == "code" and cell.outputs
    ]
    reports = [output for output in shown if "html" in str(output.get("data"))]
    assert "data:image/png" in reports[0]["data"]["text/html"]
    assert "Still to write" in reports[2]["data"]["text/plain"]


# ---------------------------------------------------------------- what is stored


def test_the_exercise_in_it_is_that_of_the_lesson():
    lesson = find_lesson(1)
    expected = SourceFile(exercise_text(lesson), None)
    here = SourceFile("".join(exercise_cell(cells_of(NOTEBOOK, "code"))["source"]), None)
    assert list(here.functions) == lesson.blank
    for name in lesson.blank:
        assert here.text_of(here.functions[name]) == expected.text_of(expected.functions[name])


def test_it_is_small_and_tells_nothing_of_the_machine_it_was_made_on():
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < LARGEST
    folders = [f"/{name}/" for name in ("home", "tmp", "root")]
    for trace in (*folders, "ipykernel", "Traceback", "Users"):
        assert trace not in text, trace


def test_what_it_links_and_names_is_there():
    text = "".join("".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text())["cells"])
    for name in (
        "requirements-cpu.txt", "images/lake.png", "train.py",
        "lessons/01_grayscale/README.md", "lessons/02_resample/README.md",
    ):  # fmt: skip
        assert name in text and (ROOT / name).exists(), name


# ---------------------------------------------------------------- a cell as an exercise

CELL = '''import time

from numba import cuda, float32
from numba.extending import register_jitable

print("an experiment")


@register_jitable
def luminance(red, green, blue):
    return float32(0.2126) * red + float32(0.7152) * green + float32(0.0722) * blue


listing = get_ipython().run_line_magic("ls", "")
time.sleep(1)


@cuda.jit
def grayscale(image, gray):
    """A docstring."""
    x, y = cuda.grid(2)
'''


def test_experiments_are_left_out_and_no_line_moves():
    kept = notebook.definitions(CELL).splitlines()
    for number, line in enumerate(CELL.splitlines()):
        experiment = line.startswith(("print", "listing", "time.sleep"))
        assert kept[number] == ("" if experiment else line)


def test_what_the_exercise_holds_besides_is_added_below():
    text = notebook.completed(notebook.definitions(CELL), find_lesson(1))
    assert text.startswith("import time\n")
    functions = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert functions == ["luminance", "grayscale", "launch_over_pixels"]
    assert text.count("from numba import cuda") == 1 and "from kernels.config import TILE" in text


def made_in(filename, text):
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = {}
    exec(compile(text, filename, "exec"), names)
    return names


def test_functions_must_stand_in_one_cell_with_a_text():
    one = made_in("<cell A>", "def luminance(red, green, blue):\n    return red\n")
    other = made_in("<cell B>", "def grayscale(image, gray):\n    pass\n")
    with pytest.raises(InputError, match="in one cell"):
        notebook.check_cell(1, one["luminance"], other["grayscale"])
    linecache.cache.pop("<cell A>")
    with pytest.raises(InputError, match="cannot be found"):
        notebook.check_cell(1, one["luminance"])


def test_nothing_written_is_told_without_a_grade():
    functions = made_in("<cell C>", exercise_text(find_lesson(1)))
    grade = notebook.check_cell(1, functions["luminance"], functions["grayscale"])
    assert not grade.passed and repr(grade).startswith("Still to write: luminance and grayscale.")
    assert "Still to write" in grade._repr_html_()


def test_other_work_is_not_overwritten(tmp_path, monkeypatch):
    monkeypatch.setattr(notebook, "ROOT", tmp_path)
    monkeypatch.setattr(progress, "PROGRESS", tmp_path / ".progress.json")
    lesson = find_lesson(1)._replace(folder=tmp_path)
    own = solution_text(lesson).replace("luminance", "brightness", 1)
    lesson.exercise.write_text(own, encoding="utf-8")
    assert "left as it is" in notebook.save(lesson, solution_text(lesson), [])
    assert lesson.exercise.read_text(encoding="utf-8") == own
    lesson.exercise.write_text(exercise_text(lesson), encoding="utf-8")
    assert "saved as exercise.py" in notebook.save(lesson, solution_text(lesson), [])
    assert lesson.exercise.read_text(encoding="utf-8") == solution_text(lesson)
