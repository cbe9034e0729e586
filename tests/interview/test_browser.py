"""The HTML report in a real browser: contrast, structure, widths, keys, paper, and no network.

Runs where a Chromium is on the path. The rules of axe-core run too where its script is found: named by
QUIZAPP_AXE, or in a Python package that carries it.
"""

import importlib.util
import itertools
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from quizapp.interview.peer.peer_review import ask_reviewer
from quizapp.interview.report.build import redacted
from quizapp.interview.report.files import rendered
from quizapp.interview.report.model import load_report
from tests.interview import generated
from tests.interview.browser import Browser, browser, chromium
from tests.interview.long_interview import long_report

pytestmark = [pytest.mark.slow, pytest.mark.skipif(chromium() is None, reason="no Chromium on the path")]
SCHEMES = ("light", "dark")
PAGES = ("long", "redacted", "patchy")
A4 = (595, 842)  # points


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    with browser() as found:
        yield found


def friend(prompt: str) -> str:
    """Ada, who hears half of everything and nothing wrong."""
    return "Ada" if "Your name" in prompt else "h" if "[y/h/n]" in prompt else "n"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A long interview that a friend marked, the same without words, and one with gaps everywhere."""
    folder = tmp_path_factory.mktemp("pages")
    long = load_report(long_report(folder))
    long.reviews = [ask_reviewer(long, friend, lambda text: text)]
    patchy = load_report(generated.report(5, [generated.report(6), generated.report(9)]))
    found = {"long": long, "redacted": redacted(long), "patchy": patchy}
    for name, document in found.items():
        (folder / f"{name}.html").write_text(rendered(document, "html"), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in found}


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest, tab: Browser, pages: dict[str, Path]) -> Browser:
    """The browser with a report open in it."""
    tab.look()
    tab.open(pages[request.param])
    return tab


def test_it_asks_for_nothing_but_itself(page: Browser) -> None:
    assert [address.rpartition("/")[2] for address in page.requests()] in [[f"{name}.html"] for name in PAGES]
    assert page.ask("performance.getEntriesByType('resource').length") == 0


CONTRAST = """(() => {
const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
const clear = text => rgb(text).length === 4 && rgb(text)[3] === 0;
const light = text => { const c = rgb(text).slice(0, 3).map(v => v / 255)
  .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05); };
const ground = e => { for (; e; e = e.parentElement) {
  const own = getComputedStyle(e).backgroundColor; if (!clear(own)) return own; }
  return 'rgb(255,255,255)'; };
const found = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node; node = walk.nextNode();) {
  const e = node.parentElement, style = getComputedStyle(e);
  if (!node.data.trim() || ['TITLE', 'title', 'desc'].includes(e.tagName)) continue;
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  const colour = e.closest('svg') ? style.fill : style.color;
  found.push([ratio(colour, ground(e)), large ? 3 : 4.5, node.data.slice(0, 40)]);
}
for (const e of document.querySelectorAll('svg .good, svg .mid, svg .bad, svg .dot'))
  found.push([ratio(getComputedStyle(e).fill, ground(e)), 3, e.outerHTML]);
for (const e of document.querySelectorAll('.bar span'))
  found.push([ratio(getComputedStyle(e).backgroundColor, ground(e.parentElement)), 3, 'bar']);
