"""Memory in files without a name, which no limit of a process counts."""
# like: honest

import os

files = []
try:
    for _ in range(64):
        files.append(os.memfd_create("left_by_a_student"))
        os.write(files[-1], bytes(1 << 22))
except OSError:
    pass
