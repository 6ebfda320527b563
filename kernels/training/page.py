"""The page of a run, `index.html`: one file that asks for nothing. And the same while it trains.

`page.html` beside this file is how it looks and moves. Here is what it shows.
"""

import base64
import hashlib
import io
import json
import math
import os
import socketserver
import threading
import time
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from PIL import Image

from kernels.files import pictures
from kernels.files.psnr import psnr, psnr_label
from kernels.plumbing.errors import InputError
from kernels.training.trainer import Trainer

PAGE = "index.html"
TEMPLATE = Path(__file__).with_name("page.html")
# Pixels of the longer side, and the quality of a JPEG: the first that makes few enough bytes.
WAYS_TO_SHRINK = ((1600, 92), (1600, 80), (1200, 80), (800, 70), (480, 60), (240, 50))
LARGE, SMALL = 400_000, 40_000  # bytes; four large pictures and up to twenty small ones are a page
LOSSLESS = 1 << 16  # pixels; a picture of so few is kept as it is
MOST_POINTS = 600  # of a curve
HOST = "127.0.0.1"
# Seconds between two pictures while training. One that takes long makes the next wait longer.
SHORTEST_PAUSE = 0.5
SHARE_OF_THE_TIME = 0.03
# Seconds that the end of a run waits. A page asks twice per second.
FOR_A_BROWSER_TO_START, FOR_THE_LAST_NEWS, FOR_MORE_PAGES = 10.0, 5.0, 0.7


def fill(data: dict[str, Any]) -> bytes:
    """The page that shows `data`, which is a `content`, in UTF-8."""
    before, after = TEMPLATE.read_text(encoding="utf-8").split("<!--data-->")
    script = after.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'{'; connect-src ' + repr('self') if data['live'] else ''}"
    )
    # "<" could end the element that holds the data.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return (before.replace("<!--policy-->", policy) + text + after).encode()


def content(
    title: str,
    words: str,
    size: tuple[int, int],
    command: str,
    shown: dict[str, tuple[str, str]],
    frames: Sequence[tuple[int, str, str]],
    curves: dict[str, tuple[str, Sequence[tuple[int, float]]]],
    baselines: Sequence[tuple[str, float]],
    figures: Sequence[tuple[str, str]] = (),
    more: Sequence[tuple[str, str]] = (),
    live: bool = False,
) -> dict[str, Any]:
    """What the page shows.

    size: (width, height). shown: name -> (label, address) of the pictures to compare with. frames:
    (step, label, address). curves: "measured" and "loss" -> (title, [(step, value)]). baselines:
    (name, value) in the first. figures: a table. more: (what it shows, address) of pictures below.
    """
    return {
        "title": title,
        "words": words,
        "size": size,
        "steps": max([1, *(step for _, curve in curves.values() for step, _ in curve)]),
        "pictures": shown,
        "frames": frames,
        "titles": {name: title for name, (title, _) in curves.items()},
        **{name: points(curve) for name, (_, curve) in curves.items()},
        "baselines": [(name, finite(value)) for name, value in baselines],
        "figures": figures,
        "more": more,
        "command": command,
        "live": live,
    }


def of_training(trainer: Trainer, image: str, **rest: Any) -> dict[str, Any]:
    """The `content` of a run of train.py. image: its file's name. rest: what `content` asks for."""
    height, width, _ = trainer.image.shape
    shown = content(
        title=f"{image}, learned by a small network",
        words=words(trainer),
        size=(width, height),
        curves={
            "measured": ("PSNR of the whole picture, in dB", trainer.progress.measured),
            "loss": ("Loss of the batches", trainer.progress.history),
        },
        **rest,
    )
    return {**shown, "steps": trainer.config.steps}


def finished(
    trainer: Trainer,
    summary: dict[str, Any],
    command: str,
    prediction: np.ndarray,
    bilinear: np.ndarray,
    best: np.ndarray,
) -> dict[str, Any]:
    """The `content` at the end of a run. summary: as `summary.json`. The rest: float pictures."""
    names = ("bilinear", "best bilinear grid")
    scores = (summary["baseline_psnr_db"], summary["baseline_best_psnr_db"])
    shown = {
        name: (psnr_label(score), address(picture))
        for name, score, picture in zip(names, scores, (bilinear, best), strict=True)
    }
    frames = [
        (step, "" if decibels is None else psnr_label(decibels), address(frame, SMALL))
        for step, decibels, frame in trainer.progress.frames
        if step < trainer.step
    ]
    frames.append((trainer.step, psnr_label(summary["psnr_db"]), address(prediction)))
    figures = [
        ("PSNR", psnr_label(summary["psnr_db"])),
        *zip(names, map(psnr_label, scores), strict=True),
        ("steps", f"{trainer.step:,} of {summary['batch']:,} samples"),
        ("training", f"{summary['seconds_train']:.3g} s"),
        ("per step", f"{summary['us_per_step'] / 1000:,.3g} ms"),
        ("picture", f"{summary['width']:,} x {summary['height']:,} pixels"),
        ("parameters", f"{summary['parameters']:,}"),
        ("backend", f"{summary['backend']} on {summary['device']}"),
        ("seed", str(summary["seed"])),
    ]
    return of_training(
        trainer, summary["image"], command=command, frames=frames, figures=figures,
        shown={**shown, "original": ("", address(trainer.image))},
        baselines=list(zip(names, scores, strict=True)),
    )  # fmt: skip


def words(trainer: Trainer) -> str:
    """How far a run is, in a line."""
    progress = trainer.progress
    parts = [f"step {trainer.step:,} of {trainer.config.steps:,}"]
    parts += [f"loss {loss:.5f}" for _, loss in progress.history[-1:]]
    parts += [f"PSNR {psnr_label(decibels)}" for _, decibels in progress.measured[-1:]]
    return ", ".join([*parts, f"{progress.seconds:.1f} s of training"])


