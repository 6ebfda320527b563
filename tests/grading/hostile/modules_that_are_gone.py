"""Empty the table of modules."""
# like: honest

import sys

for name in ("json", "numpy", "lessons.grading.exchange.protocol", "traceback"):
    sys.modules[name] = None
for name in list(sys.modules):
    if name.startswith(("lessons", "kernels", "numba")):
        del sys.modules[name]
