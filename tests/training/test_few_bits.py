"""`train.py --bits`: what the network sees, the `.lake` file that is left, and files that are none.

Expected values come from `lessons.reference.bits`, which imports nothing of `kernels/`.
"""

import os
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

import train
from kernels.bits.lake_file import from_bytes, to_bytes
from kernels.config import Config
from kernels.files.images import load_image
from kernels.files.psnr import psnr
from kernels.plumbing.errors import InputError
from kernels.state import initial_state
from kernels.training import checkpoint, lake_model
from kernels.training.cpu_backend import CpuBackend, CpuFewBits
from lessons.reference import bits as reference
from tests.training.test_train import (
    assert_same,
    pixels,
    press_control_c,
    read_summary,
    refused,
    save,
    saved_step,
)

BITS = "--backend cpu --grid 7x5 --batch 300 --steps 60 --bits 5 --quiet".split()
WIDTH, HEIGHT = 24, 16
BEHIND = "behind its last cell"


@pytest.fixture(scope="module")
def picture(tmp_path_factory):
    return save(tmp_path_factory.mktemp("picture") / "picture.png", pixels(HEIGHT, WIDTH))


@pytest.fixture(scope="module")
def run(picture, tmp_path_factory):
    """The folder of a run, and beside it `small.lake`, which it has written."""
    folder = tmp_path_factory.mktemp("made") / "run"
    lake = folder.parent / "small.lake"
    assert train.main([str(picture), "--out", str(folder), *BITS, "--to", str(lake)]) == 0
    return folder


@pytest.fixture(scope="module")
def content(run):
    return (run.parent / "small.lake").read_bytes()


@pytest.fixture
def refuse(tmp_path):
    return lambda words, *arguments: refused(tmp_path, arguments, words)


def rounded(values, bits):
    return reference.values_of(reference.levels_of(values, bits), bits)


def decoded(content, width=WIDTH, height=HEIGHT):
    """(height, width, 3): what the file of `BITS` says, bit by bit."""
    lake = from_bytes(content, "it")
    numbers = lake.columns * lake.rows * 3
    bits = np.unpackbits(lake.words.astype("<u4").view(np.uint8), bitorder="little")
    levels = bits[: numbers * lake.bits].reshape(-1, lake.bits) @ (1 << np.arange(lake.bits))
    grid = reference.values_of(levels, lake.bits).reshape(lake.rows, lake.columns, 3)
    texels = np.arange(width * height)
    return reference.decode(grid, lake.weights, width, height, texels).reshape(height, width, 3)


# ---------------------------------------------------------------- training


@pytest.mark.parametrize("bits", [1, 4, 10])
def test_the_network_sees_a_rounded_grid_and_an_exact_one_follows(bits):
    """Three steps; each is that of a usual backend that begins with the rounded grid."""
    config = Config(steps=3, batch=500, grid_width=9, grid_height=6, bits=bits)
    random, exact = np.random.default_rng(bits), initial_state(config)
    image = random.random((12, 18, 3), np.float32)
    exact.feature_grid[:] = random.uniform(-1.3, 1.3, exact.feature_grid.shape)
    backend, rates = CpuFewBits(image, config, exact), np.full((3, 2), 0.05, np.float32)
    backend.run(1, rates)
    for step in (1, 2, 3):
        seen = rounded(exact.feature_grid, bits).astype(np.float32)
        usual = CpuBackend(image, config, exact._replace(feature_grid=seen))
        usual.run(step, rates[:1])
        moved = usual.state()
        followed = reference.followed(exact.feature_grid, seen, moved.feature_grid)
        exact = moved._replace(feature_grid=followed.astype(np.float32))
    for mine, theirs in zip(backend.state(), exact, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)
    seen = rounded(exact.feature_grid, bits)
    np.testing.assert_allclose(backend.feature_grid(), seen, atol=1e-6)


