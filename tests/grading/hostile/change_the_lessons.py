"""Write into lesson.toml, the references and the checks."""
# like: honest

from pathlib import Path

import lessons

root = Path(lessons.__file__).parent
for path in (root / "01_grayscale" / "lesson.toml", root / "reference.py", root / "conftest.py"):
    for action in (lambda p: open(p, "a").write("# changed"), Path.unlink, lambda p: p.rename("x")):
        try:
            action(path)
        except OSError:
            pass
