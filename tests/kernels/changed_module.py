"""Fused kernels with one place of their source changed: what happens without it?"""

import importlib.util
import sys
from pathlib import Path

import kernels.fast


def changed_module(monkeypatch, tmp_path, wanted, file, old, new):
    """Module `wanted` of the package, with one place of one file's source changed."""
    source = (Path(kernels.fast.__file__).parent / f"{file}.py").read_text(encoding="utf-8")
    assert source.count(old) == 1
    path = tmp_path / f"{file}.py"
    path.write_text(source.replace(old, new), encoding="utf-8")
    name = f"kernels.fast.{file}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    if file == wanted:
        return module
    again = importlib.util.module_from_spec(importlib.util.find_spec(f"kernels.fast.{wanted}"))
    again.__spec__.loader.exec_module(again)
    return again
