"""The first minutes on a machine that is not as we expect: old Python, no home, a read-only disk.

Tests may run as root, whom no permission stops. So a file stands where a folder would be made: that
is in everybody's way.
"""

import ast
import ctypes
import io
import os
import runpy
import shutil
import subprocess
import sys
import threading
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from kernels.files.atomic import make_output_folder, unwritable
from kernels.plumbing import supported_python
from kernels.plumbing.errors import InputError
from kernels.plumbing.program import Interruption
from kernels.training import devices
from lessons import __main__ as lessons_tool
from lessons.course import doctor, progress
from lessons.grading.judge import worker_process, worker_start
from lessons.lab import example

ROOT = Path(__file__).resolve().parent.parent

# ---------------------------------------------------------------- Python, packages


def test_a_python_that_is_too_old_is_told_which_to_take():
    with pytest.raises(SystemExit, match=r"needs Python 3\.10 to 3\.15"):
        supported_python.require_supported_python((3, 9))


def test_a_python_that_is_too_new_is_told_and_may_go_on(capsys):
    supported_python.require_supported_python((3, 16))
    assert "made for Python 3.10 to 3.15" in capsys.readouterr().err
    supported_python.require_supported_python((3, 15))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "programs, prefix, has_pip, line",
    [
        ("", "base", True, "PYTHON -m venv .venv && VENV -m pip install -r CPU && VENV AGAIN"),
        ("", "base", False, "sudo apt install python3-venv && PYTHON -m venv .venv && VENV -m pip"),
        ("", "of a venv", False, "PYTHON -m pip install -r CPU && PYTHON AGAIN"),
        ("nvidia-smi", "base", True, "VENV -m pip install -r GPU && VENV AGAIN"),
        ("uv", "base", True, "uv run --no-project --with-requirements CPU python AGAIN"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="PowerShell is told otherwise")
def test_missing_packages_are_one_line_that_can_be_typed(
    monkeypatch, programs, prefix, has_pip, line
):
    found = {"ensurepip": has_pip or None, "numpy": None, "numba": True}
    monkeypatch.setattr(supported_python.importlib.util, "find_spec", found.get)
    monkeypatch.setattr(
        supported_python.shutil, "which", lambda name: name if name == programs else None
    )
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "base_prefix", "base")
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(sys, "orig_argv", ["python3", "train.py", "my photo.jpg"])
    words = {"PYTHON": sys.executable, "VENV": ".venv/bin/python", "CPU": "requirements-cpu.txt"}
    words |= {"GPU": "requirements.txt", "AGAIN": "train.py 'my photo.jpg'"}
    for word, text in words.items():
        line = line.replace(word, text)
    with pytest.raises(SystemExit) as ended:
        supported_python.require_packages(["numpy", "numba"])
    told = str(ended.value)
    assert told.startswith("error: not installed: numpy. Type: ") and line in told
    assert "\n" not in told


def test_without_packages_each_command_says_what_to_type():
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for command in (["train.py"], ["-m", "lessons", "check", "1"], ["lessons"]):
        command = [sys.executable, "-S", *command]  # which leaves packages alone
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert run.returncode == 1 and run.stderr.count("\n") == 1, run.stderr
        assert run.stderr.startswith("error: not installed: numpy, numba")


def test_a_test_that_touches_the_users_files_is_noticed(request):
    touched = request.getfixturevalue("touches_nothing_of_the_users")
    for name in ("runs/lake/run.json", "playground.py", "lessons/.progress.json"):
        with pytest.raises(OSError):
            open(ROOT / name / "not there")
    with pytest.raises(FileNotFoundError):
        os.listdir(ROOT / "runs" / "not there")
    assert len(touched) == 4
    touched.clear()


@pytest.mark.parametrize("name", ["train.py", "lessons/__main__.py"])
def test_the_command_lines_ask_for_the_python_before_anything_else_of_ours(name):
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    ours = [node for node in imports if not is_of_the_standard_library(node)]
    first = min(ours, key=lambda node: node.lineno)
    assert (
        isinstance(first, ast.Import) and first.names[0].name == "kernels.plumbing.supported_python"
    )


def is_of_the_standard_library(node):
    module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
    return module.partition(".")[0] in sys.stdlib_module_names


def test_an_old_python_can_read_what_tells_it():
    for name in (
        "kernels/__init__.py",
        "lessons/__init__.py",
        "kernels/plumbing/__init__.py",
        "kernels/plumbing/supported_python.py",
    ):
        ast.parse((ROOT / name).read_text(encoding="utf-8"), feature_version=(3, 6))


def test_a_gpu_without_its_packages_is_told(monkeypatch):
    monkeypatch.setattr(devices, "driver_finds_a_gpu", lambda: True)
    monkeypatch.setattr(devices.importlib.util, "find_spec", lambda name: None)
    assert "pip install -r requirements.txt" in devices.missing_gpu_packages()
    monkeypatch.setattr(devices.importlib.util, "find_spec", lambda name: object())
    assert devices.missing_gpu_packages() is None


