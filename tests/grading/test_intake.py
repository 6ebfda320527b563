"""What students hand in: every kind of a made class is sorted out, and nothing harms."""

import os
import struct
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kernels.plumbing.errors import InputError
from lessons.course.exercises import solution_text
from lessons.course.source_text import as_utf8, is_too_long, syntax_tree
from lessons.grading.classroom import intake, sources
from lessons.grading.classroom.intake import handed_in
from lessons.grading.classroom.names import lesson_by_name, lessons_in, owner_of
from lessons.grading.classroom.notebooks import work_in
from lessons.grading.walls.fingerprint import remarks_on
from lessons.grading.walls.submission import Submission
from tests.grading import made_class

LESSONS = list(made_class.LESSONS.values())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    expected = made_class.make(folder)
    return {one.student: one for one in handed_in(folder, LESSONS)}, expected


@pytest.mark.parametrize("student", made_class.MAKERS)
def test_every_solution_is_found_and_nothing_else(made, student):
    students, expected = made
    handed = students[student]
    found = set()
    for number, lesson in made_class.LESSONS.items():
        text = handed.files[lesson.name].text.decode() if lesson.name in handed.files else ""
        namespace_free = {line.strip() for line in text.splitlines()} - {""}
        wanted = made_class.SOLUTION[number].split('"""')[-1].splitlines()
        if text and all(line.strip() in namespace_free for line in wanted if line.strip()):
            found.add(number)
    assert found == expected[student], handed.notes


def test_no_student_is_added_and_none_lost(made):
    students, expected = made
    assert set(students) == set(expected)


@pytest.mark.parametrize(
    "student, words",
    [
        ("two_versions", "lesson 1: 3 versions; graded is grayscale_final"),
        ("wrong_names", "lesson_2.py: its name says lesson 2, its functions are those of 4"),
        ("wrong_names", "there is: helper.py, lesson_2.py, notes.txt, solution.py"),
        ("wrong_names", "helper.py: no function that a lesson asks for"),
        ("nothing_at_all", "there is: nothing"),
        ("from_a_notebook", "a notebook: its functions are graded"),
        ("doejane", "its name says that it was late"),
        ("harmful", "02_resample.py: more than 262,144 bytes"),
        ("harmful", "bomb.zip/06_fused_mlp.py: more than 262,144 bytes"),
        ("harmful", "climb.zip/../../07_backward.py: its name leaves the archive"),
        ("harmful", "climb.zip//08_adam.py: its name leaves the archive"),
        ("harmful", "broken.zip: no zip that can be opened"),
        ("harmful", "link.zip/09_train.py: a link"),
    ],
)
def test_what_a_person_should_know_is_said(made, student, words):
    assert any(words in note for note in made[0][student].notes), made[0][student].notes


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
def test_links_and_pipes_are_not_opened(made):
    notes = made[0]["harmful"].notes
    assert "04_encode.py: no plain file: not read" in notes
    assert "05_tiles.py: a link: not followed" in notes
    assert "everything: a link: not followed" in notes


@pytest.mark.parametrize(
    "name, number",
    [
        ("04_encode", 4), ("lesson1", 1), ("LESSON-07", 7), ("Übung_4_encode", 4), ("l9", 9),
        ("encode", 4), ("03", 3), ("week12", None), ("lesson99", None), ("final", None),
        ("lesson1_encode", None), ("ex5a", 5), ("lesson4a", 4), ("ex04final", 4), ("2024", None),
        ("05b_histogram_and_sum", "5b"), ("ex5b", "5b"), ("Lesson 5B", "5b"), ("05b", "5b"),
        ("histogram_and_sum", "5b"), ("lesson10", 10), ("ex10", 10), ("10", 10), ("01", 1),
        ("hw1", 1), ("l10", 10), ("10a", 10), ("Lesson 10 (1)", 10), ("two-computers", 10),
        ("lesson1_two_computers", None), ("part2_lesson10", None),
    ],
)  # fmt: skip
def test_a_name_tells_its_lesson_or_nothing(name, number):
    lesson = lesson_by_name(name, LESSONS)
    assert (lesson and lesson.number) == (number and str(number))


@pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.name for lesson in LESSONS])
def test_functions_tell_their_lesson(lesson):
    """Also where a file's name says nothing, and where two lessons ask for one name."""
    assert lessons_in(made_class.SOLUTION[made_class.number_of(lesson)], LESSONS) == [lesson]