def points(curve: Sequence[tuple[int, float]]) -> list[tuple[int, float | None]]:
    chosen = pictures.evenly_chosen(range(len(curve)), MOST_POINTS)
    return [(curve[i][0], finite(curve[i][1])) for i in chosen]


def finite(value: float) -> float | None:
    """JSON knows no infinity, which is the PSNR of a picture without any error."""
    return value if math.isfinite(value) else None


def address(picture: np.ndarray, most: int = LARGE) -> str:
    """A `data:` address of a picture, as large as `most` bytes allow.

    picture: (H, W, 3), uint8, or float in [0, 1].
    """
    height, width = picture.shape[:2]
    if width * height <= LOSSLESS:
        return encoded(pictures.fit(picture, max(width, height)), "PNG")
    for side, quality in WAYS_TO_SHRINK:
        small = pictures.fit(picture, min(side, max(width, height)))
        text = encoded(small, "JPEG", quality=quality)
        if len(text) * 3 / 4 <= most:
            break
    return text


def encoded(picture: Image.Image, kind: str, **options: Any) -> str:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(file.getvalue()).decode()}"


# ---------------------------------------------------------------- while it trains


class Live:
    """Shows a run while it trains, on a page that only this machine can open.

    Raises `InputError` if no port can be had.
    """

    def __init__(self, trainer: Trainer, image: str, command: str, quiet: bool) -> None:
        self.trainer = trainer
        self.end: dict[str, Any] | None = None
        self.asked = 0.0  # when a page asked last, by the monotonic clock
        self.told_the_end = threading.Event()
        self.paint()
        baseline = trainer.baseline()
        decibels = psnr(baseline, trainer.image)
        shown = {
            "bilinear": (psnr_label(decibels), address(baseline)),
            "original": ("", address(trainer.image)),
        }
        baselines = [("bilinear", decibels)]
        later = [("at the end", "what it has come to")]
        first = of_training(
            trainer, image, command=command, shown=shown, frames=[self.frame],
            baselines=baselines, figures=later, live=True,
        )  # fmt: skip
        self.page = fill(first)
        try:
            self.server = Server((HOST, 0), handler_of(self))
        except OSError as error:
            raise InputError(
                f"no port of {HOST} can be had for the page ({error.strerror}): leave out --live"
            ) from error
        threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True).start()
        self.address = f"http://{HOST}:{self.server.server_port}/"
        self.opened = time.monotonic() if open_browser(self.address) else 0.0
        if not quiet or not self.opened:
            print(f"watch it learn: {self.address}", flush=True)

    def paint(self) -> None:
        begin = time.monotonic()
        trainer = self.trainer
        decibels = dict(trainer.progress.measured[-1:]).get(trainer.step)
        label = "" if decibels is None else psnr_label(decibels)
        picture = trainer.render(pictures.FRAME_SIDES[0])
        self.frame = (trainer.step, label, address(picture))
        end = time.monotonic()
        self.due = end + max(SHORTEST_PAUSE, (end - begin) / SHARE_OF_THE_TIME)

    def renew_if_due(self) -> None:
        if time.monotonic() >= self.due:
            self.paint()

    def news(self, seen: dict[str, int]) -> bytes:
        """What a page does not know yet, as JSON. seen: the last step of its curves and frames."""
        self.asked = time.monotonic()
        if self.end is not None:
            return json.dumps({"end": self.end}, allow_nan=False).encode()
        progress, frame = self.trainer.progress, self.frame
        curves = {
            name: points([entry for entry in list(curve) if entry[0] > seen.get(name, -1)])
            for name, curve in (("loss", progress.history), ("measured", progress.measured))
        }
        frames = [frame] if frame[0] > seen.get("frame", -1) else []
        return json.dumps({**curves, "frames": frames, "words": words(self.trainer)}).encode()

    def finish(self, end: dict[str, Any]) -> None:
        """Let an open page have the end of the run; a browser that still starts is waited for."""
        self.end = end
        now = time.monotonic()
        until = self.asked + FOR_THE_LAST_NEWS
        if self.asked == 0:
            until = self.opened + FOR_A_BROWSER_TO_START if self.opened else now
        with suppress(KeyboardInterrupt):  # all is written: it only ends the wait
            if until > now and self.told_the_end.wait(until - now):
                time.sleep(FOR_MORE_PAGES)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Server(ThreadingHTTPServer):
    def server_bind(self) -> None:
        # The one of HTTPServer asks for the machine's name, which may take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.socket.getsockname()[1]

    def handle_error(self, *_: Any) -> None:
        """A page that was closed meanwhile is nothing to tell."""


def handler_of(live: Live) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            port = live.server.server_port
            url = urlsplit(self.path)
            # Another name may be that of a foreign page, which wants to read along.
            if self.headers["Host"] not in (f"{HOST}:{port}", f"localhost:{port}"):
                self.send_error(403)
            elif url.path == "/":
                self.answer(live.page, "text/html; charset=utf-8")
            elif url.path == "/news":
                seen = {name: int(values[0]) for name, values in parse_qs(url.query).items()}
                ended = live.end is not None
                self.answer(live.news(seen), "application/json")
                if ended:
                    live.told_the_end.set()
            else:
                self.send_error(404)

        def answer(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """The terminal is the progress bar's."""

    return Handler


def open_browser(url: str) -> bool:
    """Open a browser, if there is one with a window; one in the terminal would hide the run."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if type(browser) is webbrowser.GenericBrowser and not os.environ.get("BROWSER"):
        return False
    # Some return only when they are closed.
    threading.Thread(target=browser.open, args=(url,), daemon=True).start()
    return True
