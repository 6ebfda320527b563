"""`run SCRIPT`: run somebody's script for a GPU without one, and tell what was found."""

import argparse
import contextlib
import gc
import os
import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from io import BufferedWriter, TextIOWrapper
from pathlib import Path

from ..dimensions import dim3_text
from ..errors import InputError, OneLineParser
from ..files import refuse_foreign, write_whole
from ..simulator.findings import KINDS, wanted_kinds
from ..simulator.foretell.model import gpu_named
from ..simulator.options import BUDGET
from ..source import file_label
from .instead_of_gpu import instead_of_gpu
from .places import is_users
from .session import Session

EXIT_FOUND, EXIT_USAGE, EXIT_NOTHING, EXIT_INTERRUPTED = 1, 2, 6, 130


def main(program: str, arguments: Sequence[str]) -> int:
    """The exit status: that of the script, but 1 if it is 0 and there are problems.

    It is 6 if the script ends with 0 or an exception, and nothing was checked.

    program: what the command line begins with. Raises `InputError` for options that cannot be used.
    """
    options = parse(program, arguments)
    with instead_of_gpu(
        options.native,
        options.budget,
        kinds=options.only or None,
        without=options.without,
        quiet=True,
        record=bool(options.html),
        devices=options.devices,
        baseline=options.baseline,
        update_baseline=options.update_baseline,
        predict=options.predict,
    ) as session:
        status = run_script(options)
    refuse_all_foreign(options)  # the script may have written one of them
    for path, text in ((options.json, session.as_json), (options.sarif, session.as_sarif)):
        if path:
            write_text(path, text())
    if options.html and session.recorded:
        session.html(options.html)
    tell(session, options.advice)
    if status in (0, 1) and session.ok and not session.launches:
        return EXIT_NOTHING
    return status or (0 if session.ok else EXIT_FOUND)


def parse(program: str, arguments: Sequence[str]) -> argparse.Namespace:
    parser = OneLineParser(
        prog=f"{program} run",
        description="Run a Python script that uses numba.cuda on a machine without a GPU. Each "
        "kernel that it launches is checked; so is the order of copies, streams and the host's "
        "own reads. Exit status 1 if anything is found, 6 if "
        "nothing was launched, and so nothing checked.",
    )
    add = parser.add_argument
    # fmt: off
    add("-m", dest="module", metavar="MODULE", help="run a module, as python -m does, "
        "in place of a script (default: the script)")
    add("--native", action="store_true",
        help="compile kernels for the CPU, for large inputs; this finds only indices outside an "
        "array (default: check everything)")
    add("--budget", type=int, default=BUDGET, metavar="N",
        help=f"rounds of loops before a kernel counts as endless (default: {BUDGET:,})")
    add("--without", type=kinds, default=(), metavar="KINDS",
        help=f"kinds of findings to leave out, with commas: {', '.join(KINDS)} (default: none)")
    add("--only", type=kinds, default=(), metavar="KINDS",
        help="kinds of findings to keep, with commas (default: all)")
    add("--baseline", metavar="FILE",
        help="a file of findings that are accepted (default: none; comments such as "
        "`# lab: allow race - the reason` on the line accept, too)")
    add("--update-baseline", action="store_true",
        help="write what is found into the baseline (default: do not)")
    add("--devices", type=int, default=1, metavar="N", help="how many GPUs there are (default: 1)")
    add("--advice", action="store_true",
        help="tell also what is right and slow (default: only count it)")
    add("--predict", metavar="GPU", default="",
        help="tell what each launch would take on a GPU, such as H200 (default: do not)")
    add("--json", metavar="FILE", help="write the findings as JSON (default: do not)")
    add("--sarif", metavar="FILE",
        help="write the findings as SARIF, for pull requests (default: do not)")
    add("--html", metavar="FILE",
        help="write a replay of the first launch with problems, a page for a browser (default: do "
        "not)")
    add("script", nargs="?", metavar="SCRIPT.py", help="the script to run")
    add("arguments", nargs=argparse.REMAINDER, metavar="...",
        help="what the script itself is given (default: nothing)")
    # fmt: on
    options = parser.parse_args(arguments)
    if options.module:
        given = [options.script] if options.script is not None else []
        options.arguments = given + options.arguments
    elif options.script is None:
        raise InputError(f"which script? Write {program} run SCRIPT.py")
    elif not Path(options.script).is_file():
        raise InputError(f"there is no file {options.script}")
    if options.predict:
        gpu_named(options.predict)
    if options.predict and options.native:
        raise InputError("--predict counts what --native does not count: take one of them")
    refuse_all_foreign(options)
    own = {f"--{name}".replace("_", "-") for name in vars(options)}
    behind = [given for given in options.arguments if given.partition("=")[0] in own]
    if behind:
        print(
            f"note: the script is given {' '.join(behind)}, for it stands behind its name: options "
            "of the lab stand before it",
            file=sys.stderr,
        )
    for name in ("budget", "devices"):
        if getattr(options, name) < 1:
            raise InputError(f"--{name} must be 1 or more, not {getattr(options, name)}")
    return options


