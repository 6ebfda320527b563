"""The command line as its users meet it: what a run leaves, how it survives, what it refuses.

Most tests call `train.main` in this process, which compiles once. Where the process itself matters
(signals, kill -9, a full disk) they start `python train.py`.

A run's state on the disk changes only when a file is renamed into place. So a kill just before or
after such a rename stands for a kill at any moment, and unlike a timer it hits the same one always.
"""

import csv
import errno
import json
import math
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import train
from kernels import checkpoint, cpu, trainer
from kernels.backends import CpuBackend, CudaBackend
from kernels.config import Config
from kernels.state import initial_state

ROOT = Path(train.__file__).parent
TINY = "--backend cpu --grid 7x5 --batch 300 --hidden 16 --layers 1 --steps 60 --checkpoint-every 20"
TINY = [*TINY.split(), "--quiet"]
TINY_CONFIG = Config(steps=60, batch=300, grid_width=7, grid_height=5, hidden=16, layers=1)
STILLS = ["prediction", "ground_truth", "bilinear", "contact_sheet"]
SNAPSHOTS = [f"{kind}_at_{step}" for kind in ("prediction", "feature") for step in (1, 10, 60)]
OTHERS = ["training.gif", "loss.png", "loss.csv", "model.npz", "summary.json", "checkpoint.npz"]
SUMMARY_KEYS = """image width height steps batch backend device seconds_train us_per_step loss
    psnr_db baseline_psnr_db parameters seed versions""".split()
TIMES = ("seconds", "seconds_train", "us_per_step")


def pixels(height=16, width=24, channels=3, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)


def save(path, array, **options):
    Image.fromarray(array).save(path, **options)
    return path


def read(path):
    return np.asarray(Image.open(path))


def run(image, folder, *arguments):
    return train.main([str(image), "--out", str(folder), *TINY, *map(str, arguments)])


