"""Lines of prose: nothing lost, nothing too wide, no break before a unit or after a relation."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content

from quizapp.tui.rendering.layout import wrap

WORDS = st.sampled_from(
    ["a", "of", "commonly", "1–10 %", "80 GB", "2.5 ms", "12 steps", "10 %.", "η = 0.1", "≈ 3", "ε", "数"]
)


@given(st.lists(WORDS, min_size=1, max_size=30), st.integers(12, 60))
def test_words_keep_their_order_and_numbers_their_units(words: list[str], width: int) -> None:
    text = " ".join(words)
    lines = [line.plain for line in wrap(Content(text), width)]
    assert " ".join(" ".join(lines).split()) == text
    assert all(cell_len(line.rstrip()) <= width for line in lines)
    assert not any(line.startswith(("%", "GB", "ms")) for line in lines)
    assert not any(line.rstrip().endswith((" =", " ≈")) for line in lines)


def test_styles_stay_on_their_words() -> None:
    text = Content("about ").append(Content.styled("33 %", "bold")).append(" more")
    lines = wrap(text, 10)
    assert [line.plain.rstrip() for line in lines] == ["about 33 %", "more"]
    ((start, end, style),) = lines[0].spans
    assert (lines[0].plain[start:end], style) == ("33 %", "bold")


def test_what_is_wider_than_the_line_is_still_cut() -> None:
    assert all(line.cell_length <= 8 for line in wrap(Content("1234567890123 %"), 8))
