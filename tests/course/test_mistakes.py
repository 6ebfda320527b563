"""Known mistakes are small patches of our solution: the format, and what it refuses."""

import shutil

import pytest

from kernels.plumbing.errors import InputError
from lessons import __main__ as tool
from lessons import mistakes_command
from lessons.course.lesson import find_lesson, lessons
from lessons.course.mistakes import (
    MISTAKES,
    OTHER_WAYS,
    bare_functions,
    entries,
    file_of,
    find_entry,
)

SWAPPED = """\
=== red_and_blue_exchanged | luminance
Red and blue are exchanged.
@@ luminance
-def luminance(red, green, blue):
+def luminance(blue, green, red):
"""
GUARD = """\
=== no_guard | every_pixel | out-of-bounds
Threads beyond the edge store as well:
the guard is missing.
@@ luminance, anew
+@register_jitable
+def luminance(red, green, blue):
+    return half(red) + math.sin(green) + float64(blue)
@@ beside
+from numba import float64
+
+
+def half(number):
+    return float32(0.5) * number
"""


BLUE_FOR_RED = """\
=== blue_for_red | luminance
Red and blue are exchanged.
@@ luminance: (red, green, blue) ==> (blue, green, red)
"""


@pytest.fixture
def lesson(tmp_path):
    return find_lesson(1)._replace(folder=tmp_path)


def write(lesson, text, name=MISTAKES):
    (lesson.folder / name).write_text(text, encoding="utf-8")


def test_a_lesson_without_files_has_no_entries(lesson):
    assert entries(lesson) == []


def test_words_of_one_line_stand_for_the_line(lesson):
    texts = []
    for text in (SWAPPED, BLUE_FOR_RED):
        write(lesson, text)
        texts.append(file_of(lesson, entries(lesson)[0]))
    assert texts[0] == texts[1] and "def luminance(blue, green, red):" in texts[0]
    write(lesson, BLUE_FOR_RED.replace("(red,", "(violet,"))
    with pytest.raises(InputError, match=r"mistakes.diff:3: .*violet.* has nothing to change"):
        entries(lesson)


def test_heads_say_what_is_told(lesson):
    write(lesson, SWAPPED + "\n" + GUARD)
    write(lesson, "=== no_loops | all points\nOther.\n@@ whole file\n+x = 1\n", OTHER_WAYS)
    swapped, guard, other = entries(lesson)
    assert (swapped.kind, swapped.name, swapped.check) == (
        "wrong", "red_and_blue_exchanged", "luminance",
    )  # fmt: skip
    assert swapped.words == "" and swapped.sentence == "Red and blue are exchanged."
    assert swapped.code == "red and blue exchanged"
    assert guard.words == "out-of-bounds"
    assert guard.sentence == "Threads beyond the edge store as well: the guard is missing."
    assert (other.kind, other.points) == ("right", lesson.points)
    assert file_of(lesson, other) == "x = 1\n"
    write(lesson, "=== one_thread | 1 points\nOne.\n@@ whole file\n+x = 1\n", OTHER_WAYS)
    assert find_entry(lesson, "one_thread").points == 1
    assert find_entry(lesson, "one_thread").kind == "naive"


def test_a_file_has_our_functions_with_the_changes(lesson):
    write(lesson, SWAPPED)
    text = file_of(lesson, *entries(lesson))
    assert "def luminance(blue, green, red):" in text and "def grayscale(" in text
    compile(text, "exercise.py", "exec")


def test_what_stands_beside_is_added_and_names_are_imported(lesson):
    write(lesson, GUARD.replace("math.sin(green)", "green"))
    text = file_of(lesson, *entries(lesson))
    assert text.index("def half(") < text.index("def luminance(")
    assert "float32, float64" in text and "register_jitable" in text


def test_groups_are_looked_for_in_order(lesson):
    def changed(patch):
        write(lesson, f"=== one | luminance\nA sentence.\n@@ grayscale\n{patch}")
        return file_of(lesson, *entries(lesson))

    ours = bare_functions(lesson)["grayscale"]
    first, last = ours[1], ours[-1]
    text = changed(f" {first}\n+    # between\n-{last}\n+    pass\n")
    assert f"{first}\n    # between\n{ours[2]}" in text and "    pass\n" in text
    with pytest.raises(InputError, match=r"one does not fit: grayscale has no `def grayscale"):
        changed(f" {last}\n+    pass\n-{first}\n")


def test_bare_functions_have_neither_docstring_nor_comments_nor_empty_lines():
    for lesson in lessons():
        for name, lines in bare_functions(lesson).items():
            assert all(line.strip() and not line.strip().startswith("#") for line in lines)
            compile("\n".join(lines), name, "exec")


