"""A user's work is never lost: whatever is typed, whatever lies in the way, whatever is cut off.

Each test is an attack on files that a user would miss. What has to be refused is refused in one
line that advises nobody to delete anything, and afterwards every file is as it was.
"""

import ast
import errno
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
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import train
from kernels.files import folder_lock
from kernels.files.atomic import write_atomically
from kernels.files.folder_lock import locked
from kernels.files.images import load_image
from kernels.plumbing.errors import InputError
from kernels.state import State, initial_state
from kernels.training import checkpoint, command_line
from kernels.training.cpu_backend import CpuBackend
from kernels.training.run_folder import files_of_run, is_file_of_a_run, read_record
from tests.training.test_train import (
    TINY,
    TINY_CONFIG,
    assert_complaint,
    call,
    command,
    files,
    pixels,
    press_control_c,
    save,
)
from tests.training.test_train import refused as refuse

ROOT = Path(train.__file__).parent
SHORT = [*TINY, "--steps", "4", "--checkpoint-every", "2"]
posix = pytest.mark.skipif(os.name != "posix", reason="signals, links and devices of POSIX")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a picture, `photo.png`, and two runs: `run`, finished, and `stopped`."""
    folder = tmp_path_factory.mktemp("made")
    photo = save(folder / "photo.png", thin())
    assert train.main([str(photo), "--out", str(folder / "run"), *TINY]) == 0
    with pytest.MonkeyPatch.context() as patch:
        press_control_c(patch, call=9)
        assert train.main([str(photo), "--out", str(folder / "stopped"), *TINY]) == 130
    return folder


def thin(seed=0):
    """A picture whose run leaves small files."""
    return pixels(2, 24, seed)


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    """A copy of all that, as the working folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True, symlinks=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---------------------------------------------------------------- options

RENDER = "--render run/model.npz"
OLD_ORDER = "--render MODEL --to FILE"
BAD_COMMANDS = {
    # the positional argument is the picture to learn, and never one to write
    f"photo.png {RENDER}": OLD_ORDER,
    f"{RENDER} photo.png": OLD_ORDER,
    f"{RENDER} new.png": OLD_ORDER,
    f"{RENDER} --scale 4 new.png": OLD_ORDER,
    f"{RENDER} --to new.png photo.png": OLD_ORDER,
    RENDER: "needs a file to write",
    # files that exist, or that cannot be
    f"{RENDER} --to photo.png": "exists already",
    f"{RENDER} --to ./run/../photo.png": "exists already",
    f"{RENDER} --to run/prediction.png": "exists already",
    f"{RENDER} --to run": "suffix",
    f"{RENDER} --to run/model.npz --overwrite": "suffix",
    f"{RENDER} --to folder.png --overwrite": "a folder of this name",
    f"{RENDER} --to nowhere/new.png": "cannot write",
    # options without their mode
    **{
        f"{RENDER} --to new.png {option}": "is for training"
        for option in (
            "--steps 5", "--batch 9", "--seed 1", "--out x", "--grid 3x3", "--hidden 16",
            "--layers 1", "--lr-mlp 0.1", "--lr-grid 0.1", "--snapshots log", "--format png",
            "--checkpoint-every 5000", "--resume", "--deterministic",
        )
    },
    "photo.png --scale 1": "only for --render",
    "photo.png --scale 3 --out new": "only for --render",
    "photo.png --to new.png": "only for --render and --bits",
    "photo.png --force": "only for --use",
    f"{RENDER} --to new.png --force": "only for --use",
    "photo.png --resume --overwrite": "choose one of",
    # arguments that are empty, as an unset variable of a script
    "''": "empty",
    "photo.png --out ''": "--out: it is empty",
    "photo.png --use ''": "--use: it is empty",
    "--render '' --to new.png": "--render: it is empty",
    f"{RENDER} --to ''": "--to: it is empty",
    "--out=": "--out: it is empty",
}  # fmt: skip


@pytest.mark.parametrize("line", BAD_COMMANDS)
def test_commands_that_are_refused(place, line):
    (place / "folder.png").mkdir()
    arguments = [word.strip("'") for word in line.split()]
    refuse(place, arguments, BAD_COMMANDS[line])


def test_every_option_that_is_not_for_training_alone_is_one():
    every = vars(train.parse(["--steps", "1", "--batch", "1"])).keys()
    assert command_line.IN_BOTH | command_line.FOR_RENDERING.keys() <= every


def test_render_replaces_a_file_when_it_is_told_to(place):
    code, _, _ = call([*RENDER.split(), "--to", "photo.png", "--overwrite", "--quiet"])
    assert code == 0
    prediction = (place / "run" / "prediction.png").read_bytes()
    assert (place / "photo.png").read_bytes() == prediction


@posix
def test_render_replaces_no_link_and_no_device(place):
    os.symlink("photo.png", place / "link.png")
    os.symlink("nothing", place / "dangling.png")
    os.symlink("/dev/null", place / "null.png")
    os.mkfifo(place / "pipe.png")
    for name in ("link.png", "dangling.png"):
        refuse(place, [*RENDER.split(), "--to", name], "exists already")
    for name in ("null.png", "pipe.png"):
        refuse(place, [*RENDER.split(), "--to", name, "--overwrite"], "not an ordinary file")


