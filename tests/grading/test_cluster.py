"""A class on a cluster gets the grades that it gets here; a lost worker costs only its task."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from kernels.plumbing.errors import InputError
from lessons.__main__ import parse
from lessons.course.lesson import ROOT
from lessons.grading.classroom import cluster
from tests.grading import made_class

distributed = pytest.importorskip("distributed", reason="see requirements-cluster.txt")
FILES = "grades.csv", "canvas.csv", "moodle.csv", "similarity.csv"


def grade(folder, out, *options):
    arguments = ["grade", str(folder), "--out", str(out), "--lessons", "1", "--seed", "5"]
    parsed = parse([*arguments, *options])
    return parsed.action(parsed)


def a_class(folder, students):
    wrong = made_class.SOLUTION[1].replace("0.7152", "0.7")
    for number in range(students):
        text = wrong if number % 3 == 1 else made_class.SOLUTION[1]
        made_class.put(folder / f"student{number}" / "01_grayscale.py", text)
    return folder


def same(one, other):
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in FILES)


@pytest.mark.thorough
def test_a_cluster_gives_the_same_grades_though_a_worker_is_killed(tmp_path):
    made = a_class(tmp_path / "in", 7)
    grade(made, tmp_path / "here")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as machines:
        address = machines.scheduler_address
        client = distributed.Client(address)
        first = next(iter(client.run(os.getpid).values()))
        killer = threading.Timer(2.0, os.kill, (first, signal.SIGKILL))
        killer.start()
        grade(made, tmp_path / "there", "--cluster", address)
        killer.join()
        assert first not in client.run(os.getpid).values()
        client.close()
    assert same(tmp_path / "here", tmp_path / "there")
    pictures = {path.name for path in (tmp_path / "there").rglob("*.png")}
    assert pictures == {path.name for path in (tmp_path / "here").rglob("*.png")} != set()


@pytest.mark.thorough
def test_an_interrupted_cluster_goes_on(tmp_path):
    made = a_class(tmp_path / "in", 6)
    command = [
        sys.executable, "-m", "lessons", "grade", made, "--out", tmp_path / "out", "--lessons", "1",
        "--seed", "5", "--cluster", "local", "--jobs", "2",
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "out" / "journal.jsonl"
    end = time.monotonic() + 120
    while not (journal.exists() and journal.read_text().count("\n") > 1):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors, errors
    rows = journal.read_text().splitlines()
    grade(made, tmp_path / "out", "--cluster", "local", "--jobs", "2")
    assert journal.read_text().splitlines()[: len(rows)] == rows
    grade(made, tmp_path / "here")
    assert same(tmp_path / "here", tmp_path / "out")


@pytest.mark.slow
def test_no_scheduler_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS_TO_CONNECT", 1)
    made = a_class(tmp_path / "in", 1)
    with pytest.raises(InputError, match="no scheduler with a worker answers there"):
        grade(made, tmp_path / "out", "--cluster", "tcp://127.0.0.1:9")


def test_a_worker_with_another_course_or_weaker_walls_does_not_grade(tmp_path):
    mine = cluster.Task(("1",), "another digest", (), 5, 1.0, 60.0, cluster.Effort(0, 0))
    assert "has other checks" in cluster.graded(None, [], mine).refused
    lessons = [cluster.find_lesson("1")]
    checks = cluster.digest_of_checks(lessons)
    stricter = mine._replace(checks=checks, confinement=("no network",))
    assert "it lacks: no network" in cluster.graded(None, [], stricter).refused
