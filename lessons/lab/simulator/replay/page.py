"""The replay as one HTML file, made of the files beside this one and of the data of a run."""

import base64
import hashlib
import html
import json
from os import PathLike
from pathlib import Path

from ...files import write_whole

FOLDER = Path(__file__).resolve().parent
# In this order; each uses those before it.
SCRIPTS = (
    "data.js", "memory.js", "state.js", "colours.js", "words.js", "source.js", "layout.js",
    "cells.js", "arrays.js", "threads.js", "banks.js", "findings.js", "timeline.js", "main.js",
)  # fmt: skip


def write_replay(path: str | PathLike[str], data: str) -> None:
    """Write the page of a run. data: see `data`. Raises `InputError` if it cannot be written."""
    text = replay_page(data)
    write_whole(path, lambda file: file.write(text.encode("utf-8")))


def replay_page(data: str) -> str:
    """The page. data: JSON of a run. Raises `ValueError` if it is no JSON."""
    content = json.loads(data)
    title = content.get("kernel", "") if isinstance(content, dict) else ""
    script = "\n".join(read(name) for name in SCRIPTS)
    parts = {
        "title": html.escape(str(title)),
        "policy": policy(script),
        "style": read("style.css"),
        "script": script,
    }
    page = read("page.html")
    for name, part in parts.items():
        page = page.replace(f"<!--{name}-->", part)
    # Last, so that no text of a kernel is taken for a place to fill.
    before, after = page.split("<!--data-->")
    return before + harmless(json.dumps(content, separators=(",", ":"))) + after


def read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def harmless(text: str) -> str:
    """JSON in which nothing can end the script element that holds it."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def policy(script: str) -> str:
    """What the browser lets the page do: run this one script, use its style, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
