"""What a terminal can show: colours, ticks, its width; and single keys that are pressed in it."""

import os
import select
import shutil
import sys
import time

if sys.platform == "win32":
    import msvcrt
else:
    import termios
    import tty

COLOUR_CHOICES = ("auto", "always", "never")
USUAL_WIDTH, LEAST_WIDTH = 96, 40
GREEN, RED, YELLOW = 32, 31, 33
MARKS = {"passed": (GREEN, "✓"), "skipped": (YELLOW, "-")}
FAILED = (RED, "✗")


def is_coloured(choice: str) -> bool:
    """Whether to print in colours. choice: of `COLOUR_CHOICES`."""
    if choice != "auto":
        return choice == "always"
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and sys.stdout.isatty()


def status_label(status: str, choice: str) -> str:
    """How a check ended, 8 characters wide; with a tick and a colour where they are wanted."""
    label = f"{status:<8}"
    if not is_coloured(choice):
        return label
    colour, mark = MARKS.get(status, FAILED)
    if "utf" in (sys.stdout.encoding or "").lower():
        label = f"{mark} {label}"
    return f"\033[{colour}m{label}\033[0m"


def width() -> int:
    """Characters that fit into a line; the usual number where there is no terminal."""
    if not sys.stdout.isatty():
        return USUAL_WIDTH
    return max(LEAST_WIDTH, shutil.get_terminal_size((USUAL_WIDTH, 24)).columns - 1)


class Keys:
    """In a `with` block, tells single keys, without Enter; none where no keyboard is read."""

    def __enter__(self) -> "Keys":
        self.readable = sys.stdin.isatty()
        if self.readable and sys.platform != "win32":
            self.descriptor = sys.stdin.fileno()
            self.before = termios.tcgetattr(self.descriptor)
            tty.setcbreak(self.descriptor)  # Ctrl-C stays what it is
        return self

    def __exit__(self, *exception: object) -> None:
        if self.readable and sys.platform != "win32":
            termios.tcsetattr(self.descriptor, termios.TCSADRAIN, self.before)

    def pressed(self, seconds: float) -> str:
        """The key that is pressed within so many seconds, as a small letter; "" if none is."""
        if not self.readable:
            time.sleep(seconds)
            return ""
        if sys.platform == "win32":
            time.sleep(seconds)
            return msvcrt.getwch().lower() if msvcrt.kbhit() else ""
        if not select.select([self.descriptor], [], [], seconds)[0]:
            return ""
        key = os.read(self.descriptor, 1)
        if not key:  # the terminal has gone
            time.sleep(seconds)
        return key.decode("ascii", "replace").lower()
