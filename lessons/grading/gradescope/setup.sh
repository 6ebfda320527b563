#!/usr/bin/env bash
# Gradescope runs this once, when it builds the machine that grades.
set -euo pipefail
home="${AUTOGRADER:-/autograder}"
python="${PYTHON:-python3}"
if ! "$python" -c "import ensurepip" 2> /dev/null; then
    apt-get update
    apt-get install -y python3 python3-venv
fi
"$python" -m venv "$home/venv"
"$home/venv/bin/python" -m pip install --no-cache-dir -r "$home/source/requirements-cpu.txt"
