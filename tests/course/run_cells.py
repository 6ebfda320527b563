"""Run the code cells of a notebook in order, without Jupyter, and tell what each of them shows.

    python run_cells.py NOTEBOOK.ipynb SHOWN.json

As in Jupyter, all cells share their names, the value of a cell's last expression is shown, and the
text of a cell can be found again. SHOWN.json becomes a list with one entry per code cell:
{"text": repr of the value or "", "html": its HTML or ""}.
"""

import ast
import json
import linecache
import sys
from pathlib import Path


def main():
    notebook = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names = {"__name__": "__main__"}
    shown = [run(text, f"<cell {number}>", names) for number, text in enumerate(cells, 1)]
    Path(sys.argv[2]).write_text(json.dumps(shown), encoding="utf-8")


def run(text, filename, names):
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    tree = ast.parse(text, filename)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, filename, "exec"), names)
    if last is None:
        return {"text": "", "html": ""}
    value = eval(compile(ast.Expression(last.value), filename, "eval"), names)
    html = value._repr_html_() if hasattr(value, "_repr_html_") else ""
    return {"text": "" if value is None else repr(value), "html": html}


if __name__ == "__main__":
    main()
