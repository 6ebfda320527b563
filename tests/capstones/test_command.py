"""What all commands of lessons share, tried on the example of their README."""

import csv
import importlib
import json
import re
import shlex
import shutil
import signal
import time

import numpy as np
import pytest

from kernels.files.images import save_image
from kernels.plumbing.errors import InputError
from lessons.capstones import device, run, stages
from lessons.capstones.device import native_device
from lessons.capstones.run import MOST_FRAMES
from lessons.course.lesson import LESSONS, find_lesson
from tests.training.test_page import data_of

README = LESSONS / "capstones" / "README.md"


@pytest.fixture(scope="module")
def command():
    """The example, with a kernel that needs no compiler."""
    scope = {"__name__": "example"}
    exec(re.search("```python\n(.*?)```", README.read_text("utf-8"), re.S)[1], scope)

    def quick(kernel, image, gray, launch):
        gray[:] = image.mean(axis=2)

    found = stages.our_stages(find_lesson(1), ["grayscale", "launch_over_pixels"])
    found.launch_over_pixels = quick
    example = scope["COMMAND"]

    def work(run):
        run.stages = lambda lesson, names: found
        return scope["work"](run)

    return example._replace(work=work)


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "picture.png"
    save_image(path, np.full((4, 6, 3), 0.5, np.float32))
    return path


def call(command, image, out, *options):
    return command.main([str(image), "--out", str(out), "--backend", "native", "--quiet", *options])


def test_a_run_leaves_its_files(command, image, tmp_path, capsys):
    out = tmp_path / "new" / "out"
    assert call(command, image, out, "--steps", "80") == 0
    printed, error = capsys.readouterr()
    assert printed.startswith("the lake's brightness is 0.50") and printed.count("\n") == 1
    assert error == ""
    assert {path.name for path in out.iterdir()} == {
        "gray.png", "loss.csv", "loss.png", "run.json", "summary.json",
    }  # fmt: skip
    summary = json.loads((out / "summary.json").read_text())
    assert summary["lesson"] == "01_grayscale" and summary["kernels"] == "kernels/"
    assert summary["steps"] == 80 and summary["seconds_train"] > 0
    assert abs(summary["brightness"] - 128 / 255) < 1e-3
    table = list(csv.reader((out / "loss.csv").open()))
    assert table[0] == ["step", "loss", "psnr_db"] and len(table) == 81


def test_nothing_is_replaced_unasked(command, image, tmp_path, capsys):
    out = tmp_path / "out"
    assert call(command, image, out, "--steps", "3") == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert call(command, image, out, "--steps", "4") == 2
    assert "holds a run of 01_grayscale: add --overwrite" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    (out / "notes.txt").write_text("mine")
    assert call(command, image, out, "--steps", "4", "--overwrite") == 0
    assert json.loads((out / "summary.json").read_text())["steps"] == 4
    assert (out / "notes.txt").read_text() == "mine"


def test_a_file_of_the_users_is_never_replaced(command, image, tmp_path, capsys):
    shutil.copy(image, tmp_path / "gray.png")
    assert call(command, image, tmp_path, "--overwrite") == 2
    assert "gray.png was written by no run" in capsys.readouterr().err
    out = tmp_path / "out"
    assert call(command, image, out, "--steps", "1") == 0
    assert call(command, out / "gray.png", out, "--overwrite") == 2
    assert "which it reads" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"gray.png", "picture.png", "out"}


