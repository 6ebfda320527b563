"""Imports point one way: which room may import which, and no circles between files."""

import ast
import functools
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("cpu", "fast", "files", "fused", "general", "plumbing", "training")
KERNELS = {"kernels", *(f"kernels.{room}" for room in ROOMS)}
LAB = {"lessons.lab", "lessons.lab.simulator", "lessons.lab.compiled", "lessons.lab.host"}
SIMULATOR = {
    "lessons.lab.simulator.memory",
    "lessons.lab.simulator.cuda_functions",
    "lessons.lab.simulator.expressions",
    "lessons.lab.simulator.replay",
    "lessons.lab.simulator.foretell",
}
EXPLAIN = {"lessons.grading.explain", "lessons.grading.explain.repairs"}
GRADING = (
    {f"lessons.grading.{room}" for room in ("judge", "walls", "worker")}
    | EXPLAIN
    | {"lessons.mutations"}
)
PART_TWO = {
    "kernels.transfers",
    "kernels.reductions",
    "kernels.products",
    "kernels.siren",
    "kernels.inline",
    "kernels.derivatives",
    "kernels.classifier",
    "kernels.neighbours",
    "kernels.palette",
    "kernels.attention",
    "kernels.bits",
}
ROOMS_OF_LESSONS = {*PART_TWO, "kernels.warm_ups"}

# room -> the rooms that its files may import. A room is a folder: the files directly in it.
ALLOWED = {
    "kernels": {"kernels.plumbing"},
    "kernels.plumbing": {"kernels"},
    "kernels.files": {"kernels", "kernels.plumbing"},
    "kernels.cpu": {"kernels", "kernels.plumbing", "kernels.general", "kernels.bits"},
    "kernels.general": {"kernels", "kernels.plumbing"},
    "kernels.fast": {"kernels", "kernels.plumbing"},
    "kernels.fused": {"kernels", "kernels.plumbing", "kernels.fast"},
    "kernels.products": {"kernels", "kernels.plumbing", "kernels.fast"},
    "kernels.siren": {"kernels", "kernels.plumbing", "kernels.fused"},
    "kernels.inline": {"kernels", "kernels.plumbing"},
    "kernels.neighbours": {"kernels", "kernels.plumbing", "kernels.classifier", "kernels.fast"},
    "kernels.palette": {"kernels", "kernels.plumbing", "kernels.reductions"},
    "kernels.attention": {
        *("kernels", "kernels.plumbing", "kernels.reductions", "kernels.products"),
        *("kernels.classifier", "kernels.palette", "kernels.siren", "kernels.fast"),
        "kernels.fused",
    },
    "kernels.bits": {"kernels", "kernels.plumbing"},
    "kernels.reductions": {"kernels", "kernels.plumbing"},
    "kernels.derivatives": {
        "kernels",
        "kernels.plumbing",
        "kernels.files",
        "kernels.siren",
        "kernels.fused",
    },
    "kernels.training": {*KERNELS, "kernels.bits"},
    "kernels.warm_ups": {"kernels", "kernels.plumbing"},
    "kernels.transfers": {"kernels", "kernels.plumbing"},
    "kernels.classifier": {"kernels", "kernels.plumbing", "kernels.products", "kernels.fused"},
    "lessons": {
        *KERNELS,
        *LAB,
        *GRADING,
        "lessons.course",
        "lessons.grading",
        "lessons.grading.classroom",
        "lessons.detective",
        "lessons.site",
        "lessons.broken",
    },
    "lessons.broken": {
        *("kernels.files", "kernels.plumbing", "lessons.course"),
        *("lessons.grading.judge", "lessons.grading.walls", "lessons.grading.worker"),
        *("lessons.lab", "lessons.lab.simulator"),
    },
    # Its cases are made of kernels, and its answers are judged as a student's file is.
    "lessons.detective": {
        *("kernels", "kernels.files", "kernels.plumbing", "lessons", "lessons.course"),
        "lessons.reference",
        *("lessons.lab", "lessons.lab.simulator", "lessons.lab.simulator.replay"),
        *("lessons.grading.classroom", *GRADING),
    },
    "lessons.site": {
        *KERNELS,
        "lessons.course",
        "lessons.detective",
        *GRADING,
        "lessons.lab.simulator.replay",
    },
    "lessons.capstones": {*KERNELS, "lessons", "lessons.course", "lessons.grading"},
    "lessons.course": {"kernels", "kernels.files", "kernels.plumbing"},
    "lessons.mutations": {"lessons.course"},
    # The walls around a worker, and what of a student's file may run; then the worker, which alone
    # runs it and loads engines; then what explains a failure; then the judge, who asks them all.
    "lessons.grading.walls": {"kernels.plumbing", "lessons.course"},
    "lessons.grading.worker": {*KERNELS, *LAB, "lessons.course", "lessons.grading.walls"},
    "lessons.grading.explain": {
        "lessons.mutations",
        "kernels.plumbing",
        "kernels.files",
        "lessons.lab.simulator",
        "lessons.lab.simulator.replay",
        "lessons.course",
        "lessons.grading.walls",
        "lessons.grading.worker",
    },
    "lessons.grading.explain.repairs": {
        "lessons.course",
        "lessons.grading.walls",
        "lessons.mutations",
    },
    "lessons.grading.judge": {
        "kernels.files",
        "kernels.plumbing",
        "lessons.lab.host",
        "lessons.course",
        *GRADING,
    },
    "lessons.grading": {*KERNELS, "lessons.course", *GRADING},
    # A class is many submissions: it knows how one is graded, which knows nothing of classes.
    "lessons.grading.classroom": {*KERNELS, *GRADING, "lessons.course", "lessons.grading"},
    # The lab can be installed without the rest of the project. Its engines do not know each other;
    # the package knows neither until it is asked for one, and the command line and the plugin for
    # pytest know how host code is run.
    "lessons.lab": {"lessons.lab.host"},
    "lessons.lab.simulator": {"lessons.lab", *SIMULATOR},
    "lessons.lab.simulator.memory": {"lessons.lab", "lessons.lab.simulator"},
    "lessons.lab.simulator.cuda_functions": {
        "lessons.lab",
        "lessons.lab.simulator",
        "lessons.lab.simulator.memory",
    },
    "lessons.lab.simulator.expressions": {
        "lessons.lab",
        "lessons.lab.simulator",
        "lessons.lab.simulator.memory",
        "lessons.lab.simulator.cuda_functions",
    },
    "lessons.lab.simulator.replay": {"lessons.lab", "lessons.lab.simulator"},
    "lessons.lab.simulator.foretell": {"lessons.lab", "lessons.lab.simulator"},
    "lessons.lab.compiled": {"lessons.lab"},
    # Host code needs an engine behind each launch; no engine knows of host code.
    "lessons.lab.host": {
        "lessons.lab",
        "lessons.lab.simulator",
        "lessons.lab.simulator.foretell",
        "lessons.lab.compiled",
    },
    # What is right knows nothing of what it judges.
    "lessons.reference": set(),
    # A lesson: its checks, its picture, and its command.
    "a lesson": {
        *KERNELS,
        *LAB,
        *ROOMS_OF_LESSONS,
        "lessons",
        "lessons.capstones",
        "lessons.reference",
        "lessons.grading.explain",
        "lessons.grading.judge",
        "lessons.grading.worker",
    },
    "train": {*KERNELS, "lessons", "lessons.grading"},
}