def test_a_run_leaves_a_file_that_holds_the_picture(run, content, picture):
    summary = read_summary(run)
    assert len(content) == summary["lake_bytes"] == 24 + 4 * -(-7 * 5 * 3 * 5 // 32) + 2 * 1568
    assert summary["lake_bits_per_pixel"] == 8 * len(content) / (WIDTH * HEIGHT)
    right = decoded(content)
    assert summary["lake_psnr_db"] == pytest.approx(psnr(right, load_image(picture)), abs=0.01)
    np.testing.assert_allclose(load_image(run / "prediction.png"), right, atol=0.01)
    assert not (run / "picture.lake").exists()
    config, state, _, _ = checkpoint.load_model(run / "model.npz")
    grid = rounded(state.feature_grid, 5)
    np.testing.assert_allclose(state.feature_grid, grid, atol=1e-6)
    assert config.bits == 0  # it needs no rounding any more


@pytest.mark.parametrize("bits", range(1, 11))
def test_levels_are_packed_as_lesson_20_packs_them(bits):
    levels = np.random.default_rng(bits).integers(0, 1 << bits, 3 * 45)
    words = lake_model.packed(levels, bits)
    np.testing.assert_array_equal(words, reference.packed(levels, bits))
    np.testing.assert_array_equal(lake_model.unpacked(words, bits, len(levels)), levels)


def test_an_interrupted_run_goes_on_to_the_same_file(run, content, picture, tmp_path):
    arguments = [str(picture), "--out", str(tmp_path / "run"), *BITS]
    with pytest.MonkeyPatch.context() as patch:
        press_control_c(patch, call=9)
        assert train.main([*arguments, "--to", str(tmp_path / "it.lake")]) == 130
    assert 0 < saved_step(tmp_path / "run") < 60 and not (tmp_path / "it.lake").exists()
    assert train.main([*arguments, "--to", str(tmp_path / "it.lake"), "--resume"]) == 0
    assert (tmp_path / "it.lake").read_bytes() == content
    (tmp_path / "run" / "summary.json").write_bytes((run / "summary.json").read_bytes())
    assert_same(tmp_path / "run", run)


def test_without_to_it_lies_in_the_folder_and_goes_with_the_run(picture, content, tmp_path):
    arguments = [str(picture), "--out", str(tmp_path / "run"), *BITS]
    lake = tmp_path / "run" / "picture.lake"
    assert train.main(arguments) == 0 and lake.read_bytes() == content
    assert train.main([*arguments, "--resume"]) == 0 and lake.read_bytes() == content
    without = [word for word in arguments if word not in ("--bits", "5")]
    assert train.main([*without, "--steps", "3", "--overwrite"]) == 0 and not lake.exists()
    own = tmp_path / "own.lake"
    own.write_bytes(b"mine")
    assert train.main([*arguments, "--to", str(own), "--overwrite"]) == 0
    assert own.read_bytes() == content


@pytest.mark.parametrize(
    ("words", "line"),
    {
        "choose one of --bits and --use": "--use lessons",
        "not for --backend persistent": "--backend persistent",
        "not for --backend native": "--backend native",
        "leave out --hidden": "--hidden 64",
        "leave out --hidden, --layers": "--layers 3",
        "and --biases": "--channels 4",
        "from 1 to 10": "--bits 11",
        "whole number": "--bits 0",
        "ends in .lake": "--to it.png",
        "no folder": "--to nowhere/it.lake",
        "exists already": "--to own.lake",
        "the picture to learn": "--to photo.lake --overwrite",
        "for training, not for --render": "--render model.npz --to it.png",
    }.items(),
)
def test_what_does_not_go_with_bits(picture, tmp_path, refuse, monkeypatch, words, line):
    monkeypatch.chdir(tmp_path)
    shutil.copy(picture, "photo.lake")
    Path("own.lake").write_bytes(b"mine")
    place = [] if "--render" in line else ["photo.lake", "--out", "run"]
    refuse(words, *place, "--bits", 4, *line.split())


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize("scale", [1, 2.5])
def test_a_file_is_painted_at_any_size(run, content, tmp_path, scale):
    picture = tmp_path / "it.png"
    line = ["--render", run.parent / "small.lake", "--to", picture, "--scale", scale, "--quiet"]
    assert train.main([*map(str, line), "--backend", "cpu"]) == 0
    right = decoded(content, round(WIDTH * scale), round(HEIGHT * scale))
    np.testing.assert_allclose(load_image(picture), right, atol=0.003)


def test_any_texel_is_read_alone(run, content, capsys):
    right = decoded(content)
    for column, row in ((0, 0), (23, 15), (11, 7), (3, 14)):
        colour, count = lake_model.read_texel(run.parent / "small.lake", column, row)
        np.testing.assert_allclose(colour, right[row, column], atol=1e-5)
        assert 4 <= count <= 64 and count % 4 == 0
    assert train.main(["--render", str(run.parent / "small.lake"), "--texel", "11,7"]) == 0
    red, green, blue = np.uint8(np.rint(right[7, 11] * 255))
    assert f"texel 11,7: #{red:02x}{green:02x}{blue:02x}, read with" in capsys.readouterr().out


def test_a_texel_needs_what_is_read_for_it_and_no_other_byte(content, tmp_path):
    right, needed = decoded(content)[9, 5], 0
    for begin in range(24, len(content) - 2 * 1568, 4):
        other = bytes(255 - byte for byte in content[begin : begin + 4])
        (tmp_path / "it.lake").write_bytes(content[:begin] + other + content[begin + 4 :])
        colour, count = lake_model.read_texel(tmp_path / "it.lake", 5, 9)
        needed += 4 * (np.abs(colour - right).max() > 1e-5)
    assert needed == count


def header(*, order="<", magic=b"LAKE", **changed):
    """The first bytes of the file of `BITS`, with other sizes."""
    sizes = {"columns": 7, "rows": 5, "width": WIDTH, "height": HEIGHT, "bits": 5} | changed
    return struct.pack(f"{order}4s5I", magic, *sizes.values())


def broken_files(whole):
    """(words of the complaint, bytes) of files that are none, class by class."""
    body, most, weights = whole[24:], 2**32 - 1, len(whole) - 2 * 1568
    numbers = [(n, at) for n in (np.nan, np.inf, -np.inf) for at in (weights, len(whole) - 2)]
    sizes = [(name, value) for name in ("columns", "rows") for value in (0, 1 << 16, most)]
    sizes += [("width", 0), ("width", most), ("height", 0), ("height", most)]
    sizes += [("bits", 0), ("bits", 11), ("bits", most)]
    return [
        *(("", whole[:n]) for n in (0, 1, 3, 4, 5, 23)),
        *(("damaged", whole[:n]) for n in (24, 25, weights, len(whole) - 1)),
        *(("", header(**{name: value}) + body) for name, value in sizes),
        *(("not finite", whole[:at] + struct.pack("<e", n) + whole[at + 2 :]) for n, at in numbers),
        ("damaged", header(bits=4) + body),
        ("damaged", header(columns=5, rows=8) + body),
        ("cells", header(columns=1 << 31, rows=1 << 31) + body),
        ("", header(order=">") + body),
        ("not a whole model", header(magic=b"lake") + body),
        ("not a whole model", header(magic=b"LAK2") + body),
        ("damaged", whole + b"\0"),
        ("damaged", whole + whole),
        ("damaged", whole.decode("latin-1").encode("utf-8")),
        ("damaged", header() + body.replace(b"\n", b"\r\n") + b"\r\n"),
        (BEHIND, whole[: weights - 1] + b"\xff" + whole[weights:]),
        ("it is a PNG picture", b"\x89PNG\r\n\x1a\n" + body),
        ("it is a text", b"LA picture"),
        ("damaged", bytes(len(whole))),
    ]


def test_files_that_are_none_end_in_a_line(content, tmp_path, refuse):
    assert to_bytes(from_bytes(content, "it")) == content
    path = tmp_path / "it.lake"
    for words, broken in broken_files(content):
        with pytest.raises(InputError):
            from_bytes(broken, "it")
        path.write_bytes(broken)
        refuse(words, "--render", path, "--to", tmp_path / "it.png")
        if words != BEHIND:  # where one texel is asked for, nobody looks there
            of_texel = words if broken.startswith(b"LAKE") else ""
            refuse(of_texel, "--render", path, "--texel", "1,1")


def test_files_that_are_no_files_end_in_a_line(tmp_path, refuse, run):
    (tmp_path / "folder.lake").mkdir()
    huge, lake = run.parent / "huge.lake", run.parent / "small.lake"
    with huge.open("wb") as file:
        file.write(header(columns=4096, rows=4096))
        file.truncate(1 << 33)
    places = {"folder.lake": "a folder", "missing.lake": "check the path", huge: "damaged"}
    if os.name == "posix":
        os.symlink("/dev/zero", tmp_path / "zeros.lake")
        places["zeros.lake"] = "not an ordinary file"
    for name, words in places.items():
        refuse(words, "--render", tmp_path / name, "--to", tmp_path / "it.png")
        refuse(words, "--render", tmp_path / name, "--texel", "0,0")
    refuse("no .lake file", "--render", run / "model.npz", "--texel", "0,0")
    refuse("none at 24,0", "--render", lake, "--texel", "24,0")
    refuse("none at 0,16", "--render", lake, "--texel", "0,16")
    refuse("such as 120,80", "--render", lake, "--texel", "1,-1")
    for other in ("--to it.png", "--scale 2", "--use lessons", "--backend cpu"):
        refuse("choose one of --texel", "--render", lake, "--texel", "0,0", *other.split())
    refuse("only for --render", "--texel", "0,0")


# ---------------------------------------------------------------- on a GPU


@pytest.mark.gpu
def test_a_graph_learns_the_same(real_gpu):
    from kernels.training.graph_backend import GraphFewBits

    config = Config(steps=200, batch=2000, grid_width=9, grid_height=6, bits=4)
    y, x = np.mgrid[:24, :36] / 30
    image = np.stack([x, y, 0.4 + 0 * x], axis=2).astype(np.float32).clip(0, 1)
    backends = [kind(image, config, initial_state(config)) for kind in (GraphFewBits, CpuFewBits)]
    for backend in backends:
        for step in range(0, 200, 50):
            backend.run(1 + step, np.full((50, 2), 0.01, np.float32))
    graph, cpu = backends
    np.testing.assert_allclose(graph.mean_squared_error(), cpu.mean_squared_error(), rtol=0.2)
    for backend in backends:
        seen = rounded(backend.state().feature_grid, 4)
        np.testing.assert_allclose(backend.feature_grid(), seen, atol=1e-6)
