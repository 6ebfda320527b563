"""What a grading leaves behind: exports in the formats of others, pages, similarity."""

import json
import os
import re
import subprocess
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from lessons.__main__ import parse
from lessons.course.lesson import find_lesson
from lessons.grading.classroom.exports import classroom50, gradescope, junit
from lessons.grading.classroom.gradebook import Grade, without_places
from lessons.grading.classroom.intake import Handed
from lessons.grading.classroom.journal import Run
from lessons.grading.classroom.outputs import write_class, write_student
from lessons.grading.classroom.roster import Student
from lessons.grading.classroom.similarity import SOLUTION, fingerprint, similar_pairs, similarity
from lessons.grading.judge.run import Result
from lessons.grading.walls.submission import Submission
from tests.grading.made_class import SOLUTION as SOLUTIONS
from tests.lab.browser import VIEWS, browser

LESSON = find_lesson(1)
NASTY = "<script>alert(1)</script>\x1b[31m\x00 & ]]>"
RUN = Run(7, 1.0, "a" * 64, {"python": "3.11", "confinement": ["memory is limited"]})
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


def grade(name="ann", passed=("luminance", "many_blocks"), text=SOLUTIONS[1]):
    rows = []
    for check in LESSON.checks:
        good = check.name in passed
        rows.append(
            Result(LESSON.name, check.name, check.points * good, check.points,
                   "passed" if good else "failed", "" if good else f"line 3: {NASTY}",
                   "" if good else NASTY, "checked", "CPU", 0.5)
        )  # fmt: skip
    points = sum(row.score for row in rows)
    handed = Handed(name, {LESSON.name: Submission(Path("a.py"), text.encode())}, [NASTY])
    remarks = {LESSON.name: ["line 3: imports os"]}
    scores, late = {LESSON.name: points}, {LESSON.name: points - 0.5}
    return Grade(Student(name), handed, "ann", rows, scores, late, remarks, True)


def test_results_json_is_what_gradescope_reads():
    content = json.loads(json.dumps(gradescope(grade())))
    assert content["score"] == 3.5
    assert sum(test["max_score"] for test in content["tests"]) == 10
    assert {test["status"] for test in content["tests"]} == {"passed", "failed"}
    assert all({"name", "score", "max_score", "output"} <= set(test) for test in content["tests"])
    known = {"score", "output", "output_format", "visibility", "stdout_visibility", "tests",
             "extra_data"}  # fmt: skip
    assert set(content) == known


def test_a_message_elsewhere_names_no_place_of_this_machine():
    message = "all zero\npicture: /home/x/y.png\nreplay: /home/x/y.html\nline 3\nstuck? hint 1"
    assert without_places(message) == "all zero\nline 3"


