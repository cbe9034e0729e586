"""docs/using.md names every key, docs/settings.md every setting.

`python -m tests.tui.test_using` rewrites their tables.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from quizapp.errors import DONE, FAULTS, INTERNAL, USAGE
from quizapp.settings.checks import WrongValue
from quizapp.settings.file import on_screen, shown_value
from quizapp.settings.model import BY_KEY, DEFAULTS, PLAN_CHECKS, Setting
from quizapp.settings.voice_settings import VOICE_CHECKS
from quizapp.tui import actions

DOCS = Path(__file__).parents[2] / "docs"
USING, SETTINGS = PAGES = (DOCS / "using.md", DOCS / "settings.md")
TABLE = re.compile(r"<!-- (keys: \w+|settings) -->\n(.*?)<!-- end -->", re.DOTALL)
KEY_NAMES = {"question_mark": "?", "slash": "/", "comma": ",", "pageup": "page up", "pagedown": "page down"}
ONE_ROW = {
    "pick": "Answer with that option.",
    "confide": "Say how sure you are: 0, 25, 50, 75, or 100 %.",
    "apply": "Apply that choice.",
    "rate": "Rate Again, Hard, Good, or Easy.",
    "predict": "Predict that outcome of the reading.",
}
"""Actions whose numbers share a row."""
WITHOUT_TABLE = {"tour", "help", "pager"}
"""Places that say everything they can do in their own key bar."""


def keys_of(acts: list[actions.Act]) -> str:
    keys = [key.strip() for act in acts for key in act.keys.split(",")]
    return " ".join(f"`{KEY_NAMES.get(key, key)}`" for key in keys)


def key_table(place: str) -> Iterator[str]:
    yield "| keys | action |"
    yield "| --- | --- |"
    rows = groupby(actions.of_place(place), lambda act: act.action.partition("(")[0])
    for name, group in rows:
        acts = list(group)
        if name in ONE_ROW:
            yield f"| {keys_of(acts)} | {ONE_ROW[name]} |"
        else:
            yield from (f"| {keys_of([act])} | {act.help} |" for act in acts)


def settings_table() -> Iterator[str]:
    yield "| setting | default | values | meaning |"
    yield "| --- | --- | --- | --- |"
    for setting in on_screen():
        default = shown_value(setting, getattr(DEFAULTS, setting.key))
        yield f"| `{setting.key}` | {default} | {values_of(setting)} | {setting.help} |"


def values_of(setting: Setting) -> str:
    """What the setting can be: its names, or what its check asks for."""
    names = [f'`"{name}"`' for name in setting.choices if isinstance(name, str)]
    if names:
        return ", ".join(names)
    with pytest.raises(WrongValue) as wrong:
        setting.check(None)
    return str(wrong.value)


def with_tables(page: str) -> str:
    def table(match: re.Match[str]) -> str:
        name = match[1]
        rows = settings_table() if name == "settings" else key_table(name.removeprefix("keys: "))
        return f"<!-- {name} -->\n" + "\n".join(rows) + "\n<!-- end -->"

    return TABLE.sub(table, page)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_tables_are_those_of_the_program(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    assert with_tables(page) == page, "run `python -m tests.tui.test_using` and read what changed"


@pytest.mark.parametrize("place", sorted(set(actions.TABLE) - WITHOUT_TABLE))
def test_every_screen_has_its_keys(place: str) -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert f"<!-- keys: {place} -->" in pages, f"write that line and <!-- end --> into {USING}"


@pytest.mark.parametrize("key", [*BY_KEY, "plan", "voice"])
def test_every_setting_is_named(key: str) -> None:
    page = SETTINGS.read_text(encoding="utf-8")
    assert f"| `{key}` |" in page or f"### `[{key}]`" in page, f"write a section about [{key}] in {SETTINGS}"


@pytest.mark.parametrize("key", [*PLAN_CHECKS, *VOICE_CHECKS])
def test_every_key_of_a_table_has_a_row(key: str) -> None:
    page = SETTINGS.read_text(encoding="utf-8")
    assert re.search(rf"^\| .*`{key}`.* \|", page, re.MULTILINE), f"write a row for `{key}` in {SETTINGS}"


@pytest.mark.parametrize("code", [DONE, FAULTS, USAGE, INTERNAL])
def test_every_exit_code_is_named(code: int) -> None:
    assert re.search(rf"^\| {code} \|", USING.read_text(encoding="utf-8"), re.MULTILINE)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