@pytest.mark.parametrize("place", ["an empty name", "nonsense where LZMA's options stand"])
def test_a_zip_that_python_itself_cannot_bear_costs_only_itself(tmp_path, place):
    content = made_class.zipped({"01_grayscale.py": made_class.SOLUTION[1]}, zipfile.ZIP_LZMA)
    assert content.count(b"01_grayscale.py") == 2
    if place == "an empty name":
        start = content.rindex(b"PK\1\2")
        broken = content[: start + 28] + b"\0\0" + content[start + 30 :]
    else:
        options = content.index(b"01_grayscale.py") + len("01_grayscale.py") + 4
        broken = content[:options] + b"\xff" * 5 + content[options + 5 :]
    made_class.put(tmp_path / "alice.zip", broken)
    made_class.put(tmp_path / "bob.zip", content)
    alice, bob = handed_in(tmp_path, LESSONS)
    assert not alice.files
    assert [note for note in alice.notes if "cannot be unpacked" in note or "no zip" in note]
    assert list(bob.files) == ["01_grayscale"]


def test_a_mistake_of_the_intake_costs_one_student(tmp_path, monkeypatch):
    for name in ("alice", "bob"):
        made_class.put(tmp_path / name / "01_grayscale.py", made_class.SOLUTION[1] + f"# {name}\n")

    def fail_for_alice(path, content, lessons):
        if b"# alice" in content:
            raise RecursionError("too deep")
        return honest(path, content, lessons)

    honest = intake.candidates_of
    monkeypatch.setattr(intake, "candidates_of", fail_for_alice)
    alice, bob = handed_in(tmp_path, LESSONS)
    assert alice.notes == ["not read, by a mistake of the grader (RecursionError: too deep)"]
    assert list(bob.files) == ["01_grayscale"]


def test_a_zip_of_both_parts(tmp_path):
    part_two = [lesson for lesson in LESSONS if lesson.part == 2]
    files = {f"ex{lesson.number}.py": solution_text(lesson) for lesson in part_two}
    files["ex1.py"] = made_class.SOLUTION[1]
    made_class.put(tmp_path / "alice.zip", made_class.zipped(files))
    made_class.put(tmp_path / "bob" / "my_own.py", solution_text(part_two[0]))
    alice, bob = sorted(handed_in(tmp_path, LESSONS))
    assert set(alice.files) == {"01_grayscale", *(lesson.name for lesson in part_two)}
    assert set(bob.files) == {part_two[0].name}


def test_a_folder_of_one_student(tmp_path):
    made_class.put(tmp_path / "alice" / "lesson1.py", made_class.SOLUTION[1])
    made_class.put(tmp_path / "alice" / "04_encode" / "exercise.py", made_class.SOLUTION[4])
    (one,) = handed_in(tmp_path / "alice", LESSONS)
    assert (one.student, set(one.files)) == ("alice", {"01_grayscale", "04_encode"})
    with pytest.raises(InputError, match="there is no"):
        handed_in(tmp_path / "bob", LESSONS)


def test_files_of_lessons_that_are_not_graded_are_still_known(tmp_path):
    made_class.put(tmp_path / "ann_04_encode.py", made_class.SOLUTION[4])
    made_class.put(tmp_path / "ann_lesson1.py", made_class.SOLUTION[1])
    (one,) = handed_in(tmp_path, LESSONS, wanted=LESSONS[:1])
    assert (one.student, set(one.files)) == ("ann", {"01_grayscale"})
    assert one.notes == ["lesson1.py: taken for lesson 1, 01_grayscale"]


def test_owners_by_names_of_loose_files(tmp_path):
    for name, student in (("ann-lee 04_encode.py", "ann-lee"), ("bob_encode.py", "bob"),
                          ("carl hw_2.py", "carl"), ("04_encode.py", "")):  # fmt: skip
        assert owner_of(tmp_path / name, LESSONS).student == student


def test_one_number_is_one_student_whatever_the_name(tmp_path):
    made_class.put(tmp_path / "leeann_7_901_01_grayscale.py", made_class.SOLUTION[1])
    made_class.put(tmp_path / "leeanna_LATE_7_902_04_encode.py", made_class.SOLUTION[4])
    made_class.put(tmp_path / "leeann_01_grayscale.py", made_class.SOLUTION[1] + "# longer\n" * 9)
    (one,) = handed_in(tmp_path, LESSONS)
    assert (one.student, one.id, set(one.files)) == ("leeann", "7", {"01_grayscale", "04_encode"})
    assert b"longer" not in one.files["01_grayscale"].text


@pytest.mark.parametrize("folder", ["bob/01_grayscale.py", "bob.zip"])
def test_a_loose_file_takes_the_place_of_none_in_a_folder(tmp_path, folder):
    """Anybody can call a file by somebody's name."""
    right = made_class.SOLUTION[1]
    half = right.replace("blocks_for(", "blocks_for_")  # worse, and shorter
    content = made_class.zipped({"01_grayscale.py": half}) if folder.endswith("zip") else half
    made_class.put(tmp_path / folder, content)
    made_class.put(tmp_path / "bob_01_grayscale.py", right)
    made_class.put(tmp_path / "bob_lesson4.py", made_class.SOLUTION[4])
    (bob,) = handed_in(tmp_path, LESSONS)
    assert bob.files["01_grayscale"].text.decode() == half
    assert "not 01_grayscale.py (a loose file)" in " ".join(bob.notes)
    assert "lesson4.py: a loose file beside a folder: is it this student's?" in bob.notes


