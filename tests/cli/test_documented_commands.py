"""The documents name every command, option and environment variable, and no command that does not exist."""

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from quizapp.cli.parser import CommandParser, build_parser
from tools.site.commands import PAGE, commands_page

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "tools" / "README.md",
    *(ROOT / "docs").glob("*.md"),
]
FENCED = re.compile(r"^ *```.*?\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(quizapp [^`]+)`")
INTERNAL_VARIABLES = {"QUIZAPP_VISIBLE_DEVICES"}
"""Variables that the program sets for processes of its own."""


def commands(parser: CommandParser, *prefix: str) -> Iterator[tuple[tuple[str, ...], CommandParser]]:
    for name, command in parser.commands.items():
        yield (*prefix, name), command
        yield from commands(command, *prefix, name)


def id_of(value: object) -> str | None:
    return " ".join(value) if isinstance(value, tuple) else value.name if isinstance(value, Path) else None


def test_the_page_about_commands_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == commands_page(), (
        "run `python -m tools.site` and commit docs/commands.md; where the meaning of an argument is unclear "
        "there, write its help in quizapp/cli/parser.py"
    )


@pytest.mark.parametrize(("name", "command"), commands(build_parser()), ids=id_of)
def test_every_argument_is_on_the_page_with_its_meaning(
    name: tuple[str, ...], command: CommandParser
) -> None:
    section = re.search(
        rf"^## `quizapp {' '.join(name)}`\n(.*?)(?=^## |\Z)", commands_page(), re.DOTALL | re.MULTILINE
    )
    assert section
    for argument in command._actions:
        if isinstance(argument, argparse._HelpAction | argparse._SubParsersAction):
            continue
        typed = (argument.option_strings or [str(argument.metavar or argument.dest.upper())])[0]
        row = re.search(rf"^\| .*?`\[?{re.escape(typed)}[^|]*\| (.+) \|$", section[1], re.MULTILINE)
        assert row, f"add {typed} with CommandParser.add_argument, or to `arguments` of its command"
        assert argument.help, f"write a help for {typed} of `quizapp {' '.join(name)}`"


def test_every_environment_variable_is_documented() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    code = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "quizapp").rglob("*.py"))
    used = set(re.findall(r"\bQUIZAPP_[A-Z_]*[A-Z]\b", code)) - INTERNAL_VARIABLES
    missing = {name for name in used if not re.search(rf"`{name}\b", pages)}
    assert missing == set(), "name them in the table at the end of docs/settings.md"


def calls(text: str) -> list[str]:
    """The command lines of a shell example: from the program's name to the end, a pipe or a comment."""
    lines = "\n".join(FENCED.findall(text)).replace("\\\n", " ").splitlines()
    found = (re.match(r"\s*(?:\$ |[A-Z_]+=\S+ )*quizapp(?: ([^|>#&]*)|$)", line) for line in lines)
    return [match[1] or "" for match in found if match]


@pytest.mark.parametrize("page", PAGES, ids=id_of)
def test_every_command_line_of_an_example_parses(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for call in calls(page.read_text(encoding="utf-8")):
        try:
            build_parser().parse_args(shlex.split(call))
        except SystemExit as ended:
            if ended.code:
                pytest.fail(f"{page.name}: `quizapp {call}`: {capsys.readouterr().err}")


def test_the_examples_that_are_found() -> None:
    first = "```\n$ quizapp grade lora | less\nQUIZAPP_HOME=x quizapp  # home\n```\n"
    indented = "   ```bash\n   quizapp due\n   ```\n"
    assert calls(f"{first}quizapp in a sentence\n{indented}") == ["grade lora ", " ", "due"]


@pytest.mark.parametrize("page", PAGES, ids=id_of)
def test_every_command_and_option_that_a_sentence_names_exists(page: Path) -> None:
    parser = build_parser()
    for line in INLINE.findall(FENCED.sub("", page.read_text(encoding="utf-8")).replace("\n", " ")):
        words = line.split("|", 1)[0].split()[1:] if " | " in line else line.split()[1:]
        command = parser
        while words and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        known = words == [] or command is not parser or words[0] in {"COMMAND", "--help", "--version"}
        assert known, f"{page.name}: there is no command `{line}`"
        options = {option for word in words for option in re.findall(r"(?<!\w)--[\w-]+", word)}
        unknown = options - command._option_string_actions.keys()
        assert unknown == set(), f"{page.name}: `{line}` names an option that the command does not have"
