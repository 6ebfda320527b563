"""What `--help` says: every option is described, its default is told, allowed values are named."""

import argparse
import importlib
import re

import pytest

import train
from lessons import __main__ as tool
from lessons.course.lesson import LESSONS
from lessons.lab import example

COMMANDS = [path.parent.name for path in sorted(LESSONS.glob("[0-9]*/__main__.py"))]


def parse_of(lesson):
    """The parser of a lesson's own command."""
    return lambda arguments: importlib.import_module(f"lessons.{lesson}.__main__").COMMAND.parse(
        arguments
    )


def parser_of(parse, monkeypatch):
    """The parser that `parse` makes."""
    made = []

    def keep(parser, *_):
        made.append(parser)
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", keep)
        with pytest.raises(InterruptedError):
            parse([])
    return made[0]


def commands_of(parser):
    """The parser itself and those of its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from commands_of(command)


@pytest.fixture(
    params=[train.parse, tool.parse, example.parse, *map(parse_of, COMMANDS)],
    ids=["train", "lessons", "example", *COMMANDS],
)
def options(request, monkeypatch):
    """(name, action) of every option and argument of a program."""
    return [
        (f"{command.prog} {action.dest}", action)
        for command in commands_of(parser_of(request.param, monkeypatch))
        for action in command._actions
        if not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction))
    ]


def test_every_option_is_described(options):
    for name, action in options:
        assert action.help and len(action.help) > 10, name


def test_defaults_are_told_in_words(options):
    """Not as Python writes them: no None, no False, no tuple."""
    for name, action in options:
        if action.required or name.endswith(("render", "report")):
            continue
        assert "default:" in action.help, name
        assert not re.search(r"None|True|False|\(\d+, \d+\)|%\(", action.help), name


def test_allowed_values_are_named(options):
    for name, action in options:
        for choice in action.choices or ():
            assert str(choice) in action.help, f"{name}: {choice}"


def test_the_help_of_the_example_is_help(capsys):
    with pytest.raises(SystemExit) as ended:
        example.main(["--help"])
    assert ended.value.code == 0
    assert "PICTURE.png" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, words",
    [(["--loud"], "--loud"), (["a.png", "b.png"], "b.png"), (["a.txt"], "must end in .png")],
)
def test_a_bad_argument_of_the_example_is_one_line(capsys, arguments, words):
    assert example.main(arguments) == 2
    printed, error = capsys.readouterr()
    assert printed == "" and words in error and error.count("\n") == 1


def test_the_example_draws(tmp_path, capsys):
    assert example.main([str(tmp_path / "new" / "accesses.png")]) == 0
    assert "race" in capsys.readouterr().out
    assert (tmp_path / "new" / "accesses.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "new" / "accesses.html").read_bytes()[:15] == b"<!doctype html>"