@pytest.mark.parametrize(
    "text, words",
    [
        ("no head\n", r"diff:1: a file of entries begins"),
        ("=== a b | luminance\nOne.\n@@ luminance\n+x\n", "no name for an entry"),
        ("=== one | luminance\n@@ luminance\n+x\n", "one lacks a sentence"),
        ("=== one | luminance\nOne.\n", "or a part"),
        ("=== one\nOne.\n@@ luminance\n+x\n", "needs `| check"),
        ("=== one | colours\nOne.\n@@ luminance\n+x\n", "has no check 'colours'"),
        ("=== one | luminance\nOne.\n@@ luminance\nx\n", r"diff:4: a line here begins with"),
        ("=== one | luminance\nOne.\n@@ luminance, anew\n-x\n", r"diff:4: .* begins with `\+`"),
        ("=== one | luminance\nOne.\n@@ luminance\n", "diff:3: .* has no lines below it"),
        (SWAPPED + SWAPPED, "two entries red_and_blue_exchanged"),
    ],
)
def test_an_entry_without_sense_is_refused(lesson, text, words):
    write(lesson, text)
    with pytest.raises(InputError, match=words):
        entries(lesson)


@pytest.mark.parametrize(
    "patch, words",
    [
        ("@@ nothing\n+x\n", r"diff:3: one does not fit: nothing is no function of ours"),
        ("@@ luminance\n def luminance(\n", r"diff:4: .* luminance has no `def luminance\(` here"),
        ("@@ luminance\n-@register_jitable\n+)\n", "is no Python afterwards"),
    ],
)
def test_a_patch_that_does_not_fit_says_where(lesson, patch, words):
    write(lesson, f"=== one | luminance\nOne.\n{patch}")
    with pytest.raises(InputError, match=words) as error:
        file_of(lesson, *entries(lesson))
    assert "\n" not in str(error.value)


def test_points_are_told_for_other_ways(lesson):
    write(lesson, "=== one | every point\nOne.\n@@ whole file\n+x\n", OTHER_WAYS)
    with pytest.raises(InputError, match=r"needs `\| all points` or `\| 3 points`"):
        entries(lesson)


@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(lesson, id=lesson.name, marks=[pytest.mark.slow] if number % 5 else [])
        for number, lesson in enumerate(lessons())
    ],
)
def test_every_entry_fits_our_solution(lesson):
    for entry in entries(lesson):
        compile(file_of(lesson, entry), entry.name, "exec")


def test_an_unknown_name_is_told_in_one_line():
    with pytest.raises(InputError, match=r"no mistake 'nothing'; python -m lessons mistakes 3"):
        find_entry(find_lesson(3), "nothing")


# ---------------------------------------------------------------- the command


def test_the_command_lists_and_prints(lesson, monkeypatch, capsys):
    monkeypatch.setattr(mistakes_command, "find_lesson", lambda number: lesson)
    write(lesson, SWAPPED)
    assert tool.main(["mistakes", "1"]) == 0
    assert "red_and_blue_exchanged (luminance)\n    Red and blue" in capsys.readouterr().out
    assert tool.main(["mistakes", "1", "red_and_blue_exchanged"]) == 0
    assert capsys.readouterr().out == file_of(lesson, *entries(lesson))
    assert tool.main(["mistakes", "1", "nothing"]) == 2
    assert "no mistake 'nothing'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_file_becomes_an_entry(lesson, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(mistakes_command, "find_lesson", lambda number: lesson)
    shutil.copy(find_lesson(1).folder / "test_grayscale.py", tmp_path)
    write(lesson, GUARD.replace("math.sin(green)", "green"))
    file = tmp_path / "blue_for_red.py"
    file.write_text(
        '"""Blue counts as red."""\nimport math\n\nUNUSED = math.pi\n\n\n'
        "@register_jitable\ndef luminance(red, green, blue):\n"
        "    return float32(0.2126) * blue + float32(0.7152) * green + float32(0.0722) * blue\n"
    )
    assert tool.main(["mistakes", "add", "1", str(file)]) == 0
    added, guard = entries(lesson)
    assert (added.name, added.check, added.words) == ("blue_for_red", "luminance", "")
    assert added.sentence == "Blue counts as red." and guard.name == "no_guard"
    assert [part.of for part in added.patch] == ["luminance"]  # what it does not need is left out
    assert "float32(0.2126) * blue" in file_of(lesson, added)
    assert tool.main(["mistakes", "add", "1", str(file)]) == 2
    assert "give --name" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text, words",
    [(None, "cannot be read"), ("def (", "is no Python"), ("x = 1\n", "give --sentence")],
)
def test_a_file_that_is_no_mistake_is_refused(lesson, monkeypatch, capsys, tmp_path, text, words):
    monkeypatch.setattr(mistakes_command, "find_lesson", lambda number: lesson)
    if text:
        (tmp_path / "file.py").write_text(text)
    assert tool.main(["mistakes", "add", "1", str(tmp_path / "file.py")]) == 2
    assert words in capsys.readouterr().err
