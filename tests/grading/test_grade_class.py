"""A class is graded: rows as they come, going on, files of every format; mostly without workers."""

import csv
import json
import os
import signal
import subprocess
import sys

import pytest

from kernels.plumbing.errors import InputError
from lessons.__main__ import parse
from lessons.course.lesson import ROOT, find_lesson
from lessons.grading.classroom import command, grade_submission
from lessons.grading.classroom.gradebook import folders_of
from lessons.grading.classroom.outputs import harmless
from lessons.grading.classroom.roster import read_roster
from lessons.grading.judge import in_place
from lessons.grading.judge.verdict import CheckEnded
from lessons.grading.judge.worker_process import WorkerLost
from tests.grading import made_class
from tests.grading.made_class import put

LESSON = find_lesson(1)
TEXT = made_class.SOLUTION[1]
LOST = LESSON.check("every_pixel").points


class NoWorkers:
    """A pool for checks that run nothing."""

    warm = False

    def describe(self):
        return "there is none", "CPU"

    def ready(self):
        pass

    def stop(self):
        pass

    def left_out(self):
        return []

    def printed(self):
        return ""


@pytest.fixture
def ran(monkeypatch):
    """Checks that pass unless the file says otherwise; returns the list of those that have run."""
    seen = []

    def check_named(name):
        def check(case):
            text = case.submission.text.decode()
            seen.append((text.splitlines()[0], name))
            if "# breaks the grader" in text and name == "every_pixel":
                raise OSError("no room on the disk")
            if "# loses a worker" in text and seen.count(seen[-1]) == 1:
                raise WorkerLost("it has gone")
            if "# returns nonsense" in text and name == "every_pixel":
                raise IndexError("what came back is too short")
            if "# interrupts" in text and name == "many_blocks":
                raise KeyboardInterrupt
            if "# wrong" in text and name == "every_pixel":
                raise CheckEnded("failed", "transposed", "it is transposed")

        return check

    functions = {check.name: check_named(check.name) for check in LESSON.checks}
    monkeypatch.setattr(grade_submission, "checks_of", lambda lesson: functions)
    monkeypatch.setattr(in_place.Blame, "passes", lambda *arguments: False)
    settings = grade_submission.Settings
    monkeypatch.setattr(
        command, "Settings", lambda *a, **k: settings(*a, **{**k, "new_pool": NoWorkers})
    )
    return seen


def grade(folder, out, *options):
    arguments = ["grade", str(folder), "--out", str(out), "--lessons", "1", *map(str, options)]
    parsed = parse(arguments)
    return parsed.action(parsed)


