"""Kernels in a notebook: what to call the cell that one was written in."""

import re
import sys
from pathlib import Path

# IPython's own names for cells: in a terminal, and in a notebook.
NUMBERED_CELL = re.compile(r"<ipython-input-(\d+)-\w+>")
UNNUMBERED_CELL = re.compile(r"ipykernel_\d+[/\\]\d+\.py")


def file_label(filename: str) -> str:
    """What messages call a source file: its name without folders, or "cell 3" in a notebook."""
    numbered = NUMBERED_CELL.fullmatch(filename) or re.fullmatch(
        r"In\[(\d+)\]", name_by_ipython(filename)
    )
    if numbered:
        return f"cell {numbered[1]}"
    if UNNUMBERED_CELL.search(filename):
        return "a cell of this notebook"
    return Path(filename).name


def name_by_ipython(filename: str) -> str:
    """ "In[3]" for the file that stands for a cell; "" without IPython, or for other files."""
    ipython = sys.modules.get("IPython")  # never loaded for this: it is slow, and often missing
    shell = ipython.get_ipython() if ipython else None
    format_code_name = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = format_code_name(filename) if format_code_name else None
    return found[1] if found else ""
