"""What the audit of pages finds, on a page with one of each."""

import pytest

from tests.lab.browser import browser

VIEWPORT = '<meta name="viewport" content="width=device-width">'
WRONG = """<!doctype html><html lang="en"><body style="background: #fff; color: #000">
<p id="pale" style="color: #999">words</p>
<div style="background: #222"><p id="dark" style="color: #333">words</p></div>
<p style="width: 900px">wide</p>
<button id="nameless" style="width: 40px; height: 40px"></button>
<input id="unlabelled">
<button id="lost" onfocus="this.blur()">x</button>
<button id="far" style="position: absolute; left: 700px">far</button>
<img src="data:image/png;base64,AAAA" alt="broken"><img src="data:image/png;base64,AAAA">
<script>console.error("told"); setTimeout(() => nothing(), 0); fetch("http://127.0.0.1:9/x");</script>
"""
FOUND = (
    "wide, the window 390", "<p pale", "<p dark", "without a name: <button nameless",
    "without a name: <input unlabelled", "beyond the edge: <button far", "no key leads to",
    "a picture without words", "no picture", "told", "nothing is not defined",
    "asks for http://127.0.0.1:9/x",
)  # fmt: skip


@pytest.mark.slow
def test_all_that_is_wrong_with_a_page_is_found_and_nothing_else(tmp_path):
    (tmp_path / "wrong.html").write_text(WRONG)
    (tmp_path / "right.html").write_text(
        "<!doctype html>" + VIEWPORT + "<p>words <a href='#'>a link</a>"
    )
    with browser(tmp_path) as window:
        window.open((tmp_path / "wrong.html").as_uri(), 390, 844, "light")
        found = window.audit(tmp_path.as_uri())
        assert [words for words in FOUND if not any(words in one for one in found)] == []
        for scheme in ("light", "dark"):
            window.open((tmp_path / "right.html").as_uri(), 390, 844, scheme)
            assert window.audit(tmp_path.as_uri()) == []
