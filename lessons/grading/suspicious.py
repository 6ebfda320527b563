"""Remarks on a submitted file that a person should see: what no exercise needs.

Nothing is forbidden, and no point is lost. A worker can be lied to from within by a file that
wants to; it cannot do so with `numba`, `numpy` and `math` alone.
"""

import ast

USUAL_MODULES = ("__future__", "kernels", "math", "numba", "numpy", "typing")
UNUSUAL_NAMES = ("__import__", "compile", "eval", "exec", "globals", "open", "setattr", "vars")


def remarks(text):
    """Lines such as "line 3: imports ctypes, which no exercise needs"; none for most files."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    found = []
    for node in ast.walk(tree):
        for module in imported_modules(node):
            if module not in USUAL_MODULES:
                found.append((node.lineno, f"imports {module}"))
        if isinstance(node, ast.Name) and node.id in UNUSUAL_NAMES:
            found.append((node.lineno, f"uses {node.id}"))
        if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
            found.append((node.lineno, f"uses {node.attr}"))
    return [f"line {line}: {what}, which no exercise needs" for line, what in sorted(found)]


def imported_modules(node):
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "").partition(".")[0]]
    return []
