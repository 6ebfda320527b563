"""A class of submissions of many kinds, made for tests: `make(folder)`.

python -m tests.grading.made_class FOLDER 100      a large class; `time_class` grades one
"""

import io
import json
import os
import random
import re
import sys
import zipfile
from pathlib import Path

from lessons.course.exercises import exercise_text, solution_text
from lessons.course.lesson import lessons
from lessons.course.mistakes import entries_of_kind, file_of


def number_of(lesson):
    """1 to 16, or "5b"."""
    return int(lesson.number) if lesson.number.isdecimal() else lesson.number


LESSONS = {number_of(lesson): lesson for lesson in lessons()}
SOLUTION = {number: solution_text(lesson) for number, lesson in LESSONS.items()}
GRID = re.compile(r"^ {4}\S.* = cuda\.grid\([12]\)$", re.MULTILINE)  # where a kernel begins
PART_ONE = (1, 2, 3, 4, 5, "5b", 6, 7, 8, 9)
SKELETON = {number: exercise_text(lesson) for number, lesson in LESSONS.items()}


def make(folder):
    """Fill an empty folder. Returns student -> numbers of the lessons whose solution is found."""
    expected = {}
    for name, maker in MAKERS.items():
        expected[name] = maker(folder)
    return expected


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def zipped(files, compression=zipfile.ZIP_DEFLATED):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return memory.getvalue()


def notebook(*cells):
    made = [{"cell_type": "markdown", "source": ["# my work"], "metadata": {}}]
    made += [{"cell_type": "code", "source": t.splitlines(True), "metadata": {}} for t in cells]
    return json.dumps({"cells": made, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})


# ---------------------------------------------------------------- names and folders


def as_documented(folder):
    put(folder / "as_documented" / "01_grayscale.py", SOLUTION[1])
    put(folder / "as_documented" / "04_encode" / "exercise.py", SOLUTION[4])
    return {1, 4}


def loose_names(folder):
    names = {1: "lesson1.py", 2: "LESSON_02.PY", 3: "Lesson 3.py", 4: "l4.py", 5: "05.py",
             6: "fused-mlp.py", 7: "hw7_final.py", 8: "8 adam.py", 9: "lesson9 (1).py"}  # fmt: skip
    for number, name in names.items():
        put(folder / "loose_names" / name, SOLUTION[number])
    return set(names)


def nested(folder):
    home = folder / "nested" / "nested"
    put(home / "lake-main" / "work" / "01_GRAYSCALE" / "Exercise.py", SOLUTION[1])
    put(home / "lesson 2" / "my_kernels.py", SOLUTION[2])
    return {1, 2}


def in_a_zip(folder):
    put(folder / "in_a_zip.zip", zipped({
        "in_a_zip/in_a_zip/04_encode.py": SOLUTION[4],
        "__MACOSX/in_a_zip/._04_encode.py": "no Python",
        "in_a_zip/inner.zip": zipped({"lesson1/exercise.py": SOLUTION[1]}),
    }))  # fmt: skip
    return {1, 4}


def in_a_folder_of_moodle(folder):
    inner = zipped({"01_grayscale.py": SOLUTION[1]})
    put(folder / "Zoë Müller_1234567_assignsubmission_file_" / "work.zip", inner)
    return {1}


def in_files_of_canvas(folder):
    put(folder / "doejane_LATE_12345_67890_01_grayscale-2.py", SOLUTION[1])
    put(folder / "doejane_12345_67891_lesson4.py", SOLUTION[4])
    return {1, 4}


def in_files_with_a_name(folder):
    put(folder / "mary_jane_lesson_1.py", SOLUTION[1])
    put(folder / "mary_jane_04_encode.py", SOLUTION[4])
    return {1, 4}


def whole_copy(folder):
    root = folder / "whole_copy" / "lake-main"
    put(root / "lessons" / "01_grayscale" / "exercise.py", SOLUTION[1])
    put(root / "lessons" / "01_grayscale" / "test_grayscale.py", "def test_grayscale(): pass\n")
    put(root / "lessons" / "04_encode" / "exercise.py", SKELETON[4])
    put(root / "lessons" / "reference.py", "def encode(): return 1\n")
    put(root / "kernels" / "encode.py", SOLUTION[4])
    return {1}


# ---------------------------------------------------------------- what is in a file


