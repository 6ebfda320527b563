"""Which Pythons this project runs on, and with which packages. Importing this file looks at both.

Command lines import it first. It must stay readable to Pythons that are too old for the rest.
"""

import importlib.util
import os
import platform
import shlex
import shutil
import sys

LOWEST, HIGHEST = (3, 10), (3, 15)
SUPPORTED = "Python {}.{} to {}.{}".format(*LOWEST, *HIGHEST)
TOML = ["tomli"] if sys.version_info < (3, 11) else []
MODULES = ["numpy", "numba", "imageio", "PIL", "tqdm", *TOML]  # without these, nothing runs
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def require_supported_python(version):
    """End the program on a Python that is too old; on one that is too new, say so and go on."""
    if version < LOWEST:
        running = platform.python_version()
        sys.exit(f"error: this needs {SUPPORTED}, and here runs Python {running}; with uv: -p 3.13")
    if version > HIGHEST:
        running = platform.python_version()
        print(f"made for {SUPPORTED}; Python {running} may not do", file=sys.stderr)


def require_packages(modules=MODULES):
    """End the program in one line that says what to type, if a module cannot be found."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"error: not installed: {', '.join(missing)}. Type: {how_to_install()}")


def how_to_install():
    """One line for the shell that installs what is missing, and then runs this command again."""
    # As small as it can be: 90 MB, and 290 where there is a GPU.
    name = "requirements.txt" if shutil.which("nvidia-smi") else "requirements-cpu.txt"
    requirements = name if os.getcwd() == ROOT else os.path.join(ROOT, name)
    again = sys.orig_argv[1:]
    if shutil.which("uv"):
        return shlex.join(
            ["uv", "run", "--no-project", "--with-requirements", requirements, "python", *again]
        )
    python = sys.executable
    steps = []
    if sys.prefix == sys.base_prefix:
        # The system's own Python refuses packages on Debian, say: it is "externally managed".
        if importlib.util.find_spec("ensurepip") is None:
            steps.append(["sudo", "apt", "install", "python3-venv"])
        steps.append([python, "-m", "venv", ".venv"])
        python = os.path.join(".venv", *(["Scripts"] if os.name == "nt" else ["bin"]), "python")
    steps.append([python, "-m", "pip", "install", "-r", requirements])
    steps.append([python, *again])
    if os.name == "nt":  # older PowerShells know no "&&", and none runs a program that is in quotes
        return "; ".join(map(" ".join, steps))
    return " && ".join(map(shlex.join, steps))


require_supported_python(sys.version_info[:2])
require_packages()
