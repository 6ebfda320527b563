"""The lab's command line: `python -m lessons.lab run SCRIPT.py`."""

import gc
import sys
from collections.abc import Sequence

from . import __version__, loading
from .errors import InputError

PROGRAM = f"python -m {__package__}"
USAGE = f"""usage: {PROGRAM} run SCRIPT.py ...   run a script for a GPU without one, and check it
       {PROGRAM} run --help
       {PROGRAM} example [PICTURE.png]   a kernel with a bug, repaired, measured and drawn
       {PROGRAM} --version"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0, 1 if anything was found, 2 for a command that cannot be used."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    if given == ["--version"]:
        print(f"twothreads {__version__}")
        return 0
    command, *rest = given
    try:
        if command == "run":
            with loading():
                from .host.command import main as run

            return run(PROGRAM, rest)
        if command == "example":
            from .example import main as example

            return example(rest)
        raise InputError(f"there is no command {command}; there are run and example")
    except InputError as error:
        print("error:", " ".join(str(error).splitlines()), file=sys.stderr)
        return 2


def end(status: int) -> None:
    """Python looks through all objects several times before it ends: once is enough."""
    gc.collect()  # what the script has left: its files are written, too
    gc.freeze()
    sys.exit(status)


if __name__ == "__main__":
    end(main())