@pytest.mark.parametrize(
    "options, words",
    [
        ("--steps 0", "--steps must lie between 1"),
        ("--steps many", "'many' is no whole number, such as 500"),
        ("--seed -1", "--seed must lie between 0"),
        ("--force", "--force is only for --use"),
        ("--out=", "argument --out: it is empty"),
        ("--use homework", "invalid choice"),
        ("--backend tpu", "invalid choice"),
        ("--loud", "--loud"),
    ],
)
def test_bad_options_are_one_line(command, image, tmp_path, capsys, options, words):
    assert call(command, image, tmp_path / "out", *options.split()) == 2
    printed, error = capsys.readouterr()
    assert printed == "" and words in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("lesson", "options", "words"),
    [
        ("11_many_become_one", "missing.png", "there is no such file"),
        ("11_many_become_one", "--fog 96", "no whole number from 0 to 95"),
        ("11_many_become_one", "--steps 5", "--steps"),
        ("16_classifier", "--epochs 0", "is no whole number from 1 to 10,000"),
        ("16_classifier", "--hidden none", "no whole number from 1 to 1,024"),
        ("16_classifier", "--data nowhere", "no such folder"),
        ("16_classifier", "--data nowhere --in-order", "a folder's files say what is held out"),
        ("17_neighbours", "--data letters", "letters"),
        *(("18_palette", f"--colours {n}", "--colours") for n in ("1", "257", "many")),
        *(("19_attention", f"--layers {n}", "--layers") for n in ("0", "5", "two")),
        *(("20_few_bits", option, option[:6]) for option in ("--bits 0", "--bits 11", "--grid 7")),
    ],
)
def test_bad_options_of_a_lesson_are_one_line(lesson, options, words, tmp_path, capsys):
    command = importlib.import_module(f"lessons.{lesson}.__main__").COMMAND
    out = tmp_path / "out"
    assert command.main([*options.split(), "--out", str(out), "--backend", "native"]) == 2
    printed, error = capsys.readouterr()
    assert printed == "" and words in error and error.count("\n") == 1
    assert not out.exists()


def test_a_picture_that_is_not_there(command, tmp_path, capsys):
    assert call(command, tmp_path / "none.png", tmp_path / "out") == 2
    assert "there is no such file" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("press_at", [0, 3])
def test_control_c_keeps_what_is_there(command, image, tmp_path, capsys, press_at):
    out = tmp_path / "out"

    def work(run):
        with run.writing("gray.png"):
            if press_at == 0:
                signal.raise_signal(signal.SIGINT)
            for step in run.steps():
                if step == press_at:
                    signal.raise_signal(signal.SIGINT)
                run.log(step, loss=1 / step)
            run.finish({})
        return "done"

    handler = signal.getsignal(signal.SIGINT)
    assert call(command._replace(work=work), image, out) == 130
    assert signal.getsignal(signal.SIGINT) is handler
    printed, error = capsys.readouterr()
    if press_at == 0:
        assert (printed, error) == ("", "interrupted\n") and not out.exists()
        return
    assert "interrupted at step 3 of 100" in printed
    assert json.loads((out / "summary.json").read_text())["steps"] == 3


def test_time_aside_does_not_count(command, image, tmp_path):
    def work(run):
        for _ in run.steps():
            with run.aside():
                time.sleep(0.1)
        assert 0 <= run.seconds < 0.1
        return "done"

    assert call(command._replace(work=work), image, tmp_path / "out", "--steps", "2") == 0


def test_an_exception_in_the_loop_gives_signals_and_folder_back(command, image, tmp_path, capsys):
    def work(run):
        with run.writing("gray.png"):
            for _ in run.steps():
                raise InputError("it diverged; try less")

    handler = signal.getsignal(signal.SIGINT)
    assert call(command._replace(work=work), image, tmp_path / "out") == 2
    assert capsys.readouterr().err == "error: it diverged; try less\n"
    assert signal.getsignal(signal.SIGINT) is handler and not (tmp_path / "out").exists()


@pytest.mark.parametrize("steps, values", [(3, [None, 21.5, np.inf]), (200, [20.0] * 200)])
def test_the_page_shows_what_was_kept_and_asks_for_nothing(command, image, tmp_path, steps, values):
    def work(run):
        with run.writing("gray.png"):
            for step in run.steps():
                run.log(step, loss=1 / step, psnr_db=20 + step)
                run.show(step, np.full((300, 500, 3), step / 255), values[step - 1])
            shown = {"</script><b>": np.zeros((300, 500, 3))}
            run.finish({"psnr_db": 20.5, "notes": [1]}, baseline=19.0, shown=shown)
        return "done"

    out = tmp_path / "a b"
    assert call(command._replace(work=work), image, out, "--steps", str(steps)) == 0
    page = data_of(out / "index.html")
    frames = page["frames"]
    assert (frames[0][0], frames[-1][0]) == (1, steps) and len(frames) == min(steps, MOST_FRAMES)
    if steps == 3:
        assert [label for _, label, _ in frames] == ["", "21.5 dB", "exact"]
    assert page["measured"] == [[n, 20.0 + n] for n in range(1, steps + 1)]
    assert page["baselines"] == [["bilinear", 19.0]] and ["PSNR in dB", "20.5"] in page["figures"]
    assert page[
        "command"
    ] == f"python -m lessons.01_grayscale {shlex.quote(str(image))} --out '{out}' " + (
        f"--backend native --quiet --steps {steps}"
    )
    assert "<b>" not in (out / "index.html").read_text("utf-8")
    assert call(command._replace(work=work), image, out, "--steps", "1", "--overwrite") == 0