def test_a_file_that_appears_while_painting_is_kept(place, monkeypatch):
    render = CpuBackend.render

    def render_slowly(*arguments):
        Path("new.png").write_text("somebody else's")
        return render(*arguments)

    monkeypatch.setattr(CpuBackend, "render", render_slowly)
    code, _, err = call([*RENDER.split(), "--to", "new.png", "--backend", "cpu"])
    assert code == 2 and "exists already" in err
    assert Path("new.png").read_text() == "somebody else's"


# ---------------------------------------------------------------- what a file is


def other_archive(path):
    np.savez(path, weights=np.zeros(3))


def pickled(path):
    np.savez(path, header=np.array([{"version": 1}], dtype=object))


NO_MODELS = {
    "photo.png": "it is a PNG picture",
    "run/loss.png": "it is a PNG picture",
    "run/training.gif": "it is a GIF picture",
    "run/checkpoint.npz": "it is a checkpoint",
    "run/loss.csv": "it is a text",
    "run": "it is a folder",
    ".": "it is a folder",
    "photo.png/model.npz": "check the path",
    "missing.npz": "check the path",
    "empty.npz": "it is empty",
    "half.npz": "damaged or cut short",
    "noise.npz": "something else, or damaged",
    "array.npy": "a single NumPy array",
    "other.npz": "it has no header",
    "pickled.npz": "header holds object",
    "pipe": "not an ordinary file",
    "/dev/zero": "not an ordinary file",
    "secret.npz": "permission denied",
}


@pytest.mark.parametrize("name", NO_MODELS)
def test_messages_say_what_a_file_is(place, name):
    whole = (place / "run" / "model.npz").read_bytes()
    (place / "empty.npz").touch()
    (place / "half.npz").write_bytes(whole[: len(whole) // 2])
    (place / "noise.npz").write_bytes(bytes(range(256)) * 9)
    np.save(place / "array.npy", np.zeros(3))
    other_archive(place / "other.npz")
    pickled(place / "pickled.npz")
    if name in ("pipe", "/dev/zero"):
        if os.name != "posix":
            pytest.skip("devices of POSIX")
        os.mkfifo(place / "pipe")
    if name == "secret.npz":
        (place / name).write_bytes(whole)
        (place / name).chmod(0)
        if os.access(place / name, os.R_OK):
            pytest.skip("everything can be read here")
    if name == "pipe":  # `files` would wait for somebody to write into it
        assert NO_MODELS[name] in call(["--render", name, "--to", "new.png"])[2]
        return
    refuse(place, ["--render", name, "--to", "new.png"], NO_MODELS[name])


@pytest.mark.slow
def test_no_message_advises_to_delete_anything():
    for path in [ROOT / "train.py", *ROOT.glob("kernels/**/*.py"), *ROOT.glob("lessons/*/*.py")]:
        if path.name == "exercise.py":
            continue  # a student may be at it
        tree = ast.parse(path.read_text(encoding="utf-8"))
        raised = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
        for node in raised:
            assert "delete" not in ast.unparse(node), f"{path}, line {node.lineno}"


# ---------------------------------------------------------------- a folder that holds a run


def test_a_finished_run_stays(place):
    line = "--resume --steps N to train on to step N, --overwrite to begin anew in its place, or"
    refuse(place, ["photo.png", "--out", "run", *TINY], "a finished run of photo.png (60 steps)")
    refuse(place, ["photo.png", "--out", "run", *SHORT, "--seed", 5], line)


def test_an_unfinished_run_stays(place):
    step = checkpoint.peek(place / "stopped" / "checkpoint.npz").step
    words = f"an unfinished run of photo.png (step {step} of 60): add --resume to go on with it"
    refuse(place, ["photo.png", "--out", "stopped", *TINY], words)


@pytest.mark.parametrize("name", ["run", "stopped"])
def test_a_run_with_a_spoilt_checkpoint_stays(place, name):
    path = place / name / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:999])
    refuse(place, ["photo.png", "--out", name, *TINY], "whose checkpoint.npz cannot be read")
    refuse(place, ["photo.png", "--out", name, *TINY, "--resume"], "damaged or cut short")


def test_results_without_a_checkpoint_stay(place):
    (place / "run" / "checkpoint.npz").unlink()
    refuse(place, ["photo.png", "--out", "run", *TINY], "without a checkpoint: add --overwrite")
    refuse(place, ["photo.png", "--out", "run", *TINY, "--resume"], "--resume needs one")


def test_a_run_on_another_picture_is_not_resumed(place):
    other = save(place / "other.png", thin(seed=5))
    refuse(place, [other, "--out", "run", *TINY, "--resume"], "another image")
    (place / "stopped" / "checkpoint.npz").unlink()
    (place / "stopped" / "model.npz").unlink()
    refuse(place, [other, "--out", "stopped", *TINY, "--resume"], "--resume needs one")


def test_a_run_of_an_older_version_stays(place):
    (place / "run" / "run.json").unlink()
    refuse(place, ["photo.png", "--out", "run", *TINY], "a finished run of a picture (60 steps)")
    assert call(["photo.png", "--out", "run", *TINY, "--resume"])[0] == 0
    (place / "run" / "run.json").unlink()
    assert call(["photo.png", "--out", "run", *SHORT, "--overwrite"])[0] == 0
    assert set(files("run")) <= {*files_of_run("png", [1, 4]), "run.json"}


