"""Writes the page about all commands and options from the parser, so that it never lacks one."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from quizapp.cli.parser import EXAMPLES, CommandParser, build_parser

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
_HEAD = """# Commands

Every command with all its arguments. This page is written from the program by `python -m tools.site`, and a
test compares them. `quizapp` without a command opens the app; in a pipe it prints what is due.
`quizapp --version` prints the version, and `--help` (or `-h`) after a command prints what stands here.
[Using quizapp](using.md) explains the app and the [exit codes](using.md#exit-codes).
"""


def commands_page() -> str:
    """The text of ``docs/commands.md``."""
    return "\n".join([_HEAD, *_sections(build_parser(), "quizapp")]).rstrip("\n") + "\n"


def _sections(parser: CommandParser, prefix: str) -> Iterator[str]:
    for name, command in parser.commands.items():
        yield f"## `{prefix} {name}`\n"
        yield f"{command.description}\n"
        arguments = [_row(argument) for argument in command.arguments if argument.dest != "help"]
        if arguments:
            yield "| argument | meaning |\n| --- | --- |"
            yield "\n".join(arguments) + "\n"
        if name in EXAMPLES:
            line, meaning = EXAMPLES[name]
            call = line if line.startswith("eval") else f"quizapp {line}"
            yield f"```\n{call}    # {meaning}\n```\n"
        yield from _sections(command, f"{prefix} {name}")


def _row(argument: argparse.Action) -> str:
    """A row of the table: the argument as it is typed, and its help with the choices and the default."""
    text = (argument.help or "").replace("|", "\\|")
    choices = [str(choice) for choice in argument.choices or ()]
    if choices and not all(choice in text for choice in choices):
        text += ("; " if text else "") + "one of " + ", ".join(f"`{choice}`" for choice in choices)
    has_default = isinstance(argument.default, int | float | str) and not isinstance(argument.default, bool)
    if argument.option_strings and has_default and "default" not in text:
        text += f"; default: {argument.default}"
    typed = ", ".join(f"`{spelling}`" for spelling in _typed(argument))
    return f"| {typed} | {text} |"


def _typed(argument: argparse.Action) -> list[str]:
    takes_value = argument.nargs != 0
    value = str(argument.metavar or (argument.dest.upper() if takes_value else ""))
    if not argument.option_strings:
        shapes = {"?": f"[{value}]", "*": f"[{value} ...]", "+": f"{value} ..."}
        return [shapes.get(str(argument.nargs), value)]
    if not takes_value:
        return list(argument.option_strings)
    value = f"[{value}]" if argument.nargs == "?" else value
    return [f"{option} {value}" for option in argument.option_strings]
