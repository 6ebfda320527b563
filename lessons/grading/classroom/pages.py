"""Pages to read: one per student, with pictures of what is wrong, and a summary of the class.

Each is one file, without a script. All that strangers have written is escaped.
"""

import base64
import html
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from urllib.parse import quote

from kernels.files.atomic import write_atomically
from lessons.course.lesson import Check, Lesson
from lessons.grading.classroom.gradebook import Grade, without_places
from lessons.grading.classroom.journal import Run
from lessons.grading.classroom.similarity import Pair
from lessons.grading.explain.evidence import picture_path
from lessons.grading.judge.result import Result
from lessons.grading.worker.text import printable

MAX_PICTURE = 1 << 21  # bytes; a larger one is not shown
SHOWN_PAIRS = 100
SHOWN_MISTAKES = 20
HEAD = Path(__file__).with_name("page_head.html")  # TITLE stands for its title


def write_page(path: Path, parts: Iterable[str]) -> None:
    text = "".join(parts)
    write_atomically(path, lambda file: file.write(text.encode("utf-8", "replace")))


# ---------------------------------------------------------------- a student


def student_page(
    grade: Grade, lessons: Sequence[Lesson], pictures: Path, run: Run
) -> Iterator[str]:
    """The page of one student. pictures: folder of the pictures of failed checks."""
    name = grade.student.full_name or grade.student.name
    yield head(f"{name}: {grade.total:g} of {grade.max_total} points")
    if not grade.finished:
        yield "<p>Not all checks have run yet.</p>"
    if grade.handed.notes:
        yield f"<h2>What was handed in</h2>{items(grade.handed.notes)}"
    for lesson in lessons:
        after, points = grade.after_lateness[lesson.name], grade.scores[lesson.name]
        late = f", {after:g} after days late" if after != points else ""
        yield f"<h2>Lesson {lesson.number}: {safe(lesson.title)}</h2>"
        file = grade.handed.files.get(lesson.name)
        what = f"<code>{safe(str(file.path))}</code>" if file else "no file"
        yield f"<p>{points} of {lesson.points} points{late} ({what})</p>"
        rows = {row.check: row for row in grade.rows if row.lesson == lesson.name}
        for check in lesson.checks:
            yield from section(lesson, check, rows[check.name], pictures)
    yield place(run)


def section(lesson: Lesson, check: Check, row: Result, pictures: Path) -> Iterator[str]:
    points = f"{row.score} of {row.max_score}"
    yield f'<h3 class="{safe(row.status)}">{safe(check.title)}: {points}, {safe(row.status)}</h3>'
    if row.status == "passed":
        return
    yield f"<pre>{safe(without_places(row.message))}</pre>"
    if row.backend:
        path = picture_path(pictures, lesson, check)
        yield picture(path)
        if path.with_suffix(".html").is_file():
            link = replay_of(pictures.name, lesson, check)
            yield f'<p><a href="{link}">Watch it step by step</a></p>'


def picture(path: Path) -> str:
    """The picture of a failed check, as a part of the page; "" if there is none."""
    try:
        content = path.read_bytes() if path.stat().st_size <= MAX_PICTURE else b""
    except OSError:
        return ""
    if not content:
        return ""
    data = base64.b64encode(content).decode()
    return f'<p><img alt="what went wrong" src="data:image/png;base64,{data}"></p>'


def replay_of(pictures: str, lesson: Lesson, check: Check) -> str:
    """Where a page finds the replay of a failed check. pictures: their folder, from the page."""
    path = picture_path(Path(pictures), lesson, check).with_suffix(".html")
    return safe(quote(path.as_posix()))


# ---------------------------------------------------------------- the class


def summary(
    grades: Sequence[Grade],
    lessons: Sequence[Lesson],
    pairs: Sequence[Pair],
    run: Run,
    pictures_of: Callable[[str], Path],
) -> Iterator[str]:
    """The page of a class. pictures_of: folder of a student -> that of its pictures."""
    yield head(f"{len(grades)} students")
    yield f"<h2>Points</h2>{table(points_rows(grades, lessons))}"
    yield f"<h2>How the points are spread</h2>{table(spread_rows(grades, lessons))}"
    yield f"<h2>What went wrong most often</h2>{table(mistake_rows(grades, lessons, pictures_of))}"
    yield f"<h2>Checks</h2>{table(check_rows(grades, lessons))}"
    yield "<h2>Alike</h2>"
    if pairs:
        yield table(pair_rows(pairs[:SHOWN_PAIRS]))
        yield (
            '<p class="quiet">1 is the same code, but for names, comments and formatting. A number'
            " is no verdict: a short kernel has few ways to be right.</p>"
        )
    else:
        yield "<p>No two submissions stand out.</p>"
    noted = [(grade, note) for grade in grades for note in (*grade.handed.notes, *looks(grade))]
    if noted:
        yield "<h2>To look at</h2>"
        yield items([f"{grade.handed.student}: {note}" for grade, note in noted])
    yield place(run)


