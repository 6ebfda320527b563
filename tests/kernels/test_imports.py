"""Who may import whom inside `kernels`, and that it needs nothing else of the project."""

import ast
from pathlib import Path

import pytest

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
FILES = sorted(KERNELS.rglob("*.py"))
READING_LIST = {path.stem for path in KERNELS.glob("[a-z]*.py")}
# What each folder may import besides its own files: names directly in kernels/, folders or files.
MAY_IMPORT = {
    "kernels": READING_LIST,
    "cpu": READING_LIST,
    "fast": READING_LIST,
    "files": {"errors"},
    "training": READING_LIST | {"cpu", "fast", "files"},
}


def imported_modules(path):
    """Dotted names of all that a file imports, wherever in it; `from a import b` is a.b."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(KERNELS).as_posix())
def test_imports_point_downwards(path):
    folder = path.parent.name
    for module in imported_modules(path):
        top, _, rest = module.partition(".")
        assert top not in ("lessons", "tests", "benchmarks", "train"), module
        if top == "kernels":
            assert rest.partition(".")[0] in MAY_IMPORT[folder] | {folder}, module
