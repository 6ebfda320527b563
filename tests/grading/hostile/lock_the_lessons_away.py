"""Change modes, owners and times of the lessons."""
# like: honest

import os
from pathlib import Path

import lessons

for path in sorted(Path(lessons.__file__).parent.glob("*")):
    for action in (
        lambda p: os.utime(p, (1, 1)),
        lambda p: os.chmod(p, 0o700),
        lambda p: os.setxattr(p, "user.x", b"1"),
    ):
        try:
            action(path)
        except OSError:
            pass
