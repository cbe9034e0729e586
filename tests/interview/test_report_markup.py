"""Markdown of questions and answers in the HTML report: shown as written, and nothing in it runs or loads."""

import re

import pytest

from quizapp.interview.report.html import as_html
from tests.interview.reports import report_with
from tests.interview.test_report import Page


def page(answer: str, prompt: str = "Why?") -> str:
    item = {"question": {"prompt": prompt, "answer": answer}}
    return (
        as_html(report_with(items=[item])).partition("<h4>A strong answer</h4>")[2].partition("<p class=")[0]
    )


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("A **bold** word", "<p>A <strong>bold</strong> word</p>"),
        ("*It* and `code`", "<p><em>It</em> and <code>code</code></p>"),
        ("1. first\n2. second", "<ol>\n<li>first</li>\n<li>second</li>\n</ol>"),
        ("Steps:\n\n- one\n- two", "<ul>\n<li>one</li>\n<li>two</li>\n</ul>"),
        ("> quoted\n> twice", "<blockquote>\n<p>quoted\ntwice</p>\n</blockquote>"),
        (
            "```python\nif a < b:\n    x = 1\n```",
            '<pre><code class="language-python">if a &lt; b:\n    x = 1\n',
        ),
        ("m*v_t* and grad_norm_", "m<em>v_t</em> and grad_norm_"),
        ("a line\\\nbroken", "a line<br />\nbroken"),
    ],
)
def test_markdown_is_shown_as_written(markdown: str, html: str) -> None:
    assert html in page(markdown)


def test_a_table_is_read_out_by_its_heads_and_scrolls_by_itself() -> None:
    shown = page("| a | b |\n| --- | ---: |\n| 1 | 2 |")
    assert 'role="group" tabindex="0"' in shown
    assert "<caption>" in shown
    assert [attrs["scope"] for attrs in Page(shown).all("th")] == ["col", "col"]
    assert "<td" in shown


def test_a_heading_in_an_answer_does_not_join_the_outline_of_the_page() -> None:
    shown = page("# Title\n\nText\n====\n")
    assert "<h1" not in shown
    assert "<p><strong>Title</strong></p>" in shown


HOSTILE = (
    "<script>alert(1)</script>",
    "a <img src=x onerror=alert(1)> b",
    "[click](javascript:alert(1))",
    "[click](https://example.org 'title')",
    "![picture](https://example.org/x.png)",
    "<https://example.org>",
    "[ref]\n\n[ref]: javascript:alert(1)",
    "```html\n</code></pre><script>alert(1)</script>\n```",
    "`<b onclick=alert(1)>`",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_an_answer_runs_or_loads(text: str) -> None:
    whole = as_html(report_with(items=[{"question": {"prompt": text, "answer": text}, "typed": text}]))
    strict = Page(whole)
    assert strict.open == []
    tags = {tag for tag, _ in strict.tags}
    assert not tags & {"script", "img", "a", "iframe", "link", "b"}
    attributes = {name for _, attrs in strict.tags for name in attrs}
    assert not {name for name in attributes if re.match("on|src|href", name)}