def shipped_files():
    """Every Python file of the project but tests, benchmarks and students' files."""
    for path in [ROOT / "train.py", *ROOT.glob("kernels/**/*.py"), *ROOT.glob("lessons/**/*.py")]:
        if not {"wrong", "right", "naive"} & set(path.parts) and path.name != "exercise.py":
            yield path


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in shipped_files()}


def room_of(module):
    if module == "train":
        return "train"
    package = module if is_package(module) else module.rpartition(".")[0]
    return "a lesson" if re.match(r"lessons\.\d", package) else package


def is_package(module):
    return module in MODULES and MODULES[module].name == "__init__.py"


@functools.cache
def imports_of(path):
    """Modules of this project that a file imports, wherever in the file."""
    return {*found_imports(path)}


def found_imports(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{origin(node, path)}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.partition(".")[0] in ("kernels", "lessons", "tests", "benchmarks", "train"):
                yield name if name in MODULES else name.rpartition(".")[0]


def origin(node, path):
    """The module that a `from ... import` names, its dots made out."""
    if not node.level:
        return node.module
    package = path.relative_to(ROOT).parts[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


@pytest.mark.parametrize("module", MODULES)
def test_a_file_imports_only_what_its_room_may(module):
    room = room_of(module)
    for imported in imports_of(MODULES[module]):
        target = room_of(imported)
        assert target == room or target in ALLOWED[room], f"{module} imports {imported}"


def test_the_lab_imports_itself_by_relative_imports_only():
    for path in ROOT.glob("lessons/lab/**/*.py"):
        text = path.read_text(encoding="utf-8")
        imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
        assert not [node.lineno for node in imports if node.module and "lessons" in node.module]


def test_every_room_is_known():
    assert {room_of(module) for module in MODULES} == set(ALLOWED)


def test_no_file_imports_itself_by_way_of_others():
    graph = {
        module: {name for name in imports_of(path) if not is_package(name)} - {module}
        for module, path in MODULES.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
