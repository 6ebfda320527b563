"""Folders without rights, links in circles, names that are no text."""
# like: honest

import os

for depth in range(5):
    name = b"\xff\n" + b"x" * 200
    try:
        os.mkdir(name)
        os.symlink(b".", name + b"/itself")
        with open(name + b"/file", "wb") as file:
            file.write(b"left_by_a_student")
        os.chdir(name)
    except OSError:
        break
os.mkdir("closed", 0o300)
os.mkdir("closed/closed", 0o300)
with open("closed/closed/file", "wb"):
    pass
os.umask(0o777)
