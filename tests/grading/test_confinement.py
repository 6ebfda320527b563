"""What a worker cannot do, tried from within a student's file; fresh workers and forked ones."""

import os
import re
import socket

import pytest

from lessons.course.lesson import LESSONS, find_lesson
from lessons.grading.walls import confine as confinement
from lessons.grading.walls.confine import version, what_is_enforced
from lessons.grading.walls.system_calls import is_known
from tests.grading.grade import grade, pool_for_any_code
from tests.grading.made_class import SOLUTION

LESSON = find_lesson(1)
NEEDS = {"tcp": 4, "signal": 6}  # version of Landlock
TRIES = """

import os
import socket
import tempfile

outcomes = {{}}


def attempt(name, action):
    try:
        action()
        outcomes[name] = "done"
    except OSError:
        outcomes[name] = "refused"


judge = {judge}
attempt("lesson", lambda: open({lesson!r}, "a").close())
attempt("neighbour", lambda: open({neighbour!r}, "w").close())
attempt("remove", lambda: os.unlink({victim!r}))
attempt("rename", lambda: os.rename({victim!r}, {victim!r} + "2"))
attempt("memory", lambda: open(f"/proc/{{judge}}/mem", "r+b").close())
attempt("signal", lambda: os.kill(judge, 0))
attempt("tcp", lambda: socket.create_connection(("127.0.0.1", {port}), 5).close())
attempt("pair of sockets", lambda: [end.close() for end in socket.socketpair()])
attempt("own", lambda: open("own.txt", "w").close())
attempt("temporary", lambda: tempfile.TemporaryFile().close())
print(sorted(outcomes.items()))
raise SystemExit(7)
"""

pytestmark = pytest.mark.skipif(version() == 0, reason="needs Landlock, of Linux")


@pytest.fixture(params=["fresh", "forked"])
def pool(request):
    is_forked = request.param == "forked"
    made = request.getfixturevalue("forks").new_pool(True) if is_forked else pool_for_any_code()
    if made.describe()[0] is None:
        made.stop()
        pytest.skip("a GPU is here: its driver needs more")
    yield made
    made.stop()


@pytest.mark.slow
def test_a_worker_reaches_nothing_of_others(pool, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("here")
    with socket.create_server(("127.0.0.1", 0)) as server:
        text = SOLUTION[1] + TRIES.format(
            judge=os.getpid(),
            lesson=str(LESSONS / "01_grayscale" / "lesson.toml"),
            neighbour=str(tmp_path / "grade.json"),
            victim=str(victim),
            port=server.getsockname()[1],
        )
        message = grade(text, LESSON.checks[:1], workers=pool)["luminance"].message
    expected = dict.fromkeys(
        ("lesson", "memory", "neighbour", "remove", "rename", "signal", "tcp"), "refused"
    )
    expected |= {"own": "done", "temporary": "done"}
    expected["pair of sockets"] = "refused" if is_known() else "done"
    for name, needed in NEEDS.items():
        if version() < needed:
            expected[name] = "done"
    said = pool.printed() or message
    for name, outcome in expected.items():
        assert f"('{name}', '{outcome}')" in said, (name, said)
    assert victim.exists()
    assert not (tmp_path / "grade.json").exists()


def test_what_is_enforced_was_tried():
    lines = what_is_enforced()
    assert any("writes in its own folder only" in line for line in lines)
    assert any("starts no process" in line for line in lines) == is_known()


def test_what_is_not_enforced_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(confinement, "version", lambda: 0)
    monkeypatch.setattr(confinement, "refuse_calls", lambda: False)
    monkeypatch.setattr(confinement, "give_up_root", lambda folder: "no root")
    said = "\n".join(confinement.confine(tmp_path))
    for what in ("files of this account", "processes", "TCP", "signals"):
        assert re.search(f"NOT enforced:.*{what}", said)
