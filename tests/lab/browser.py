"""A Chromium without a window, for the tests of all pages: it is told what to do through a pipe."""

import base64
import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "msedge")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
AUDIT = Path(__file__).with_name("page_audit.js")
PHONE, DESKTOP, SMALL = (390, 844), (1280, 900), (320, 640, "light")
VIEWS = [*((*size, scheme) for size in (PHONE, DESKTOP) for scheme in ("light", "dark")), SMALL]


def find_browser():
    """The path of a Chromium, or the end of the test."""
    found = next(filter(None, map(shutil.which, NAMES)), MAC if os.path.exists(MAC) else None)
    if found is None or os.name == "nt":  # where a program is given no pipes but its three
        pytest.skip("needs Chromium: on Debian, apt-get install chromium")
    return found


class Browser:
    """One window. problems: what went wrong on its pages; requests: which addresses were asked."""

    def __init__(self, write, read):
        self.write, self.read = write, read
        self.number, self.session, self.width = 0, {}, 0
        self.problems, self.requests = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """The result of one command of Chromium's DevTools."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters, **self.session}
        self.write.write(json.dumps(message).encode() + b"\0")
        self.write.flush()
        while (answer := self.next()).get("id") != self.number:
            pass
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def next(self):
        """The next message; what it tells about the page is noted."""
        text = bytearray()
        while (byte := self.read.read(1)) != b"\0":
            assert byte, "the browser has ended"
            text += byte
        message = json.loads(text)
        what, told = message.get("method"), message.get("params", {})
        if what == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif what == "Runtime.exceptionThrown":
            self.problems.append(str(told["exceptionDetails"]))
        elif what == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.problems.append(told["entry"]["text"])
        elif what == "Runtime.consoleAPICalled" and told["type"] in ("error", "assert"):
            self.problems.append(str(told["args"]))
        return message

    def look(self, width, height, scheme):
        """Make the window of this size, and what is in it light or dark."""
        self.width = width
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=width < 600,
        )  # fmt: skip
        wanted = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=wanted)

    def open(self, url, width=1280, height=900, scheme="light"):
        """Show a page, and wait until it is loaded."""
        self.look(width, height, scheme)
        self.call("Page.navigate", url="about:blank")
        self.problems, self.requests = [], []
        self.call("Page.navigate", url=url)
        while self.next().get("method") != "Page.loadEventFired":
            pass

    def run(self, script):
        """The value of an expression on the page; a promise is waited for."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, key, code=0):
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode=code)  # fmt: skip

    def picture(self, path):
        """Write what the window shows as a PNG."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def audit(self, *allowed):
        """What is wrong with the page that is open; [] if nothing is. See page_audit.js.

        allowed: how addresses begin that it may ask for, beside data:.
        """
        self.run(AUDIT.read_text(encoding="utf-8"))
        found = self.run(f"audited.audit({self.width})")
        total, seen = self.run("audited.controls.length"), set()
        self.run("document.activeElement.blur(), scrollTo(0, 0)")
        for _ in range(2 * total + 200):
            if len(seen) == total:
                break
            self.press("Tab", 9)
            seen.add(self.run("audited.controls.indexOf(document.activeElement)"))
            seen.discard(-1)
        missed = self.run(f"audited.names({sorted(set(range(total)) - seen)})")
        found += [f"no key leads to {name}" for name in missed]
        strange = [
            url for url in self.requests if not url.startswith(("data:", "about:", *allowed))
        ]
        return found + self.problems + [f"asks for {url}" for url in strange]


@contextmanager
def browser(folder):
    """A `Browser`, ended afterwards. folder: for what it leaves."""
    to_it, ours = os.pipe(), os.pipe()
    # Chromium reads at 3 and writes at 4; a shell puts the ends of our pipes there.
    command = [
        "bash", "-c", f'exec "$@" 3<&{to_it[0]} 4>&{ours[1]}', "browser", find_browser(),
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "about:blank",
        f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe",
    ]  # fmt: skip
    process = subprocess.Popen(
        command, pass_fds=(to_it[0], ours[1]), stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    os.close(to_it[0])
    os.close(ours[1])
    try:
        with open(to_it[1], "wb") as write, open(ours[0], "rb") as read:
            found = Browser(write, read)
            yield found
            found.session = {}
            found.call("Browser.close")
    finally:
        process.terminate()
        process.wait(20)
