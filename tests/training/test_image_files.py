"""Images in every format people have, files that are none, and writing that never leaves half."""

import errno
import io
import os
import struct
import subprocess
import sys
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, features

from kernels.files import atomic as files
from kernels.files import images
from kernels.files.atomic import make_output_folder, write_atomically
from kernels.files.images import load_image, save_image, to_uint8
from kernels.plumbing.errors import InputError

COLOURS = np.array(
    [[[255, 0, 0], [0, 128, 255], [10, 20, 30]], [[1, 2, 3], [250, 251, 252], [77, 88, 99]]],
    dtype=np.uint8,
)
GRAY = np.array([[0, 1, 128], [200, 254, 255]], dtype=np.uint8)
LOSSLESS = ("png", "ppm", "bmp", "tiff", "webp")
ROOT = Path(__file__).resolve().parents[2]


def as_float(pixels):
    return pixels.astype(np.float64) / 255


def png(width, height, depth, colour_type, rows, extra=b""):
    """A PNG from its raw rows: for what Pillow can read and not write."""

    def chunk(kind, data):
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    header = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    parts = chunk(b"IHDR", header) + extra + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def check(path, expected, tolerance=1e-6):
    """Load without a single warning; compare pixels; check the promised layout."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image = load_image(path)
    assert image.dtype == np.float32 and image.flags.c_contiguous
    assert image.shape == np.shape(expected)
    np.testing.assert_allclose(image, expected, rtol=0, atol=tolerance)


def gray_rgb(values):
    return np.repeat(np.asarray(values, dtype=np.float64)[..., None], 3, axis=-1)


def saved(folder, image, name="image.png", **options):
    path = folder / name
    image.save(path, **options)
    return path


def written(folder, content, name="image.png"):
    path = folder / name
    path.write_bytes(content)
    return path


# ---------------------------------------------------------------- reading what is good


@pytest.mark.parametrize("suffix", LOSSLESS)
@pytest.mark.parametrize(
    "pixels, expected", [(COLOURS, as_float(COLOURS)), (GRAY, gray_rgb(GRAY / 255))]
)
def test_every_value_keeps_its_place(tmp_path, suffix, pixels, expected):
    options = {"lossless": True} if suffix == "webp" else {}
    path = saved(tmp_path, Image.fromarray(pixels), f"image.{suffix}", **options)
    check(path, expected)
    check(str(path), expected)


def test_jpeg_is_close(tmp_path):
    smooth = np.tile(np.linspace(40, 200, 64).astype(np.uint8)[None, :, None], (48, 1, 3))
    path = saved(tmp_path, Image.fromarray(smooth), "image.jpg", quality=95)
    check(path, as_float(smooth), tolerance=4 / 255)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (1, 7), (7, 1)])
def test_small_images(tmp_path, shape):
    pixels = np.random.default_rng(3).integers(0, 256, (*shape, 3), dtype=np.uint8)
    check(saved(tmp_path, Image.fromarray(pixels)), as_float(pixels))


def test_one_bit(tmp_path):
    bits = np.array([[True, False, False], [False, True, True]])
    check(saved(tmp_path, Image.fromarray(bits)), gray_rgb(bits))


@pytest.mark.parametrize(
    "content, values",
    [
        (b"P1 3 1\n1 0 1\n", [[0, 1, 0]]),
        (b"P2 2 1 1000\n500 1000\n", [[0.5, 1]]),
        (b"P2 2 1 255\n51 255\n", [[0.2, 1]]),
        (b"P5 2 1 255\n\x33\xff", [[0.2, 1]]),
        (b"P5 2 1 65535\n\x01\x2c\xff\xff", [[300 / 65535, 1]]),
    ],
)
def test_portable_gray(tmp_path, content, values):
    check(written(tmp_path, content, "image.pgm"), gray_rgb(values), tolerance=1 / 65535)


@pytest.mark.parametrize("content", [b"P3 1 1 255\n51 0 255\n", b"P6 1 1 255\n\x33\x00\xff"])
def test_portable_colour(tmp_path, content):
    check(written(tmp_path, content, "image.ppm"), [[[0.2, 0, 1]]])


def test_transparency_is_composited_over_white(tmp_path):
    rgba = np.array([[[255, 0, 0, 255], [255, 0, 0, 51], [9, 9, 9, 0]]], dtype=np.uint8)
    check(saved(tmp_path, Image.fromarray(rgba)), [[[1, 0, 0], [1, 0.8, 0.8], [1, 1, 1]]])


def test_gray_with_alpha(tmp_path):
    image = Image.merge("LA", [Image.fromarray(np.array([[0, 51]], np.uint8)),
                               Image.fromarray(np.array([[51, 255]], np.uint8))])  # fmt: skip
    check(saved(tmp_path, image), gray_rgb([[0.8, 0.2]]))


@pytest.mark.parametrize("suffix", ["png", "gif", "bmp", "tiff"])
def test_palette(tmp_path, suffix):
    image = Image.new("P", (3, 1))
    image.putpalette([255, 0, 0, 0, 51, 0, 0, 0, 102])
    image.putdata([2, 0, 1])
    check(saved(tmp_path, image, f"image.{suffix}"), [[[0, 0, 0.4], [1, 0, 0], [0, 0.2, 0]]])
    if suffix == "png":
        path = saved(tmp_path, image, transparency=bytes([51, 0, 255]))
        check(path, [[[0, 0, 0.4], [1, 0.8, 0.8], [1, 1, 1]]])


def test_transparent_colour_of_rgb_and_of_deep_gray(tmp_path):
    key = struct.pack(">I", 6) + b"tRNS" + bytes([0, 1, 0, 2, 0, 3])
    key += struct.pack(">I", zlib.crc32(key[4:]))
    path = written(tmp_path, png(2, 1, 8, 2, [bytes([1, 2, 3, 51, 0, 255])], key))
    check(path, [[[1, 1, 1], [0.2, 0, 1]]])
    key = struct.pack(">I", 2) + b"tRNS" + struct.pack(">H", 300)
    key += struct.pack(">I", zlib.crc32(key[4:]))
    path = written(tmp_path, png(2, 1, 16, 0, [struct.pack(">HH", 300, 13107)], key))
    check(path, gray_rgb([[1, 0.2]]))


@pytest.mark.parametrize("suffix", ["png", "tiff"])
def test_deep_gray_keeps_all_16_bits(tmp_path, suffix):
    values = np.array([[0, 1, 300], [32768, 65534, 65535]], dtype=np.uint16)
    path = saved(tmp_path, Image.fromarray(values), f"image.{suffix}")
    check(path, gray_rgb(values / 65535), tolerance=1e-7)


def test_deep_colour_keeps_its_upper_8_bits(tmp_path):
    values = np.array([0, 300, 65535, 32768, 1000, 40000], dtype=np.uint16)
    path = written(tmp_path, png(2, 1, 16, 2, [values.astype(">u2").tobytes()]))
    check(path, (values / 65535).reshape(1, 2, 3), tolerance=1 / 255)
    path = written(tmp_path, b"P6 2 1 65535\n" + values.astype(">u2").tobytes(), "image.ppm")
    check(path, (values / 65535).reshape(1, 2, 3), tolerance=1 / 255)


def test_deep_colour_with_alpha(tmp_path):
    values = struct.pack(">HHHH", 65535, 0, 0, 13107)
    check(written(tmp_path, png(1, 1, 16, 6, [values])), [[[1, 0.8, 0.8]]], tolerance=1 / 255)


def test_float_tiff(tmp_path):
    values = np.array([[0, 0.25, 1]], dtype=np.float32)
    check(saved(tmp_path, Image.fromarray(values), "image.tiff"), gray_rgb(values))


def test_cmyk_jpeg(tmp_path):
    image = Image.new("CMYK", (16, 16), (255, 0, 0, 0))
    expected = np.tile(np.array([0.0, 1, 1]), (16, 16, 1))
    check(saved(tmp_path, image, "image.jpg", quality=95), expected, tolerance=4 / 255)


@pytest.mark.parametrize(
    "orientation, turn",
    [
        (1, lambda a: a),
        (2, lambda a: a[:, ::-1]),
        (3, lambda a: a[::-1, ::-1]),
        (4, lambda a: a[::-1]),
        (5, lambda a: a.transpose(1, 0, 2)),
        (6, lambda a: np.rot90(a, -1)),
        (7, lambda a: a[::-1, ::-1].transpose(1, 0, 2)),
        (8, lambda a: np.rot90(a)),
    ],
)
def test_exif_orientation(tmp_path, orientation, turn):
    exif = Image.Exif()
    exif[0x112] = orientation
    path = saved(tmp_path, Image.fromarray(COLOURS), exif=exif)
    check(path, turn(as_float(COLOURS)))


def test_a_camera_jpeg_with_a_preview_inside_is_one_image(tmp_path):
    large, preview = Image.new("RGB", (16, 8), (255, 0, 0)), Image.new("RGB", (8, 4))
    path = saved(tmp_path, large, "image.jpg", format="MPO", save_all=True, append_images=[preview])
    expected = np.tile(np.array([1.0, 0, 0]), (8, 16, 1))
    check(path, expected, tolerance=4 / 255)


def test_the_content_counts_not_the_name(tmp_path):
    check(saved(tmp_path, Image.fromarray(COLOURS), "no_suffix", format="PNG"), as_float(COLOURS))


# ---------------------------------------------------------------- refusing what is not


def refusal(call, *arguments):
    """The message of the InputError, which must be one line and name no Python internals."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(InputError) as caught:
            call(*arguments)
    message = str(caught.value)
    assert heard == []
    assert "\n" not in message and "object at" not in message
    return message