def refuse_all_foreign(options: argparse.Namespace) -> None:
    given = [options.json, options.sarif, options.html]
    named = [os.path.abspath(path) for path in given if path]
    if len(set(named)) < len(named):
        raise InputError("--json, --sarif and --html need a file each")
    for kind, path in zip(("json", "sarif", "html"), given, strict=True):
        refuse_foreign(kind, path)


def kinds(text: str) -> tuple[str, ...]:
    listed = tuple(part.strip() for part in text.split(",") if part.strip())
    try:
        wanted_kinds(None, listed)
    except ValueError as error:
        raise InputError(f"--without and --only: {error}") from None
    return listed


# ---------------------------------------------------------------- running it


def run_script(options: argparse.Namespace) -> int:
    """Its exit status. Errors of the script are shown as Python shows them."""
    with command_line(options):
        try:
            if options.module:
                runpy.run_module(options.module, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(options.script, run_name="__main__")
        except SystemExit as end:
            return exit_status(end)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return EXIT_INTERRUPTED
        except InputError as error:
            print(f"error: {place_of(error)}{error}", file=sys.stderr)
            return EXIT_USAGE
        except BaseException as error:
            print_error(error)
            return 1
    return 0


@contextlib.contextmanager
def command_line(options: argparse.Namespace) -> Iterator[None]:
    """`sys.argv` and `sys.path` as the script would find them."""
    argv, path = sys.argv, list(sys.path)
    sys.argv = [options.module or options.script, *options.arguments]
    folder = os.getcwd() if options.module else str(Path(options.script).resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.argv, sys.path[:] = argv, path
        write_open_files()


def write_open_files() -> None:
    """What a script has not closed is written, as at the end of Python: later it would be lost."""
    for one in gc.get_objects():
        if type(one) in (TextIOWrapper, BufferedWriter) and not one.closed:
            with contextlib.suppress(OSError, ValueError):
                one.flush()


def exit_status(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code
    print(end.code, file=sys.stderr)
    return 1


def print_error(error: BaseException) -> None:
    """A traceback of the script's own lines."""
    found = traceback.TracebackException.from_exception(error)
    own = [frame for frame in found.stack if is_users(frame.filename) and not runs_it(frame)]
    if own:
        found.stack = traceback.StackSummary.from_list(own)
    print("".join(found.format()), end="", file=sys.stderr)


def runs_it(frame: traceback.FrameSummary) -> bool:
    return frame.filename == runpy.__file__ or "runpy" in frame.filename


def place_of(error: BaseException) -> str:
    """ "script.py, line 3: ": where in the script an error came up."""
    own = [f for f in traceback.extract_tb(error.__traceback__) if is_users(f.filename)]
    own = [frame for frame in own if not runs_it(frame)]
    return f"{file_label(own[-1].filename)}, line {own[-1].lineno}: " if own else ""


# ---------------------------------------------------------------- telling


def tell(session: Session, with_advice: bool) -> None:
    sys.stdout.flush()
    print("\n".join([session.summary(with_advice), *session.gone()]))
    for (name, grid, block), found in session.foretold.items():
        shape = f"{name}[{dim3_text(grid)}, {dim3_text(block)}]"
        print(shape + (f", the last of {len(found)}" if len(found) > 1 else "") + f": {found[-1]}")
    if session.advice and not with_advice:
        lines = "1 line" if len(session.advice) == 1 else f"{len(session.advice)} lines"
        print(f"{lines} could be faster; --advice tells how")


def write_text(path: str, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()))
