"""An incident in the report: the diagnosis beside the right one, and the readings that were bought."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from quizapp.interview.report.svg import sideways
from quizapp.interview.report.text import clock
from quizapp.interview.session.incident_snapshot import cheapest_text, committed, readings_bought


def as_text(item: Mapping[str, Any]) -> Iterator[str]:
    """For `quizapp mock --explain`."""
    for name, said, right, held in committed(item):
        yield f"    {name}: {said or 'nothing said'}{_verdict(right, held)}"
    for row in readings_bought(item):
        said = f"predicted {row['predicted']}, " if row["predicted"] else ""
        yield f"    bought {row['title']} ({row['seconds']} s): {said}was {row['outcome']}"
    yield f"    cheapest path: {cheapest_text(item['question'])}"


def _verdict(right: str, held: float | None) -> str:
    return " (right)" if held == 1 else f" (right is: {right})" if right else ""


def as_markdown(item: Mapping[str, Any], absent: str) -> Iterator[str]:
    """Two tables: diagnosis, readings; ``absent`` stands where nothing was said."""
    yield "| | said | right |"
    yield "| --- | --- | --- |"
    for name, said, right, held in committed(item):
        yield f"| {name} | {_cell(said) or absent} | {'as said' if held == 1 else _cell(right)} |"
    yield ""
    bought = list(readings_bought(item))
    if bought:
        yield "| reading | at | price | predicted | was | |"
        yield "| --- | ---: | ---: | --- | --- | --- |"
        for row in bought:
            sign = {True: " ✓", False: " ✗"}.get(row["right"], "")
            yield (
                f"| {row['title']} | {clock(row['at_ms'])} | {row['seconds']} s | {row['predicted']} "
                f"| {row['outcome']}{sign} | {_cell(row['shows'])} |"
            )
    else:
        yield "No reading was bought."
    yield ""
    yield f"Cheapest path: {cheapest_text(item['question'])}. Hints taken: {item['hints']}."
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def as_html(item: Mapping[str, Any], absent: str) -> Iterator[str]:
    """The same two tables; ``absent`` stands where nothing was said."""
    rows = "".join(
        f'<tr><th scope="row">{escape(name.capitalize())}</th><td>{escape(said) or absent}</td>'
        f"<td>{'as said' if held == 1 else escape(right)}</td></tr>"
        for name, said, right, held in committed(item)
    )
    heads = _heads("What", "Said", "Right")
    yield _wide(item, "Diagnosis", f"{heads}<tbody>{rows}</tbody>")
    bought = list(readings_bought(item))
    if bought:
        heads = _heads("Reading", "At", "Price", "Predicted", "Was", "Numbers")
        rows = "".join(
            f'<tr><th scope="row">{escape(row["title"])}</th><td>{clock(row["at_ms"])}</td>'
            f"<td>{row['seconds']} s</td><td>{escape(row['predicted'])}</td>"
            f"<td>{escape(row['outcome'])} {_sign(row['right'])}</td><td>{escape(row['shows'])}</td></tr>"
            for row in bought
        )
        yield _wide(item, "Readings bought", f"{heads}<tbody>{rows}</tbody>")
    cheapest = escape(cheapest_text(item["question"]))
    yield f'<p class="dim">Cheapest path: {cheapest}. Hints taken: {item["hints"]}.</p>'


def _wide(item: Mapping[str, Any], caption: str, body: str) -> str:
    label = f"{caption}, item {item['number'] + 1}"
    return sideways(label, f'<table class="many"><caption>{caption}</caption>{body}</table>')


def _heads(*names: str) -> str:
    cells = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f"<thead><tr>{cells}</tr></thead>"


def _sign(right: bool | None) -> str:
    if right is None:  # a redacted prediction
        return ""
    name, sign, word = ("yes", "✓", "right") if right else ("no", "✗", "otherwise")
    return f'<span class="{name}"><span aria-hidden="true">{sign}</span> {word}</span>'
