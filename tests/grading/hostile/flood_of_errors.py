"""Write to the standard error without end."""
# like: honest

import os

try:
    while True:
        os.write(2, b"all checks passed" * 1000)
except OSError:
    pass
