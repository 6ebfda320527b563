"""The command line as its users meet it: what a run leaves, how it survives, what it refuses.

Most tests call `train.main` in this process, which compiles once. Where the process itself matters
(signals, kill -9, a full disk) they start `python train.py`.

A run's state on the disk changes only when a file is renamed into place. So a kill just before or
after such a rename stands for a kill at any moment, and unlike a timer it always hits the same one.
"""

import csv
import errno
import functools
import io
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from PIL import Image

import train
from kernels.config import Config
from kernels.files.atomic import write_atomically
from kernels.files.images import load_image, to_uint8
from kernels.state import State, initial_state
from kernels.training import checkpoint, devices, results, trainer
from kernels.training.command_line import snapshot_steps
from kernels.training.cpu_backend import FIXED_PARTITIONS, CpuBackend
from kernels.training.trainer import frame_steps, measured_steps

TINY = """--backend cpu --grid 7x5 --batch 300 --hidden 16 --layers 1
    --steps 60 --checkpoint-every 20 --quiet""".split()
TINY_CONFIG = Config(steps=60, batch=300, grid_width=7, grid_height=5, hidden=16, layers=1)
FINAL_STILLS = [
    "prediction", "ground_truth", "bilinear", "bilinear_best", "bilinear_and_learned",
    "contact_sheet",
]  # fmt: skip
OTHERS = """training.gif loss.png loss.csv model.npz summary.json checkpoint.npz
    preview.png run.json index.html""".split()
SUMMARY_KEYS = """image width height steps batch backend device deterministic partitions threads
    seconds_train us_per_step loss psnr_db baseline_psnr_db baseline_best_psnr_db parameters seed
    config versions""".split()
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