def points_rows(grades: Sequence[Grade], lessons: Sequence[Lesson]) -> Iterator[list[str]]:
    yield ["student", *(lesson.number for lesson in lessons), "points", "after days late"]
    for grade in grades:
        link = (
            f'<a href="students/{safe(grade.folder)}/index.html">{safe(grade.handed.student)}</a>'
        )
        scores = [str(grade.scores[lesson.name]) for lesson in lessons]
        unfinished = "" if grade.finished else " (unfinished)"
        yield [link, *scores, f"{sum(grade.scores.values())}{unfinished}", f"{grade.total:g}"]
    if grades:
        means = [
            sum(grade.scores[lesson.name] for grade in grades) / len(grades) for lesson in lessons
        ]
        total = sum(grade.total for grade in grades) / len(grades)
        yield ["mean", *(f"{mean:.1f}" for mean in means), f"{sum(means):.1f}", f"{total:.1f}"]


def spread_rows(grades: Sequence[Grade], lessons: Sequence[Lesson]) -> Iterator[list[str]]:
    """How many students have 0, 1, ... points of each lesson, as bars."""
    yield ["lesson", "students with 0 to all points", "middle"]
    for lesson in lessons:
        points = [grade.scores[lesson.name] for grade in grades]
        counts = Counter(points)
        most = max(counts.values(), default=1)
        words = "; ".join(f"{number} points: {counts[number]}" for number in sorted(counts))
        heights = (f"{counts[number] / most:.0%}" for number in range(lesson.points + 1))
        bars = "".join(f'<i style="height: {height}"></i>' for height in heights)
        drawn = f'<div class="bars" role="img" aria-label="{words}" title="{words}">{bars}</div>'
        yield [safe(lesson.name), drawn, f"{median(points):g}" if points else ""]


def mistake_rows(
    grades: Sequence[Grade], lessons: Sequence[Lesson], pictures_of: Callable[[str], Path]
) -> Iterator[list[str]]:
    """What most students got wrong, each with the replay of one of them, if there is one."""
    yield ["students", "lesson", "check", "what was wrong", "replay"]
    known = {(lesson.name, check.name): (lesson, check)
             for lesson in lessons for check in lesson.checks}  # fmt: skip
    who: dict[tuple[str, str, str], list[Grade]] = {}
    for grade in grades:
        for row in grade.rows:
            if row.diagnosis and row.backend and (row.lesson, row.check) in known:
                who.setdefault((row.lesson, row.check, row.diagnosis), []).append(grade)
    often = sorted(who.items(), key=lambda one: -len(one[1]))[:SHOWN_MISTAKES]
    for (name, check, diagnosis), those in often:
        at = known[name, check]
        links = (
            f'<a href="{replay_of(f"students/{grade.folder}/{pictures.name}", *at)}">watch it, of '
            f"{safe(grade.handed.student)}</a>"
            for grade in those
            for pictures in [pictures_of(grade.folder)]
            if picture_path(pictures, *at).with_suffix(".html").is_file()
        )
        yield [str(len(those)), safe(name), safe(check), safe(diagnosis)[:80], next(links, "")]


def check_rows(grades: Sequence[Grade], lessons: Sequence[Lesson]) -> Iterator[list[str]]:
    yield ["lesson", "check", "passed", "what was wrong"]
    for lesson in lessons:
        for check in lesson.checks:
            rows = [row for grade in grades for row in grade.rows
                    if (row.lesson, row.check) == (lesson.name, check.name)]  # fmt: skip
            passed = sum(row.status == "passed" for row in rows)
            wrong = Counter(row.diagnosis or row.message or row.status for row in rows
                            if row.status != "passed")  # fmt: skip
            named = ", ".join(
                f"{safe(what)[:80]} ({count})" for what, count in wrong.most_common(5)
            )
            yield [safe(lesson.name), safe(check.name), f"{passed} of {len(rows)}", named]


def pair_rows(pairs: Sequence[Pair]) -> Iterator[list[str]]:
    yield ["lesson", "student", "and", "alike", "same mistakes"]
    for pair in pairs:
        yield [
            safe(pair.lesson), safe(pair.first), safe(pair.second), f"{pair.alike:.2f}",
            str(pair.same_mistakes),
        ]  # fmt: skip


def looks(grade: Grade) -> list[str]:
    return [f"{lesson}, {line}" for lesson, lines in grade.remarks.items() for line in lines]


# ---------------------------------------------------------------- parts of a page


def head(title: str) -> str:
    return HEAD.read_text(encoding="utf-8").replace("TITLE", safe(title))


def place(run: Run) -> str:
    parts = [f"seed {run.seed}", f"checks {run.checks[:12]}"]
    for key, value in run.place.items():
        if key != "confinement" and value is not None:
            parts.append(f"{key} {value}")
    confinement = "; ".join(run.place.get("confinement", []))
    return f'<p class="quiet">{safe(", ".join(parts))}. {safe(confinement)}.</p>'


def items(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{safe(line)}</li>" for line in lines) + "</ul>"


def table(rows: Iterator[list[str]]) -> str:
    """A table of cells that are HTML already; the first row is its head."""
    first, *others = list(rows)
    head = "".join(f"<th>{cell}</th>" for cell in first)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in others)
    return f'<div class="wide" tabindex="0"><table><tr>{head}</tr>{body}</table></div>'


def cell(content: str) -> str:
    is_number = content.replace(".", "", 1).isdecimal()
    return f'<td class="number">{content}</td>' if is_number else f"<td>{content}</td>"


def safe(text: str) -> str:
    return html.escape(printable(text))