def test_names_of_any_length_are_read_in_time(tmp_path):
    names = ["0" * 60_000 + ".py", "l" + "0" * 60_000 + ".py", "a/" * 30_000 + "b.py"]
    files = {name: made_class.SOLUTION[1] for name in names}
    made_class.put(tmp_path / "alice.zip", made_class.zipped(files))
    (handed,) = handed_in(tmp_path, LESSONS)
    assert handed.files == {}
    assert sum("letters: not read" in note for note in handed.notes) == 3
    assert lesson_by_name("0" * 60_000, LESSONS) is None


def test_lines_are_those_of_python():
    text = "# \f \x1c \u2028 \x85\n\f\nprint(1)\r\nwrong\rlast\n"
    assert Submission(Path("x.py"), text.encode()).lines[2:] == ["print(1)", "wrong", "last"]
    cell = "# a \u2028 b\nprint('left out')\n\f\ndef luminance(): return 1\n"
    assert "def luminance" in work_in([cell]) and "print" not in work_in([cell])


def test_text_of_any_encoding_becomes_utf8():
    assert as_utf8(b"\xef\xbb\xbfx = 1\n") == b"x = 1\n"
    for encoding in ("utf-16", "utf-32"):
        assert as_utf8("x = 'ä'\n".encode(encoding)).decode() == "x = 'ä'\n"
    assert as_utf8(b"# coding: latin-1\nx = '\xe4'\n").decode().endswith("x = 'ä'\n")
    assert as_utf8(b"x = '\xe4'\n").decode() == "x = 'ä'\n"
    assert as_utf8(b"# coding: no-such\n") == b"# coding: no-such\n"


def test_trees_can_be_made_in_several_threads():
    text = made_class.SOLUTION[7]
    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(lambda _: syntax_tree(text) is not None, range(24)))


@pytest.mark.slow
def test_what_is_handed_in_a_thousand_times_is_told_once(tmp_path, monkeypatch):
    """A zip whose entries all point to the same bytes: of each only so much is read as of one."""
    monkeypatch.setattr(sources, "MAX_TOTAL", 1 << 20)
    archive = made_class.zipped({"01_grayscale.py": b"#" * 250_000})
    begin, end = archive.index(b"PK\x01\x02"), archive.index(b"PK\x05\x06")
    entry, count = archive[begin:end], 3000
    numbers = b"PK\x05\x06", 0, 0, count, count, count * len(entry), begin, 0
    content = archive[:begin] + entry * count + struct.pack("<4s4H2LH", *numbers)
    made_class.put(tmp_path / "alice.zip", content)
    (alice,) = handed_in(tmp_path, LESSONS)
    # Pythons of today refuse it by themselves.
    told = "more than 1 MiB in all: the rest was not read", "Overlapped entries"
    assert any(words in note for note in alice.notes for words in told)
    assert len(alice.notes) < 5


def test_notes_of_many_kinds_are_cut():
    notes = [f"file{number}.py: too large" for number in range(1000)] + ["late", "late"]
    told = intake.told_once(notes)
    assert told[-1] == "and 961 more notes" and len(told) == 41
    assert intake.told_once(["late", "late", "odd"]) == ["late (2 times)", "odd"]


@pytest.mark.parametrize("cell, count", [("x = 1", 50_000), ("x = 1\n" * 10_000, 20)])
def test_a_notebook_of_too_much_is_not_read(tmp_path, cell, count):
    made_class.put(tmp_path / "alice" / "lesson1.ipynb", made_class.notebook(*[cell] * count))
    (alice,) = handed_in(tmp_path, LESSONS)
    assert "lesson1.ipynb: more than 5,000 cells, or 256 KiB of code: not read" in alice.notes


@pytest.mark.parametrize(
    "text, is_long",
    [
        (made_class.SOLUTION[7], False),
        (made_class.SOLUTION[1] + "# many words of a comment\n" * 9_000, False),
        (made_class.SOLUTION[1] + "text = '" + "x" * 200_000 + "'\n", False),
        ("def helper(a):\n" + "    x = a + 1\n" * 4_000, True),
        ("a = 1" + " + 1" * 900 + "\n" + "b = 1" + " + 1" * 50_000, False),  # Python refuses it
        ("a = [" + "1, " * 60_000 + "]\n", True),
    ],
)
def test_what_is_too_long_to_be_read_is_told_from_its_code(text, is_long):
    assert is_too_long(text) is is_long
    told = remarks_on(text, made_class.LESSONS[1])
    assert ("too long to be read, by a program or by a person" in told) is is_long
