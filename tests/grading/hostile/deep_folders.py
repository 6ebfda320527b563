"""Folders in folders, deeper than what removes them can go."""
# like: honest

import os

for _ in range(3000):
    try:
        os.mkdir("d")
        os.chdir("d")
    except OSError:
        break
