"""What a student sees after a check that failed: `python -m lessons view`."""

import json
import re
from contextlib import nullcontext

import numpy as np
import pytest
from PIL import Image

from lessons import __main__ as tool
from lessons.course.lesson import find_lesson
from lessons.course.mistakes import file_of, find_entry
from lessons.grading.explain import evidence
from lessons.grading.judge.explain_failure import NO_EFFORT
from lessons.grading.judge.result import CheckEnded
from lessons.grading.judge.run import checks_of, run_check
from lessons.grading.walls.submission import Submission
from lessons.lab.simulator.picture_array import WRONG
from lessons.notebook import CellGrade
from tests.grading.grade import PATIENCE


@pytest.fixture(scope="module")
def workers(warm):
    found = warm.new_pool(trusted=True)
    yield found
    found.stop()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where pictures go."""
    pictures = tmp_path / "pictures"
    monkeypatch.setattr(evidence, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "PICTURES", pictures)
    return pictures


def page_data(path):
    """The JSON in a replay."""
    return re.search(r'id="run">(.*?)</script>', path.read_text(encoding="utf-8"), re.S)[1]


@pytest.mark.parametrize(
    "number, kernel, diagnosis",
    [
        pytest.param(1, "no_guard", "out-of-bounds", marks=pytest.mark.slow),
        pytest.param(5, "first_barrier_missing", "race", marks=pytest.mark.slow),
        pytest.param(5, "barrier_in_a_branch", "barrier", marks=pytest.mark.slow),
        (1, "blue_first", "blue first"),
    ],
)
def test_view_shows_why_a_check_failed(workers, folder, capsys, number, kernel, diagnosis):
    lesson = find_lesson(number)
    wrong = find_entry(lesson, kernel)
    check = lesson.check(wrong.check)
    submission = Submission(lesson.exercise, file_of(lesson, wrong).encode())
    function = checks_of(lesson)[check.name]
    result = run_check(
        function, lesson, check, submission, workers, 5, PATIENCE, pictures=folder, effort=NO_EFFORT
    )
    assert result.diagnosis == diagnosis
    path = folder / lesson.name[:2] / f"{check.name}.png"
    assert f"picture: {path.relative_to(folder.parent)}" in result.message
    if diagnosis != "blue first":  # found by a call, and not by a run
        replay = path.with_suffix(".html")
        assert f"replay: {replay.relative_to(folder.parent)}" in result.message
        assert json.loads(page_data(replay))["findings"][0]["kind"] == diagnosis
    assert tool.main(["view", str(number)]) == 0
    assert capsys.readouterr().out.strip().endswith(f"{check.name}.png")
    picture = np.asarray(Image.open(path).convert("RGB"))
    in_red = (picture == WRONG).all(axis=-1).any()
    assert in_red == (diagnosis != "blue first")


@pytest.mark.slow
def test_the_replay_of_a_wrong_result_opens_at_its_first_wrong_element(workers, folder):
    lesson = find_lesson(5)
    wrong = find_entry(lesson, "first_tile_again")
    check = lesson.check(wrong.check)
    submission = Submission(lesson.exercise, file_of(lesson, wrong).encode())
    function = checks_of(lesson)[check.name]
    result = run_check(
        function, lesson, check, submission, workers, 5, PATIENCE, pictures=folder, effort=NO_EFFORT
    )
    assert result.status == "failed"
    data = json.loads(page_data(folder / lesson.name[:2] / f"{check.name}.html"))
    finding = data["findings"][0]
    step = data["steps"][finding["step"]]
    assert finding["kind"] == "wrong result" and step["kind"] == "write"
    assert data["arrays"][step["array"]]["name"] in finding["message"]


def test_a_notebook_links_to_the_replay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    grade = CellGrade(["failed"], replays=[tmp_path / "a b" / "one&two.html"])
    assert 'href="a%20b/one%26two.html"' in grade._repr_html_()


def test_a_new_check_forgets_the_pictures_of_the_last(folder, monkeypatch, capsys):
    lesson = find_lesson(1)
    old = folder / "01" / "every_pixel.png"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"")
    old.with_suffix(".html").write_bytes(b"")
    nothing = CheckEnded("failed", "not written", "not written yet")
    monkeypatch.setattr(tool, "run_check", lambda *_, **__: (_ for _ in ()).throw(nothing))
    monkeypatch.setattr(tool, "WorkerPool", nullcontext)
    with pytest.raises(CheckEnded):
        tool.grade(lesson, 1)
    assert not old.exists() and not old.with_suffix(".html").exists()
    tool.main(["view", "1"])
    assert "no pictures" in capsys.readouterr().out
