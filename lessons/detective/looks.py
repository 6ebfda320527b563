"""What a detective may look at: a replay, the traffic, a value; and the page with the solution."""

import difflib
import html
import json
from pathlib import Path

from kernels.files.atomic import make_output_folder
from kernels.plumbing.errors import InputError
from lessons.course.lesson import ROOT
from lessons.detective.answers import ELEMENT, element, has, index_of, memory
from lessons.detective.breaks import KINDS
from lessons.detective.cases import Case
from lessons.detective.record import write_text
from lessons.lab.simulator.replay.page import replay_page
from lessons.terminal import width

PAGES = ROOT / "runs" / "detective"
WAYS = "replay, traffic, or value NAME[INDEX]"


def look(case: Case, words: list[str], page: str) -> str:
    """What is seen. page: how its files are called. Raises `InputError` for no such look."""
    if words == ["replay"]:
        return f"replay: {write(f'{page}-replay.html', replay(case, case.wrong, told=False))}"
    if words == ["traffic"]:
        table = case.run(case.wrong, measure=True).reports[-1].table()
        room = max(width(), table.find("source") + 24)
        return "\n".join(line[:room].rstrip() for line in table.splitlines())
    if words[0] == "value" and len(words) > 1:
        return value(case, "".join(words[1:]))
    raise InputError(f"there is no look {' '.join(words)!r}: {WAYS}")


def value(case: Case, place: str) -> str:
    """An element after the broken kernel, and what it should be."""
    found = ELEMENT.match(place.strip("'\""))
    ran = case.run(case.wrong)
    known = {name: one.shape for name, one in ran.arguments.items() if hasattr(one, "shape")}
    if found is None or found[1] not in known:
        raise InputError(f"{place!r} is no element: NAME[INDEX], with a name of {', '.join(known)}")
    index, shape = index_of(found[2]), known[found[1]]
    if not has(shape, index):
        raise InputError(f"{place} is outside: {found[1]} has the shape {shape}")
    return element(case, ran, found[1], index)


def replay(case: Case, text: str, told: bool) -> str:
    """The page of a replay. told: whether it says what was found."""
    content = json.loads(case.run(text, record=True).reports[-1].replay_data())
    if not told:
        content["findings"], content["summary"] = [], "what the kernel does, step by step"
        for step in content["steps"]:
            step.pop("findings", None)
            step.pop("marked", None)
    return replay_page(json.dumps(content))


def write(name: str, text: str) -> Path:
    """Write a page into the folder of pages. Returns its path."""
    write_text(make_output_folder(PAGES) / name, text)
    return (PAGES / name).relative_to(ROOT) if PAGES.is_relative_to(ROOT) else PAGES / name


def solution(case: Case, page: str, points: int) -> Path:
    """Write the solution, with the replay of the broken kernel beside that of the right one."""
    for name, text in (("broken", case.wrong), ("right", case.right)):
        write(f"{page}-{name}.html", replay(case, text, told=True))
    return write(f"{page}-solution.html", solution_page(case, page, points))


def difference(case: Case) -> list[str]:
    """What has to be changed, line by line."""
    broken, right = case.wrong.splitlines(), case.right.splitlines()
    return list(difflib.unified_diff(broken, right, "broken", "mended", "", "", 2, ""))


def solution_page(case: Case, page: str, points: int) -> str:
    places = " or ".join(map(str, sorted(case.lines)))
    frames = "".join(
        f'<figure>{name}<iframe title="{name}" src="{page}-{name}.html"></iframe></figure>'
        for name in ("broken", "right")
    )
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>The solution of a case</title>
<style>body {{ font: 1rem/1.5 system-ui; margin: 1rem; color-scheme: light dark }}
.both {{ display: flex; flex-wrap: wrap; gap: 1rem }} figure {{ flex: 1 1 28rem; margin: 0 }}
iframe {{ width: 100%; height: 80vh; border: 1px solid gray }} pre {{ overflow-x: auto }}</style>
<h1>{html.escape(case.kinds[0].capitalize())}: {html.escape(KINDS[case.kinds[0]])}</h1>
<p>What it should do: {html.escape(case.task)}</p>
<pre>{html.escape(chr(10).join(memory(case)))}</pre>
<p>What has to be changed (as its place counts line {places}):</p>
<pre>{html.escape(chr(10).join(difference(case)))}</pre>
<p>What the checked run finds: {html.escape(str(case.finding or "nothing but wrong numbers"))}</p>
<p>{points} of 10 points.</p><div class="both">{frames}</div></html>
"""
