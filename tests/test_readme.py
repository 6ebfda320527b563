"""What the README and the other pages promise must be there: files, commands, options."""

import importlib.util
import json
import re
from pathlib import Path

import train

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FOLDERS = ("benchmarks", "kernels", "lessons", "tests")
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for folder in FOLDERS for page in sorted((ROOT / folder).rglob("*.md"))),
]
COMMANDS = [
    line
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    if not language
    for line in block.splitlines()
    if line.startswith("python ")
]
START = README.partition("\n## Start\n")[2].partition("\n## ")[0].splitlines()
TEST_COMMAND = "python -m pytest -n auto --dist loadfile"


def test_every_linked_or_listed_file_exists():
    for page in PAGES:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        links = re.findall(r"\]\(([^)#]+)\)", text)
        for link in links:
            if not link.startswith("https://"):
                assert (page.parent / link).exists(), f"{page}: {link}"


def test_every_module_that_a_page_runs_exists():
    for page in PAGES:
        for module in re.findall(r"python -m ([\w.]+)", page.read_text(encoding="utf-8")):
            a_lesson = module.replace("NN_name", "01_grayscale")  # what stands for any of them
            assert importlib.util.find_spec(a_lesson), f"{page}: python -m {module}"


def test_every_train_command_parses():
    commands = [c.split()[2:] for c in COMMANDS if c.startswith("python train.py")]
    assert len(commands) >= 4
    for arguments in commands:
        if arguments != ["--help"]:
            train.parse(arguments)


def test_the_first_commands_train_and_test(tmp_path):
    with_uv = "uv run --no-project --with-requirements requirements-cpu.txt"
    assert {f"{with_uv} train.py", f"{with_uv} {TEST_COMMAND}", TEST_COMMAND} <= {*START}
    assert sum(line.endswith("python train.py") for line in START) == 2  # bash, PowerShell
    small = ["--steps", "2", "--batch", "64", "--backend", "cpu", "--out", str(tmp_path / "run")]
    assert train.main(["--quiet", *small]) == 0


def test_ci_runs_the_test_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text().splitlines()
    installs = script.index("python -m pip install --quiet -r requirements-cpu.txt")
    assert script[installs + 1] == TEST_COMMAND


def test_the_table_of_systems_says_what_was_saved():
    page = ROOT / "benchmarks" / "README.md"
    saved = json.loads((page.parent / "results" / "h200-part-two.json").read_text())
    for number, name in ((13, "siren"), (14, "inline"), (15, "derivatives"), (16, "classifier")):
        times = {r["way"]: r["us_per_step"] for r in saved["rows"] if r["training"] == name}
        peer = min((way for way in times if way[:3] in ("PyT", "JAX")), key=times.get)
        ours, theirs = times["fused"], times[peer]
        said = f"| {ours:.3g} µs | {peer.split(',')[0]}, {theirs:.3g} µs | {theirs / ours:.2g} |"
        assert re.search(rf"^\| {number}, .*{re.escape(said)}", page.read_text("utf-8"), re.M), said