def test_result_json_is_that_of_classroom50():
    names = {"CLASSROOM": "gpu", "ASSIGNMENT": "lake", "SUBMISSION_TAG": "submit/1",
             "COMMIT_URL": "https://c", "RELEASE_URL": "https://r"}  # fmt: skip
    content = classroom50(grade(), names)
    assert set(content) == {"schema", "classroom", "assignment", "submission", "commit", "release",
                            "review", "datetime", "score", "max-score", "tests"}  # fmt: skip
    assert content["schema"] == "classroom50/result/v1"
    assert content["review"] == "https://c"
    assert (content["score"], content["max-score"]) == (4, 10)
    assert sum(test["score"] for test in content["tests"]) == content["score"]
    for test in content["tests"]:
        assert set(test) == {"test-name", "passed", "score", "max-score"}
        assert test["score"] in (0, test["max-score"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", content["datetime"])


def test_junit_can_be_read_whatever_a_message_holds():
    text = ElementTree.tostring(junit(grade()), encoding="utf-8")
    root = ElementTree.fromstring(text)
    suite = root.find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == (
        str(len(LESSON.checks)),
        str(len(LESSON.checks) - 2),
        "0",
    )
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    passed = ("luminance", "many_blocks")
    assert failed == [check.name for check in LESSON.checks if check.name not in passed]
    assert suite[0].find("properties/property[@name='max_score']").get("value") == "2"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)


def test_pages_show_pictures_and_run_nothing(tmp_path):
    pictures = tmp_path / "students" / "ann" / "pictures" / "01"
    pictures.mkdir(parents=True)
    (pictures / "every_pixel.png").write_bytes(PNG)
    one = grade()
    write_student(tmp_path, one, [LESSON], RUN)
    write_class(tmp_path, [one, grade("bob", (), "def broken(")], [LESSON], RUN)
    student = (tmp_path / "students" / "ann" / "index.html").read_text()
    summary = (tmp_path / "summary.html").read_text()
    for page in (student, summary):
        tags = Tags()
        tags.feed(page)
        assert not {"script", "iframe", "object"} & set(tags.seen)
        assert "&lt;script&gt;" in page
        assert "\x1b" not in page and "\x00" not in page
        assert "seed 7" in page and "memory is limited" in page
    assert student.count("data:image/png;base64,") == 1
    assert "4 of 10 points, 3.5 after days late" in student
    assert 'href="students/ann/index.html"' in summary
    assert "1 of 2" in summary  # passed luminance
    files = {path.name for path in (tmp_path / "students" / "ann").iterdir()}
    assert files == {"index.html", "grade.json", "results.json", "result.json", "junit.xml",
                     "pictures"}  # fmt: skip
    content = json.loads((tmp_path / "students" / "ann" / "grade.json").read_text())
    assert {"checks", "seed", "files", "remarks", "version"} <= set(content)


@pytest.fixture
def class_pages(tmp_path):
    """The folder of a class of three, of whom two have the same mistake, one with a replay."""
    replay = tmp_path / "students" / "ann" / "pictures" / "01" / "every_pixel.html"
    replay.parent.mkdir(parents=True)
    replay.write_text("<title>Replay of x</title>")
    Image.new("RGB", (3, 2)).save(replay.with_suffix(".png"))
    people = [grade(), grade("bob")._replace(folder="bob"), grade("cy", NAMES)._replace(folder="c")]
    for one in people:
        write_student(tmp_path, one, [LESSON], RUN)
    write_class(tmp_path, people, [LESSON], RUN)
    return tmp_path


NAMES = tuple(check.name for check in LESSON.checks)


def test_a_summary_tells_how_points_are_spread_and_what_went_wrong_most(class_pages):
    text = (class_pages / "summary.html").read_text()
    assert 'aria-label="4 points: 2; 10 points: 1"' in text
    assert text.count("<i style=") == LESSON.points + 1
    mistakes = text.partition("What went wrong most often")[2].partition("<h2>")[0]
    assert mistakes.count('<td class="number">2</td>') == len(NAMES) - 2
    link = "students/ann/pictures/01/every_pixel.html"
    assert mistakes.count("<a href=") == 1 and f'href="{link}">watch it, of ann' in mistakes
    student = (class_pages / "students" / "ann" / "index.html").read_text()
    assert (class_pages / link).exists()
    assert 'href="pictures/01/every_pixel.html">Watch it step by step' in student
    assert "Watch it" not in (class_pages / "students" / "bob" / "index.html").read_text()


@pytest.mark.thorough
def test_pages_of_a_class_look_right_on_a_phone_and_in_the_dark(class_pages, tmp_path_factory):
    with browser(tmp_path_factory.mktemp("browser")) as window:
        for name in ("summary.html", "students/ann/index.html"):
            for view in VIEWS:
                window.open((class_pages / name).as_uri(), *view)
                assert window.audit(class_pages.as_uri()) == [], (name, view)


# ---------------------------------------------------------------- similarity

RENAMED = (
    SOLUTIONS[4].replace("features", "outcome").replace("uv", "place").replace("sample", "number")
)


def handed(name, text):
    lesson = find_lesson(4)
    return Handed(name, {lesson.name: Submission(Path("a.py"), text.encode())}, [])


def test_renaming_and_comments_hide_nothing():
    text = RENAMED.replace("\n\n\n", "\n\n\n# a comment\n")
    assert text not in (RENAMED, SOLUTIONS[4])
    assert similarity(fingerprint(text), fingerprint(SOLUTIONS[4])) == 1
    assert similarity(fingerprint(SOLUTIONS[1]), fingerprint(SOLUTIONS[7])) < 0.2


def test_pairs_that_stand_out_are_listed_and_others_are_not():
    other = "from numba import cuda\n\n\n@cuda.jit\ndef encode(a, b, c):\n"
    for k in range(8):
        other += f"    i = cuda.grid(1) + {k}\n    if i < a.shape[0] - {k}:\n"
        other += f"        c[i, {k}] = b[i] * {k}.5\n"
    class_ = [handed("ann", SOLUTIONS[4]), handed("bob", RENAMED), handed("cid", other),
              handed("dan", "def broken(")]  # fmt: skip
    lesson = find_lesson(4)
    mistakes = {("ann", lesson.name): {"grid": "x"}, ("bob", lesson.name): {"grid": "x"}}
    pairs = similar_pairs(class_, [lesson], mistakes)
    named = {(pair.first, pair.second): pair for pair in pairs}
    assert set(named) == {("ann", "bob"), ("ann", SOLUTION), ("bob", SOLUTION)}
    assert named["ann", "bob"].alike == 1
    assert named["ann", "bob"].same_mistakes == 1


@pytest.mark.parametrize("text", ["", "x = " + "-" * 50_000 + "1", "def f(" * 500])
def test_no_text_is_too_strange(text):
    assert fingerprint(text) == frozenset()


# ---------------------------------------------------------------- Gradescope


def autograder(folder, *options):
    parsed = parse(["autograder", str(folder / "autograder.zip"), *options])
    assert parsed.action(parsed) == 0
    return zipfile.ZipFile(folder / "autograder.zip")


def test_the_zip_for_gradescope_holds_what_it_needs(tmp_path):
    with autograder(tmp_path, "--lessons", "1", "--seed", "5") as archive:
        names = set(archive.namelist())
        options = archive.read("grade_options.txt").decode().split()
        assert archive.getinfo("run_autograder").external_attr >> 16 & 0o111
    assert {"setup.sh", "run_autograder", "requirements-cpu.txt", "lessons/__main__.py"} <= names
    assert options == ["--seed", "5", "--lessons", "1"]
    assert not [name for name in names if "__pycache__" in name or name.endswith(".diff")]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a script for bash")
def test_the_scripts_for_gradescope_write_its_results(tmp_path):
    """As on Gradescope, but for the folder and for the packages, which are here already."""
    with autograder(tmp_path, "--lessons", "1", "--seed", "5") as archive:
        archive.extractall(tmp_path / "source")
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "lesson1.py").write_text(SOLUTIONS[1])
    home = {**os.environ, "AUTOGRADER": str(tmp_path), "PYTHON": sys.executable}
    script = ["bash", str(tmp_path / "source" / "run_autograder")]
    for points in (10, 0):
        run = subprocess.run(script, env=home, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        content = json.loads((tmp_path / "results" / "results.json").read_text())
        assert content["score"] == points
        (tmp_path / "submission" / "lesson1.py").unlink(missing_ok=True)  # handed in: nothing