# ---------------------------------------------------------------- whose functions run


@pytest.fixture
def chooser(monkeypatch):
    """Of lesson 8, whose file is taken to be written; `fails` says which do not pass."""
    fails, lines = {}, []
    monkeypatch.setattr(stages, "is_written", lambda lesson: lesson.number in "38")
    monkeypatch.setattr(
        stages,
        "failures_of",
        lambda lessons: {one.number: fails[one.number] for one in lessons if one.number in fails},
    )

    def student(lesson, name):
        def function(text):
            return int(text)

        function.__name__ = name
        return function

    monkeypatch.setattr(stages, "load", student)
    chosen = stages.StageChooser("8", True, False, lines.append)
    chosen.fails, chosen.lines = fails, lines
    return chosen


def test_ours_are_those_that_the_exercise_holds():
    ours = stages.StageChooser("8", False, False, print)("8", ["launch_adam_grid"])
    assert ours.launch_adam_grid.__module__ == "kernels.adam"


def test_the_students_run_and_a_line_says_so(chooser):
    assert chooser("8", ["launch_adam_grid"]).launch_adam_grid("7") == 7
    assert chooser.lines == ["lesson 8: yours (launch_adam_grid)"]


def test_what_does_not_pass_is_refused_unless_forced(chooser):
    chooser.fails["8"] = "08_adam does not pass its check grid (race)"
    with pytest.raises(InputError, match=r"check grid \(race\), or add --force"):
        chooser("8", ["launch_adam_grid"])
    chooser.force = True
    assert chooser("8", ["launch_adam_grid"])


def test_another_lesson_is_filled_in(chooser):
    chooser.fails["3"] = "03_sampler does not pass its check batch (wrong)"
    filled = chooser("3", ["launch_sample_batch"])
    assert filled.launch_sample_batch.__module__ == "kernels.sampler"
    assert chooser.lines == ["lesson 3: ours (03_sampler does not pass its check batch (wrong))"]
    chooser("4", ["launch_encode"])
    assert "04_encode is not written yet" in chooser.lines[-1]


def test_a_students_exception_is_one_line(chooser):
    with pytest.raises(InputError, match="your launch_adam_grid of 08_adam fails with ValueError"):
        chooser("8", ["launch_adam_grid"]).launch_adam_grid("seven")


def test_arrays_hold_no_zeros_by_luck():
    device = native_device()
    assert np.isnan(device.empty((2, 3))).all()
    assert (device.empty(4, np.int32) != 0).all()


@pytest.mark.parametrize(("name", "fused"), [("auto", True), ("fused", True), ("cuda", False)])
def test_the_fastest_kernels_of_a_gpu_are_taken_unless_the_readable_ones_are_named(
    name, fused, monkeypatch
):
    monkeypatch.setattr(device, "why_no_gpu", lambda: "")
    monkeypatch.setattr(device, "cuda_device", device.native_device)
    assert device.choose_device(name).fused == fused


@pytest.mark.parametrize("capability", [(7, 5), (8, 0)])
def test_tensor_cores_are_used_where_there_are_any(capability, monkeypatch, tmp_path, capsys):
    command = importlib.import_module("lessons.17_neighbours.__main__")
    monkeypatch.setattr(run, "choose_device", lambda name: native_device()._replace(fused=True))
    monkeypatch.setattr(run, "compute_capability", lambda: capability)
    one = run.Run("17_neighbours", "17", command.COMMAND.parse([]), tmp_path)
    learner = command.new_learner(one, np.zeros((4, 16, 16), np.float32), np.zeros(4, np.int32))
    (stages,) = learner.functions.train_epoch.args
    on_tensor_cores = [function.__module__.endswith("tensor_cores") for function in stages]
    assert any(on_tensor_cores) == (capability == (8, 0))
    assert ("tensor cores" in capsys.readouterr().out) == (capability == (7, 5))
