"""A Chromium without a window, for the tests of the replay."""

import os
import shutil
import subprocess

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "msedge")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"


def find_browser():
    """The path of a Chromium, or the end of the test."""
    found = next(filter(None, map(shutil.which, NAMES)), MAC if os.path.exists(MAC) else None)
    if found is None:
        pytest.skip("needs Chromium: on Debian, apt-get install chromium")
    return found


def dump_dom(page, folder, fragment=""):
    """The HTML of a page after its scripts have run. page: a path. folder: for what it leaves."""
    command = [
        find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=4000", "--dump-dom",
        page.as_uri() + fragment,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, timeout=120)
    return done.stdout.decode("utf-8", "replace")
