"""Requirements, container and citation: they agree with one another and with the project."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def lines_without_comments(name):
    lines = [line.strip() for line in read(name).splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def test_the_full_requirements_are_those_of_the_cpu_and_one_package():
    first, *rest = lines_without_comments("requirements.txt")
    assert first == "-r requirements-cpu.txt"
    assert [re.match("[a-z-]+", line)[0] for line in rest] == ["numba-cuda"]
    assert not any("cuda" in line for line in lines_without_comments("requirements-cpu.txt"))


def test_the_container_installs_for_the_cpu_and_runs_as_an_ordinary_user():
    steps = [line.split(maxsplit=1) for line in lines_without_comments("Dockerfile")]
    assert ["ARG", "REQUIREMENTS=requirements-cpu.txt"] in steps
    users = [argument for word, argument in steps if word == "USER"]
    installs = [argument for word, argument in steps if word == "RUN" and "pip install" in argument]
    assert users == ["learner"] and len(installs) == 1
    assert steps.index(["USER", "learner"]) < steps.index(["RUN", installs[0]])


def test_the_development_container_is_the_same_one():
    content = json.loads(read(".devcontainer/devcontainer.json"))
    assert (
        ROOT / ".devcontainer" / content["build"]["dockerfile"]
    ).resolve() == ROOT / "Dockerfile"
    assert content["remoteUser"] == "learner"


def test_what_is_cited_is_what_is_licensed():
    citation, licence = read("CITATION.cff"), read("LICENSE")
    (authors,) = re.findall(r'- name: "(.+)"', citation)
    assert authors in licence and "license: MIT-0" in citation
    (title,) = re.findall(r'^title: "(.+)"', citation, re.MULTILINE)
    assert read("README.md").startswith(f"# {title}\n")
