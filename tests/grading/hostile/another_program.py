"""Start a program that goes on alone."""
# like: honest

import subprocess

try:
    subprocess.Popen(["sleep", "600"], start_new_session=True)
except OSError:
    pass
