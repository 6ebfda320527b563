"""numba-cuda's own tests go on passing with the lab behind each launch."""

import importlib.util

import pytest

from tests.compatibility import run, table
from tests.compatibility.launches import ENGINES

LINES = [
    {"begun": "a.py::one"},
    {"test": "a.py::one", "outcome": "passed", "failure": "", "launches": [["f:1", ""]]},
    {"begun": "a.py::two"},
    {
        "test": "a.py::two",
        "outcome": "failed",
        "failure": "AssertionError:\n  1 != 2",
        "launches": [["f:1", ""], ["g:9", ""]],
    },
    {"test": "a.py::three", "outcome": "passed", "failure": "", "launches": [["f:1", "race: x"]]},
    {"test": "a.py::four", "outcome": "failed", "failure": "no kernel", "launches": []},
]


def test_a_row_per_kernel_of_a_test():
    rows = table.rows_of(LINES)
    assert [(row.test[6:], row.kernel, row.problem) for row in rows] == [
        ("one", "f:1", ""),
        ("two", "f:1", ""),
        ("two", "g:9", "wrong: AssertionError: 1 != 2"),  # the last launch left the wrong value
        ("three", "f:1", "race: x"),  # though the test passed
        ("four", "", ""),  # launches nothing, and does not count
    ]


def test_every_group_that_does_not_count_says_why():
    for pattern, reason in table.excused():
        assert "::" in pattern or "/" in pattern
        assert len(reason) > 20


@pytest.mark.parametrize("path", sorted(table.RESULTS.iterdir()), ids=lambda path: path.name)
def test_saved_results_name_no_folder_of_a_machine(path):
    text = path.read_text(encoding="utf-8")
    folders = ("/root", "/home", "/tmp", "/work", "/usr", "site-packages", ":\\")
    assert [folder for folder in folders if folder in text] == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [name for name in ENGINES if (table.RESULTS / f"{name}.json").exists()]
)
def test_what_passed_goes_on_passing(name):
    if importlib.util.find_spec("numba_cuda") is None:
        pytest.skip("needs numba-cuda: pip install -r requirements.txt")
    expected = set(table.passed(table.counted(table.load(name))))
    if importlib.util.find_spec("ml_dtypes") is None:
        expected = {row for row in expected if "test_bfloat16.py" not in row.test}
    assert expected - set(run.run_engine(name, jobs=2)) == set()


@pytest.mark.parametrize("name", ENGINES)
def test_the_page_tells_what_the_saved_results_say(name):
    counting = table.counted(table.load(name))
    passed = len(table.passed(counting))
    page = (table.HERE / "README.md").read_text(encoding="utf-8")
    share = f"{100 * passed / len(counting):.1f} %"
    assert f"| {passed} | {len(counting)} | {share} |" in page