def test_a_driver_that_is_missing_or_fails_is_no_gpu(monkeypatch):
    class Broken:
        def cuInit(self, flags):
            return 999

    def missing(name):
        raise OSError

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert not devices.driver_finds_a_gpu()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Broken())
    assert not devices.driver_finds_a_gpu()


def test_doctor_marks_a_gpu_without_its_packages(monkeypatch):
    monkeypatch.setattr(doctor, "ASK_FOR_GPU", f"print({devices.NO_PACKAGES!r})")
    finding = doctor.examine_gpu()
    assert not finding.ok and "requirements.txt" in finding.text


# ---------------------------------------------------------------- nowhere to write


def test_without_a_folder_for_it_compiled_code_is_not_kept(tmp_path):
    """In a copy where each folder that Numba or we would take has a file in its place."""
    copy_of_kernels(tmp_path)
    # Numba looks for a folder as soon as a function is decorated.
    code = "from kernels.cpu import step, compile; assert not compile.KEEP"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=homeless(tmp_path), check=True)


def copy_of_kernels(folder):
    shutil.copytree(
        ROOT / "kernels", folder / "kernels", ignore=shutil.ignore_patterns("__pycache__")
    )
    for package in [folder / "kernels", folder / "kernels" / "cpu"]:
        (package / "__pycache__").write_bytes(b"")
    (folder / "no-home").write_bytes(b"")


def homeless(folder):
    """The environment of a user whose home is no folder."""
    left_out = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "USERPROFILE")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    home = str(folder / "no-home")
    return {**environment, "HOME": home, "USERPROFILE": home, "LOCALAPPDATA": home}


def test_a_folder_that_may_not_be_written_names_the_option():
    assert "--out" in str(unwritable("runs/lake", PermissionError(13, "Permission denied")))


def test_a_file_in_the_way_of_runs_ends_in_a_line(tmp_path):
    (tmp_path / "runs").write_bytes(b"")
    with pytest.raises(InputError, match="--out"):
        make_output_folder(tmp_path / "runs" / "lake")


def test_hints_and_grades_do_without_a_progress_file(tmp_path, monkeypatch, capsys):
    (tmp_path / "lessons").write_bytes(b"")
    monkeypatch.setattr(progress, "PROGRESS", tmp_path / "lessons" / ".progress.json")
    assert lessons_tool.main(["hint", "1"]) == 0
    said = capsys.readouterr()
    assert "hint 1 of 3" in said.out
    assert said.err.startswith("your progress is not kept") and said.err.count("\n") == 1


def test_a_check_without_a_temporary_folder_ends_in_a_line(monkeypatch):
    def nowhere(prefix):
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(worker_start.tempfile, "mkdtemp", nowhere)
    with pytest.raises(InputError, match="set TMPDIR"):
        worker_process.WorkerProcess()


def test_the_example_of_the_lab_does_without_its_picture(tmp_path, monkeypatch, capsys):
    (tmp_path / "runs").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["example"])
    example.main()
    said = capsys.readouterr().out
    assert "turn_around: no problem found" in said and "no picture: cannot write" in said


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pipe whose reader is gone")
def test_the_example_of_the_lab_may_be_read_to_its_first_line_only(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "lessons.lab.example", str(tmp_path / "picture.png")]
    run = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (run.returncode, run.stderr) == (0, "")


# ---------------------------------------------------------------- in a notebook


def test_train_prints_into_a_notebook(monkeypatch):
    """What a notebook puts in the place of standard output cannot be reconfigured."""
    monkeypatch.setattr(sys, "argv", ["train.py", "--help"])
    with redirect_stdout(io.StringIO()) as said, pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "train.py"), run_name="__main__")
    assert not ended.value.code and "--steps" in said.getvalue()


def test_a_run_beside_the_main_thread_does_not_ask_for_signals():
    problems = []

    def train():
        try:
            with Interruption() as interrupted:
                assert not interrupted()
        except ValueError as error:
            problems.append(error)

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert problems == []


@pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal is of POSIX")
def test_a_terminal_that_does_not_tell_its_size_shows_the_progress():
    """Such a terminal has 0 columns: in a container, or under `script`."""
    import pty

    code = (
        "from kernels.training.waiting import training_bar;"
        "bar = training_bar(0, 2, quiet=False); bar.update(2); bar.close()"
    )
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, "-c", code])
    shown = b""
    with os.fdopen(terminal, "rb", buffering=0) as screen:
        while chunk := read_or_end(screen):
            shown += chunk
    assert os.waitpid(process, 0)[1] == 0
    assert b"training: 100%" in shown


def read_or_end(screen):
    """What a pseudo-terminal shows next; nothing at its end, where Linux raises an error."""
    try:
        return screen.read(4096)
    except OSError:
        return b""