def table(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def a_class(folder, **files):
    for student, text in files.items():
        put(folder / student / "01_grayscale.py", text)
    return folder


# ---------------------------------------------------------------- grades


def test_every_student_gets_a_row_and_one_broken_check_costs_only_itself(tmp_path, ran):
    made = a_class(tmp_path / "in", ann=TEXT, bob=TEXT + "# wrong\n",
                   cid=TEXT + "# breaks the grader\n", dan=made_class.SKELETON[1])  # fmt: skip
    put(made / "eve" / "nothing.txt", "hello")
    assert grade(made, tmp_path / "out", "--jobs", 2) == 0
    rows = table(tmp_path / "out" / "grades.csv")
    assert rows[0][:3] == ["student", "01_grayscale", "points"]
    points = {row[0]: int(row[1]) for row in rows[1:]}
    assert points == {"ann": 10, "bob": 10 - LOST, "cid": 10 - LOST, "dan": 0, "eve": 0}
    checks = {(row[0], row[2]): row[3:7] for row in table(tmp_path / "out" / "checks.csv")}
    assert checks["bob", "every_pixel"] == ["0", str(LOST), "failed", "transposed"]
    assert checks["cid", "every_pixel"] == ["0", str(LOST), "error", "grader"]
    assert checks["dan", "every_pixel"] == ["0", str(LOST), "failed", "not written"]


def test_a_lost_worker_costs_nothing_and_nonsense_its_check_which_a_person_is_told(tmp_path, ran):
    made = a_class(
        tmp_path / "in", ann=TEXT + "# loses a worker\n", bob=TEXT + "# returns nonsense\n"
    )
    assert grade(made, tmp_path / "out", "--jobs", 1) == 0
    rows = {row[0]: row for row in table(tmp_path / "out" / "grades.csv")[1:]}
    assert [rows[name][1] for name in ("ann", "bob")] == ["10", str(10 - LOST)]
    assert "every_pixel could not make sense of what came back" in rows["bob"][-1]
    assert "make sense" not in rows["ann"][-1]


def test_a_text_that_is_too_long_is_not_run(tmp_path, ran):
    """The explanation of a failure looks at all pairs of a text's parts: it has an end."""
    made = a_class(tmp_path / "in", ann=TEXT + "x = 1 + 1\n" * 9_000)
    grade(made, tmp_path / "out")
    rows = [row for row in table(tmp_path / "out" / "checks.csv") if row[0] == "ann"]
    assert {row[6] for row in rows} == {"too long to read"} and not ran


def test_an_interrupted_class_goes_on_where_it_was(tmp_path, ran):
    made = a_class(tmp_path / "in", ann=TEXT, bob=TEXT + "# interrupts\n")
    with pytest.raises(KeyboardInterrupt):
        grade(made, tmp_path / "out", "--jobs", 1, "--seed", 7)
    states = {row[0]: row[-2] for row in table(tmp_path / "out" / "grades.csv")[1:]}
    assert states == {"ann": "graded", "bob": "unfinished"}
    with open(tmp_path / "out" / "journal.jsonl", "a") as file:
        file.write('{"student": "ann", "row"')  # as if the power had gone
    a_class(made, bob=TEXT + "# now without it\n")
    ran.clear()
    grade(made, tmp_path / "out", "--jobs", 1)
    assert len(ran) == len(LESSON.checks)  # only the file that has changed
    header = json.loads((tmp_path / "out" / "journal.jsonl").read_text().splitlines()[0])
    assert header["seed"] == 7
    assert {"python", "numba", "confinement"} <= set(header["place"])
    ran.clear()
    grade(made, tmp_path / "out")
    assert ran == []


def test_what_was_not_handed_in_leaves_nothing_unfinished_and_what_was_taken_back_no_points(
    tmp_path, ran, capsys
):
    made = a_class(tmp_path / "in", ann=TEXT)
    put(made / "ann" / "lesson2.txt", "not yet")
    for points in (str(LESSON.points), "0"):
        grade(made, tmp_path / "out", "--lessons", "1,2")
        (row,) = table(tmp_path / "out" / "grades.csv")[1:]
        assert (row[1], row[5], row[6]) == (points, "20", "graded")
        assert "not finished" not in capsys.readouterr().out
        (made / "ann" / "01_grayscale.py").unlink(missing_ok=True)


def test_grades_do_not_go_among_the_submissions(tmp_path, ran):
    made = a_class(tmp_path / "in", ann=TEXT)
    with pytest.raises(InputError, match="would be taken for a student's"):
        grade(made, made / "grades")
    assert sorted(path.name for path in made.iterdir()) == ["ann"]


@pytest.mark.parametrize(
    "name, content",
    [
        ("grades.csv", "mine"), ("summary.html", "mine"), ("students/ann/index.html", "mine"),
        ("journal.jsonl", "my diary, of one line"), ("journal.jsonl", "my diary\n" * 9),
        ("journal.jsonl", "[1]\n"),
    ],
)  # fmt: skip
def test_nothing_of_somebody_elses_is_replaced(tmp_path, ran, name, content):
    made = a_class(tmp_path / "in", ann=TEXT)
    foreign = tmp_path / "out" / name
    foreign.parent.mkdir(parents=True)
    foreign.write_text(content)
    with pytest.raises(InputError, match=r"give another --out, or add --overwrite"):
        grade(made, tmp_path / "out")
    assert foreign.read_text() == content
    assert {path.name for path in (tmp_path / "out").iterdir()} == {name.partition("/")[0]}
    grade(made, tmp_path / "out", "--overwrite")
    assert table(tmp_path / "out" / "grades.csv")[1][:2] == ["ann", "10"]
    grade(made, tmp_path / "out")  # these are our own


def test_grades_of_another_seed_are_not_mixed(tmp_path, ran):
    made = a_class(tmp_path / "in", ann=TEXT)
    grade(made, tmp_path / "out", "--seed", 1)
    with pytest.raises(InputError, match="another seed"):
        grade(made, tmp_path / "out", "--seed", 2)


def test_a_submission_whose_time_is_up_gets_timeouts(tmp_path, ran):
    made = a_class(tmp_path / "in", ann=TEXT)
    grade(made, tmp_path / "out", "--limit", "1e-9")
    states = [row[5] for row in table(tmp_path / "out" / "checks.csv")[1:]]
    assert states == ["passed", *["timeout"] * (len(LESSON.checks) - 1)]


# ---------------------------------------------------------------- roster and names


def test_days_late_cost_what_the_roster_says(tmp_path, ran):
    made = a_class(tmp_path / "in", ann=TEXT)
    roster = tmp_path / "roster.toml"
    roster.write_text(
        "late_days = 1\nlost_per_late_day = 0.25\n"
        '[[student]]\nname = "ann"\nfull_name = "Ann Lee"\nid = 17\nlate = {"01_grayscale" = 3}\n'
        '[[student]]\nname = "zoe"\n'
    )
    grade(made, tmp_path / "out", "--roster", roster)
    rows = {row[0]: row for row in table(tmp_path / "out" / "grades.csv")}
    assert rows["ann"][1:5] == ["10", "10", "5.0", "10"]
    assert "nothing was handed in" in rows["zoe"][-1]
    canvas = table(tmp_path / "out" / "canvas.csv")
    assert canvas[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section",
                         "Lesson 1: Grayscale"]  # fmt: skip
    assert canvas[1][0].strip() == "Points Possible"
    assert canvas[2] == ["Ann Lee", "17", "", "ann", "", "5.0"]
    assert table(tmp_path / "out" / "moodle.csv")[1][:4] == ["17", "Ann Lee", "", "5.0"]


@pytest.mark.parametrize(
    "text, words",
    [
        ("[[student]]\nid = 1\n", "no name"),
        ('[[student]]\nname = "a"\nnmae = "b"\n', "'nmae' is none of"),
        ('[[student]]\nname = "a"\nlate = {"lesson 4" = 1}\n', "write a lesson's name"),
        ('[[student]]\nname = "a"\n[[student]]\nname = "a"\n', "twice"),
        ("late_days = -1\n", "late_days is 0 or more"),
        ("not toml", "cannot be used"),
    ],
)
def test_a_roster_that_cannot_be_used_is_told(tmp_path, text, words):
    (tmp_path / "roster.toml").write_text(text)
    with pytest.raises(InputError, match=words):
        read_roster(tmp_path / "roster.toml", [LESSON])


def test_free_late_days_are_used_in_order():
    roster = command.Roster((), 3, 0.1)
    late = {"01": 2, "02": 2}
    assert roster.after_lateness(late, {"01": 10, "02": 10}) == {"01": 10.0, "02": 9.0}


def test_students_of_one_name_are_told_apart_by_their_numbers(tmp_path, ran):
    """A student is who the platform says: the number, then the name."""
    folder = tmp_path / "in"
    a_class(folder)
    for path, text in (
        ("Ann Lee_17_assignsubmission_file_/01_grayscale.py", TEXT),
        ("Ann Lee_18_assignsubmission_file_/01_grayscale.py", TEXT + "# her own\n"),
        ("leebo_LATE_21_901_01_grayscale.py", TEXT),
        ("leebo_22_902_01_grayscale.py", TEXT),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (tmp_path / "roster.toml").write_text(
        '[[student]]\nname = "Ann Lee"\nid = 17\nlate = {"01_grayscale" = 1}\n'
        '[[student]]\nname = "Ann Lee"\nid = 18\n[[student]]\nname = "Ann Lee"\nid = 19\n'
    )
    with open(tmp_path / "roster.toml", "a") as file:
        file.write("[[student]]\nname = 'leebo'\nid = 22\nfull_name = 'Bo Lee'\n")
    grade(folder, tmp_path / "out", "--roster", tmp_path / "roster.toml")
    rows = {row[0]: row for row in table(tmp_path / "out" / "grades.csv")}
    names = {"Ann Lee (17)", "Ann Lee (18)", "Ann Lee (19)", "leebo (21)", "leebo (22)"}
    assert set(rows) == {"student", *names}
    assert rows["Ann Lee (17)"][1] == rows["Ann Lee (18)"][1] == "10"
    assert "nothing was handed in" in rows["Ann Lee (19)"][-1]
    canvas = {row[0]: row for row in table(tmp_path / "out" / "canvas.csv")}
    assert canvas["Bo Lee"][1] == "22"
    assert len(list((tmp_path / "out" / "students").iterdir())) == 4


def test_folders_of_students_are_distinct_on_every_system():
    names = folders_of(["ann", "Ann", "../x", "con", "Zoë Müller", ""])
    assert names["ann"] == "ann"
    assert len({name.lower() for name in names.values()}) == len(names)
    assert not any("/" in name or name.startswith(".") for name in names.values())


def test_a_name_is_no_formula():
    assert harmless("=HYPERLINK(1)") == "'=HYPERLINK(1)"
    assert (harmless("ann"), harmless(-3)) == ("ann", -3)
    assert harmless(" \t=1\n\x1b[2J") == "'  =1 ?[2J"


@pytest.mark.parametrize(
    "options, words",
    [
        (["--jobs", "0"], "--jobs"),
        (["--seed", "-1"], "--seed must not be negative"),
        (["--lessons", "x"], "write numbers"),
        (["--lessons", "99"], "there is no lesson 99"),
        (["--limit", "0"], "--limit"),
        (["--roster", "/no/such"], "roster"),
    ],
)
def test_bad_options_are_told_in_one_line(tmp_path, options, words):
    made = a_class(tmp_path / "in", ann=TEXT)
    with pytest.raises(InputError, match=words):
        parsed = parse(["grade", str(made), "--out", str(tmp_path / "out"), *options])
        parsed.action(parsed)


# ---------------------------------------------------------------- with workers


@pytest.mark.slow
def test_a_made_class_gets_the_grades_that_it_should(tmp_path):
    expected = made_class.make(tmp_path)
    out = tmp_path.parent / f"{tmp_path.name}-out"
    command_line = [sys.executable, "-m", "lessons", "grade", tmp_path, "--out", out,
                    "--lessons", "1", "--patience", "10", "--seed", "3"]  # fmt: skip
    run = subprocess.run(list(map(str, command_line)), cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    points = {row[0]: int(row[1]) for row in table(out / "grades.csv")[1:]}
    assert points == {student: 10 * (1 in found) for student, found in expected.items()}


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_ends_in_one_line_and_the_rest_is_graded_later(tmp_path):
    made = a_class(tmp_path / "in", **{f"student{i}": f"{TEXT}# {i}\n" for i in range(4)})
    out = tmp_path / "out"
    line = [sys.executable, "-m", "lessons", "grade", made, "--out", out, "--lessons", "1",
            "--patience", "10"]  # fmt: skip
    line = list(map(str, line))
    run = subprocess.Popen(
        line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert "10 of 10 points" in run.stdout.readline()
    run.send_signal(signal.SIGINT)
    _, complaint = run.communicate()
    assert "Traceback" not in complaint
    assert run.returncode == 130
    assert 1 < len((out / "journal.jsonl").read_text().splitlines()) < 1 + 4 * len(LESSON.checks)
    again = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert again.returncode == 0
    assert {int(row[1]) for row in table(out / "grades.csv")[1:]} == {10}
