"""What interview mode shows of an exercise: the briefs, the interface, and a starter without docstrings."""

import ast

from quizapp.bank.model import Stage

_CODE = "```"
_HEADING = "\n## "


def interface_section(prompt: str) -> str:
    """The part of a prompt that fixes names, shapes and formulas: from its first code to the first heading.

    The title and the introduction before it say what to write, and the sections after it say what the hidden
    tests check; in interview mode the briefs do both. The whole prompt if it has another form.
    """
    body = prompt.partition(_HEADING)[0]
    start = body.find(_CODE)
    return body[start:].strip() if start >= 0 else prompt.strip().partition("\n")[2].strip()


def stage_heading(stage: Stage, number: int) -> str:
    """``Stage 2: inject (8 minutes)``; how many stages there are is not told, as in an interview."""
    return f"Stage {number}: {stage.name} ({stage.minutes} minute{'' if stage.minutes == 1 else 's'})"


def stage_task(prompt: str, shown: tuple[Stage, ...]) -> str:
    """The task in Markdown while the stages ``shown`` are asked: the newest brief, interface, older briefs.

    An exercise without stages of its own has one without a brief, and shows its whole prompt.
    """
    if not any(stage.brief for stage in shown):
        return prompt.strip()
    title = prompt.strip().partition("\n")[0]
    briefs = [f"**{stage_heading(stage, number)}.** {stage.brief}" for number, stage in enumerate(shown, 1)]
    parts = [title, briefs[-1], "## Interface", interface_section(prompt)]
    if len(briefs) > 1:
        parts += ["## Asked before", *reversed(briefs[:-1])]
    return "\n\n".join(parts)


def without_docstrings(source: str) -> str:
    """The same program without its docstrings; comments and layout stay. Raises `SyntaxError`.

    A body that consists of its docstring gets ``...`` instead.
    """
    lines = source.split("\n")
    # From the end, so that the line numbers above stay right.
    for docstring, is_only in sorted(_docstrings(ast.parse(source)), key=lambda found: -found[0].lineno):
        first, last = docstring.lineno - 1, docstring.end_lineno or docstring.lineno
        before = lines[first].encode()[: docstring.col_offset].decode()
        after = lines[last - 1].encode()[docstring.end_col_offset :].decode().removeprefix(";").lstrip()
        rest = "..." if is_only and not after else after
        keep = [before + rest] if rest or before.strip() else []
        while not keep and last < len(lines) and not lines[last].strip():
            last += 1  # the blank lines below a docstring belong to it
        lines[first:last] = keep
    return "\n".join(lines)


def _docstrings(tree: ast.Module) -> list[tuple[ast.Expr, bool]]:
    """Each docstring of a module, and whether it is all that its body holds."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        match node.body:
            case [ast.Expr(ast.Constant(str())) as first, *others]:
                found.append((first, not others and not isinstance(node, ast.Module)))
    return found