def test_a_run_without_consent_takes_no_time(place, monkeypatch):
    """It is refused before kernels are compiled, and before lessons are graded."""
    monkeypatch.setattr(train, "find_backend", lambda *_: pytest.fail("a backend was looked for"))
    refuse(place, ["photo.png", "--out", "run", "--use", "lessons"], "a finished run")


def test_overwriting_leaves_no_old_snapshot_and_every_file_of_the_users(place):
    own = ["notes.txt", "prediction_at_7.png", "large.png", "model (1).npz", ".unfinished-thoughts"]
    for name in own:
        (place / "run" / name).write_text(name)
    (place / "run" / "prediction_at_x.png").mkdir()
    (place / "run" / ".unfinished-0123456789ab").write_text("what a killed run left")
    arguments = ["photo.png", "--out", "run", *SHORT, "--snapshots", "2", "--overwrite"]
    assert call(arguments)[0] == 0
    ours = {*files_of_run("png", [2]), "run.json"}
    found = files("run")
    assert found.keys() - ours == {*own, "prediction_at_x.png"}
    assert [found[name] for name in own] == [name.encode() for name in own]
    assert "prediction_at_2.png" in found and "prediction_at_10.png" not in found


@pytest.mark.parametrize("option", [[], ["--overwrite"], ["--resume"]])
@pytest.mark.parametrize("name", ["loss.png", "model.npz", "prediction_at_4.png", "run.json"])
def test_a_file_of_the_users_in_the_way_stays(place, name, option):
    (place / "mine").mkdir()
    (place / "mine" / name).write_text("mine")
    words = f"{name} was written by no run"
    refuse(place, ["photo.png", "--out", "mine", *SHORT, *option], words)
    refuse(place, ["photo.png", "--out", "mine/", *SHORT, *option], words)


def test_a_folder_with_the_name_of_a_file_stays(place):
    (place / "run" / "loss.png").unlink()
    (place / "run" / "loss.png").mkdir()
    (place / "run" / "loss.png" / "notes.txt").write_text("mine")
    refuse(place, ["photo.png", "--out", "run", *SHORT, "--overwrite"], "was written by no run")


@pytest.mark.parametrize("name", ["ground_truth.png", "prediction.png"])
def test_the_picture_to_learn_stays(place, name):
    os.makedirs("mine")
    shutil.move("photo.png", f"mine/{name}")
    words = "which it reads"
    refuse(place, [f"mine/{name}", "--out", "mine", *SHORT, "--overwrite"], words)
    refuse(place, [f"run/{name}", "--out", "run", *SHORT, "--overwrite"], words)


@posix
def test_the_picture_to_learn_stays_behind_a_link(place):
    os.makedirs("mine")
    os.symlink("../photo.png", "mine/bilinear.png")
    refuse(place, ["mine/bilinear.png", "--out", "mine", *SHORT], "which it reads")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "null",
        '{"image": "x"}',
        '{"image": 1, "digest": 2, "files": 3}',
        "[" * 100_000,
        "\0\0",
        '{"image": "x", "digest": "y", "files": ["../photo.png", "photo.png", [], 1]}',
        '{"image": "x", "digest": "y", "files": ["../photo.png", "notes.txt", "..", "", "a/b"]}',
    ],
)
def test_a_record_that_somebody_has_edited_costs_no_file(place, content):
    (place / "run" / "run.json").write_text(content)
    (place / "run" / "notes.txt").write_text("mine")
    before = files(place)
    code, _, err = call(["photo.png", "--out", "run", *SHORT, "--overwrite"])
    assert code == 0 or (code == 2 and err.count("\n") == 1)
    after = files(place)
    for name in ("photo.png", "run/notes.txt", "stopped/model.npz"):
        assert after[name] == before[name]


def test_control_c_while_compiling_leaves_the_run_that_was_to_be_replaced(place, monkeypatch):
    press_control_c(monkeypatch, call=1)
    before = files(place)
    assert call(["photo.png", "--out", "run", *TINY, "--overwrite"])[0] == 130
    assert files(place) == before


def test_resuming_in_another_format_leaves_no_outdated_picture(place):
    taken = {name for name in files("stopped") if re.fullmatch(r"\w+_at_\d+\.png", name)}
    assert {"prediction_at_1.png", "feature_at_1.png"} <= taken
    assert call(["photo.png", "--out", "stopped", *TINY, "--resume", "--format", "ppm"])[0] == 0
    left = {name for name in files("stopped") if name.endswith(".png")}
    assert left == {"loss.png", "preview.png", *taken}


def test_everything_that_is_written_is_in_the_record(made):
    for name in ("run", "stopped"):
        written = {path.name for path in (made / name).iterdir()} - {"run.json"}
        assert written <= read_record(made / name).files
        assert all(map(is_file_of_a_run, written))
    planned = files_of_run("ppm", [1, 7])
    assert all(map(is_file_of_a_run, planned))
    for name in ("notes.txt", "photo.png", "prediction.jpg", "prediction_at_.png", "run.json", ""):
        assert not is_file_of_a_run(name)


