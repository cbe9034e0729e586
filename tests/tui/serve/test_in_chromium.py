"""The app in Debian's Chromium: what a learner does there, and what another page cannot do."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.tui.serve.chromium import EXECUTABLE, Browser, Tab, chromium
from tests.tui.serve.serving import ServedApp, eventually, serving

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(EXECUTABLE is None, reason="no Chromium is installed: apt-get install chromium"),
]
SOLUTION = Path(__file__).parents[3] / "exercises" / "gradient-descent" / "solution.py"


@pytest.fixture
async def served(home: Path) -> AsyncIterator[ServedApp]:
    (home / "tour-seen").touch()
    async with serving(home) as running:
        yield running


@asynccontextmanager
async def opened(
    served: ServedApp, width: int = 1280, height: int = 800, **options: bool
) -> AsyncIterator[Tab]:
    """A tab of a fresh browser that shows the home screen."""
    async with chromium() as browser, browser.tab(width, height, **options) as tab:
        await tab.open(served.address)
        await tab.see("Gradient descent")
        yield tab
        assert not [entry for entry in tab.console if "fallback to software WebGL" not in entry]
        assert {re.match(r"(?:http|data:)[^,/]*/*[^/]*", url)[0] for url in tab.requested} <= {
            served.origin, "data:",
        }  # fmt: skip


async def test_a_card_is_drilled_and_its_rating_survives_a_reload(served: ServedApp, home: Path) -> None:
    async with opened(served) as tab:
        assert "20 new" in tab.terminal.text
        await tab.press("enter")
        await tab.see("20 new left")
        await tab.press("enter")
        await tab.see("1 Again")
        await tab.press("3")
        await tab.see("1 done")
        await tab.reload()
        await tab.see("1 learning")
        assert "19 new" in tab.terminal.text
        await eventually(lambda: len(apps(served)) == 1)


def apps(served: ServedApp) -> list[int]:
    return [process.pid for process in served.children if "quizapp.tui.serve.child" in process.cmdline()]


async def test_an_exercise_is_written_and_graded(served: ServedApp, home: Path) -> None:
    async with opened(served) as tab:
        await tab.press("n")
        await tab.see("raise NotImplementedError")
        await tab.press("f3", "ctrl+r")
        await tab.see("Not written yet")
        await tab.press("ctrl+a")
        await tab.paste(SOLUTION.read_text("utf-8"))
        await tab.press("ctrl+r")
        await tab.see("passed")
        await tab.press("ctrl+o")
        await tab.see("A browser cannot open your editor")


async def test_a_hint_comes_with_the_key_that_the_browser_does_not_keep(
    served: ServedApp, home: Path
) -> None:
    async with opened(served) as tab:
        await tab.press("n")
        await tab.see("alt+t hint")
        await tab.press("f3", "alt+t")
        await tab.see("Hint 1")


async def test_a_mock_round_goes_on_after_a_reload(served: ServedApp, home: Path) -> None:
    async with opened(served) as tab:
        await tab.press("m")
        await tab.see("Mock interview")
        await tab.press("enter")
        await tab.see("enter begins")
        await tab.press("enter")
        await tab.see("Warm-up 1/2")
        await tab.reload()
        await tab.see("Gradient descent")
        await tab.press("m")
        await tab.see("is not finished")
        await tab.press("r")
        await tab.see("Warm-up 1/2")


async def test_the_app_follows_the_size_of_the_page(served: ServedApp, home: Path) -> None:
    async with opened(served) as tab:
        assert (tab.terminal.width, tab.terminal.height) == (142, 38)
        await tab.show_at(700, 500)
        await eventually(lambda: tab.terminal.width < 80)
        await tab.see("Gradient descent")


async def test_a_phone_gets_sixty_columns_in_its_own_colors(served: ServedApp, home: Path) -> None:
    async with opened(served, 390, 844, phone=True, dark=False) as tab:
        assert tab.terminal.width >= 60
        assert await tab.evaluate("document.documentElement.scrollWidth") == 390
        assert await tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 250, 246)"
        await tab.tap("b browse")
        before = await tab.see("1357 questions")
        await tab.drag(-300)
        await eventually(lambda: tab.terminal.text != before)


async def test_quitting_says_so_and_opens_again(served: ServedApp, home: Path) -> None:
    async with opened(served) as tab:
        await tab.press("ctrl+q")
        await tab.see_page("document.getElementById('reason').textContent", "quizapp has ended.")
        await tab.press("enter")
        await tab.see("Gradient descent")


async def test_a_second_browser_is_refused_until_it_takes_over(served: ServedApp, home: Path) -> None:
    async with opened(served) as first, chromium() as other, other.tab() as second:
        await second.open(served.address)
        await second.see_page("document.body?.innerText.includes('open in another browser')")
        await second.evaluate("document.querySelector('a').click()")
        await second.see("Gradient descent")
        await first.see_page(
            "document.getElementById('reason').textContent", "quizapp was opened in another browser."
        )


async def test_the_address_bar_and_the_history_hold_no_token(served: ServedApp, home: Path) -> None:
    async with opened(served) as tab:
        assert "token" not in await tab.evaluate("location.href")
        entries = (await tab.call("Page.getNavigationHistory"))["entries"]
        assert not [entry for entry in entries if "token" in entry["url"]]
        assert await tab.evaluate("document.cookie") == ""


# another page in the same browser


@asynccontextmanager
async def foreign_page(html: str) -> AsyncIterator[str]:
    """A page of another server on this computer; browsers count it as the same site."""

    async def show(request: web.Request) -> web.Response:
        return web.Response(text=html, content_type="text/html")

    application = web.Application()
    application.router.add_get("/", show)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://localhost:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def beside(browser: Browser, html: str) -> AsyncIterator[Tab]:
    async with foreign_page(html) as url, browser.tab() as tab:
        await tab.open(url)
        await tab.see_page("document.readyState", "complete")
        yield tab


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_page_of_another_site_can_neither_connect_nor_read_nor_frame(
    served: ServedApp, home: Path, host: str
) -> None:
    async with chromium() as browser, browser.tab() as own:
        await own.open(served.address)
        await own.see("Gradient descent")
        page = (await own.evaluate("location.href")).replace("127.0.0.1", host)
        async with beside(browser, "<p>evil</p>") as evil:
            socket = page.replace("http", "ws") + "ws/dark/other"
            assert await evil.evaluate(
                f"new Promise(r => {{ const s = new WebSocket('{socket}');"
                "s.onopen = () => r('open'); s.onerror = () => r('refused') })"
            ) == "refused"  # fmt: skip
            assert await evil.evaluate(
                f"fetch('{page}', {{credentials: 'include'}}).then(() => 'read', () => 'refused')"
            ) == "refused"  # fmt: skip
            assert await evil.evaluate(
                "new Promise(r => { const f = document.createElement('iframe');"
                "f.onload = () => r(f.contentDocument === null);"
                f"f.src = '{page}'; document.body.append(f) }})"
            )  # fmt: skip
            assert len(apps(served)) == 1
        await own.press("e")
        await own.see("A complete training loop")