def command(*arguments, script="train.py", **variables):
    """Arguments for subprocess; a variable set to None is removed from the environment."""
    environment = {**os.environ, **variables}
    environment = {name: value for name, value in environment.items() if value is not None}
    program = ["-c", script] if "\n" in script else [script]
    return dict(
        args=[sys.executable, *program, *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def content(folder):
    """Everything a run left, by file name, without the times it took."""
    return {path.name: comparable(path) for path in folder.iterdir() if path.suffix}


def comparable(path):
    if path.suffix == ".json":
        return without_times(path.read_text())
    if path.suffix != ".npz":
        return path.read_bytes()
    with np.load(path) as archive:
        arrays = {name: (archive[name].dtype, archive[name].tobytes()) for name in archive.files}
    return arrays | {"header": without_times(arrays["header"][1])}


def without_times(text):
    return {name: value for name, value in json.loads(text).items() if name not in TIMES}


def assert_same(folder, expected):
    actual, expected = content(folder), content(expected)
    assert actual.keys() == expected.keys()
    assert [name for name in actual if actual[name] != expected[name]] == []


def everything_below(folder):
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def assert_complaint(code, out, err, *words):
    assert code == 2, err
    assert out == ""
    assert err.startswith("error: ") and err.endswith("\n") and err.count("\n") == 1, err
    for word in words:
        assert word in err


@pytest.fixture
def refuse(tmp_path, capsys):
    """Call as refuse(arguments, words...): one line with these words, exit 2, nothing written."""

    def check(arguments, *words):
        before = everything_below(tmp_path)
        capsys.readouterr()
        code = train.main([str(argument) for argument in arguments])
        assert_complaint(code, *capsys.readouterr(), *words)
        assert everything_below(tmp_path) == before

    return check


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return save(tmp_path_factory.mktemp("image") / "picture.png", pixels())


@pytest.fixture(scope="module")
def finished(image, tmp_path_factory):
    """The folder of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("finished")
    assert run(image, folder) == 0
    return folder


# ---------------------------------------------------------------- what a run leaves


def test_a_run_writes_every_file(finished, image):
    names = [f"{name}.png" for name in STILLS + SNAPSHOTS] + OTHERS
    assert sorted(path.name for path in finished.iterdir()) == sorted(names)
    np.testing.assert_array_equal(read(finished / "ground_truth.png"), read(image))
    for name in ("prediction.png", "bilinear.png", "prediction_at_10.png"):
        assert read(finished / name).shape == (16, 24, 3)
    feature_grid = read(finished / "feature_at_10.png")
    assert feature_grid.shape == (5, 7, 3)
    assert (feature_grid.min(), feature_grid.max()) == (0, 255)
    last = finished / "prediction_at_60.png"
    assert last.read_bytes() == (finished / "prediction.png").read_bytes()
    assert Image.open(finished / "training.gif").n_frames == 7  # steps 1, 2, 4, ... 32, 60


def test_summary_and_loss_table(finished):
    summary = json.loads((finished / "summary.json").read_text())
    assert sorted(summary) == sorted(SUMMARY_KEYS)
    known = dict(image="picture.png", width=24, height=16, steps=60, batch=300, backend="cpu", seed=1)
    assert {key: summary[key] for key in known} == known
    assert summary["parameters"] == 16 * 16 * 2 + 7 * 5 * 3
    assert summary["us_per_step"] == pytest.approx(summary["seconds_train"] / 60 * 1e6)
    assert summary["device"] and summary["versions"]["numpy"] == np.__version__
    for name, key in (("prediction", "psnr_db"), ("bilinear", "baseline_psnr_db")):
        error = read(finished / f"{name}.png") / 255 - read(finished / "ground_truth.png") / 255
        assert summary[key] == pytest.approx(-10 * math.log10(np.mean(error**2)), abs=0.05)

    with open(finished / "loss.csv", newline="") as file:
        rows = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
    steps = [row["step"] for row in rows]
    assert steps == sorted(set(steps)) and steps[0] == 1 and steps[-1] == 60
    assert rows[-1]["loss"] == summary["loss"] < rows[0]["loss"]
    assert all(row["psnr_db"] == pytest.approx(-10 * math.log10(row["loss"])) for row in rows)


def test_what_is_printed(image, tmp_path, capsys):
    arguments = [str(image), "--out", str(tmp_path), *TINY]
    assert train.main(arguments) == 0
    quiet = capsys.readouterr()
    assert quiet.err == "" and quiet.out.count("\n") == 1
    summary = json.loads((tmp_path / "summary.json").read_text())
    for words in (f"PSNR {summary['psnr_db']:.2f}", f"{summary['baseline_psnr_db']:.2f}", tmp_path):
        assert str(words) in quiet.out

    assert train.main([argument for argument in arguments if argument != "--quiet"]) == 0
    loud = capsys.readouterr()
    assert loud.out == "training on the CPU\n" + quiet.out
    assert all(words in loud.err for words in ("60/60", "loss", "PSNR", "step/s"))


def test_ppm_and_a_list_of_snapshots(image, tmp_path):
    ppm = save(tmp_path / "picture.ppm", read(image))
    assert run(ppm, tmp_path / "out", "--format", "ppm", "--snapshots", "1,7,900") == 0
    snapshots = [f"{kind}_at_{step}" for kind in ("prediction", "feature") for step in (1, 7)]
    names = [f"{name}.ppm" for name in STILLS + snapshots] + OTHERS
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
    assert (tmp_path / "out" / "ground_truth.ppm").read_bytes() == ppm.read_bytes()


def test_one_step_without_snapshots(image, tmp_path):
    assert run(image, tmp_path, "--steps", 1, "--snapshots", "none") == 0
    names = [f"{name}.png" for name in STILLS[:3]] + OTHERS
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_defaults_are_those_of_the_readme():
    assert train.config_from(train.parse([])) == Config()
    assert train.snapshot_steps("log", 40_000) == [1, 10, 100, 1000, 10_000, 40_000]


# ---------------------------------------------------------------- learning


def test_training_converges_and_beats_the_baseline(image, tmp_path):
    assert run(image, tmp_path, "--steps", 4000, "--hidden", 32, "--layers", 2) == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    first_loss = float((tmp_path / "loss.csv").read_text().splitlines()[1].split(",")[1])
    assert summary["loss"] < first_loss / 4
    assert summary["psnr_db"] > summary["baseline_psnr_db"] + 1


def test_learning_rates_fall_to_zero_along_a_half_cosine():
    run_of_60 = trainer.Trainer(np.zeros((1, 1, 3), np.float32), TINY_CONFIG, CpuBackend)
    rates = run_of_60.learning_rates(1, 60)
    initial = TINY_CONFIG.learning_rate_mlp, TINY_CONFIG.learning_rate_grid
    np.testing.assert_allclose(rates[0], initial)
    np.testing.assert_allclose(rates[30], np.divide(initial, 2))
    assert (np.diff(rates, axis=0) < 0).all() and (0 < rates[-1]).all()
    assert (rates[-1] < rates[0] / 1000).all()
    np.testing.assert_array_equal(run_of_60.learning_rates(21, 40), rates[20:])


def test_the_seed_decides_everything(finished, image, tmp_path):
    assert run(image, tmp_path / "again") == run(image, tmp_path / "other", "--seed", 2) == 0
    assert_same(tmp_path / "again", finished)
    ours, other = (content(folder)["model.npz"] for folder in (finished, tmp_path / "other"))
    assert ours["weights"] != other["weights"] and ours["feature_grid"] != other["feature_grid"]


def test_cuda_and_cpu_draw_the_same_batches_and_agree():
    config = Config(steps=3, batch=40, grid_width=3, grid_height=2, hidden=16, layers=1)
    target = pixels(4, 6).astype(np.float32) / 255
    runs = [trainer.Trainer(target, config, backend) for backend in (CudaBackend, CpuBackend)]
    for step in (1, 2, 3):
        for each in runs:
            each.advance(step)
            each.log()
        uv = np.empty((2, config.batch), np.float32)
        cpu.draw_uv(np.uint64(config.seed), step, 0, uv)
        np.testing.assert_array_equal(runs[0].backend.uv.copy_to_host(), uv.T)
    losses = [[loss for _, loss in each.progress.history] for each in runs]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-3)


def test_the_cuda_backend_from_the_command_line(tmp_path):
    image = save(tmp_path / "two.png", pixels(2, 2))
    small = ["--backend", "cuda", "--steps", 2, "--batch", 4, "--grid", "2x2", "--snapshots", "none"]
    assert run(image, tmp_path / "out", *small) == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["backend"] == "cuda"


# ---------------------------------------------------------------- kill -9

KILL_AT_WRITE = """
import os, signal, sys, train
from pathlib import Path
write, moment, *arguments = sys.argv[1:]
folder, write, replace = Path(arguments[arguments.index("--out") + 1]), int(write), os.replace
def replace_or_die(source, target):
    global write
    write -= Path(target).parent == folder
    if write == 0 and moment == "before": os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
    if write == 0: os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace_or_die
sys.exit(train.main(arguments))
"""
needs_posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


def killed_run(image, folder, write, moment, *arguments):
    """Start a run that kills itself, as by kill -9, before or after its n-th file."""
    arguments = [write, moment, image, "--out", folder, *TINY, *arguments]
    process = subprocess.run(**command(*arguments, script=KILL_AT_WRITE))
    assert process.returncode == -signal.SIGKILL, process.stderr


# Files are written in this order: two snapshots (step 1), two (step 10), checkpoint (20), checkpoint
# (40), two snapshots (60), checkpoint (60), then nine final ones, of which the fourth is the model.
@needs_posix
@pytest.mark.parametrize(
    "write, moment, step",
    [(1, "after", None), (5, "before", None), (6, "before", 20), (6, "after", 40), (13, "after", 60)],
)
def test_resume_after_a_kill(image, finished, tmp_path, capsys, write, moment, step):
    killed_run(image, tmp_path, write, moment)
    assert len(list(tmp_path.glob(".unfinished-*"))) == (moment == "before")
    arguments = [argument for argument in TINY if argument != "--quiet"]
    assert train.main([str(image), "--out", str(tmp_path), *arguments, "--resume"]) == 0
    expected = f"going on from step {step}" if step else "no checkpoint"
    assert expected in capsys.readouterr().out
    assert_same(tmp_path, finished)


@needs_posix
def test_a_new_run_does_not_resume_from_an_older_one(image, finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    killed_run(image, tmp_path, 1, "after", "--seed", 2)
    assert not (tmp_path / "checkpoint.npz").exists()
    assert run(image, tmp_path, "--resume") == 0
    assert_same(tmp_path, finished)


@pytest.fixture(scope="module")
def long_run(image, tmp_path_factory):
    """Arguments of a run of which most time goes into checkpoints, and what it leaves."""
    arguments = [image, *TINY, "--steps", 400, "--checkpoint-every", 2]
    folder = tmp_path_factory.mktemp("long")
    assert train.main([*map(str, arguments), "--out", str(folder)]) == 0
    return arguments, folder


@needs_posix
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_signal_at_any_moment(long_run, tmp_path, number):
    arguments, expected = long_run
    process = subprocess.Popen(**command(*arguments, "--out", tmp_path))
    while not (tmp_path / "checkpoint.npz").exists() and process.poll() is None:
        time.sleep(0.001)
    time.sleep(random.Random(int(number)).uniform(0, 0.1))
    process.send_signal(number)
    out, err = process.communicate()
    if number == signal.SIGINT:
        assert process.returncode == 130, err
        assert "--resume" in out and err == ""
        summary = json.loads((tmp_path / "summary.json").read_text())
        assert 2 <= summary["steps"] < 400
        assert (tmp_path / "prediction.png").exists() and (tmp_path / "training.gif").exists()
    else:
        assert process.returncode == -number, err
    assert train.main([*map(str, arguments), "--out", str(tmp_path), "--resume"]) == 0
    assert_same(tmp_path, expected)


# ---------------------------------------------------------------- Ctrl-C


def interrupted_run(image, folder, call, times=1):
    """A run in which Ctrl-C is pressed during the n-th call of the backend; the first compiles."""
    calls, run_backend = 0, CpuBackend.run

    def press_control_c(*arguments):
        nonlocal calls
        calls += 1
        run_backend(*arguments)
        for _ in range(times if calls == call else 0):
            signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CpuBackend, "run", press_control_c)
        patch.setattr(trainer, "SAMPLES_A_CHUNK", 300 * 4)  # so that some calls end between stops
        code = run(image, folder)
    assert signal.getsignal(signal.SIGINT) is handler
    return code


@pytest.mark.parametrize("call, step", [(2, 1), (4, 4), (8, 14), (12, 24), (20, 54)])
def test_resume_after_control_c(image, finished, tmp_path, capsys, call, step):
    assert interrupted_run(image, tmp_path, call) == 130
    assert f"interrupted at step {step};" in capsys.readouterr().out
    assert json.loads((tmp_path / "summary.json").read_text())["steps"] == step
    assert (tmp_path / "prediction.png").exists() and (tmp_path / "contact_sheet.png").exists()
    assert run(image, tmp_path, "--resume") == 0
    assert_same(tmp_path, finished)


@pytest.mark.parametrize("call, times", [(1, 1), (6, 2)])
def test_control_c_with_nothing_to_save_or_twice(image, finished, tmp_path, capsys, call, times):
    assert interrupted_run(image, tmp_path, call, times) == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert not (tmp_path / "prediction.png").exists()
    assert run(image, tmp_path, "--resume") == 0
    assert_same(tmp_path, finished)


def test_control_c_in_the_last_step_comes_too_late(image, finished, tmp_path):
    assert interrupted_run(image, tmp_path, 22) == 0
    assert_same(tmp_path, finished)


# ---------------------------------------------------------------- other ends


def test_resuming_a_finished_run_trains_no_step(image, finished, tmp_path, monkeypatch):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    monkeypatch.delattr(CpuBackend, "run")
    assert run(image, tmp_path, "--resume") == 0
    assert_same(tmp_path, finished)


def test_resume_with_another_number_of_threads(image, finished, tmp_path):
    assert interrupted_run(image, tmp_path, 12) == 130
    arguments = [image, "--out", tmp_path, *TINY, "--resume"]
    process = subprocess.run(**command(*arguments, NUMBA_NUM_THREADS="1"))
    assert process.returncode == 0, process.stderr
    assert content(tmp_path)["model.npz"] == content(finished)["model.npz"]


def test_a_loss_that_is_not_a_number_stops_with_advice(image, tmp_path, refuse):
    assert interrupted_run(image, tmp_path, 12) == 130
    path, header = tmp_path / "checkpoint.npz", content(tmp_path)["checkpoint.npz"]["header"]
    progress, state = checkpoint.load_checkpoint(path, TINY_CONFIG, header["image"])
    state.weights[3] = np.nan
    checkpoint.save_checkpoint(path, TINY_CONFIG, header["image"], progress, state)
    refuse([image, "--out", tmp_path, *TINY, "--resume"], "step 32", "--lr-mlp")


@needs_posix
def test_a_full_disk_leaves_the_last_whole_checkpoint(image, finished, tmp_path):
    import resource

    limit = (finished / "checkpoint.npz").stat().st_size * 4 // 5
    arguments = [image, "--out", tmp_path, *TINY]
    limited = subprocess.run(
        **command(*arguments),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert_complaint(limited.returncode, limited.stdout, limited.stderr, "cannot write")
    assert not list(tmp_path.glob(".unfinished-*"))
    assert content(tmp_path)["checkpoint.npz"]["header"]["step"] == 20
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


def accepted_images():
    gray, colours = pixels(channels=1)[:, :, 0], pixels()
    alpha = pixels(channels=1, seed=1) / 255
    palette = Image.fromarray(gray % 8)
    palette.putpalette(pixels(1, 8).tobytes())
    deep = gray.astype(np.uint16) * 257
    rgba = np.dstack([colours, np.uint8(alpha * 255)])
    return {
        "gray": (Image.fromarray(gray), np.dstack([gray] * 3)),
        "palette": (palette, pixels(1, 8)[0][gray % 8]),
        "rgba": (Image.fromarray(rgba), np.floor(colours * alpha + 255 * (1 - alpha) + 0.5)),
        "deep": (Image.fromarray(deep), np.dstack([gray] * 3)),
    }


@pytest.mark.parametrize("kind", ["gray", "palette", "rgba", "deep"])
def test_images_of_every_kind_become_rgb(tmp_path, kind):
    picture, expected = accepted_images()[kind]
    picture.save(tmp_path / "in.png")
    assert run(tmp_path / "in.png", tmp_path / "out", "--steps", 2) == 0
    np.testing.assert_array_equal(read(tmp_path / "out" / "ground_truth.png"), expected)


def huge_png():
    """A valid beginning of 100,000 x 100,000 pixels."""
    header = b"IHDR" + struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    end = struct.pack(">I", zlib.crc32(header)) + struct.pack(">I", 100) + b"IDAT"
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + end


@pytest.mark.parametrize(
    "name, data, words",
    [
        ("missing.png", None, "no such file"),
        ("line\nbreak.png", None, "no such file"),
        ("empty.png", lambda png: b"", "empty"),
        ("noise.png", lambda png: pixels().tobytes(), "not an image"),
        ("text.png", lambda png: b"This is no picture.\n" * 50, "not an image"),
        ("truncated.png", lambda png: png[: len(png) // 2], "damaged or cut short"),
        ("corrupt.png", lambda png: png[:200] + bytes(100) + png[300:], "damaged or cut short"),
        ("huge.png", lambda png: huge_png(), "megapixels"),
    ],
)
def test_bad_images(image, tmp_path, refuse, name, data, words):
    if data:
        (tmp_path / name).write_bytes(data(image.read_bytes()))
    refuse([tmp_path / name, "--out", tmp_path / "out", *TINY], words)


def test_a_folder_or_an_animation_is_no_image(tmp_path, refuse):
    frames = [Image.fromarray(pixels(seed=seed)) for seed in range(3)]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    refuse([tmp_path / "moving.gif", "--out", tmp_path / "out", *TINY], "3 frames")
    refuse([tmp_path, "--out", tmp_path / "out", *TINY], "it is a folder")


# ---------------------------------------------------------------- options

BAD_OPTIONS = """
--steps 0|--steps -5|--steps 99999999999999999999|--steps many|--steps 1.5|--batch 0|--batch -1
--batch 1000000000000|--lr-mlp nan|--lr-mlp inf|--lr-mlp 0|--lr-mlp -1|--lr-mlp fast|--lr-grid nan
--lr-grid 1e9|--lr-grid 0|--grid 0x5|--grid 5|--grid axb|--grid 99999x99999|--grid -3x5|--grid 5x5x5
--hidden 20|--hidden 0|--hidden 128|--layers 0|--layers 9|--checkpoint-every -1|--seed -1
--seed 18446744073709551616|--snapshots 0|--snapshots 1,x|--snapshots|--format bmp|--backend tpu
--unknown-option 3|second.png
"""


@pytest.mark.parametrize("options", BAD_OPTIONS.strip().replace("\n", "|").split("|"))
def test_bad_options(image, tmp_path, refuse, options):
    refuse([image, "--out", tmp_path / "out", *TINY, *options.split()])


def test_a_bad_option_and_a_bad_image_in_a_process_of_their_own(image, tmp_path):
    for arguments in ([image, "--steps", 0], [tmp_path / "missing.png"]):
        process = subprocess.run(**command(*arguments, "--out", tmp_path / "out"))
        assert_complaint(process.returncode, process.stdout, process.stderr)
    assert list(tmp_path.iterdir()) == []


def test_without_a_gpu(image, tmp_path):
    hidden = dict(NUMBA_ENABLE_CUDASIM=None, CUDA_VISIBLE_DEVICES="-1")
    arguments = [image, "--out", tmp_path / "out", *TINY]
    process = subprocess.run(**command(*arguments, "--backend", "cuda", **hidden))
    assert_complaint(process.returncode, process.stdout, process.stderr, "--backend cpu")
    assert list(tmp_path.iterdir()) == []
    arguments.remove("--quiet")
    process = subprocess.run(**command(*arguments, "--backend", "auto", **hidden))
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith("no usable GPU") and process.stdout.count("\n") == 2


def test_unwritable_folders(image, tmp_path, refuse):
    (tmp_path / "file").write_text("in the way")
    refuse([image, "--out", tmp_path / "file", *TINY], "cannot write", "in the way")
    refuse([image, "--out", tmp_path / "file" / "out", *TINY], "cannot write", "not a folder")
    (tmp_path / "out" / "checkpoint.npz").mkdir(parents=True)
    refuse([image, "--out", tmp_path / "out", *TINY], "checkpoint.npz")


# ---------------------------------------------------------------- checkpoints of the wrong kind


def test_checkpoints_of_another_run(image, finished, tmp_path, refuse):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    for option, value in (("--seed", 2), ("--steps", 61), ("--grid", "5x7"), ("--hidden", 32)):
        arguments = [image, "--out", tmp_path, *TINY, "--resume", option, value]
        refuse(arguments, "other settings", option.strip("-"))
    other = save(tmp_path / "other.png", pixels(seed=9))
    refuse([other, "--out", tmp_path, *TINY, "--resume"], "another image")


def damaged_files(path):
    """Files that were once `path`: cut, emptied, changed in a byte, or of another kind."""
    whole = path.read_bytes()
    middle = len(whole) // 2
    for length in (0, 1, 100, middle, len(whole) - 1):
        yield whole[:length]
    yield whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    encrypted = whole.rindex(b"PK\x01\x02") + 8
    yield whole[:encrypted] + bytes([whole[encrypted] | 1]) + whole[encrypted + 1 :]
    yield (path.parent / "prediction.png").read_bytes()
    np.save(path.with_suffix(".npy"), np.ones(3))
    yield path.with_suffix(".npy").read_bytes()
    path.with_suffix(".npy").unlink()


def test_damaged_checkpoints(image, finished, tmp_path, refuse):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "checkpoint.npz"
    for damaged in [*damaged_files(path), (tmp_path / "model.npz").read_bytes()]:
        path.write_bytes(damaged)
        refuse([image, "--out", tmp_path, *TINY, "--resume"], "not a whole checkpoint")


# ---------------------------------------------------------------- --render


def render(model, picture, *arguments):
    return train.main(["--render", str(model), str(picture), "--backend", "cpu", *arguments])


def test_render(finished, tmp_path):
    model = finished / "model.npz"
    assert render(model, tmp_path / "same.png") == 0
    np.testing.assert_array_equal(read(tmp_path / "same.png"), read(finished / "prediction.png"))
    assert render(model, tmp_path / "large.ppm", "--scale", "4") == 0
    large = read(tmp_path / "large.ppm")
    assert (tmp_path / "large.ppm").read_bytes()[:2] == b"P6" and large.shape == (64, 96, 3)
    config, state, width, height = checkpoint.load_model(model)
    expected = CpuBackend(np.zeros((1, 1, 3), np.float32), config, state).render(96, 64)
    np.testing.assert_allclose(large / 255, expected, atol=0.51 / 255)
    assert (width, height) == (24, 16)
    assert not np.array_equal(state.weights, initial_state(config).weights)


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "inf", "1e9", "1e308", "big"])
def test_bad_scales(finished, tmp_path, refuse, scale):
    refuse(["--render", finished / "model.npz", "--scale", scale, tmp_path / "out.png"], "--scale")


def test_bad_models_and_names(finished, tmp_path, refuse):
    for name in ("model.npz", "prediction.png"):
        shutil.copy(finished / name, tmp_path)
    model = tmp_path / "model.npz"
    refuse(["--render", model], "needs a file to write")
    refuse(["--render", model, tmp_path / "out.xyz"], "suffix")
    refuse(["--render", model, tmp_path / "missing" / "out.png"], "cannot write")
    refuse(["--render", tmp_path / "missing.npz", tmp_path / "out.png"], "check the path")
    for damaged in damaged_files(model):
        model.write_bytes(damaged)
        refuse(["--render", model, tmp_path / "out.png"], "not a whole model")