# ---------------------------------------------------------------- which folder


def folder_of(arguments):
    code, out, err = call([*arguments, *SHORT])
    assert code == 0, err
    return out.strip().rpartition(" ")[2]


@pytest.mark.slow
def test_pictures_of_the_same_name_have_folders_of_their_own(place):
    for number, folder in enumerate(("a", "b", "c"), 1):
        os.mkdir(folder)
        save(Path(folder, "photo.png"), thin(seed=number))
    shutil.copytree("a", "moved")
    homes = {"a": "runs/photo", "b": "runs/photo-2", "c": "runs/photo-3"}
    for folder, home in homes.items():
        assert Path(folder_of([f"{folder}/photo.png"])) == Path(home)
    for folder, home in {**homes, "moved": "runs/photo"}.items():
        refuse(place, [f"{folder}/photo.png", *SHORT], f"{Path(home)} holds a finished run")
        option = "--resume" if folder == "b" else "--overwrite"
        assert Path(folder_of([f"{folder}/photo.png", option])) == Path(home)
    shutil.copy("b/photo.png", "photo.jpg")  # another suffix, the same picture
    refuse(place, ["photo.jpg", *SHORT], f"{Path('runs/photo-2')} holds")
    loud = [word for word in SHORT if word != "--quiet"]
    out = call(["c/photo.png", *loud, "--overwrite"])[1]
    assert out.startswith(f"{Path('runs/photo')} is of another picture: this run is in")


def test_without_a_picture_the_lake_is_found(place, monkeypatch):
    small = train.load_image(place / "photo.png")
    monkeypatch.setattr(train, "load_image", lambda path, shrink: small)
    assert Path(folder_of([])) == Path("runs/lake")
    refuse(place, SHORT, "a finished run of lake.png (4 steps)")
    assert Path(folder_of(["--resume"])) == Path("runs/lake")
    (place / "runs" / "lake" / "run.json").unlink()  # as an older version has left it
    assert Path(folder_of(["--resume"])) == Path("runs/lake")
    lessons = train.parse(["--use", "lessons"])
    assert train.find_folder(lessons, train.LAKE, small).path == Path("runs/lake-lessons")


# ---------------------------------------------------------------- two runs, one folder

