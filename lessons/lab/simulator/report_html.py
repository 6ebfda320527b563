"""A report as a notebook shows it below a cell: findings, table, picture."""

import base64
import html
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

ALT = "Which thread of which block touches which element"


def report_html(text: str, table: str, draw: Callable[[Path], None] | None) -> str:
    """HTML that needs no file beside it.

    text: the report as it prints itself. table: "" for none. draw: writes the picture into a PNG
    file that it is given; None for no picture.
    """
    headline, *findings = text.splitlines()
    parts = [f"<p><b>{html.escape(headline)}</b></p>", *map(paragraph, findings)]
    if table:
        parts.append(f'<pre style="overflow-x: auto">{html.escape(table)}</pre>')
    if draw:
        parts.append(f'<img style="max-width: 100%" alt="{ALT}" src="{picture_url(draw)}">')
    return "\n".join(parts)


def paragraph(finding: str) -> str:
    """ "line 4: race: message", with all but the message in bold."""
    line, kind, message = finding.split(": ", 2)
    return f"<p><b>{line}: {kind}</b>: {html.escape(message)}</p>"


def picture_url(draw: Callable[[Path], None]) -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "picture.png"
        draw(path)
        return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
