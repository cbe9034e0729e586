"""Shell completion scripts, made from the argument parser."""

import argparse
import json


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The completion script for ``shell``: bash, zsh or fish."""
    table = _table(parser)
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](table)


def _table(parser: argparse.ArgumentParser) -> dict[str, tuple[str, list[str]]]:
    """Command to help text and the words that may follow."""
    table: dict[str, tuple[str, list[str]]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                words = [flag for a in command._actions for flag in a.option_strings if flag.startswith("--")]
                words += [str(c) for a in command._actions for c in (a.choices or ()) if not a.option_strings]
                table[name] = (helps.get(name, ""), words)
    return table


_SLUGS = "quizapp exercise 2>/dev/null | cut -d' ' -f1"
_IDS = "quizapp questions 2>/dev/null | cut -d' ' -f1"
_RUNS = "quizapp incident 2>/dev/null | cut -d' ' -f1"


def _bash(table: dict[str, tuple[str, list[str]]]) -> str:
    cases = "\n".join(
        f'    {name}) words="{" ".join(words)}{_dynamic(name)}" ;;' for name, (_, words) in table.items()
    )
    return f"""_quizapp() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words
  if [ "$COMP_CWORD" -eq 1 ]; then words="{" ".join(table)} --version --help"; else
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}}
complete -F _quizapp quizapp
"""


def _dynamic(name: str) -> str:
    command = {
        "exercise": _SLUGS, "grade": _SLUGS, "show": _IDS, "answer": _IDS, "incident": _RUNS,
    }.get(name)  # fmt: skip
    return f" $({command})" if command else ""


def _zsh(table: dict[str, tuple[str, list[str]]]) -> str:
    return "#compdef quizapp\nautoload -U +X bashcompinit && bashcompinit\n" + _bash(table)


def _fish(table: dict[str, tuple[str, list[str]]]) -> str:
    lines = []
    for name, (text, words) in table.items():
        lines.append(f"complete -c quizapp -n __fish_use_subcommand -a {name} -d {json.dumps(text)}")
        for word in words:
            flag = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            lines.append(f"complete -c quizapp -n '__fish_seen_subcommand_from {name}' {flag}")
        if _dynamic(name):
            source = _dynamic(name).strip().removeprefix("$")
            lines.append(f"complete -c quizapp -n '__fish_seen_subcommand_from {name}' -a \"{source}\"")
    return "\n".join(lines) + "\n"