HOLD = """
import sys, time
from pathlib import Path
from kernels.files.folder_lock import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""


def test_a_second_run_says_so_and_stops(place):
    for name in ("run", "stopped", "new"):
        (place / name).mkdir(exist_ok=True)
        before = files(place)
        with locked(place / name):
            for option in ([], ["--resume"], ["--overwrite"]):
                code, out, err = call(["photo.png", "--out", name, *SHORT, *option])
                assert_complaint(
                    code, out, err, f"({os.getpid()}) is writing to".replace("(", "(process ")
                )
        assert files(place) == before


def test_the_files_of_a_run_at_work_stay(place, monkeypatch):
    """The second run comes in the middle of the first, which ends as if nothing had been."""
    save_snapshot = train.Results.save_snapshot

    def disturbed(results, trainer):
        (results.folder / ".unfinished-0123456789ab").write_text("half a checkpoint")
        for option in ([], ["--resume"], ["--overwrite"]):
            code, _, err = call(["photo.png", "--out", "new", *SHORT, *option])
            assert code == 2 and "another run" in err
        assert (results.folder / ".unfinished-0123456789ab").exists()
        save_snapshot(results, trainer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train.Results, "save_snapshot", disturbed)
        assert call(["photo.png", "--out", "new", *TINY])[0] == 0
    expected, found = files("run"), files("new")
    del found[".unfinished-0123456789ab"]
    assert found.keys() == expected.keys()
    for name in ("prediction.png", "contact_sheet.png", "training.gif", "run.json", "loss.csv"):
        assert found[name] == expected[name]


@posix
def test_a_killed_process_leaves_no_lock(tmp_path):
    holder = subprocess.Popen(**command("-c", HOLD, tmp_path))
    assert holder.stdout.readline() == "locked\n"
    with pytest.raises(InputError, match=f"another run \\(process {holder.pid}\\)"):
        with locked(tmp_path):
            pass
    holder.kill()
    holder.communicate()
    assert [path.name for path in tmp_path.iterdir()] == [folder_lock.LOCK]
    with locked(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_locks_one_after_another(tmp_path):
    for _ in range(3):
        with locked(tmp_path), pytest.raises(InputError), locked(tmp_path):
            pass
    with pytest.raises(KeyboardInterrupt), locked(tmp_path):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_lock_file_that_is_gone_when_it_is_locked(tmp_path, monkeypatch):
    """The run before has just removed it: the lock on it would lock nobody out."""
    lock, attempts = folder_lock.lock, []

    def lock_too_late(file):
        if not attempts:
            (tmp_path / folder_lock.LOCK).unlink()
        attempts.append(file)
        lock(file)

    monkeypatch.setattr(folder_lock, "lock", lock_too_late)
    with locked(tmp_path):
        assert len(attempts) == 2
        with pytest.raises(InputError, match="another run"), locked(tmp_path):
            pass


@posix
def test_where_there_are_no_locks_the_process_is_asked_for(tmp_path, monkeypatch):
    def no_locks(file):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(folder_lock, "lock", no_locks)
    note, machine = tmp_path / folder_lock.NOTE, folder_lock.platform.node()
    with locked(tmp_path):
        assert note.read_text() == f"{os.getpid()} {machine}"
    assert list(tmp_path.iterdir()) == []
    note.write_text(f"{os.getppid()} {machine}")  # at work
    with pytest.raises(InputError, match="another run"), locked(tmp_path):
        pass
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for text in (f"{ended.pid} {machine}", f"{os.getpid()} {machine}", "1 elsewhere", "", "noise"):
        note.write_text(text)
        with locked(tmp_path):
            pass


@posix
def test_a_lock_that_is_a_link_leads_nowhere(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    os.symlink("notes.txt", tmp_path / folder_lock.LOCK)
    with pytest.raises(InputError), locked(tmp_path):
        pass
    assert (tmp_path / "notes.txt").read_text() == "mine"


# ---------------------------------------------------------------- archives that somebody has edited


def opened(path):
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return json.loads(arrays.pop("header").tobytes()), arrays


def closed(header, arrays, compression=zipfile.ZIP_STORED):
    """The bytes of an archive, as `np.savez` writes it."""
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", compression) as archive:
        for name, array in {"header": text, **arrays}.items():
            head = io.BytesIO()
            np.lib.format.write_array(head, array)
            archive.writestr(f"{name}.npy", head.getvalue())
    return memory.getvalue()


def declared(shape, dtype=np.float32, data=b""):
    """The bytes of an array that claims to be of any size."""
    memory = io.BytesIO()
    settings = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(memory, settings)
    return memory.getvalue() + data


# entry of the header -> values that it cannot have, and the words of the complaint
BAD_HEADERS = {
    "checkpoint": {
        "step": ([-1, 0, 61, 2**70, 20.0, "20", None, True, [20]], "step"),
        "seconds": ([-1.0, math.inf, math.nan, "1", None, 1e300], "seconds"),
        "partitions": ([0, -1, 10**6, 2**70, 1.5, None, "2"], "partitions"),
        "pending": ([None, {}, ["x"], [None], [[1.0]], [1], [10**400]], "pending"),
        "pending_steps": ([-1, 99, None, 1.0], "pending_steps"),
        "history": (
            [None, [], {}, [1], [[1]], [[1, "x"]], [[2, 0.1], [1, 0.1]], [[99, 0.1]], [[0, 0.1]],
             [[1, math.nan]], [[1, -1.0]], [[1, math.inf]], [[1.0, 0.5]], [[1, 0.5, 0.5]]],
            "history",
        ),
        "frames": ([None, [], {}, [1], [[2, 9.0], [1, 9.0]], [[1, math.nan]], [[1, ""]]], "frames"),
        "config": ([None, [], "x", {}, 7], "settings"),
        "image": ([None, "", 0], "another image"),
        "version": ([None, 0, 2, "1", [1]], "format"),
    },
    "model": {
        "width": ([0, -1, 2.0, 10**9, 2**70, None, "24", True], "width"),
        "height": ([0, -5, math.nan, 64_000_000, None, []], "height"),
        "config": ([None, [], {}, {"steps": 1}], "settings"),
        "version": ([None, 2], "format"),
        "step": ([1], "it is a checkpoint"),
    },
}  # fmt: skip
BAD_SETTINGS = {
    "hidden": [32.0, 20, None, "16", [16], 10**9],
    "layers": [0, 9, 1.0, True],
    "grid_width": [0, -1, 2**70, 10**9, 7.0],
    "beta1": [-1, 1, 2.0, math.nan, "x", None],
    "beta2": [math.inf, 1.5],
    "epsilon": [-1e-3, math.nan, []],
    "learning_rate_mlp": [0, math.nan, 11, None],
    "unknown": [1],
}


@pytest.mark.parametrize("kind", BAD_HEADERS)
@pytest.mark.slow
def test_headers_that_cannot_be(place, kind):
    path = place / "run" / f"{kind}.npz"
    header, arrays = opened(path)
    for name, (values, words) in BAD_HEADERS[kind].items():
        for value in values:
            path.write_bytes(closed({**header, name: value}, arrays))
            refuse_archive(path, kind, words)
        if name in header:
            left = {key: entry for key, entry in header.items() if key != name}
            path.write_bytes(closed(left, arrays))
            refuse_archive(path, kind)


def test_settings_of_a_model_that_cannot_be(place):
    path = place / "run" / "model.npz"
    header, arrays = opened(path)
    for name, values in BAD_SETTINGS.items():
        for value in values:
            config = {**header["config"], name: value}
            path.write_bytes(closed({**header, "config": config}, arrays))
            refuse_archive(path, "model", "its ")


@pytest.mark.parametrize("kind", BAD_HEADERS)
@pytest.mark.slow
def test_arrays_that_cannot_be(place, kind):
    path = place / "run" / f"{kind}.npz"
    header, arrays = opened(path)
    for name, array in arrays.items():
        if name.startswith("frame_") and name != "frame_1":
            continue
        others = [
            array.astype(np.float64),
            array.astype(array.dtype.newbyteorder(">")) if array.itemsize > 1 else array[:0],
            array[:-1],
            array[None],
            array.reshape(-1)[:, None],
            np.zeros((0,), array.dtype),
            np.array(7, array.dtype),
            np.array(["x"]),
            np.array([None], dtype=object),
        ]
        if array.ndim > 1:
            others.append(np.asfortranarray(array))
        for other in others:
            path.write_bytes(closed(header, {**arrays, name: other}))
            refuse_archive(path, kind, f"its {name}")
        left = {key: entry for key, entry in arrays.items() if key != name}
        path.write_bytes(closed(header, left))
        refuse_archive(path, kind, f"it has no {name}")


def test_counts_that_would_lead_out_of_an_array(place):
    """Compiled kernels look up a table by `grid_steps`, and do not check the index."""
    path = place / "stopped" / "checkpoint.npz"
    header, arrays = opened(path)
    for count in (-1, -(2**31), header["step"] + 1, 2**31 - 1):
        spoilt = arrays["grid_steps"].copy()
        spoilt[2, 3] = count
        path.write_bytes(closed(header, {**arrays, "grid_steps": spoilt}))
        refuse_archive(path, "checkpoint", "grid_steps")


def test_numbers_that_are_none_end_in_a_line(place):
    path = place / "stopped" / "checkpoint.npz"
    header, arrays = opened(path)
    for name in ("feature_grid", "grid_m", "grid_v", "weights", "weights_m", "weights_v"):
        spoilt = np.full_like(arrays[name], math.nan)
        path.write_bytes(closed(header, {**arrays, name: spoilt}))
        code, out, err = call(["photo.png", "--out", "stopped", *TINY, "--resume"])
        assert_complaint(code, out, err, "training diverged")
    model = place / "run" / "model.npz"
    header, arrays = opened(model)
    arrays["weights"][7] = math.nan
    model.write_bytes(closed(header, arrays))
    refuse_archive(model, "model", "not finite")


@pytest.mark.parametrize("kind", BAD_HEADERS)
@pytest.mark.slow
def test_archives_that_claim_to_be_huge(place, kind):
    path = place / "run" / f"{kind}.npz"
    header, arrays = opened(path)
    bombs = {
        "an array of a terabyte": declared((1 << 38,)),
        "more elements than can be counted": declared((1 << 62, 1 << 62)),
        "fewer than none": declared((-1,)),
        "a long tail": declared((5, 7, 3)) + bytes(1 << 24),
        "a long head": b"\x93NUMPY\x01\x00\xff\xff" + b" " * 65535,
        "another version": b"\x93NUMPY\x03\x00\xff\xff\xff\xff",
        "no array at all": b"",
    }
    for name in ("feature_grid", "header"):
        for bomb in bombs.values():
            memory = io.BytesIO()
            with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
                with zipfile.ZipFile(io.BytesIO(closed(header, arrays))) as whole:
                    for entry in whole.namelist():
                        content = bomb if entry == f"{name}.npy" else whole.read(entry)
                        archive.writestr(entry, content)
            path.write_bytes(memory.getvalue())
            refuse_archive(path, kind)
    path.write_bytes(closed(header, arrays, zipfile.ZIP_LZMA))
    refuse_archive(path, kind, "compressed in a way")
    path.write_bytes(closed({**header, "version": "x" * 10**6}, arrays))
    refuse_archive(path, kind, "format")


def test_an_archive_that_was_packed_again_is_whole(place):
    for kind in BAD_HEADERS:
        path = place / "run" / f"{kind}.npz"
        path.write_bytes(closed(*opened(path), zipfile.ZIP_DEFLATED))
        load(path, kind)


def load(path, kind):
    if kind == "model":
        return checkpoint.load_model(path)
    picture = load_image(path.parents[1] / "photo.png")
    return checkpoint.load_checkpoint(path, TINY_CONFIG, picture)


def refuse_archive(path, kind, words=""):
    """One line, soon, and without much memory."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            load(path, kind)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert words in message and "\n" not in message and len(message) < 600, message
    assert not re.search(r"\b(delete|remove)\b", message)
    assert peak < 20_000_000