return {seen: found.length, poor: found.filter(f => f[0] < f[1])};
})()"""


@pytest.mark.parametrize("media", ["screen", "print"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_everything_that_says_something_has_contrast(page: Browser, scheme: str, media: str) -> None:
    page.look(scheme, media=media)
    found = page.ask(CONTRAST)
    assert found["seen"] > 100
    assert found["poor"] == []
    grounds = {"light": "255, 255, 255", "dark": "20, 23, 29"}
    colour = grounds["light" if media == "print" else scheme]
    assert page.ask("getComputedStyle(document.body).backgroundColor") == f"rgb({colour})"


OUTSIDE = """[...document.body.querySelectorAll('*')].filter(e => !e.closest('.wide') &&
  (e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1))
  .map(e => e.outerHTML.slice(0, 80))"""
CUT = """[...document.body.querySelectorAll('*')].filter(e => !e.closest('svg') && !e.matches('.wide') &&
  getComputedStyle(e).overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1)
  .map(e => e.outerHTML.slice(0, 80))"""


def test_no_width_from_320_to_1600_scrolls_sideways(page: Browser) -> None:
    for width in (320, 360, 414, 480, 600, 641, 768, 1024, 1280, 1600):
        page.look(width=width)
        assert page.ask("document.documentElement.scrollWidth") <= width
        assert page.ask(OUTSIDE) == [], width
        assert page.ask(CUT) == [], width


def test_assistive_technology_is_told_the_structure(page: Browser) -> None:
    assert page.ask("document.documentElement.lang") == "en"
    tree = page.tree()
    roles = Counter(node["role"] for node in tree)
    assert [roles[role] for role in ("main", "banner", "contentinfo")] == [1, 1, 1]
    levels = [node["said"]["level"] for node in tree if node["role"] == "heading"]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    pictures = [node["name"] for node in tree if node["role"] == "image"]
    assert pictures == ["Timeline of the interview", "Mean mark by confidence"]
    described = page.ask(
        "[...document.querySelectorAll('svg')].map(e => e.querySelector('desc').textContent)"
    )
    assert all(len(text) > 30 for text in described)
    tables = [node["name"] for node in tree if node["role"] == "table"]
    assert tables
    assert all(tables)
    assert roles["columnheader"] >= 2 * len(tables)
    assert roles["rowheader"] >= len(tables)
    boards = [node["name"] for node in tree if node["role"] == "group"]
    assert len(boards) == len(set(boards)) == page.ask("document.querySelectorAll('.wide').length")
    signs = [node["name"] for node in tree if node["role"] == "StaticText" and node["name"] in "✓✗½"]
    assert signs == []


def test_parts_that_scroll_are_reached_and_scrolled_by_keys(page: Browser) -> None:
    page.look(width=320)
    wanted = page.ask("document.querySelectorAll('.wide').length")
    reached = set()
    for _ in range(wanted):
        for kind in ("rawKeyDown", "keyUp"):
            page.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        reached.add(page.ask("document.activeElement.getAttribute('aria-label')"))
        assert page.ask("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert len(reached - {None}) == wanted
    page.ask("document.querySelector('.wide').focus()")
    for kind in ("rawKeyDown", "keyUp"):
        page.call(
            "Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39
        )
    moved = "new Promise(done => setTimeout(() => done(document.querySelector('.wide').scrollLeft), 300))"
    assert any(page.ask(moved) > 0 for _ in range(20))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_prints_on_a4_with_nothing_cut_off(page: Browser, scheme: str, tmp_path: Path) -> None:
    page.look(scheme, media="")
    made = page.pdf(printBackground=scheme == "dark")
    boxes = re.findall(rb"/MediaBox\s*\[\s*0\s+0\s+([\d.]+)\s+([\d.]+)\s*\]", made)
    assert boxes
    assert all((round(float(w)), round(float(h))) == A4 for w, h in boxes)
    width = round((210 - 2 * 16) / 25.4 * 96)
    page.look(scheme, width, "print")
    assert page.ask(OUTSIDE) == []
    assert page.ask(CUT) == []
    assert page.ask("[...document.querySelectorAll('.wide')].every(e => e.scrollWidth <= e.clientWidth + 1)")
    if not shutil.which("pdftotext"):
        return
    path = tmp_path / "report.pdf"
    path.write_bytes(made)
    run = subprocess.run(["pdftotext", "-bbox", path, "-"], capture_output=True, text=True, check=True)
    words = re.findall(r'xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">', run.stdout)
    assert len(words) > 200
    assert all(float(x) > 40 and float(z) < A4[0] - 40 for x, _, z, _ in words)
    assert all(float(y) > 40 and float(z) < A4[1] - 40 for _, y, _, z in words)
    printed = Counter(re.findall(r"\w+", re.sub(r"<[^>]*>", "", run.stdout)))
    shown = Counter(re.findall(r"\w+", page.ask("document.querySelector('main').innerText")))
    assert sum((shown - printed).values()) <= 0.02 * sum(shown.values())  # words broken over lines


def axe() -> Path | None:
    """The script of axe-core, where there is one."""
    if named := os.environ.get("QUIZAPP_AXE"):
        return Path(named)
    for package in ("axe_playwright_python", "axe_core_python"):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            if (path := Path(folder) / "axe.min.js").exists():
                return path
    return None


@pytest.mark.skipif(axe() is None, reason="axe-core is not installed; QUIZAPP_AXE names its script")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing(page: Browser, scheme: str) -> None:
    script = axe()
    assert script is not None
    for width in (320, 1280):
        page.look(scheme, width)
        page.ask(f"{script.read_text(encoding='utf-8')};0")
        found = page.ask(
            "axe.run(document).then(r => ({passes: r.passes.length, "
            "violations: r.violations.map(v => [v.id, v.nodes.map(n => n.html)])}))"
        )
        assert found["passes"] > 20
        assert found["violations"] == []
