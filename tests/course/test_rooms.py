"""Which files of `kernels/` a student's file may import: those that the lessons are made of."""

import pytest

from lessons.course import rooms as rooms_module
from lessons.course.lesson import Part, find_lesson
from lessons.course.rooms import kernel_modules, rooms

FILES = {
    "waves/layers.py": "from kernels.waves.sizes import WIDTH\nfrom kernels.config import TILE",
    "waves/sizes.py": "from kernels.ladder import tiles\nWIDTH = 64",
    "waves/trainer.py": "import kernels.waves.layers",
    "ladder/tiles.py": "import kernels.training.devices",
    "training/devices.py": "",
}


@pytest.fixture
def lesson(tmp_path, monkeypatch):
    for name, text in FILES.items():
        path = tmp_path / "kernels" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(rooms_module, "ROOT", tmp_path)
    parts = [Part("kernels/waves/layers.py", ["sine"]), Part("kernels/matmul.py", ["matmul"])]
    return find_lesson(1)._replace(parts=parts)


def test_a_room_gives_what_its_lesson_holds_and_what_that_imports(lesson, tmp_path):
    found = kernel_modules([lesson])
    assert sorted(found) == ["kernels.ladder.tiles", "kernels.waves.layers", "kernels.waves.sizes"]
    assert found["kernels.waves.sizes"] == tmp_path / "kernels" / "waves" / "sizes.py"
    assert [room.name for room in rooms([lesson])] == ["ladder", "waves"]