NASTY = [
    None, True, False, -1, 0, 1, 59, 60, 61, 2**31, 2**63, 10**30, -0.0, 0.5, 1e-300, 1e308,
    math.inf, -math.inf, math.nan, "", "x", "\n", [], [[]], {}, {"a": 1}, [1], [[1, 0.5]],
]  # fmt: skip


def edited(header, arrays, chance):
    """The bytes of an archive in which one thing is changed, wherever it is."""
    way = chance.randrange(3)
    if way == 0:
        content = bytearray(closed(header, arrays))
        position = chance.randrange(len(content))
        if chance.random() < 0.5:
            content[position] ^= 1 << chance.randrange(8)
        else:
            del content[position : position + chance.choice([1, 9, len(content)])]
        return bytes(content)
    if way == 1:
        header = json.loads(json.dumps(header))
        places = list(entries_of(header))
        parent, key = chance.choice(places)
        parent[key] = chance.choice(NASTY)
        return closed(header, arrays)
    name = chance.choice(list(arrays))
    array = arrays[name].copy()
    numbers = [0, 1, 2, 61, 255] if array.dtype == np.uint8 else [-1, 0, 3, 61, 2**30]
    if array.dtype == np.float32:
        numbers = [math.nan, math.inf, -1, 0, 1e30, -1e30, 1e-40]
    array.reshape(-1)[chance.randrange(array.size)] = chance.choice(numbers)
    return closed(header, {**arrays, name: array})


