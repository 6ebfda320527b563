"""Cases: right in disguise, wrong by one change, with answers that are checked by running."""

import re
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from kernels.plumbing.errors import InputError
from lessons.__main__ import main
from lessons.detective import answers, looks, record
from lessons.detective.breaks import KINDS, only_uses
from lessons.detective.cases import INPUTS_OF_PROOF, disguised, make_case, secret_seed
from lessons.detective.gather import Gathered, file_text
from lessons.detective.layouts import Layout
from lessons.detective.subjects import SUBJECTS
from lessons.grading.judge.worker_pool import WorkerPool
from lessons.lab.simulator.events import AccessEvent
from tests.detective.comparing import rates

QUICK = "grayscale histogram_global matmul_tiled sum_tree layer_norm blur_by_rows".split()
SLOW = [name for name in SUBJECTS if name not in QUICK]


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A place of its own for what is kept."""
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records.json")
    monkeypatch.setattr(looks, "PAGES", tmp_path / "pages")
    return tmp_path


def pair_of(finding):
    """The two threads of a finding, as a witness."""
    first = f"thread {finding.thread} of block {finding.block}"
    return f"{first} and thread {finding.other_thread} of block {finding.other_block}"


# ---------------------------------------------------------------- how cases are made


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.each(3)) for name in SLOW)]
)
def test_a_disguise_changes_names_and_lines_and_no_result(name):
    subject = SUBJECTS[name]
    gathered = Gathered(subject.module, subject.launch, {})
    plain = file_text(gathered.constants, gathered.functions)
    right = [disguised(subject, f"test {seed}") for seed in range(3)]
    assert len({case.right for case in right}) == 3
    for case in right:
        assert not set(gathered.functions) & set(re.findall(r"\w+", case.right))
        same = set(plain.splitlines()) & set(case.right.splitlines())
        assert all(line.startswith(("import", "from", "@", "    cuda.sync", "")) for line in same)
        for number in range(INPUTS_OF_PROOF):
            assert case.run(case.right, number).ok


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_an_array_lies_where_its_layout_says(axes):
    for seed in range(20):
        layout = Layout.drawn(axes, Random(seed))
        values = np.arange(1, 1 + 3**axes).reshape((3,) * axes)
        a = layout.stored(values, np.zeros_like(values))
        for index in np.ndindex(values.shape):
            place = layout.place("a", [f"({one})" for one in index])
            assert eval(place, {"a": a}) == values[index] and "- -" not in place
            letters = {"a": a, **dict(zip("ijklm", index, strict=False))}
            assert eval(layout.told("a")[1], letters) == values[index]
            (lies,) = np.argwhere(a == values[index]).tolist()
            assert layout.index_of(lies, a.shape) == index
        assert {eval(layout.size("a", axis), {"a": a}) for axis in range(axes)} == {3}
        assert layout.order != tuple(range(axes)) or a.shape != values.shape or (a != values).any()


def check_case(case):
    """Right before the change, wrong behind it, of a kind and at a line that the run has shown."""
    assert case.run(case.right, 7).ok
    ran = case.run(case.wrong)
    assert not ran.ok and ran.reports
    assert set(case.kinds) <= set(KINDS) and "{" not in case.task
    assert case.lines and max(case.lines) <= len(case.wrong.splitlines())
    if case.finding and case.finding.kind == "race":
        assert answers.is_witness(case, pair_of(case.finding))[0]
    for name, wrong in ran.wrong.items():
        for index in np.argwhere(wrong)[-1:].tolist() if ran.ended else ():
            assert answers.is_witness(case, f"{name}{index}")[0] or wrong.sum() <= answers.SHOWN


@pytest.mark.parametrize("level", [1, 2, pytest.param(3, marks=pytest.mark.slow), 4])
def test_a_case_is_wrong_by_one_change_that_a_run_shows(level):
    check_case(make_case("a case", None, level))


@pytest.mark.thorough
@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_a_hundred_cases_of_a_level(level):
    cases = [make_case(str(seed), None, level) for seed in range(100)]
    assert len({case.wrong for case in cases}) == 100
    assert len({case.kinds[0] for case in cases}) > 4
    for case in cases:
        check_case(case)


def test_a_seed_makes_one_case():
    first = make_case("the same", "5", None)
    make_case.cache_clear()
    assert make_case("the same", "5", None) == first and first.subject.lesson == "5"
    assert make_case("another", "5", None).wrong != first.wrong


@pytest.mark.thorough
def test_comparing_with_the_course_is_hardly_better_than_guessing():
    worst, nearly, guessed = rates([1, 2, 3, 4], 25)
    assert max(worst, nearly) < 0.3 and max(worst, nearly) < guessed + 0.2


# ---------------------------------------------------------------- answers


def test_witnesses_of_a_race_are_two_threads_that_race():
    cases = (make_case(f"test {seed}", None, 2) for seed in range(40))
    case = next(one for one in cases if one.finding and one.finding.kind == "race")
    assert answers.is_witness(case, pair_of(case.finding))[0]
    one = pair_of(case.finding).partition(" and ")[0]
    assert not answers.is_witness(case, f"{one} and {one}")[0]
    assert "launch has" in answers.is_witness(case, f"{one} and thread 999 of block 0")[1]


def test_a_witness_of_wrong_numbers_is_an_element_that_is_not_shown():
    (case, name, wrong), *_ = (
        (case, *pair)
        for case in (make_case(f"test {seed}", None, 1) for seed in range(40))
        for pair in case.run(case.wrong).wrong.items()
        if pair[1].sum() > answers.SHOWN
    )
    places = [f"{name}{index}" for index in np.argwhere(wrong).tolist()]
    assert not answers.is_witness(case, places[0])[0]
    assert answers.is_witness(case, places[-1])[0]
    assert not answers.is_witness(case, f"{name}[999999]")[0]
    smaller = {size: max(1, value // 2) for size, value in case.sizes(0).items()}
    told = " ".join(f"{size}={value}" for size, value in smaller.items())
    right, broken = (case.run(text, 0, smaller).ok for text in (case.right, case.wrong))
    assert answers.is_witness(case, told)[0] == (right and not broken)


def test_two_threads_race_where_nothing_stands_between_them():
    def touched(kind, space, phase, *who):
        columns = (np.array(column) for column in zip(*who, strict=True))
        return AccessEvent(phase, 0, 5, "", "a", space, kind, (9,), *columns)

    def meet(*events):
        finding = SimpleNamespace(array="a", line=5, other_line=None)
        ran = SimpleNamespace(reports=[SimpleNamespace(events=events)])
        return answers.meeting_place(ran, finding, *(who[:2] for who in (one, other)))

    one, other = (0, 1, 4), (0, 2, 4)  # block, thread, element
    assert meet(touched("write", "shared", 0, one, other)) == 4
    for kind in ("read", "atomic", "outside"):
        assert meet(touched(kind, "global", 0, one, other)) is None
    for later in (0, 1):  # with a barrier between, or another element
        last = touched("write", "shared", later, (0, 2, 5 - later))
        assert meet(touched("write", "shared", 0, one), last) is None
    other = (1, 1, 4)
    assert meet(touched("write", "global", 0, one, other)) == 4
    assert meet(touched("write", "shared", 0, one, other)) is None


def test_a_line_that_alone_uses_a_wrong_number_may_be_named_too():
    text = "def f(a):\n    n = a.shape[0]\n    m = n\n    a[m] = 1\n    a[m + 1] = 2\n"
    assert only_uses(text, {2}) == {3} and only_uses(text, {3}) == set() == only_uses(text, {4})


@pytest.mark.parametrize("witness", ["", "there", "thread 3", "n=", "nobody=3", "thread " * 10**5])
def test_what_is_no_witness_is_told(witness):
    with pytest.raises(InputError, match=r"witness|sizes"):
        answers.named(make_case("a case", None, 1), "witness", witness)


@pytest.mark.slow
def test_a_mended_kernel_is_run_as_a_students_file():
    case, workers = make_case("a case", None, 1), WorkerPool()
    reads = "import os\n" + case.right.replace("launch(", "os.getcwd() or launch(")
    texts = case.right, case.wrong, reads, "no Python ("
    path = looks.Path("mended.py")
    try:
        got = [answers.mended(case, text.encode(), path, workers).status for text in texts]
    finally:
        workers.stop()
    assert got[0] == "passed" and "passed" not in got[1:]


# ---------------------------------------------------------------- the command


def test_a_case_is_printed_looked_at_and_named(kept, capsys):
    case = make_case("7", "5", None)
    start = ["detective", "5", "--seed", "7"]
    assert main(start) == 0
    assert case.wrong.splitlines()[0] in capsys.readouterr().out
    name = next(iter(case.run(case.wrong).expected))
    for looked in (["traffic"], ["value", f"{name}[0, 0]"], ["replay"], ["traffic"]):
        assert main([*start, "--look", *looked]) == 0
    page = next((kept / "pages").glob("*replay.html")).read_text(encoding="utf-8")
    assert not case.finding or str(case.finding.message)[:30] not in page
    capsys.readouterr()
    assert main([*start, "--look", "value", f"{name}[1, 1]"]) == 2
    assert "your 3 looks" in capsys.readouterr().err
    ran = case.run(case.wrong).wrong[name]
    place = f"{name}{np.argwhere(ran)[-1].tolist()}" if ran.any() else f"{name}[0, 0]"
    for line, points in ((max(case.lines) + 1, "[24]"), (min(case.lines), "[35]")):
        main([*start, "--name", str(line), *case.kinds[0].split(), "--witness", place])
        assert re.search(f"{points} of 10 points", capsys.readouterr().out)
    assert main([*start, "--solution"]) == 0
    assert list((kept / "pages").glob("*solution.html")) and record.RECORDS.exists()
    assert main([*start, "--look", "traffic"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("5", "open when its checks have passed"),
        ("9 --seed 1", "no cases of lesson 9"),
        ("5 --seed 1 --mend README.md", "no run is lost"),
        ("5 --seed 1 --name 3 --witness a", "name all three"),
        ("5 --seed 1 --name 3 rat --witness a", "is no kind"),
        ("5 --seed 1 --name 999 race --witness a", "no line 999"),
        ("5 --seed 1 --name \u00b2 race --witness a", "no line"),
        ("5 --seed 1 --name 3 race --witness no[1]", "no array is called no"),
        ("5 --level 4", "no cases of level 4, but of 1, 2"),
        ("5 --seed 1 --look sideways", "there is no look"),
        ("5 --seed 1 --look value no[-]", "is no element"),
        ("5 --seed 1 --mend nowhere.py", "nowhere.py cannot be read"),
        ("--level 7", "--level"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(arguments, words, kept, capsys, monkeypatch):
    monkeypatch.setattr("lessons.course.progress.PROGRESS", kept / "progress.json")
    assert main(["detective", *arguments.split()]) == 2
    printed, error = capsys.readouterr()
    assert words in error and error.count("\n") == 1 and not printed


def test_a_record_that_is_none_is_left_alone(kept, capsys):
    record.RECORDS.write_text("[1]")
    assert main(["detective", "5", "--seed", "1"]) == 2
    assert record.RECORDS.read_text() == "[1]" and "cannot be read" in capsys.readouterr().err


@pytest.mark.slow
def test_a_class_gets_cases_and_grades(kept, capsys):
    hand_in, grades = kept / "hand in", kept / "hand in" / "grades"
    for student in ("ann", "bob", "cem", "dan", "eve"):
        given = ["--level", "1", "--seed", student, "--secret", "word", "--to"]
        for status in (0, 2):  # the second time, it is there already
            assert main(["detective", *given, str(hand_in / student)]) == status
    files = {path.parent.name: path for path in hand_in.glob("*/case.py")}
    texts = {student: path.read_text() for student, path in files.items()}
    case = make_case(secret_seed("ann", "word"), None, 1)
    (name, _), *_ = case.run(case.wrong).wrong.items()
    form = texts["ann"].replace(case.wrong, case.right)
    form = form.replace("# line:", f"#Line : {min(case.lines)}")
    form = form.replace("# kind:", f"# kind: {case.kinds[0]}")
    files["ann"].write_text(form.replace("# witness:", f"# witness: {name}[0]"))
    files["cem"].write_text(form)
    files["dan"].write_bytes(b"\xff\x00")
    files["eve"].write_text(texts["eve"].replace("# line:", "# line: \u00b2"))
    (hand_in / ".DS_Store").write_text("")
    command = ["grade", str(hand_in), "--cases", "level-1", "--secret", "word", "--out"]
    assert main([*command, str(grades)]) == 0
    _, ann, bob, cem, dan, eve = (grades / "cases.csv").read_text("utf-8-sig").splitlines()
    assert ann.startswith('"ann",2,2,') and ",4," in ann
    nothing = "no answer", "no file of this", "0 files", "no line \u00b2"
    for row, words in zip((bob, cem, dan, eve), nothing, strict=True):
        assert ",0,0,0,0,0," in row and words in row
    (grades / "cases.csv").write_text("mine")
    assert main([*command, str(grades)]) == 2 and (grades / "cases.csv").read_text() == "mine"
