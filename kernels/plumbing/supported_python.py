"""Which Pythons this project runs on. Importing this file says so on any other one.

Command lines import it first. It must stay readable to Pythons that are too old for the rest.
"""

import platform
import sys

LOWEST, HIGHEST = (3, 10), (3, 13)
SUPPORTED = "Python {}.{} to {}.{}".format(*LOWEST, *HIGHEST)


def require_supported_python(version):
    """End the program on a Python that is too old; on one that is too new, say so and go on."""
    if version < LOWEST:
        sys.exit(f"error: this needs {SUPPORTED}, and here runs Python {platform.python_version()}")
    if version > HIGHEST:
        running = platform.python_version()
        print(f"tested on {SUPPORTED}; Python {running} may not do", file=sys.stderr)


require_supported_python(sys.version_info[:2])
