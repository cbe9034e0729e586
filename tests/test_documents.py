"""The documents and their site: pictures, links, and that nothing is loaded from elsewhere."""

import logging
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from quizapp.interview.blueprint import load_blueprint
from quizapp.interview.rounds.round_table import ROUNDS
from tests.interview.browser import browser, chromium
from tools.pictures.scenes import DOCUMENTS
from tools.site.hooks import PAGES, rewrite_links

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SOURCES = [*DOCS.glob("*.md"), *(ROOT / source for source in PAGES.values())]
LINKED_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")


def test_make_pictures_draws_every_picture_that_a_document_shows() -> None:
    shown = {
        (source.parent / target).resolve()
        for source in SOURCES
        for target in LINKED_PICTURE.findall(source.read_text(encoding="utf-8"))
    }
    drawn = {DOCS / "images" / f"{scene.name}.svg" for scene in DOCUMENTS}
    assert shown == drawn, "add the scene to DOCUMENTS in tools/pictures/scenes.py, then `make pictures`"
    assert drawn == set((DOCS / "images").iterdir()), "`make pictures` draws what is missing; delete the rest"


def test_no_picture_loads_a_font_from_a_server() -> None:
    for picture in (DOCS / "images").iterdir():
        assert "url(http" not in picture.read_text(encoding="utf-8"), f"{picture}: run `make pictures`"


@pytest.mark.parametrize(
    ("page", "text", "on_the_site"),
    [
        ("index.md", "[The plan](docs/plan.md#json)", "[The plan](plan.md#json)"),
        ("index.md", "![A card](docs/images/drill.svg)", "![A card](images/drill.svg)"),
        ("mock.md", "[`report.json`](schemas/report.json)", "[`report.json`](schemas/report.json)"),
        (
            "mock.md",
            "[start](../README.md), [log](../CHANGELOG.md)",
            "[start](index.md), [log](changelog.md)",
        ),
        ("authors-tools.md", "[marking](../docs/marking.md)", "[marking](marking.md)"),
        ("mock.md", "[the license](../LICENSE)", "the license"),
        ("mock.md", "[here](#marks) and [there](https://x.org)", "[here](#marks) and [there](https://x.org)"),
        ("mock.md", "write `[text](../LICENSE)`", "write `[text](../LICENSE)`"),
        ("mock.md", "```\n[text](../LICENSE)\n```", "```\n[text](../LICENSE)\n```"),
    ],
)
def test_links_fit_the_site(page: str, text: str, on_the_site: str) -> None:
    assert rewrite_links(text, page, ROOT, "") == on_the_site


def test_a_link_to_source_code_goes_to_the_repository_if_there_is_one() -> None:
    address = "https://example.org/quizapp/"
    assert rewrite_links("[license](../LICENSE)", "mock.md", ROOT, address) == (
        "[license](https://example.org/quizapp/blob/main/LICENSE)"
    )


def test_a_link_to_a_missing_file_stops_a_strict_build(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "mkdocs"):
        rewrite_links("[gone](../gone.py)", "mock.md", ROOT, "")
    assert caplog.messages == ["docs/mock.md links to ../gone.py, which does not exist"]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_relative_links_lead_to_files_of_the_repository(source: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", source.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    missing = [t for t in targets if t and ":" not in t and not (source.parent / t).exists()]
    assert missing == []


class LoadedFiles(HTMLParser):
    """Collects what a page loads by itself; links that a reader may follow do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.addresses.add(values.get("src") or "")
        if tag == "link":
            self.addresses.add(values.get("href") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    return folder


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.glob("*.html"))
    assert {f"{Path(page).stem}.html" for page in PAGES} < {page.name for page in pages}
    loaded = LoadedFiles()
    for page in pages:
        loaded.feed(page.read_text(encoding="utf-8"))
    assert [address for address in loaded.addresses if re.match(r"(\w+:)?//", address)] == []
    assert (site / "search" / "search_index.js").exists()


@pytest.mark.exhaustive
@pytest.mark.skipif(chromium() is None, reason="no Chromium on the path")
def test_a_browser_reads_the_site_from_its_folder(site: Path) -> None:
    with browser() as tab:
        tab.look(width=360)
        for page in sorted(site.glob("*.html")):
            tab.open(page)
            assert tab.ask("document.documentElement.scrollWidth") <= 360, f"{page.name} is too wide"
            assert [address for address in tab.requests() if not address.startswith(("file:", "data:"))] == []
        tab.look(width=1280)
        tab.open(site / "index.html")
        tab.ask("document.querySelector('.md-search__input').focus()")
        tab.call("Input.insertText", text="leec")
        for kind in ("keyDown", "keyUp"):
            tab.call("Input.dispatchKeyEvent", type=kind, key="h", text="h" if kind == "keyDown" else "")
        found = tab.ask(
            "new Promise(done => { const end = Date.now() + 60000, look = () => {"
            " const item = document.querySelector('.md-search-result__item');"
            " item || Date.now() > end ? done(item && item.textContent) : setTimeout(look, 50) }; look() })"
        )
        assert "leech" in found


@pytest.mark.parametrize(
    "source", [page for page in SOURCES if page.name != "CHANGELOG.md"], ids=lambda path: path.name
)
def test_every_path_and_tool_that_a_document_names_exists(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    named = set(
        re.findall(r"`((?:benchmarks|content|docs|exercises|quizapp|tests|tools)/[a-z0-9_./-]+)`", text)
    )
    named |= set(re.findall(r"python (benchmarks/\w+\.py)", text))
    named |= {
        f"{module.replace('.', '/')}" for module in re.findall(r"python -m ((?:tools|tests)\.[\w.]+)", text)
    }
    missing = [name for name in named if not (ROOT / name).exists() and not (ROOT / f"{name}.py").exists()]
    assert missing == []
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE)) <= targets


def test_the_page_about_interviews_has_every_round_and_role() -> None:
    rows = (DOCS / "mock.md").read_text(encoding="utf-8").splitlines()
    for row in ROUNDS.values():
        start = f"| `{row.name}` | {', '.join(map(str, row.lengths))} |"
        assert any(line.startswith(start) for line in rows), f"docs/mock.md lacks the row {start}"
    for name, role in load_blueprint().roles.items():
        end = f"| {role.pass_mark} | {', '.join(role.rounds)} |"
        assert any(line.startswith(f"| `{name}` |") and line.endswith(end) for line in rows), (name, end)
