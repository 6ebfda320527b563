"""The page of a run, `index.html`, and the one that follows a run while it trains."""

import json
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

import numpy as np
import pytest

import train
from kernels.training import page
from tests.lab import browser as chromium
from tests.lab.browser import VIEWS
from tests.training.test_train import TINY, pixels, read_summary, save

# What a control is given, and what the page then shows.
SET = "((id, to, kind) => { get(id).value = to; get(id).dispatchEvent(new Event(kind)); })"
CONTROLS = [
    (f"{SET}('scrub', 0, 'input'), get('when').textContent.split(',')[0]", "step 1"),
    (f"{SET}('split', 20, 'input'), get('over').style.clipPath", "inset(0px 80% 0px 0px)"),
    (f"{SET}('choice', 'original', 'change'), get('left-name').textContent", "original"),
    (f"{SET}('zoom', '100% 0%', 'change'), get('right').style.transform", "scale(4)"),
    *(("get('play').click(), get('play').textContent", words) for words in ("Stop", "Play")),
]


def data_of(path):
    text = path.read_text("utf-8")
    return json.loads(re.search('id="data">(.*)</script>', text)[1])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    image = save(folder / "<b> & co.png", pixels())
    assert train.main([str(image), "--out", str(folder / "run"), *TINY]) == 0
    return folder / "run"


def test_a_page_holds_what_the_run_has_come_to(finished):
    data, summary = data_of(finished / "index.html"), read_summary(finished)
    assert [step for step, _, _ in data["frames"]] == [1, 2, 5, 10, 20, 50, 60]
    assert data["measured"][-1] == [60, summary["psnr_db"]]
    assert data["loss"][-1] == [60, summary["loss"]]
    scores = [summary[f"baseline_{kind}psnr_db"] for kind in ("", "best_")]
    assert [value for _, value in data["baselines"]] == scores
    assert data["frames"][-1][1] == f"{summary['psnr_db']:.2f} dB"
    assert data["command"].startswith("python train.py '") and "--grid 7x5" in data["command"]


def test_a_page_asks_for_nothing_and_no_name_becomes_html(finished):
    text = (finished / "index.html").read_text("utf-8")
    assert "<b>" not in text and data_of(finished / "index.html")["title"].startswith("<b> & co")
    policy = re.search('Policy" content="(.*)"', text)[1]
    assert policy.startswith("default-src 'none';") and "connect" not in policy
    assert set(re.findall(r'(?:src|href)="([^"]*)', text)) == {"data:,"}


def test_pictures_stay_small_whatever_they_are():
    noise = pixels(1700, 1300)
    assert len(page.address(noise)) * 3 / 4 <= page.LARGE
    assert len(page.address(noise[:330, :480], page.SMALL)) * 3 / 4 <= page.SMALL
    assert page.address(noise[:16, :24]).startswith("data:image/png")


def test_a_long_curve_keeps_its_ends_and_json_its_numbers():
    curve = page.points([(step, float("inf")) for step in range(10_000)])
    assert len(curve) == page.MOST_POINTS and (curve[0], curve[-1]) == ((0, None), (9999, None))
    assert page.points([]) == []


# ---------------------------------------------------------------- while it trains


class Browser:
    """Instead of one: asks as the page does, until the run has ended."""

    def __init__(self):
        self.first, self.news = "", []

    def open(self, url):
        self.url = url
        self.first = self.get("")
        for path, host in (("news", "foreign.example"), ("../etc", None)):
            with pytest.raises(urllib.error.HTTPError):
                self.get(path, host)
        while not self.news or "end" not in self.news[-1]:
            seen = [news["loss"][-1][0] for news in self.news if news["loss"]]
            frames = [news["frames"][-1][0] for news in self.news if news["frames"]]
            query = f"news?loss={max(seen, default=-1)}&frame={max(frames, default=-1)}"
            self.news.append(json.loads(self.get(query)))

    def get(self, path, host=None):
        request = urllib.request.Request(self.url + path)
        if host:
            request.add_header("Host", host)
        # Not by a proxy of the user's.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=10) as answer:
            return answer.read().decode()


@pytest.fixture
def browser(monkeypatch):
    browser = Browser()
    monkeypatch.setattr(page.webbrowser, "get", lambda: browser)
    monkeypatch.setattr(page, "SHORTEST_PAUSE", 0)
    monkeypatch.setattr(page, "SHARE_OF_THE_TIME", np.inf)
    monkeypatch.setattr(page, "FOR_MORE_PAGES", 0)
    return browser


@pytest.mark.slow
def test_a_live_page_follows_the_run_to_its_end(tmp_path, browser, capsys):
    image = save(tmp_path / "picture.png", pixels())
    begun = [str(image), "--out", str(tmp_path / "run"), *TINY]
    before = threading.active_count()
    assert train.main([*begun, "--live"]) == 0
    assert '"live":true' in browser.first and "connect-src 'self'" in browser.first
    assert capsys.readouterr().out.count("\n") == 1  # --quiet: the browser knows the address
    assert browser.news[-1]["end"] == data_of(tmp_path / "run" / "index.html")
    with pytest.raises(OSError):
        browser.get("")
    deadline = time.monotonic() + 20
    while threading.active_count() > before + 1:  # the browser's own
        assert time.monotonic() < deadline
        time.sleep(0.05)
    browser.news.clear()
    assert train.main([*begun, "--resume", "--live"]) == 0
    assert browser.news[-1]["end"]["frames"][-1][0] == 60