def entries_of(value):
    """(container, key) of everything in a JSON value."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from entries_of(value[key])


def fuzz(place, seed, rounds, to_the_end):
    """Edit archives at random: each is refused in a line, or works. Returns how many worked."""
    chance, worked = random.Random(seed), 0
    whole = {kind: opened(place / "stopped" / f"{kind}.npz") for kind in BAD_HEADERS}
    kept = {kind: (place / "stopped" / f"{kind}.npz").read_bytes() for kind in BAD_HEADERS}
    for _ in range(rounds):
        kind = chance.choice(list(whole))
        path = place / "stopped" / f"{kind}.npz"
        path.write_bytes(edited(*whole[kind], chance))
        try:
            load(path, kind)
        except InputError as error:
            assert "\n" not in str(error)
            continue
        worked += 1
        if to_the_end:
            train_or_paint(place, kind)
            for other, content in kept.items():
                (place / "stopped" / f"{other}.npz").write_bytes(content)
    return worked


def train_or_paint(place, kind):
    arguments = ["photo.png", "--out", "stopped", *TINY, "--resume"]
    if kind == "model":
        arguments = "--render stopped/model.npz --to new.png --overwrite --backend cpu".split()
    code, _, err = call(arguments)
    assert (code, err) == (0, "") or (code == 2 and err.count("\n") == 1), err


def test_archives_edited_at_random(place):
    assert 0 < fuzz(place, seed=1, rounds=150, to_the_end=False) < 150


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [2, 3])
def test_archives_edited_at_random_to_the_end(place, seed):
    fuzz(place, seed, rounds=300, to_the_end=True)


def test_the_layout_is_that_of_a_state():
    state = initial_state(TINY_CONFIG)
    layout = checkpoint.state_layout(TINY_CONFIG)
    assert layout == {
        name: (getattr(state, name).shape, getattr(state, name).dtype) for name in State._fields
    }


# ---------------------------------------------------------------- streams and signals

PROGRAM = """
import sys
from kernels.plumbing.program import prepare, run
prepare()
import os, signal, time
from contextlib import suppress
from pathlib import Path
from kernels.plumbing.program import Interruption

def prints():
    print("one line")
    print("another")
    return 0

def tells_progress():
    for _ in range(3):
        print("progress", file=sys.stderr)
    print("done")
    return 0

def writes_a_file():
    with open(sys.argv[2], "wb") as file:
        with suppress(OSError):
            os.write(2, b"a library's own words")
        file.write(b"only this")
    return 0

def waits():
    try:
        print("waiting", file=sys.stderr, flush=True)
        time.sleep(30)
    finally:
        Path(sys.argv[2]).write_text("tidied up")

def waits_in_a_dead_end():
    while True:
        try:
            print("waiting", file=sys.stderr, flush=True)
            time.sleep(30)
        finally:
            print("tidying", file=sys.stderr, flush=True)
            time.sleep(30)

def trains():
    with Interruption() as interrupted:
        print("waiting", file=sys.stderr, flush=True)
        for _ in range(3000):
            time.sleep(0.01)
            if interrupted():
                print("saved")
                return 128 + interrupted.number

def loses_its_reader():
    with Interruption() as interrupted:
        while not interrupted():
            print("progress", file=sys.stderr, flush=True)
            time.sleep(0.01)
    print("saved")
    return 128 + interrupted.number