def pixels(height=16, width=24, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def save(path, array):
    Image.fromarray(array).save(path)
    return path


def read(path):
    return np.asarray(Image.open(path))


def read_summary(folder):
    return json.loads((folder / "summary.json").read_text())


def run(image, folder, *arguments):
    return train.main([str(image), "--out", str(folder), *TINY, *map(str, arguments)])


def command(*arguments, **variables):
    """What `subprocess` needs to start Python; a variable that is None leaves the environment."""
    environment = {**os.environ, **variables}
    return dict(
        args=[sys.executable, *map(str, arguments)],
        cwd=Path(train.__file__).parent,
        env={name: value for name, value in environment.items() if value is not None},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start(*arguments, limit=None, **variables):
    """Run train.py in a process of its own; returns (exit status, stdout, stderr)."""
    process = subprocess.run(**command("train.py", *arguments, **variables), preexec_fn=limit)
    return process.returncode, process.stdout, process.stderr


def content(folder):
    """Everything a run left, by file name, without the times it took and unfinished files."""
    return {path.name: comparable(path) for path in folder.iterdir() if path.suffix}


def saved_step(folder):
    return comparable(folder / "checkpoint.npz")["header"]["step"]


def comparable(path):
    if path.suffix == ".json":
        return without_times(path.read_text())
    if path.suffix == ".html":
        data = re.search('id="data">(.*)</script>', path.read_text("utf-8"))[1]
        return json.loads(data) | dict.fromkeys(("words", "figures", "command"))
    if path.suffix != ".npz":
        return path.read_bytes()
    with np.load(path) as archive:
        arrays = {name: archive[name].tobytes() for name in archive.files}
    return arrays | {"header": without_times(arrays["header"])}


def without_times(text):
    times = ("seconds", "seconds_train", "us_per_step")
    return {name: value for name, value in json.loads(text).items() if name not in times}


def assert_same(folder, expected):
    actual, expected = content(folder), content(expected)
    assert actual.keys() == expected.keys()
    assert [name for name in actual if actual[name] != expected[name]] == []


def assert_complaint(code, out, err, words=""):
    assert code == 2, err
    assert out == ""
    assert err.startswith("error: ") and err.endswith("\n") and err.count("\n") == 1, err
    assert words in err


def files(folder):
    """Every file below a folder: path -> content, or what else it is."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if not os.access(path, os.R_OK):
            found[name] = "unreadable"
            continue
        found[name] = (
            os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
        )
    return found


def call(arguments):
    """Run train.py in this process; returns (exit status, stdout, stderr)."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = train.main(list(map(str, arguments)))
    return code, out.getvalue(), err.getvalue()


def refused(place, arguments, words=""):
    """One line with these words, exit status 2, and every file as it was."""
    before = files(place)
    code, out, err = call(arguments)
    assert_complaint(code, out, err, words)
    assert not re.search(r"\b(delete|remove)\b", err), err
    assert files(place) == before


@pytest.fixture
def refuse(tmp_path):
    return functools.partial(refused, tmp_path)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return save(tmp_path_factory.mktemp("image") / "picture.png", pixels())


@pytest.fixture(scope="module")
def finished(image, tmp_path_factory):
    """The folder of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("finished")
    assert run(image, folder) == 0
    return folder


@pytest.fixture
def copy(finished, tmp_path):
    return shutil.copytree(finished, tmp_path, dirs_exist_ok=True)


# ---------------------------------------------------------------- what a run leaves


def assert_files(folder, stills, suffix="png"):
    expected = [f"{name}.{suffix}" for name in stills] + OTHERS
    assert sorted(path.name for path in folder.iterdir()) == sorted(expected)


def snapshots(*steps):
    return [f"{kind}_at_{step}" for kind in ("prediction", "feature") for step in steps]


def test_a_run_writes_every_file(finished, image):
    assert_files(finished, FINAL_STILLS + snapshots(1, 10, 60))
    np.testing.assert_array_equal(read(finished / "ground_truth.png"), read(image))
    for name in ("prediction", "bilinear", "prediction_at_10"):
        assert read(finished / f"{name}.png").shape == (16, 24, 3)
    feature_grid = read(finished / "feature_at_10.png")
    assert feature_grid.shape == (5, 7, 3)
    assert (feature_grid.min(), feature_grid.max()) == (0, 255)
    last = finished / "prediction_at_60.png"
    assert last.read_bytes() == (finished / "prediction.png").read_bytes()
    assert Image.open(finished / "training.gif").n_frames == 7  # steps 1, 2, 5, 10, 20, 50, 60
    assert read(finished / "preview.png").shape == (16, 24, 3)


def test_summary_and_loss_table(finished):
    summary = read_summary(finished)
    assert sorted(summary) == sorted(SUMMARY_KEYS)
    known = dict(image="picture.png", width=24, height=16, steps=60, batch=300, seed=1)
    known["backend"] = "cpu"
    assert {key: summary[key] for key in known} == known
    assert summary["parameters"] == 16 * 16 * 2 + 7 * 5 * 3
    assert summary["us_per_step"] == pytest.approx(summary["seconds_train"] / 60 * 1e6)
    assert summary["device"] and summary["versions"]["numpy"] == np.__version__
    assert summary["config"] == TINY_CONFIG.as_dict()
    assert summary["partitions"] == summary["threads"] == numba.get_num_threads()
    assert summary["deterministic"] is False
    for name, key in (
        ("prediction", "psnr_db"),
        ("bilinear", "baseline_psnr_db"),
        ("bilinear_best", "baseline_best_psnr_db"),
    ):
        error = read(finished / f"{name}.png") / 255 - read(finished / "ground_truth.png") / 255
        assert summary[key] == pytest.approx(-10 * math.log10(np.mean(error**2)), abs=0.05)

    rows = list(csv.DictReader((finished / "loss.csv").read_text().splitlines()))
    steps, losses = [int(row["step"]) for row in rows], [float(row["loss"]) for row in rows]
    assert steps == [1, 2, 5, 10, 20, 40, 50, 60]
    assert losses[-1] == summary["loss"] < losses[0]
    assert summary["baseline_psnr_db"] < summary["baseline_best_psnr_db"]


def test_one_psnr_everywhere(finished):
    """That of the whole picture: in the table, the summary, the animation, the checkpoint."""
    summary = read_summary(finished)
    rows = list(csv.DictReader((finished / "loss.csv").read_text().splitlines()))
    table = {int(row["step"]): float(row["psnr_db"]) for row in rows if row["psnr_db"]}
    assert list(table) == [1, 10, 60] and table[60] == summary["psnr_db"]
    truth = load_image(finished / "ground_truth.png")
    for step, decibels in table.items():
        error = load_image(finished / f"prediction_at_{step}.png") - truth
        assert decibels == pytest.approx(-10 * math.log10(np.mean(error**2)), abs=0.02)
    with np.load(finished / "checkpoint.npz") as archive:
        header = json.loads(archive["header"].tobytes())
    assert dict(header["measured"]) == table
    frames = dict(header["frames"])
    assert frames == {step: table.get(step) for step in (1, 2, 5, 10, 20, 50, 60)}


def test_when_the_whole_picture_is_measured():
    lake = measured_steps(40_000, 16_384, 800 * 550)
    assert lake == {d * 10**p for d in range(1, 10) for p in range(5) if d * 10**p <= 40_000}
    assert len(lake) * 800 * 550 / 3 < 0.03 * 40_000 * 16_384
    assert sorted(measured_steps(6_000, 16_384, 800 * 550))[-5:] == [500, 1000, 2000, 5000, 6000]
    assert measured_steps(40_000, 16_384, 64_000_000) == {1, 10, 100, 1000, 10_000, 40_000}
    assert measured_steps(1, 1, 1) == frame_steps(1) == {1}
    assert frame_steps(60) == {1, 2, 5, 10, 20, 50, 60}


def test_the_preview_is_renewed_while_the_run_goes_on(image, tmp_path, monkeypatch):
    written = []

    def follow(path, write):
        write_atomically(path, write)
        if path.name == "preview.png":
            written.append(read(path))

    monkeypatch.setattr(results, "SHORTEST_PAUSE", 0)
    monkeypatch.setattr(results, "MOST_OF_THE_TIME", math.inf)
    monkeypatch.setattr(results, "write_atomically", follow)
    assert run(image, tmp_path, "--snapshots", "none") == 0
    assert len(written) == 8 + 1  # at each stop, and at the end
    np.testing.assert_array_equal(written[-1], read(tmp_path / "prediction.png"))
    assert not np.array_equal(written[0], written[-1])


def test_previews_take_no_more_than_a_hundredth_of_the_time(monkeypatch, tmp_path):
    now = 0.0

    def write_slowly(path, write):
        nonlocal now
        now += 0.5

    monkeypatch.setattr(results.time, "monotonic", lambda: now)
    monkeypatch.setattr(results, "write_atomically", write_slowly)
    picture = SimpleNamespace(render=lambda longest: np.zeros((2, 2, 3), np.float32))
    shown = results.Preview(tmp_path / "preview.png")
    began = []
    while now < 200:
        before = now
        shown.renew_if_due(picture)
        began += [before] if now > before else []
        now += 0.25
    assert began[0] == 2 and set(np.diff(began)) == {50.5}


def test_a_large_picture_is_painted_small_for_animation_and_preview():
    sizes = []

    class Recording(CpuBackend):
        def render(self, width, height):
            sizes.append((width, height))
            return super().render(width, height)

    config = Config(steps=1, batch=1, grid_width=2, grid_height=2)
    recorded = trainer.Trainer(np.zeros((1200, 1800, 3), np.float32), config, Recording)
    recorded.render(960)
    recorded.render()
    assert sizes == [(960, 640), (1800, 1200)]


def test_what_is_printed(image, tmp_path, capsys):
    assert run(image, tmp_path) == 0
    quiet, summary = capsys.readouterr(), read_summary(tmp_path)
    assert quiet.err == "" and quiet.out.count("\n") == 1
    for words in (f"PSNR {summary['psnr_db']:.2f}", f"{summary['baseline_psnr_db']:.2f}", tmp_path):
        assert str(words) in quiet.out
    assert train.main([str(image), "--out", str(tmp_path), *TINY[:-1], "--overwrite"]) == 0
    loud = capsys.readouterr()
    assert loud.out == "training on the CPU\n" + quiet.out
    # In a file, a bar would be a line without an end.
    *_, last = loud.err.splitlines()
    assert all(words in last for words in ("step 60 of 60", "loss", "PSNR"))
    assert "\r" not in loud.err


def test_a_terminal_sees_a_bar(image, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("kernels.training.waiting.is_screen", lambda: True)
    assert train.main([str(image), "--out", str(tmp_path), *TINY[:-1]]) == 0
    bar = capsys.readouterr().err
    assert all(words in bar for words in ("60/60", "loss", "PSNR", "step/s"))
    # No estimate before a rate is known.
    *early, last = [part for part in bar.split("\r") if "/60" in part]
    assert not any("step/s" in part or "<" in part for part in early if "60/60" not in part)
    assert "step/s" in last


@pytest.mark.slow
def test_a_folder_name_that_the_terminal_cannot_show(image, tmp_path):
    folder = tmp_path / "h\u00fctte \u6e56"
    code, out, err = start(image, "--out", folder, *TINY, PYTHONIOENCODING="ascii")
    assert (code, err) == (0, "")
    assert out.endswith("h\\xfctte \\u6e56\n") and (folder / "prediction.png").exists()


def test_formats_and_snapshots(image, tmp_path):
    ppm = save(tmp_path / "picture.ppm", read(image))
    assert run(ppm, tmp_path / "ppm", "--format", "ppm", "--snapshots", "1,7,900") == 0
    assert_files(tmp_path / "ppm", FINAL_STILLS + snapshots(1, 7), "ppm")
    assert (tmp_path / "ppm" / "ground_truth.ppm").read_bytes() == ppm.read_bytes()
    assert run(image, tmp_path / "none", "--steps", 1, "--snapshots", "none") == 0
    assert_files(tmp_path / "none", FINAL_STILLS[:5])
    assert snapshot_steps("log", 40_000) == [1, 10, 100, 1000, 10_000, 40_000]


# ---------------------------------------------------------------- learning


@pytest.mark.slow
def test_training_converges_and_beats_the_baseline(image, tmp_path):
    longer = "--steps 4000 --hidden 32 --layers 2 --checkpoint-every 0".split()
    assert run(image, tmp_path, *longer) == 0
    summary = read_summary(tmp_path)
    first_loss = float((tmp_path / "loss.csv").read_text().splitlines()[1].split(",")[1])
    assert summary["loss"] < first_loss / 4
    assert summary["psnr_db"] > summary["baseline_psnr_db"] + 1


def test_learning_rates_are_constant_and_then_fall_in_a_straight_line(monkeypatch):
    seen = {}

    def record(backend, first_step, learning_rates):
        seen.update(enumerate(learning_rates, first_step))

    monkeypatch.setattr(CpuBackend, "run", record)
    recorded = trainer.Trainer(np.zeros((1, 1, 3), np.float32), TINY_CONFIG, CpuBackend)
    for stop in (1, 20, 33, 60):
        recorded.advance(stop)
    assert list(seen) == list(range(1, 61))
    factors = np.minimum(1, np.arange(60, 0, -1) / 30)
    initial = TINY_CONFIG.learning_rate_mlp, TINY_CONFIG.learning_rate_grid
    np.testing.assert_allclose(list(seen.values()), np.outer(factors, initial), rtol=1e-6)


@pytest.mark.slow
def test_the_seed_decides_everything(finished, image, tmp_path):
    assert run(image, tmp_path / "same") == run(image, tmp_path / "other", "--seed", 2) == 0
    assert_same(tmp_path / "same", finished)
    ours, other = (content(folder)["model.npz"] for folder in (finished, tmp_path / "other"))
    assert ours["weights"] != other["weights"] and ours["feature_grid"] != other["feature_grid"]
    states = [initial_state(replace(TINY_CONFIG, seed=seed)) for seed in (1, 2)]
    assert not np.array_equal(states[0].weights, states[1].weights)
    assert not np.array_equal(states[0].feature_grid, states[1].feature_grid)


def test_small_batches_do_not_make_long_chunks():
    """Ctrl-C and the progress bar wait for the end of a chunk."""
    chunks = []

    class Counting(CpuBackend):
        def run(self, first_step, learning_rates):
            chunks.append((first_step, len(learning_rates)))

    config = Config(steps=10_000, batch=1, grid_width=2, grid_height=2)
    trainer.Trainer(np.zeros((2, 2, 3), np.float32), config, Counting).advance(10_000)
    assert chunks == [(1, 4096), (4097, 4096), (8193, 1808)]


def test_the_native_backend_is_not_deterministic_and_says_so(tmp_path, capsys):
    out = str(tmp_path / "out")
    assert train.main(["--backend", "native", "--deterministic", "--out", out]) == 2
    assert "--backend cpu" in capsys.readouterr().err


@pytest.mark.thorough
def test_the_native_backend_from_the_command_line(tmp_path):
    image = save(tmp_path / "two.png", pixels(2, 2))
    small = "--backend native --steps 2 --batch 4 --grid 2x2 --snapshots none".split()
    assert run(image, tmp_path / "out", *small) == 0
    assert read_summary(tmp_path / "out")["backend"] == "native"


def test_more_memory_than_there_is_ends_in_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(devices, "memory_left", lambda: 4 * 1000)
    image = save(tmp_path / "two.png", pixels(2, 2))
    command = [str(image), "--backend", "native", "--steps", "2", "--quiet", "--batch", "500"]
    assert train.main([*command, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "not enough memory" in error and "--batch" in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_what_is_left_of_the_memory_is_asked_for():
    assert 1 << 20 < devices.memory_left()
    assert devices.filled((2, 3), 7, np.int32).tolist() == [[7] * 3] * 2


# ---------------------------------------------------------------- kill -9

KILL_AT_WRITE = """
import os, signal, sys, threading, train
write, moment, folder, *arguments = sys.argv[1:]
write, replace, one_at_a_time = int(write), os.replace, threading.Lock()
def replace_or_die(source, target):
    global write
    with one_at_a_time:  # pictures are written by several threads
        write -= os.path.dirname(target) == folder
        if write == 0 and moment == "before": os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)
        if write == 0: os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace_or_die
from kernels.training import results
results.SHORTEST_PAUSE = 1e9
sys.exit(train.main(["--out", folder, *arguments]))
"""


def kill_at_write(write, moment, image, folder, *arguments):
    """A run that dies, as by kill -9, just before or after it puts its n-th file in place."""
    script = command("-c", KILL_AT_WRITE, write, moment, folder, image, *TINY, *arguments)
    process = subprocess.run(**script)
    assert process.returncode == -signal.SIGKILL, process.stderr


# Files in their order, without previews, which come by the clock: the record, two snapshots (at
# step 1), two (10), checkpoint (20), checkpoint (40), two snapshots (60), checkpoint (60), then the
# final ones, the sixth of which is the model.
@posix
@pytest.mark.parametrize(
    "write, moment, step",
    [
        (6, "before", 0),
        *(
            pytest.param(*moment, marks=pytest.mark.slow)
            for moment in [(2, "after", 0), (7, "before", 20), (7, "after", 40), (16, "after", 60)]
        ),
    ],
)
@pytest.mark.slow
def test_resume_after_a_kill(image, finished, tmp_path, capsys, write, moment, step):
    kill_at_write(write, moment, image, tmp_path)
    unfinished = len(list(tmp_path.glob(".unfinished-*")))
    # Other threads write pictures meanwhile.
    assert (moment == "before") <= unfinished <= 1 + results.WRITING_THREADS
    assert train.main([str(image), "--out", str(tmp_path), *TINY[:-1], "--resume"]) == 0
    assert (f"from step {step}\n" if step else "starting at step 0") in capsys.readouterr().out
    assert_same(tmp_path, finished)


@posix
@pytest.mark.slow
def test_a_killed_run_leaves_no_checkpoint_of_an_older_one(image, finished, copy):
    kill_at_write(2, "after", image, copy, "--seed", 2, "--overwrite")
    assert run(image, copy, "--resume", "--seed", 2) == 0
    assert run(image, copy, "--overwrite") == 0
    assert_same(copy, finished)


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """Arguments of a run that spends most time on checkpoints, and the folder it leaves."""
    folder = tmp_path_factory.mktemp("long")
    thin = save(folder.with_suffix(".png"), pixels(2, 24))  # its checkpoints are small
    arguments = [str(thin), *TINY, "--steps", "600", "--checkpoint-every", "6", "--out"]
    assert train.main([*arguments, str(folder)]) == 0
    return arguments, folder


@posix
@pytest.mark.slow
@pytest.mark.parametrize("number, code", [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_resume_after_a_signal_from_outside(long_run, tmp_path, number, code):
    arguments, expected = long_run
    process = subprocess.Popen(**command("train.py", *arguments, tmp_path))
    while not (tmp_path / "checkpoint.npz").exists() and process.poll() is None:
        time.sleep(0.001)
    time.sleep(random.Random(int(number)).uniform(0, 0.05))
    process.send_signal(number)
    out, err = process.communicate()
    assert (process.returncode, err) == (code, "")
    if number == signal.SIGINT:
        assert "--resume" in out
        assert 6 <= read_summary(tmp_path)["steps"] < 600
        assert content(tmp_path).keys() >= {*OTHERS, *(f"{name}.png" for name in FINAL_STILLS)}
    assert train.main([*arguments, str(tmp_path), "--resume"]) == 0
    assert_same(tmp_path, expected)


# ---------------------------------------------------------------- Ctrl-C


def press_control_c(patch, call, times=1):
    """Press Ctrl-C in the n-th call of the backend; the first compiles. Returns a list of calls."""
    calls, run_backend = [], CpuBackend.run

    def run_and_press(*arguments):
        calls.append(arguments)
        run_backend(*arguments)
        for _ in range(times if len(calls) == call else 0):
            signal.raise_signal(signal.SIGINT)

    patch.setattr(CpuBackend, "run", run_and_press)
    return calls


def interrupted_run(call, image, folder, times=1):
    handler = signal.getsignal(signal.SIGINT)
    with pytest.MonkeyPatch.context() as patch:
        calls = press_control_c(patch, call, times)
        # So short that some calls end between two stops.
        patch.setattr(CpuBackend, "samples_per_chunk", 300 * 4)
        code = run(image, folder)
    assert len(calls) >= call and signal.getsignal(signal.SIGINT) is handler
    return code


# Calls 2, 4 and 9 end at a step with a log entry and a picture, the others between two of them.
@pytest.mark.parametrize(
    "call, step",
    [
        (2, 1),
        (7, 14),
        *(
            pytest.param(*at, marks=pytest.mark.slow)
            for at in [(4, 5), (9, 20), (11, 28), (19, 58)]
        ),
    ],
)
def test_resume_after_control_c(image, finished, tmp_path, capsys, call, step):
    assert interrupted_run(call, image, tmp_path) == 130
    assert f"interrupted at step {step};" in capsys.readouterr().out
    assert read_summary(tmp_path)["steps"] == step == saved_step(tmp_path)
    assert (tmp_path / "prediction.png").exists() and (tmp_path / "contact_sheet.png").exists()
    assert run(image, tmp_path, "--resume") == 0
    assert_same(tmp_path, finished)


@pytest.mark.parametrize("call, times", [(1, 1), (6, 2)])
@pytest.mark.slow
def test_control_c_with_nothing_to_save_or_twice(image, finished, tmp_path, capsys, call, times):
    assert interrupted_run(call, image, tmp_path, times) == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert not (tmp_path / "prediction.png").exists()
    assert run(image, tmp_path, "--resume") == 0
    assert_same(tmp_path, finished)


def test_control_c_in_the_last_step_comes_too_late(image, finished, tmp_path):
    assert interrupted_run(20, image, tmp_path) == 0
    assert_same(tmp_path, finished)


# ---------------------------------------------------------------- other ends


def test_resuming_a_finished_run_trains_no_step(image, finished, copy, monkeypatch):
    monkeypatch.delattr(CpuBackend, "run")
    assert run(image, copy, "--resume") == 0
    assert_same(copy, finished)


@pytest.mark.slow
def test_resume_with_another_number_of_threads(image, finished, tmp_path):
    assert interrupted_run(12, image, tmp_path) == 130
    code, _, err = start(image, "--out", tmp_path, *TINY, "--resume", NUMBA_NUM_THREADS="1")
    assert code == 0, err
    assert content(tmp_path)["model.npz"] == content(finished)["model.npz"]


@pytest.mark.slow
def test_deterministic_means_the_same_bits_for_any_number_of_threads(image, tmp_path):
    ends = []
    for threads in ("1", str(min(3, numba.config.NUMBA_NUM_THREADS))):
        folder = tmp_path / threads
        options = [image, "--out", folder, *TINY, "--deterministic"]
        code, _, err = start(*options, NUMBA_NUM_THREADS=threads)
        assert code == 0, err
        summary = read_summary(folder)
        assert summary["deterministic"] and summary["partitions"] == FIXED_PARTITIONS
        assert summary["threads"] == int(threads)
        ends.append(content(folder)["model.npz"])
    assert ends[0] == ends[1]


def test_a_checkpoint_of_before_pictures_were_measured(image, finished, copy):
    """Then what is known of the whole picture is what the animation has."""
    path = copy / "checkpoint.npz"
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays["header"].tobytes())
    measured = header.pop("measured")
    header["frames"] = [[step, 12.5] for step, _ in header["frames"]]
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, **arrays)
    progress, _ = checkpoint.load_checkpoint(path, TINY_CONFIG, load_image(image))
    assert progress.measured == [(step, 12.5) for step in (1, 2, 5, 10, 20, 50, 60)] != measured
    assert run(image, copy, "--resume") == 0
    assert content(copy)["model.npz"] == content(finished)["model.npz"]


def test_a_loss_that_is_not_a_number_stops_with_advice(image, tmp_path, refuse):
    assert interrupted_run(12, image, tmp_path) == 130
    path, learnt = tmp_path / "checkpoint.npz", load_image(image)
    progress, state = checkpoint.load_checkpoint(path, TINY_CONFIG, learnt)
    state.weights[3] = np.nan
    checkpoint.save_checkpoint(path, TINY_CONFIG, learnt, progress, state)
    words = "(step 40): training diverged; try smaller"
    refuse([image, "--out", tmp_path, *TINY, "--resume"], words)


@posix
@pytest.mark.slow
def test_a_full_disk_leaves_the_last_whole_checkpoint(image, finished, tmp_path):
    import resource

    # The animation grows a checkpoint: this is room for that of step 20, not for that of step 60.
    size = (finished / "checkpoint.npz").stat().st_size * 4 // 5
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # noqa: E731
    assert_complaint(*start(image, "--out", tmp_path, *TINY, limit=limit), "cannot write")
    assert not list(tmp_path.glob(".unfinished-*"))
    assert saved_step(tmp_path) in (20, 40)
    assert run(image, tmp_path, "--resume") == 0
    assert_same(tmp_path, finished)


def test_a_disk_too_full_for_compiled_code(image, tmp_path, capsys, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(CpuBackend, "run", fail)
    assert_complaint(run(image, tmp_path), *capsys.readouterr(), "the disk is full")


# ---------------------------------------------------------------- images


@pytest.mark.parametrize("height, width", [(1, 1), (3, 2)])
def test_tiny_images_train(tmp_path, height, width):
    image = save(tmp_path / "tiny.png", pixels(height, width))
    assert run(image, tmp_path / "out") == 0
    assert read(tmp_path / "out" / "prediction.png").shape == (height, width, 3)
    text = (tmp_path / "out" / "summary.json").read_text()
    json.loads(text, parse_constant=pytest.fail)  # Infinity and NaN are not JSON


@pytest.mark.parametrize(
    "name, words", [("line\nbreak.png", "no such file"), ("cut.png", "damaged or cut short")]
)
def test_bad_images(image, tmp_path, refuse, name, words):
    """One of each kind; `test_image_files` has all the others."""
    if name == "cut.png":
        (tmp_path / name).write_bytes(image.read_bytes()[:-100])
    refuse([tmp_path / name, "--out", tmp_path / "out", *TINY], words)


# ---------------------------------------------------------------- options

BAD_OPTIONS = """--steps 0|--steps -5|--steps 99999999999999999999|--steps many|--steps 1.5
--batch 0|--batch -1|--batch 1000000000000|--lr-mlp nan|--lr-mlp inf|--lr-mlp 0|--lr-mlp -1
--lr-mlp fast|--lr-grid nan|--lr-grid 1e9|--lr-grid 0|--grid 0x5|--grid 5|--grid axb
--grid 99999x99999|--grid -3x5|--grid 5x5x5|--hidden 20|--hidden 0|--hidden 256|--layers 0
--layers 9|--checkpoint-every -1|--seed -1|--seed 18446744073709551616|--snapshots 0
--snapshots 1,x|--format bmp|--backend tpu|--unknown-option 3|second.png|--scale"""


@pytest.mark.parametrize("options", BAD_OPTIONS.replace("\n", "|").split("|"))
def test_bad_options(image, tmp_path, refuse, options):
    refuse([image, "--out", tmp_path / "out", *TINY, *options.split()])


@pytest.mark.slow
def test_bad_input_to_a_process_of_its_own(image, tmp_path):
    for arguments in ([image, "--steps", 0], [tmp_path / "missing.png"]):
        assert_complaint(*start(*arguments, "--out", tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_without_a_gpu(image, tmp_path):
    hidden = dict(NUMBA_ENABLE_CUDASIM=None, CUDA_VISIBLE_DEVICES="-1")
    arguments = [image, "--out", tmp_path / "out", *TINY[:-1], "--backend"]
    assert_complaint(*start(*arguments, "cuda", **hidden), "--backend cpu")
    assert list(tmp_path.iterdir()) == []
    code, out, err = start(*arguments, "auto", **hidden)
    assert code == 0, err
    assert out.startswith("no usable GPU") and out.count("\n") == 2


def test_folders_in_the_way(image, tmp_path, refuse):
    (tmp_path / "file").write_text("in the way")
    refuse([image, "--out", tmp_path / "file", *TINY], "in the way")
    refuse([image, "--out", tmp_path / "file" / "out", *TINY], "not a folder")
    (tmp_path / "out" / "checkpoint.npz").mkdir(parents=True)
    refuse([image, "--out", tmp_path / "out", *TINY], "checkpoint.npz")


# ---------------------------------------------------------------- damaged and foreign archives


def damaged(path):
    """What `path` may become: cut, emptied, changed in one byte, or a file of another kind."""
    whole = path.read_bytes()
    middle, flags = len(whole) // 2, whole.rindex(b"PK\x01\x02") + 8
    for length in (0, 1, 100, middle, len(whole) - 1):
        yield whole[:length]
    for position in (middle, flags):  # the flag says that the data is encrypted
        yield whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :]
    yield (path.parent / "prediction.png").read_bytes()
    yield b"\x93NUMPY\x01\x00\x46\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (0,)}"


def test_damaged_checkpoints(image, copy, refuse):
    path = copy / "checkpoint.npz"
    for spoilt in [*damaged(path), (copy / "model.npz").read_bytes()]:
        path.write_bytes(spoilt)
        refuse([image, "--out", copy, *TINY, "--resume"], "not a whole checkpoint")


def test_checkpoints_of_another_run(image, copy, refuse, tmp_path):
    for option, value in (("--seed", 2), ("--grid", "5x7"), ("--hidden", 32)):
        arguments = [image, "--out", copy, *TINY, "--resume", option, value]
        refuse(arguments, f"other settings ({option.strip('-')}")
    other = save(tmp_path / "other.png", pixels(seed=9))
    refuse([other, "--out", copy, *TINY, "--resume"], "another image")
    refuse([image, "--out", copy, *TINY, "--resume", "--steps", 59], "has 60 steps behind it")


@pytest.mark.parametrize(
    "call, step, same",
    [
        (7, 14, True),
        *(pytest.param(*at, marks=pytest.mark.slow) for at in [(11, 28, True), (19, 58, False)]),
    ],
)
def test_resume_with_more_steps(image, tmp_path, capsys, call, step, same):
    """Learning rates are the same for both lengths up to the middle of the shorter run."""
    assert interrupted_run(call, image, tmp_path / "run") == 130
    longer = [*TINY[:-1], "--steps", "90"]
    assert train.main([str(image), "--out", str(tmp_path / "run"), *longer, "--resume"]) == 0
    told = capsys.readouterr().out
    assert f"going on from step {step}" in told and same != ("learning rates fell" in told)
    assert train.main([str(image), "--out", str(tmp_path / "whole"), *longer]) == 0
    one, other = [state_in(tmp_path / name / "checkpoint.npz") for name in ("run", "whole")]
    assert same == (one == other) and saved_step(tmp_path / "run") == 90


def test_resume_alone_keeps_the_length_of_the_run(image, copy, capsys):
    without = [word for word in TINY[:-1] if word not in ("--steps", "60")]
    assert train.main([str(image), "--out", str(copy), *without, "--resume"]) == 0
    assert "going on from step 60\n" in capsys.readouterr().out and saved_step(copy) == 60


def state_in(path):
    with np.load(path) as archive:
        return [archive[name].tobytes() for name in State._fields]


# ---------------------------------------------------------------- --render


def test_render(finished, tmp_path):
    def render(picture, *arguments):
        model = str(finished / "model.npz")
        assert train.main(["--render", model, "--to", str(picture), *arguments]) == 0
        return read(picture)

    same = render(tmp_path / "same.png")
    np.testing.assert_array_equal(same, read(finished / "prediction.png"))
    large = render(tmp_path / "large.ppm", "--scale", "4")
    assert (tmp_path / "large.ppm").read_bytes()[:2] == b"P6" and large.shape == (64, 96, 3)
    config, state, _, _ = checkpoint.load_model(finished / "model.npz")
    expected = CpuBackend(np.zeros((1, 1, 3), np.float32), config, state).render(96, 64)
    np.testing.assert_array_equal(large, to_uint8(expected))


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "inf", "1e9", "1e308", "big"])
def test_bad_scales(finished, tmp_path, refuse, scale):
    model, picture = finished / "model.npz", tmp_path / "out.png"
    refuse(["--render", model, "--to", picture, "--scale", scale], "--scale")


def test_timings_add_up_to_the_whole_run(image, tmp_path, capsys):
    begin = time.perf_counter()
    run(image, tmp_path / "run", "--timings")
    most = time.perf_counter() - begin
    table = [
        line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines() if " s  " in line
    ]
    seconds = [float(row[0]) for row in table]
    assert table[-1][2] == "in all" and "training" in [row[2] for row in table]
    assert sum(seconds[:-1]) == pytest.approx(seconds[-1], abs=0.05) and seconds[-1] <= most + 0.01