def test_news_are_what_a_page_does_not_know_yet(monkeypatch):
    progress = SimpleNamespace(history=[(1, 0.5), (2, 0.4)], measured=[(1, 3.0)], seconds=1.0)
    live = page.Live.__new__(page.Live)
    live.trainer = SimpleNamespace(step=2, config=SimpleNamespace(steps=9), progress=progress)
    live.end, live.frame = None, (2, "", "data:")
    first, later = (json.loads(live.news(seen)) for seen in ({}, dict(loss=1, measured=1, frame=2)))
    assert (first["loss"], first["measured"], first["frames"]) == (
        [[1, 0.5], [2, 0.4]], [[1, 3.0]], [[2, "", "data:"]],
    )  # fmt: skip
    assert (later["loss"], later["measured"], later["frames"]) == ([[2, 0.4]], [], [])


def test_live_pictures_take_no_more_than_a_share_of_the_time(monkeypatch):
    now = 0.0

    def render(longest):
        nonlocal now
        now += 0.3
        return np.zeros((2, 2, 3), np.float32)

    monkeypatch.setattr(page.time, "monotonic", lambda: now)
    live = page.Live.__new__(page.Live)
    live.trainer = SimpleNamespace(step=1, progress=SimpleNamespace(measured=[]), render=render)
    live.paint()
    assert live.due == pytest.approx(0.3 + 0.3 / 0.03)
    live.renew_if_due()
    assert now == pytest.approx(0.3)


@pytest.mark.parametrize(
    "opened, asked, waits", [(0, 0, []), (80, 0, []), (95, 0, [5]), (80, 98, [3]), (80, 90, [])]
)
def test_a_run_waits_only_for_a_page_that_may_still_ask(monkeypatch, opened, asked, waits):
    limits = []

    def press_control_c(limit):
        limits.append(limit)
        raise KeyboardInterrupt

    monkeypatch.setattr(page.time, "monotonic", lambda: 100)
    live = page.Live.__new__(page.Live)
    live.opened, live.asked = opened, asked
    live.told_the_end = SimpleNamespace(wait=press_control_c)
    live.finish({})
    assert (live.end, limits) == ({}, waits)


def test_no_browser_in_the_terminal_is_opened(monkeypatch):
    monkeypatch.delenv("BROWSER", raising=False)
    monkeypatch.setattr(page.webbrowser, "get", lambda: page.webbrowser.GenericBrowser("lynx"))
    assert not page.open_browser("http://127.0.0.1/")


@pytest.mark.slow
def test_every_control_works_in_a_browser(finished, tmp_path):
    step, decibels, _ = data_of(finished / "index.html")["frames"][-1]
    with chromium.browser(tmp_path) as window:
        window.open((finished / "index.html").as_uri())  # whose policy allows its own script
        assert window.run("get('when').textContent") == f"step {step}, {decibels}"
        for do, shown in CONTROLS:
            assert window.run(do) == shown, do
        place = (
            "(({left, width, top}) => [left, width, top + 9])(get('stage').getBoundingClientRect())"
        )
        left, width, y = window.run(place)
        for kind, share in (("Pressed", 0.5), ("Moved", 0.25), ("Released", 0.25)):
            at = dict(type=f"mouse{kind}", x=left + share * width, y=y, button="left", clickCount=1)
            window.call("Input.dispatchMouseEvent", **at)
        assert abs(int(window.run("get('split').value")) - 25) <= 1
        window.call("Emulation.setTouchEmulationEnabled", enabled=True)
        for kind, part in ("Start", 10), *(("Move", part) for part in range(11, 17)), ("End", 0):
            finger = [dict(x=left + part / 20 * width, y=y)] if part else []
            window.call("Input.dispatchTouchEvent", type=f"touch{kind}", touchPoints=finger)
        assert abs(int(window.run("get('split').value")) - 80) <= 1
        assert window.problems == []


@pytest.mark.slow
def test_pages_look_right_on_a_phone_and_on_a_desk_light_and_dark(finished, tmp_path):
    """A run of train.py, and what a capstone leaves: pictures below, a label that is no PSNR."""
    data = data_of(finished / "index.html")
    data["more"] = [["What is taken for what", data["frames"][0][2]]]
    data["titles"]["measured"] = "The accuracy of held-out images, in %"
    (tmp_path / "capstone.html").write_bytes(page.fill(data))
    with chromium.browser(tmp_path) as window:
        for path in (finished / "index.html", tmp_path / "capstone.html"):
            for view in VIEWS:
                window.open(path.as_uri(), *view)
                assert window.audit(path.as_uri()) == [], (path.name, view)


@pytest.mark.thorough
def test_a_training_is_watched_until_it_ends(tmp_path):
    image = save(tmp_path / "a.png", pixels(120, 80))
    command = [sys.executable, "train.py", image, "--backend", "cpu", "--steps", "1000", "--live"]
    out = ["--out", tmp_path / "run"]
    with subprocess.Popen([*command, *out], stdout=subprocess.PIPE, text=True) as run:
        url = next(line.split()[-1] for line in run.stdout if line.startswith("watch it learn"))
        with chromium.browser(tmp_path) as window:
            window.open(url)
            seen = window.run("get('status').textContent")
            window.run("new Promise((done) => setInterval(() => { if (!data.live) done(); }, 100))")
            assert window.problems == [] and {one.startswith(url) for one in window.requests
                                              if not one.startswith("data:")} == {True}  # fmt: skip
            words = window.run("get('status').textContent")
            assert seen != words and words.startswith("step 1,000 of 1,000")
            for view in VIEWS:
                window.look(*view)
                assert window.audit(url) == [], view
        assert "PSNR" in run.communicate()[0] and run.returncode == 0