def marked(folder):
    put(folder / "marked" / "01_grayscale.py", b"\xef\xbb\xbf" + SOLUTION[1].encode())
    put(folder / "marked" / "02_resample.py", SOLUTION[2].encode("utf-16"))
    cookie = "# -*- coding: latin-1 -*-\n# sch\xf6n\n" + SOLUTION[4]
    put(folder / "marked" / "04_encode.py", cookie.encode("latin-1"))
    put(folder / "marked" / "05_tiles.py", SOLUTION[5].replace("\n", "\r\n"))
    return {1, 2, 4, 5}


def from_a_notebook(folder):
    text = SOLUTION[1].replace("\n\n\ndef luminance", "\n\nimport matplotlib\n\n\ndef luminance")
    first = "!pip install numba\n%matplotlib inline"
    cells = notebook(first, text, "x = 1 +", "raise SystemExit(1)")
    put(folder / "from_a_notebook" / "my lake.ipynb", cells)
    exported = f"#!/usr/bin/env python\n# In[1]:\n\n{SOLUTION[4]}\n\n# In[2]:\n\n"
    exported += "get_ipython().run_line_magic('matplotlib', 'inline')\nraise SystemExit(2)\n"
    put(folder / "from_a_notebook" / "lesson4.py", exported)
    return {1, 4}


def two_versions(folder):
    put(folder / "two_versions" / "01_grayscale.py", SKELETON[1])
    put(folder / "two_versions" / "grayscale_final.py", SOLUTION[1])
    put(folder / "two_versions" / "grayscale_final_final.py", SOLUTION[1].replace("0.7152", "0.7"))
    return {1}


def wrong_names(folder):
    put(folder / "wrong_names" / "solution.py", SOLUTION[1])
    put(folder / "wrong_names" / "lesson_2.py", SOLUTION[4])
    put(folder / "wrong_names" / "notes.txt", "hello")
    put(folder / "wrong_names" / "helper.py", "def helper(): pass\n")
    return {1, 4}


def nothing_at_all(folder):
    (folder / "nothing_at_all").mkdir()
    return set()


# ---------------------------------------------------------------- what would harm


def harmful(folder):
    """Links, pipes, what is huge, a zip that grows, one that climbs; and one good file."""
    home = folder / "harmful"
    put(home / "01_grayscale.py", SOLUTION[1])
    put(home / "02_resample.py", b"#" * (3 << 20))
    put(home / "03_sampler.py", "-" * 100_000 + "1\n")
    put(home / "bomb.zip", zipped({"06_fused_mlp.py": b"#" * (100 << 20)}))
    climbing = {"../../07_backward.py": SOLUTION[7], "/08_adam.py": SOLUTION[8]}
    put(home / "climb.zip", zipped(climbing))
    put(home / "broken.zip", b"PK\x03\x04 no zip")
    link = zipfile.ZipInfo("09_train.py")
    link.external_attr = 0o120777 << 16
    put(home / "link.zip", zipped({link: "/etc/passwd"}))
    if os.name == "posix":
        os.mkfifo(home / "04_encode.py")
        os.symlink("/dev/zero", home / "05_tiles.py")
        os.symlink("/", home / "everything")
    return {1}


MAKERS = {
    "as_documented": as_documented,
    "loose_names": loose_names,
    "nested": nested,
    "in_a_zip": in_a_zip,
    "Zoë Müller": in_a_folder_of_moodle,
    "doejane": in_files_of_canvas,
    "mary_jane": in_files_with_a_name,
    "whole_copy": whole_copy,
    "marked": marked,
    "from_a_notebook": from_a_notebook,
    "two_versions": two_versions,
    "wrong_names": wrong_names,
    "nothing_at_all": nothing_at_all,
    "harmful": harmful,
}


def make_many(folder, count, seed=1):
    """`count` complete submissions: the solutions, but for one in six, which has a wrong kernel.

    Each tenth student has a kernel that never ends, in one lesson.
    """
    chance = random.Random(seed)
    with_threads = [number for number in PART_ONE if GRID.search(SOLUTION[number])]
    for student in range(count):
        endless = chance.choice(with_threads) if student % 10 == 9 else None
        for number, lesson in LESSONS.items():
            wrong = entries_of_kind(lesson, "wrong")
            text = SOLUTION[number]
            if number == endless:
                text = GRID.sub(
                    r"\g<0>\n    while cuda.gridDim.x > 0:\n        pass", text, count=1
                )
            elif chance.random() < 1 / 6:
                text = file_of(lesson, chance.choice(wrong))
            put(folder / f"student{student:03}" / f"{lesson.name}.py", f"{text}# {student}\n")


if __name__ == "__main__":
    make_many(Path(sys.argv[1]), int(sys.argv[2]))