sys.exit(run(globals()[sys.argv[1]]))
"""
LOST = r"error: cannot write to standard output \({}\): {}\n"


def shell(line, *arguments):
    """Run a line of the shell in which "$@" is PROGRAM; returns (exit status, stdout, stderr)."""
    words = ["bash", "-c", line, "-", sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


FULL, GONE, CLOSED = "the disk is full", "nobody reads it any more", "it is closed"


@posix
@pytest.mark.parametrize(
    "line, program, expected",
    [
        ('"$@" >/dev/full', "prints", (2, "", LOST.format(FULL, "one line"))),
        ('"$@" >&-', "prints", (2, "", LOST.format(CLOSED, "one line"))),
        ('"$@" | true; exit ${PIPESTATUS[0]}', "prints", (2, "", LOST.format(GONE, ".*"))),
        ('"$@" 2>/dev/full', "tells_progress", (0, "done\n", "")),
        ('"$@" 2>&-', "tells_progress", (0, "done\n", "")),
        ('"$@" 2>&- >&- <&-', "prints", (2, "", "")),
        ('"$@" >/dev/full 2>&1', "prints", (2, "", "")),
        ('"$@" 2>&1 | true; exit ${PIPESTATUS[0]}', "loses_its_reader", (2, "", "")),
        ('"$@" 2> >(true)', "loses_its_reader", (141, "saved\n", "")),
    ],
)
def test_output_that_cannot_be_written(line, program, expected):
    if "/dev/full" in line and not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    code, out, err = shell(line, program)
    assert (code, out) == expected[:2] and re.fullmatch(expected[2], err), err


@posix
def test_a_closed_stream_does_not_lend_its_number_to_a_file(tmp_path):
    path = tmp_path / "file"
    for line in ('"$@" 2>&-', '"$@" 1>&- 2>&-', '"$@" 0<&- 1>&- 2>&-'):
        shell(line, "writes_a_file", path)
        assert path.read_bytes() == b"only this"


def send(number, program, *arguments, times=1):
    """Send a signal to PROGRAM whenever it says that it waits, or tidies up."""
    words = [sys.executable, "-c", PROGRAM, program, *map(str, arguments)]
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process = subprocess.Popen(words, cwd=ROOT, **pipes)
    lines = []
    for _ in range(times):
        lines.append(process.stderr.readline())
        process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, "".join(lines) + err


@posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_end_a_program_in_a_line(tmp_path, name):
    number = getattr(signal, name)
    code, out, err = send(number, "waits", tmp_path / "file")
    assert (code, out, err) == (128 + number, "", "waiting\ninterrupted\n")
    assert (tmp_path / "file").read_text() == "tidied up"
    assert send(number, "trains") == (128 + number, "saved\n", "waiting\n")


@posix
def test_a_second_signal_ends_a_program_that_tidies_up_for_ever():
    code, out, err = send(signal.SIGINT, "waits_in_a_dead_end", times=2)
    assert (code, out, err) == (130, "", "waiting\ntidying\ninterrupted\n")


@posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("program", [["train.py"], ["-m", "lessons"]])
@pytest.mark.slow
def test_a_signal_during_the_imports_ends_in_a_line(tmp_path, program, name):
    number = getattr(signal, name)
    package = tmp_path / "numpy"
    package.mkdir()
    text = f"import os, time; os.kill(os.getpid(), {int(number)}); time.sleep(30)"
    (package / "__init__.py").write_text(text)
    done = subprocess.run(**command(*program, PYTHONPATH=tmp_path), timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "interrupted\n")


@posix
@pytest.mark.slow
def test_a_signal_that_is_switched_off_stays_so():
    """A shell that starts a program in the background lets Ctrl-C not reach it; `nohup` neither."""
    line = (
        "trap '' INT HUP; \"$@\" & sleep 1; kill -INT $!; kill -HUP $!; sleep 0.3; kill $!; wait $!"
    )
    code, out, _ = shell(line, "trains")
    assert (code, out) == (128 + signal.SIGTERM, "saved\n")


@posix
@pytest.mark.each(4)
@pytest.mark.parametrize(
    "line, status, words",
    [
        ('"$@" >/dev/full', 2, f"({FULL}): training on the CPU"),
        ('"$@" --quiet >/dev/full', 2, f"({FULL}): PSNR"),
        ('"$@" | head -1; exit ${PIPESTATUS[0]}', 2, f"({GONE}): PSNR"),
        ('"$@" >&-', 2, f"({CLOSED}): training on the CPU"),
        ('"$@" --help >/dev/full', 2, f"({FULL}): usage:"),
        ('"$@" 2>&- ; echo $?', 0, ""),
        ('"$@" 2>&1 >/dev/null | head -c 20; exit ${PIPESTATUS[0]}', 141, ""),
        ('"$@" 2>&1 | head -c 20; exit ${PIPESTATUS[0]}', 2, ""),
    ],
)
def test_train_with_output_that_cannot_be_written(place, line, status, words):
    tiny = [word for word in TINY if word != "--quiet"]
    steps = ["--steps", "300000"] if "-c 20" in line else []
    words_of_train = [sys.executable, ROOT / "train.py", "photo.png", "--out", "new", *tiny, *steps]
    done = subprocess.run(
        ["bash", "-c", line, "-", *map(str, words_of_train)],
        cwd=place, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    last = done.stderr.strip().splitlines()[-1:] or [""]
    assert words in last[0]
    if steps:  # what was trained until then is kept
        assert checkpoint.peek(place / "new" / "checkpoint.npz").step > 0


@posix
@pytest.mark.thorough
@pytest.mark.parametrize("seed", [2, 3])
def test_train_ends_in_a_line_whenever_a_signal_comes(place, seed):
    chance = random.Random(seed)
    arguments = [*command(ROOT / "train.py", "photo.png", *TINY, "--steps", "3000000")["args"]]
    for _ in range(4):
        number = chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        words = [*arguments, "--out", "new", "--overwrite"]
        pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process = subprocess.Popen(words, cwd=place, **pipes)
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=chance.uniform(0.7, 5))
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 128 + number, err
        assert err in ("", "interrupted\n") and "Traceback" not in out
        assert "step" in out or err
        assert not list((place / "new").glob(".*")) or not (place / "new").exists()


def test_a_file_is_not_replaced_by_a_second_writer(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, lambda file: file.write(b"first"), overwrite=False)
    with pytest.raises(InputError, match="exists already"):
        write_atomically(path, lambda file: file.write(b"second"), overwrite=False)
    write_atomically(path, lambda file: file.write(b"third"))
    assert path.read_bytes() == b"third" and list(tmp_path.iterdir()) == [path]