def float_tiff(*values):
    return Image.fromarray(np.array([values], np.float32))


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "file is empty"),
        (b"hello, world\n" * 50, "not an image"),
        (bytes(1000), "not an image"),
        (b"\x89PNG\r\n\x1a\n", "damaged"),
        (png(0, 5, 8, 2, []), ""),
        (b"P5 0 5 255\n", ""),
        (b"P6 4 0 255\n", ""),
        (float_tiff(0, np.nan, 1), "NaN"),
        (float_tiff(0, np.inf, 1), "infinite"),
        (float_tiff(0, 2, 1), "0 to 1"),
        (Image.fromarray(np.array([[5, 70_000]], np.int32)), "65535"),
        (Image.new("LAB", (2, 2)), "LAB"),
    ],
)
def test_what_is_no_image_or_cannot_be_used(tmp_path, content, words):
    put = written if isinstance(content, bytes) else saved
    assert words in refusal(load_image, put(tmp_path, content, "image.tiff"))


def test_where_there_is_no_file(tmp_path):
    message = refusal(load_image, tmp_path / "nowhere.png")
    assert "nowhere.png" in message and "no such file" in message
    file = written(tmp_path, b"x", "file")
    assert "no such file" in refusal(load_image, file / "inside.png")
    assert "it is a folder" in refusal(load_image, tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "not an ordinary file" in refusal(load_image, tmp_path / "pipe")


def test_no_permission_to_read(tmp_path, monkeypatch):
    path = saved(tmp_path, Image.fromarray(COLOURS))

    def forbidden(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("builtins.open", forbidden)
    assert "permission denied" in refusal(load_image, path)


@pytest.mark.parametrize("suffix", ["png", "jpg", "ppm", "bmp", "tiff", "webp", "gif"])
@pytest.mark.parametrize("kept", [0.0034, 0.05, 0.5, 0.97])
def test_truncated(tmp_path, suffix, kept, capfd):
    pixels = np.random.default_rng(1).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    content = saved(tmp_path, Image.fromarray(pixels), f"whole.{suffix}").read_bytes()
    cut = written(tmp_path, content[: int(len(content) * kept)], f"cut.{suffix}")
    message = refusal(load_image, cut)
    assert "cut." in message and ("damaged" in message or "cut short" in message)
    assert capfd.readouterr() == ("", "")


def test_corrupt(tmp_path, capfd):
    pixels = np.random.default_rng(1).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    content = bytearray(saved(tmp_path, Image.fromarray(pixels)).read_bytes())
    content[2000:2040] = bytes(40)
    assert "damaged" in refusal(load_image, written(tmp_path, bytes(content)))
    assert capfd.readouterr() == ("", "")


def test_what_pillow_logs_stays_unheard(tmp_path, caplog):
    content = saved(tmp_path, Image.fromarray(COLOURS), "whole.tiff").read_bytes()
    three_samples, nine = (struct.pack("<HHIH", 277, 3, 1, count) for count in (3, 9))
    assert three_samples in content
    refusal(load_image, written(tmp_path, content.replace(three_samples, nine)))
    assert caplog.records == []


@pytest.mark.parametrize("suffix", ["gif", "png", "webp", "tiff"])
def test_animated_says_how_many_frames(tmp_path, suffix):
    first, *others = [Image.new("RGB", (4, 4), (80 * i, 0, 0)) for i in range(3)]
    path = saved(tmp_path, first, f"image.{suffix}", save_all=True, append_images=others)
    message = refusal(load_image, path)
    assert "3 frames" in message and "one frame" in message


@pytest.mark.parametrize("width, height", [(20_000, 20_000), (10_000, 10_000), (8_001, 8_000)])
def test_huge_is_refused_from_its_header(tmp_path, width, height):
    # The pixels are missing, so any attempt to decode would say "damaged".
    message = refusal(load_image, written(tmp_path, png(width, height, 8, 2, [])))
    assert f"{width:,} x {height:,}" in message and "megapixels" in message
    assert "Resize" in message and "--shrink" in message


@pytest.mark.parametrize("mode", ["RGB", "P", "L", "RGBA", "I;16"])
@pytest.mark.parametrize("size", [(23, 11), (1, 300), (300, 2)])
def test_shrinking_averages(tmp_path, monkeypatch, mode, size):
    monkeypatch.setattr(images, "MAX_PIXELS", 60)
    monkeypatch.setattr(images, "MAX_SHRUNK_PIXELS", 1000)
    width, height = size
    values = np.random.default_rng(5).integers(0, 256, (height, width, 4), np.uint8)
    if mode == "I;16":
        image = Image.fromarray(values[:, :, 0].astype(np.uint16) * 257)
    else:
        image = Image.fromarray(values).convert("RGB").convert(mode)
    path = saved(tmp_path, image, "large.png")
    refusal(load_image, path)
    small = load_image(path, shrink=True)
    monkeypatch.setattr(images, "MAX_PIXELS", 1000)
    whole = load_image(path).astype(np.float64)
    across, down = width // small.shape[1], height // small.shape[0]
    assert small.shape[0] * small.shape[1] <= 60 and small.dtype == np.float32
    for y, x in np.ndindex(small.shape[:2]):
        block = whole[y * down : (y + 1) * down, x * across : (x + 1) * across]
        np.testing.assert_allclose(small[y, x], block.mean((0, 1)), atol=1e-6)


def test_what_is_too_large_to_shrink_is_refused(tmp_path):
    path = written(tmp_path, png(40_000, 40_000, 8, 2, []))
    with pytest.raises(InputError, match="the limit is 512") as refused:
        load_image(path, shrink=True)
    assert "--shrink" not in str(refused.value)


@pytest.mark.parametrize("brand", [b"heic", b"mif1", b"hevc", b"MiHB" + bytes(4) + b"mif1"])
def test_heic_says_how_to_export(tmp_path, brand):
    message = refusal(load_image, written(tmp_path, b"\0\0\0\x18ftyp" + brand + bytes(99)))
    assert "HEIC" in message and "Export it as JPEG" in message


@pytest.mark.skipif(not features.check("avif"), reason="this Pillow reads no AVIF")
def test_avif_is_read(tmp_path):
    path = saved(tmp_path, Image.new("RGB", (8, 6), (200, 100, 50)), "image.avif")
    np.testing.assert_allclose(load_image(path)[3, 3], np.array([200, 100, 50]) / 255, atol=0.02)


def test_a_large_image_under_the_limit_is_only_refused_for_its_missing_pixels(tmp_path):
    assert "cut short" in refusal(load_image, written(tmp_path, png(8_000, 8_000, 8, 0, [])))


def test_pillow_is_left_as_it_was(tmp_path):
    before = Image.MAX_IMAGE_PIXELS
    refusal(load_image, written(tmp_path, b"nothing"))
    assert Image.MAX_IMAGE_PIXELS == before is not None


# ---------------------------------------------------------------- writing images


def test_rounds_to_nearest_and_clamps():
    values = np.array([[0, 0.49 / 255, 0.51 / 255, 127.5 / 255, 1, 1.7, -0.3]])
    assert to_uint8(values).tolist() == [[0, 0, 1, 128, 255, 255, 0]]


def test_every_8_bit_value_survives_float32():
    values = np.arange(256, dtype=np.uint8).reshape(16, 16)
    assert np.array_equal(to_uint8(values.astype(np.float32) / np.float32(255)), values)


@pytest.mark.parametrize("suffix", LOSSLESS)
def test_save_then_load(tmp_path, suffix):
    path = tmp_path / f"image.{suffix}"
    save_image(path, as_float(COLOURS).astype(np.float32))
    check(path, as_float(COLOURS))
    save_image(path, COLOURS[::-1])
    check(path, as_float(COLOURS[::-1]))
    save_image(path, GRAY)
    check(path, gray_rgb(GRAY / 255))
    with Image.open(path) as image:
        assert image.mode == "RGB"


def test_the_suffix_names_the_format(tmp_path):
    starts = {"a.png": b"\x89PNG", "b.PPM": b"P6", "c.jpg": b"\xff\xd8", "d.bmp": b"BM"}
    for name, start in starts.items():
        save_image(tmp_path / name, COLOURS)
        assert (tmp_path / name).read_bytes().startswith(start)


def test_unknown_suffix(tmp_path):
    assert ".xyz" in refusal(save_image, tmp_path / "image.xyz", COLOURS)
    assert "no suffix" in refusal(save_image, tmp_path / "image", COLOURS)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_is_refused_and_writes_nothing(tmp_path, value):
    assert "NaN" in refusal(save_image, tmp_path / "image.png", np.full((2, 2, 3), value))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shape", [(2, 2, 4), (2, 2, 1), (5,), (0, 3, 3)])
def test_a_wrong_shape_is_our_own_mistake(shape):
    with pytest.raises(ValueError, match="H, W"):
        to_uint8(np.zeros(shape))
    with pytest.raises(ValueError, match="uint8"):
        to_uint8(np.zeros((2, 2), dtype=np.int64))


def test_too_long_for_its_format(tmp_path):
    message = refusal(save_image, tmp_path / "image.jpg", np.zeros((1, 70_000, 3)))
    assert "70,000" in message and ".png" in message


# ---------------------------------------------------------------- writing any file


def failing(code):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    return fail


def test_writes_and_replaces(tmp_path):
    path = tmp_path / "file.bin"
    for content in (b"old", b"new and longer", b""):
        write_atomically(path, lambda file, content=content: file.write(content))
        assert path.read_bytes() == content
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "code, words",
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EACCES, "permission denied"),
        (errno.EROFS, "read-only"),
        (errno.EFBIG, "large"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
@pytest.mark.parametrize("stage", ["write", "fsync", "replace"])
def test_a_failure_keeps_the_old_file_and_leaves_nothing_else(
    tmp_path, monkeypatch, code, words, stage
):
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")

    def write(file):
        file.write(b"half of it")
        if stage == "write":
            failing(code)()

    if stage != "write":
        monkeypatch.setattr(files.os, stage, failing(code))
    message = refusal(write_atomically, path, write)
    assert str(path) in message and words in message
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("stage", ["write", "replace"])
def test_other_exceptions_pass_and_leave_nothing(tmp_path, monkeypatch, stage):
    def interrupted(*_):
        raise KeyboardInterrupt

    def write(file):
        file.write(b"half of it")
        if stage == "write":
            interrupted()

    if stage == "replace":
        monkeypatch.setattr(files.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "file.bin", write)
    assert list(tmp_path.iterdir()) == []


def test_the_old_file_stays_whole_until_the_new_one_is(tmp_path, monkeypatch):
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    seen = []
    monkeypatch.setattr(files.os, "fsync", lambda _: seen.append(path.read_bytes()))
    write_atomically(path, lambda file: file.write(b"new"))
    assert seen == [b"old"] and path.read_bytes() == b"new"


def test_bad_places(tmp_path):
    def write(path):
        return refusal(write_atomically, path, lambda file: file.write(b"x"))

    file = written(tmp_path, b"x", "file")
    assert "does not exist" in write(tmp_path / "nowhere" / "file.bin")
    if os.name == "posix":
        assert "not a folder" in write(file / "file.bin")
        assert "a folder of this name" in write(make_output_folder(tmp_path / "folder"))
    assert "too long" in write(tmp_path / ("x" * 300)) or os.name == "nt"
    assert sorted(path.name for path in tmp_path.iterdir()) in (["file"], ["file", "folder"])


def test_the_longest_name_the_disk_allows(tmp_path):
    path = tmp_path / ("x" * 200 + ".bin")
    write_atomically(path, lambda file: file.write(b"x"))
    assert path.read_bytes() == b"x"


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on file size and a umask")
@pytest.mark.slow
def test_a_real_limit_on_file_size_and_ordinary_permissions(tmp_path):
    program = """
import os, resource, sys
import numpy as np
from kernels.plumbing.errors import InputError
from kernels.files.atomic import write_atomically
from kernels.files.images import save_image
os.umask(0o022)
folder = sys.argv[1]
write_atomically(folder + "/old.npz", lambda file: file.write(b"old"))
save_image(folder + "/old.png", np.zeros((2, 2, 3)))
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
noise = np.random.default_rng(0).random((100, 100, 3))
for name, write in {
    "old.npz": lambda path: write_atomically(path, lambda file: np.savez(file, noise=noise)),
    "old.png": lambda path: save_image(path, noise),
}.items():
    try:
        write(folder + "/" + name)
    except InputError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path], cwd=ROOT, capture_output=True, text=True
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and done.stderr == ""
    assert len(lines) == 2 and all("may not grow" in line for line in lines)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.npz", "old.png"]
    assert (tmp_path / "old.npz").read_bytes() == b"old"
    assert load_image(tmp_path / "old.png").shape == (2, 2, 3)
    assert (tmp_path / "old.npz").stat().st_mode & 0o777 == 0o644


def test_output_folder_is_made_with_its_parents_and_left_empty(tmp_path):
    folder = make_output_folder(str(tmp_path / "runs" / "lake"))
    assert folder == tmp_path / "runs" / "lake" and list(folder.iterdir()) == []
    written(folder, b"mine", "keep")
    make_output_folder(folder)
    assert [path.name for path in folder.iterdir()] == ["keep"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_output_folder_where_even_root_may_not_write():
    assert "/proc" in refusal(make_output_folder, "/proc/self")
    assert "/proc" in refusal(make_output_folder, "/proc/runs/lake")


def test_output_folder_is_tried_before_it_is_trusted(tmp_path, monkeypatch):
    class FullDisk(io.BytesIO):
        write = failing(errno.ENOSPC)

    monkeypatch.setattr("builtins.open", lambda *_: FullDisk())
    assert "disk is full" in refusal(make_output_folder, tmp_path)
    monkeypatch.setattr("builtins.open", failing(errno.EACCES))
    assert "permission denied" in refusal(make_output_folder, tmp_path)
