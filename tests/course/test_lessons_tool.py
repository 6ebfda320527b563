"""`python -m lessons`, the student's tool, tried on copies of lessons 1 and 8."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

from kernels.config import Config
from kernels.plumbing.errors import InputError
from kernels.state import initial_state
from lessons import __main__ as tool
from lessons import student_backend, student_functions, terminal
from lessons.course import doctor, index, progress
from lessons.course import lesson as lesson_files
from lessons.course.exercises import assemble, exercise_text, solution_text, unwritten
from lessons.course.lesson import LESSONS, ROOT, find_lesson

SAY = re.compile(r"python -m lessons predict (\w+) (\w+) NUMBER")
READMES_WITH_PREDICTIONS = [
    page for page in sorted(LESSONS.glob("[0-9]*/README.md")) if SAY.search(page.read_text("utf-8"))
]


@pytest.fixture
def course(tmp_path, monkeypatch):
    """Lessons 1 and 8 in a folder of their own, with nothing done yet."""
    for name in ("01_grayscale", "08_adam"):
        shutil.copytree(LESSONS / name, tmp_path / name, ignore=shutil.ignore_patterns("*.bak-*"))
    monkeypatch.setattr(lesson_files, "LESSONS", tmp_path)
    monkeypatch.setattr(progress, "PROGRESS", tmp_path / ".progress.json")
    for number in (1, 8):
        lesson = find_lesson(number)
        lesson.exercise.write_text(exercise_text(lesson), encoding="utf-8")
    yield tmp_path
    sys.modules.pop("exercise_of_lesson_8", None)  # `student_backend` imports it only once


def solve(number):
    lesson = find_lesson(number)
    lesson.exercise.write_text(solution_text(lesson), encoding="utf-8")


def solve_and_pass(number):
    """As after a `check` that went well, but without one."""
    solve(number)
    lesson = find_lesson(number)
    progress.CourseProgress().record(lesson, {check.name: check.points for check in lesson.checks})


def test_a_row_names_not_too_many_kernels():
    assert index.first_of(list("abcd")) == "a, b, c, d"
    assert index.first_of(list("abcdefg")) == "a, b, c and 4 more"


def test_status_shows_where_you_are_and_what_is_next(course, capsys):
    assert tool.main([]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("->  1   0 of 10  1.5 h  Grayscale              grayscale\n")
    assert "    8   0 of 10  2.5 h  Adam                   adam_weights, adam_grid\n" in printed
    assert "0 of 20 points; about 4 hours are left" in printed
    assert "python -m lessons check 1" in printed


@pytest.mark.slow
def test_check_gives_points_that_status_remembers(course, capsys):
    assert tool.main(["check"]) == 1
    assert "not written yet: luminance" in capsys.readouterr().out
    solve(8)
    assert tool.main(["check", "8", "--seed", "3"]) == 0
    assert "10 of 10 points" in capsys.readouterr().out
    tool.main([])
    assert "10 of 20 points; about 1.5 hours are left" in capsys.readouterr().out
    with open(find_lesson(8).exercise, "a") as file:
        file.write("\n# more\n")
    tool.main([])
    assert "changed since it was checked" in capsys.readouterr().out


def test_hints_say_more_each_time(course, capsys):
    hints = find_lesson(1).checks[0].hints
    for number in (1, 2, 3, 3):
        assert tool.main(["hint", "1"]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert f"hint {number} of 3" in printed
        assert hints[number - 1] in printed
    assert tool.main(["hint", "1", "every_pixel"]) == 0
    assert "hint 1 of 3" in capsys.readouterr().out


def test_reset_keeps_every_backup(course, capsys):
    lesson = find_lesson(1)
    for text in ("first work", "second work"):
        lesson.exercise.write_text(text)
        assert tool.main(["reset", "1"]) == 0
    assert lesson.exercise.read_text(encoding="utf-8") == exercise_text(lesson)
    assert (lesson.folder / "exercise.py.bak-1").read_text() == "first work"
    assert (lesson.folder / "exercise.py.bak-2").read_text() == "second work"


def test_solution_is_shown_only_after_passing(course, capsys):
    assert tool.main(["solution", "8"]) == 2
    assert "when yours has passed" in capsys.readouterr().err
    solve_and_pass(8)
    assert tool.main(["solution", "8"]) == 0
    assert capsys.readouterr().out == solution_text(find_lesson(8))
    with open(find_lesson(8).exercise, "a") as file:
        file.write("\n# changed\n")
    assert tool.main(["solution", "8"]) == 2


def test_a_teacher_gets_all_solutions_as_files(course, tmp_path, capsys):
    folder = tmp_path / "new" / "solutions"
    assert tool.main(["solution", "--all", "--to", str(folder)]) == 0
    assert {path.stem for path in folder.iterdir()} == {"01_grayscale", "08_adam"}
    adam = folder / "08_adam.py"
    assert adam.read_text(encoding="utf-8") == solution_text(find_lesson(8))
    adam.write_text("of somebody else", encoding="utf-8")
    assert tool.main(["solution", "8", "--to", str(folder)]) == 2
    assert "08_adam.py exists already" in capsys.readouterr().err
    assert adam.read_text(encoding="utf-8") == "of somebody else"
    assert tool.main(["solution", "1-8", "--to", str(folder), "--overwrite"]) == 0
    assert adam.read_text(encoding="utf-8") == solution_text(find_lesson(8))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [("", "or --all"), ("8 --all", "or --all"), ("--all", "--to"), ("8-1 --to x", "smaller")],
)
def test_solutions_that_cannot_be_meant(course, capsys, arguments, told):
    assert tool.main(["solution", *arguments.split()]) == 2
    assert told in capsys.readouterr().err


def test_watch_grades_again_after_a_change(course, monkeypatch):
    grades = []

    def grade(lesson, seed, only_first):
        assert only_first
        grades.append(lesson.exercise.read_text(encoding="utf-8"))
        if len(grades) == 2:
            raise KeyboardInterrupt
        threading.Timer(0.05, solve, [1]).start()

    monkeypatch.setattr(tool, "grade", grade)
    monkeypatch.setattr(tool, "POLL_SECONDS", 0.01)
    assert tool.main(["watch", "1"]) == 130
    assert len(grades) == 2 and grades[0] != grades[1]


class Pressed:
    """In place of `terminal.Keys`: keys that are pressed one after another."""

    readable = True

    def __init__(self, keys):
        self.keys = list(keys)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def pressed(self, seconds):
        return self.keys.pop(0)


def test_watch_has_keys_and_goes_on_to_the_next_lesson(course, monkeypatch, capsys):
    graded = []
    monkeypatch.setattr(tool, "grade", lambda lesson, *_, **__: graded.append(lesson.number))
    monkeypatch.setattr(tool.terminal, "Keys", lambda: Pressed(["", "h", "v", "x", "n", "", "q"]))
    assert tool.main(["watch", "1"]) == 0
    told = capsys.readouterr().out
    assert graded == ["1", "8"] and "hint 1 of 3" in told and "no pictures" in told
    assert "h hint, v view, n next lesson, q quit" in told


@pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal is of POSIX")
def test_a_single_key_is_told_and_the_terminal_given_back(monkeypatch):
    import pty
    import termios

    keyboard, terminal_side = pty.openpty()
    before = termios.tcgetattr(terminal_side)
    with os.fdopen(terminal_side) as stdin, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", stdin)
        with terminal.Keys() as keys:
            assert keys.readable and keys.pressed(0.01) == ""
            os.write(keyboard, b"N")
            assert keys.pressed(5) == "n"
        assert termios.tcgetattr(stdin.fileno()) == before
    os.close(keyboard)


def test_colours_are_where_they_are_wanted(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert terminal.is_coloured("auto") and not terminal.is_coloured("never")
    assert "\033[32m" in terminal.status_label("passed", "auto")
    assert "\033[31m" in terminal.status_label("timeout", "auto")
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.status_label("passed", "auto") == "passed  "
    assert terminal.is_coloured("always")
    monkeypatch.setenv("COLUMNS", "57")
    assert terminal.width() == 56
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert terminal.width() == 96 and "\033" in terminal.status_label("failed", "always")


def test_equal_failures_are_told_once():
    told = {}
    first = "launch(array (3, 4))\nencode is no kernel\nstuck?"
    assert tool.told_once(first, "grid", told) == first
    again = tool.told_once(first.replace("(3, 4)", "(7, 4)"), "waves", told)
    assert again == "launch(array (7, 4))\nthe rest is as above: grid"
    assert tool.told_once("another", "edges", told) == "another"
    assert tool.told_once("another", "corner", told) == "as above: edges"
    assert tool.told_once("", "a", told) == tool.told_once("", "b", told) == ""


def test_view_lists_the_pictures(course, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(tool, "PICTURES", tmp_path / "pictures")
    tool.main(["view", "1"])
    assert "no pictures: python -m lessons check 1" in capsys.readouterr().out
    folder = tmp_path / "pictures" / "01"
    folder.mkdir(parents=True)
    for suffix in ("png", "html"):
        (folder / f"every_pixel.{suffix}").write_bytes(b"")
    tool.main(["view", "1"])
    printed = capsys.readouterr().out
    assert "every_pixel.png" in printed and "every_pixel.html" in printed


@pytest.mark.slow
def test_doctor_names_what_is_missing_and_how_to_get_it(capsys, monkeypatch):
    assert tool.main(["doctor"]) == 0
    assert "everything needed is here" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "ASK_FOR_GPU", "print('not asked again')")
    monkeypatch.setitem(doctor.PACKAGES, "no-such-package", (True, "something"))
    assert tool.main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "NO  no-such-package" in printed and "pip install -r" in printed


@pytest.mark.parametrize(
    "answer, ok, text",
    [
        ("580.65.06", True, "580.65.06"),
        ("535.230.02", False, "535.230.02"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the driver", True, "none"),
        ("", True, "none found"),
    ],
)
def test_doctor_understands_what_the_driver_answers(monkeypatch, answer, ok, text):
    answered = subprocess.CompletedProcess((), 0, answer + "\n")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: answered)
    found = doctor.examine_driver()
    assert found.ok == ok and found.text.startswith(text)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["check", "77"], "there is no lesson 77"),
        (["check", "x"], "there is no lesson x; choose one of 1, 8"),
        (["dance"], "invalid choice"),
        (["hint"], "required"),
        (["hint", "1", "nothing"], "has no check"),
        (["check", "1", "--seed", "-4"], "must not be negative"),
    ],
)
def test_bad_input_gets_one_line(course, capsys, arguments, words):
    assert tool.main(arguments) == 2
    error = capsys.readouterr().err
    assert words in error and len(error.splitlines()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "{", "[]", "5", "null", "[" * 100_000, '{"grades": 5}', '{"grades": {"01_grayscale": 5}}',
        '{"grades": {"01_grayscale": {"checks": {"x": "y"}}}}', '{"hints": []}',
        '{"hints": {"01_grayscale": {"luminance": -9}}}', '{"grades": {"x": {"checks": []}}}',
    ],
)  # fmt: skip
def test_broken_progress_file_is_told(course, capsys, text):
    (course / ".progress.json").write_text(text)
    assert tool.main([]) == 2
    assert "give it another name to begin anew" in capsys.readouterr().err


@pytest.mark.slow
def test_it_runs_from_any_folder(tmp_path):
    command = [sys.executable, str(ROOT / "lessons"), "hint", "99"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.startswith("error: there is no lesson 99")


# ---------------------------------------------------------------- train.py --use


def backend_of(chosen):
    """The backend itself, with very little to train."""
    config = Config(batch=1, grid_width=1, grid_height=1, hidden=16, layers=1)
    return chosen.factory(np.zeros((1, 1, 3), np.float32), config, initial_state(config))


@pytest.mark.slow
def test_use_takes_what_is_written_and_fills_the_rest(course):
    solve(8)
    chosen = student_backend.student_backend("lessons:8", "native", force=False)
    stages = backend_of(chosen).stages
    assert stages.adam_grid.__module__ == "exercise_of_lesson_8"
    assert stages.backward.__module__ == "kernels.backward"
    assert "your lessons 8, the rest from kernels/" in chosen.explanation


@pytest.mark.parametrize(
    "use, words",
    [
        ("lessons:8", "lesson 8 is not written yet"),
        ("lessons", "none of the lessons"),
        ("lessons:5", "no part of a training step"),
        ("lessons:", "write --use lessons"),
        ("homework", "write --use lessons"),
    ],
)
def test_use_refuses_what_is_not_there(course, use, words):
    with pytest.raises(InputError, match=words):
        student_backend.student_backend(use, "native", force=True)


@pytest.mark.slow
def test_use_refuses_a_stage_that_fails_unless_forced(course):
    lesson = find_lesson(8)
    text = solution_text(lesson).replace("math.sqrt", "math.exp")
    assert text != solution_text(lesson)
    lesson.exercise.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="08_adam does not pass its check"):
        student_backend.student_backend("lessons:8", "native", force=False)
    chosen = student_backend.student_backend("lessons:8", "native", force=True)
    assert backend_of(chosen).stages.adam_grid.__module__ == "exercise_of_lesson_8"


@pytest.mark.parametrize("number", ["6", "7"])
def test_use_needs_no_warm_up(number, tmp_path):
    """Neither written nor passed: no training step is made of it."""
    lesson = find_lesson(number)._replace(folder=tmp_path)
    text = assemble(lesson, lesson.warm_ups)
    assert unwritten(text, lesson.blank) == lesson.warm_ups != []
    lesson.exercise.write_text(text, encoding="utf-8")
    assert student_functions.is_written(lesson)
    lesson.exercise.write_text(exercise_text(lesson), encoding="utf-8")
    assert not student_functions.is_written(lesson)
    checked = {name for check in lesson.main_checks for name in check.needs}
    assert checked == set(lesson.blank) - set(lesson.warm_ups)


def test_use_of_all_lessons_says_which_fails_and_takes_ours(course, monkeypatch):
    """One that fails is filled in; if none is left, there is nothing to train with."""
    fails = {}
    monkeypatch.setattr(student_backend, "failures_of", lambda chosen: dict(fails))
    monkeypatch.setattr(student_backend, "is_written", lambda lesson: lesson.number in "38")
    shutil.copytree(LESSONS / "03_sampler", course / "03_sampler")
    solve("3")
    solve("8")
    fails["8"] = "08_adam does not pass its check grid (race)"
    chosen = student_backend.student_backend("lessons", "native", force=False)
    first, second = chosen.explanation.splitlines()
    assert first.startswith("training with your lessons 3, the rest from kernels/ (lessons 4, 6")
    assert second == "not with yours: 08_adam does not pass its check grid (race)"
    stages = backend_of(chosen).stages
    assert stages.adam_grid.__module__ == "kernels.adam"
    assert stages.sample_batch.__module__ == "exercise_of_lesson_3"
    sys.modules.pop("exercise_of_lesson_3")
    fails["3"] = "03_sampler does not pass its check batch (wrong)"
    with pytest.raises(InputError, match="08_adam does not pass its check grid"):
        student_backend.student_backend("lessons", "native", force=False)


def test_use_does_not_grade_again_what_has_passed(course, monkeypatch):
    solve_and_pass(8)

    def refuse(*_, **__):
        raise AssertionError("graded again")

    monkeypatch.setattr(student_functions, "run_check", refuse)
    student_backend.student_backend("lessons:8", "native", force=False)
    with open(find_lesson(8).exercise, "a") as file:
        file.write("\n# changed\n")
    with pytest.raises(AssertionError, match="graded again"):
        student_backend.student_backend("lessons:8", "native", force=False)


@pytest.mark.slow
def test_a_prediction_is_kept_before_the_count_is_shown(course, capsys):
    (check,) = [one for one in find_lesson(1).checks if one.name == "one_thread_per_pixel"]
    assert tool.main(["predict", "1", check.name, "9"]) == 1  # nothing is written yet
    assert "your prediction of 9 is kept" in capsys.readouterr().out
    solve(1)
    for guess in ("8", "4"):
        assert tool.main(["predict", "1", check.name, guess]) == 0
    printed = capsys.readouterr().out
    assert "you said 8" in printed and "factors so far: " in printed
    kept = json.loads((course / ".progress.json").read_text())["predictions"]["01_grayscale"]
    assert [pair[0] for pair in kept[check.name]] == [9, 8, 4]
    assert [len(pair) for pair in kept[check.name]] == [1, 2, 2]


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "many"])
def test_a_prediction_is_a_number_above_zero(course, capsys, text):
    assert tool.main(["predict", "1", "one_thread_per_pixel", text]) == 2
    assert "a prediction is a number above 0" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("page", READMES_WITH_PREDICTIONS, ids=lambda page: page.parent.name)
def test_what_a_lesson_asks_to_foretell_is_counted(page, tmp_path, monkeypatch, capsys):
    shutil.copytree(page.parent, tmp_path / page.parent.name)
    monkeypatch.setattr(lesson_files, "LESSONS", tmp_path)
    monkeypatch.setattr(progress, "PROGRESS", tmp_path / ".progress.json")
    number, check = SAY.search(page.read_text(encoding="utf-8")).groups()
    solve(number)
    assert tool.main(["predict", number, check, "7"]) == 0
    assert "you said 7" in capsys.readouterr().out


# ---------------------------------------------------------------- a class that foretells


def hand_in(folder, student, *factors):
    """What a student has said of so many checks: each so many times too much, at first, then."""
    said = {f"check_{i}": [[n * first, n], [n * then, n]]
            for i, (first, then) in enumerate(factors) for n in [3]}  # fmt: skip
    (folder / student).mkdir(parents=True)
    text = json.dumps({"predictions": {"05_tiles": said}})
    (folder / student / "predictions.json").write_text(text)


def test_a_class_report_shows_who_has_learned_to_foretell(tmp_path, capsys):
    handed, grades = tmp_path / "handed", tmp_path / "grades"
    hand_in(handed, "ann", (8, 2), (6, 1), (2, 1), (1, 1))
    hand_in(handed, "bob", (1, 1), (2, 1), (6, 1), (8, 1))
    hand_in(handed, "<i>", (4, 1))
    hand_in(handed, "dan", (1, 1), (1, 1), (1, 1), (1, 1))
    (handed / "none").mkdir()
    (handed / "strange").mkdir()
    (handed / "strange" / "predictions.json").write_text('{"predictions": {"a": {"b": 3}}}')
    grades.mkdir()
    (grades / "summary.html").write_text("the class")
    for _ in range(2):  # the second one takes the place of the first
        command = ["predict", "--class", str(handed), "--out", str(grades)]
        assert tool.main(command) == 0
    assert "strange/predictions.json cannot be read" in capsys.readouterr().out.replace("\\", "/")
    rows = (grades / "predictions.csv").read_text("utf-8-sig").splitlines()
    assert '"ann",4,7.0,1.5,1.0,"yes"' in rows and '"bob",4,1.5,7.0,1.0,"no"' in rows
    assert '"strange",0,"","","","cannot be read"' in rows and '"none",0,"","","","no file"' in rows
    assert '"dan",4,1.0,1.0,1.0,"from the start"' in rows
    summary = (grades / "summary.html").read_text()
    (grades / "predictions.csv").write_text("mine")
    assert tool.main(command) == 2 and (grades / "predictions.csv").read_text() == "mine"
    assert summary.startswith("the class") and summary.count("Who has learned") == 1
    assert "&lt;i&gt;" in summary and "<i>" not in summary.partition("Who has learned")[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["1"], "say a check and a number"),
        (["1", "nothing", "3"], "no check 'nothing'"),
        (["--class", "nowhere"], "nowhere is no folder"),
        (["--class", "."], "holds no predictions.json"),
        (["--to", "there.json"], "exists already"),
    ],
)
def test_what_cannot_be_foretold_is_told_in_a_line(arguments, words, course, monkeypatch, capsys):
    monkeypatch.chdir(course)
    (course / "there.json").write_text("mine")
    assert tool.main(["predict", *arguments]) == 2
    printed, error = capsys.readouterr()
    assert words in error and error.count("\n") == 1 and not printed
    assert (course / "there.json").read_text() == "mine"


def test_predictions_are_handed_in_without_points(course, capsys):
    solve_and_pass(1)
    lesson = find_lesson(1)
    for counted in (None, 0):
        progress.CourseProgress().predict(lesson, lesson.checks[0], 4, counted)
    assert tool.main(["predict", "--to", str(course / "mine.json")]) == 0
    kept = json.loads((course / "mine.json").read_text())
    assert kept == {"predictions": {lesson.name: {lesson.checks[0].name: [[4, 0]]}}}
    assert tool.main(["predict"]) == 0  # a count of 0 can be read again
    assert "factors so far: inf" in capsys.readouterr().out
