"""A real server, and requests that no page of its own would send."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import psutil
import pytest
from yarl import URL

from quizapp.tui.serve import connection_limit, server
from quizapp.tui.serve.browser_messages import MAX_MESSAGE
from quizapp.tui.serve.door import Door
from quizapp.tui.serve.server import listening
from tests.tui.serve.serving import ServedApp, Terminal, Visitor, enter, eventually, serving


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    async with listening("127.0.0.1", 0) as opened:
        yield opened


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as opened:
        yield opened


@pytest.fixture
async def visitor(door: Door, session: aiohttp.ClientSession) -> Visitor:
    return await enter(session, door.address)


async def answer(visitor: Visitor, path: str, **headers: str) -> tuple[int, str]:
    """Status and text of a request for a path, which is sent as it is written; empty headers are left out."""
    sent = {name: value for name, value in {**visitor.headers, **headers}.items() if value}
    url = URL(f"{visitor.origin}{path}", encoded=True)
    async with visitor.session.get(url, headers=sent, allow_redirects=False) as response:
        return response.status, await response.text()


async def refusal_of_socket(visitor: Visitor, **headers: str) -> int:
    """The status with which the WebSocket is refused."""
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await visitor.connect(**headers)
    return refused.value.status


async def raw(door: Door, request: bytes) -> bytes:
    """Send bytes and read until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(door.host.rpartition(":")[2]))
    writer.write(request)
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_the_address_leads_to_one_without_the_token(door: Door, session: aiohttp.ClientSession) -> None:
    address = door.address
    async with session.get(address, allow_redirects=False) as response:
        assert response.status == 303
        assert response.headers["Location"] == door.room
        assert response.headers["Referrer-Policy"] == "no-referrer"
        cookie = response.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Strict", f"Path={door.room}"} <= set(cookie.split("; "))
    assert address.partition("token=")[2] not in cookie


async def test_the_page_and_its_files_come_from_here_and_cannot_be_framed(visitor: Visitor) -> None:
    async with visitor.session.get(visitor.origin + visitor.room, headers=visitor.headers) as response:
        page = await response.text()
        policy = response.headers["Content-Security-Policy"]
        assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    assert "http" not in page.replace("http-equiv", "")
    for name in ("page.js", "page.css", "textual.js", "xterm.css", "mono.ttf"):
        status, _ = await answer_bytes(visitor, f"{visitor.room}static/{name}")
        assert status == 200


async def answer_bytes(visitor: Visitor, path: str) -> tuple[int, bytes]:
    async with visitor.session.get(visitor.origin + path, headers=visitor.headers) as response:
        return response.status, await response.read()


@pytest.mark.parametrize("cookie", ["", "quizapp=x", "quizapp-{port}=x", "quizapp-{port}=", "{cookie}x"])
async def test_without_the_cookie_everything_is_refused(visitor: Visitor, cookie: str) -> None:
    port = visitor.origin.rpartition(":")[2]
    cookie = cookie.format(port=port, cookie=visitor.cookie)
    for path in ("", "static/textual.js", "static/none", "ws/dark/other"):
        status, text = await answer(visitor, visitor.room + path, Cookie=cookie)
        assert (status, "quizapp serve printed" in text) == (403, True)
    assert await refusal_of_socket(visitor, Cookie=cookie) == 403


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=x", "/?token=%00%ff", "/?token=x&token=y"])
async def test_without_the_token_there_is_no_cookie(visitor: Visitor, path: str) -> None:
    status, text = await answer(visitor, path)
    assert (status, "an earlier start" in text) == (403, True)


async def test_a_used_token_and_one_of_another_process_are_refused(
    door: Door, session: aiohttp.ClientSession
) -> None:
    used = door.address
    visitor = await enter(session, used)
    assert (await answer(visitor, used.removeprefix(door.origin)))[0] == 403
    async with listening("127.0.0.1", 0) as other:
        stranger = await enter(session, other.address)
        token = other.address.removeprefix(other.origin)
        assert (await answer(visitor, token))[0] == 403
        assert (await answer(visitor, visitor.room, Cookie=stranger.cookie))[0] == 403
    await enter(session, door.address)


async def test_a_prefetched_address_still_works(door: Door, session: aiohttp.ClientSession) -> None:
    async with session.get(door.address, headers={"Sec-Purpose": "prefetch;prerender"}) as response:
        assert response.status == 503
    await enter(session, door.address)


@pytest.mark.parametrize("host", ["localhost:{port}", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1"])
async def test_a_foreign_host_is_refused_even_with_the_cookie_and_the_token(
    door: Door, visitor: Visitor, host: str
) -> None:
    host = host.format(port=door.host.rpartition(":")[2])
    for path in (visitor.room, door.address.removeprefix(door.origin)):
        status, text = await answer(visitor, path, Host=host)
        assert (status, "answers only at" in text) == (403, True)
    assert await refusal_of_socket(visitor, Host=host) == 403


async def test_a_request_without_a_host_is_refused(door: Door) -> None:
    assert b" 403 " in (await raw(door, b"GET / HTTP/1.0\r\n\r\n")).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "origin", ["", "null", "https://evil.example", "http://127.0.0.1:1", "http://localhost:{port}"]
)
async def test_a_page_of_another_origin_cannot_open_the_socket(
    door: Door, visitor: Visitor, origin: str
) -> None:
    assert await refusal_of_socket(visitor, Origin=origin.format(port=door.host.rpartition(":")[2])) == 403


@pytest.mark.parametrize(
    "path",
    [
        "static/../../../../../../etc/passwd", "static/..%2f..%2f..%2fetc%2fpasswd", "static/%2fetc%2fpasswd",
        "static/", "static/.", "static/%00", "download/x", "ws/neon", "ws/dark/..", "nothing",
    ],
)  # fmt: skip
async def test_no_other_path_leads_anywhere(visitor: Visitor, path: str) -> None:
    status, text = await answer(visitor, visitor.room + path)
    assert status in {403, 404}
    assert "root:" not in text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE"])
async def test_nothing_can_be_sent_to_a_page(visitor: Visitor, method: str) -> None:
    url = visitor.origin + visitor.room
    async with visitor.session.request(method, url, headers=visitor.headers, data=b"x" * 100_000) as response:
        assert response.status == 405


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100,
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"\r\n\r\n\xff\xfe\r\n",
    ],
    ids=["tls", "two hosts", "many headers", "long line", "negative length", "no request"],
)
async def test_malformed_requests_are_refused(
    door: Door, session: aiohttp.ClientSession, request_bytes: bytes, home: Path
) -> None:
    status = (await raw(door, request_bytes)).partition(b"\r\n")[0]
    assert status.split()[1:2] in ([b"400"], [b"403"])
    await enter(session, door.address)
    assert not (home / "quizapp.log").exists()


async def test_a_slow_sender_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "FIRST_REQUEST_S", 0.2)
    async with listening("127.0.0.1", 0) as door:
        assert await raw(door, b"GET / HTTP/1.1\r\nHost: ") == b""
        assert await raw(door, b"") == b""


async def test_many_idle_connections_leave_room(
    session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "FIRST_REQUEST_S", 3600)
    async with listening("127.0.0.1", 0) as door:
        port = int(door.host.rpartition(":")[2])
        many = 2 * connection_limit.MAX_STRANGERS
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(many)]
        try:
            await enter(session, door.address)
            first, _ = idle[0]
            assert await asyncio.wait_for(first.read(), 60) == b""
            latest, _ = idle[-1]
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(latest.read(), 0)
        finally:
            for _, writer in idle:
                writer.close()


# attacks beside a running session


async def printed(served: ServedApp, addresses: int) -> str:
    """What the terminal shows once it has that many addresses."""
    await served.wait_for_output(lambda text: text.count("?token=") == addresses and text.endswith("\n\n"))
    return served.output


@pytest.mark.slow
async def test_attacks_leave_the_first_session_and_the_terminal_alone(
    home: Path, session: aiohttp.ClientSession
) -> None:
    (home / "tour-seen").touch()
    async with serving(home) as served:
        first = await enter(session, served.address)
        screen = await first.connect()
        await first.see(screen, "Gradient descent")
        (app,) = served.children
        second = await enter(session, served.address)
        before = await printed(served, addresses=3)
        stranger = Visitor(session, served.origin, first.room, "")

        assert await refusal_of_socket(stranger) == 403
        assert await refusal_of_socket(first, Origin="https://evil.example") == 403
        assert await refusal_of_socket(first, Origin="") == 403
        assert await refusal_of_socket(first, Host="evil.example") == 403
        assert await refusal_of_socket(second) == 409
        status, text = await answer(second, second.room)
        assert (status, "open in another browser" in text) == (409, True)
        guesses = (answer(stranger, f"/?token={n}") for n in range(200))
        # More at a time than there is room for: some connections are closed without an answer.
        outcomes = await asyncio.gather(*guesses, return_exceptions=True)
        assert {one[0] for one in outcomes if isinstance(one, tuple)} <= {403}

        for garbage in ("{", "null", '["stdin", 5]', '["resize", {"width": 1e9, "height": 2}]', "[" * 10_000):
            await screen.send_str(garbage)
        await screen.send_bytes(os.urandom(1000))
        for _ in range(3000):
            await screen.send_str('["focus"]')
        await screen.send_str(json.dumps(["stdin", "\x1b[6~e"]))
        await first.see(screen, "A complete training loop")

        assert served.children == [app]
        assert served.output == before
        await screen.close()
    assert served.output == before


@pytest.mark.exhaustive
async def test_an_oversized_message_ends_only_its_own_connection(
    home: Path, session: aiohttp.ClientSession
) -> None:
    (home / "tour-seen").touch()
    async with serving(home) as served:
        visitor = await enter(session, served.address)
        before = await printed(served, addresses=2)
        large = await visitor.connect()
        await visitor.see(large, "Today")
        await large.send_str(json.dumps(["stdin", "x" * MAX_MESSAGE]))
        async with asyncio.timeout(60):
            while (await large.receive()).type is aiohttp.WSMsgType.BINARY:
                pass
        assert large.close_code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
        await eventually(lambda: not served.children)
        visitor.terminal = Terminal()
        again = await visitor.connect()
        await visitor.see(again, "Gradient descent")
        assert served.output == before
        await again.close()


# one connection, and the end of it


@pytest.mark.slow
async def test_a_reload_replaces_the_first_app_and_closing_the_tab_ends_it(
    home: Path, session: aiohttp.ClientSession
) -> None:
    (home / "tour-seen").touch()
    async with serving(home) as served:
        visitor = await enter(session, served.address)
        first = await visitor.connect()
        await visitor.see(first, "Gradient descent")
        (old,) = served.children
        visitor.terminal = Terminal()
        opening = asyncio.create_task(visitor.connect())
        async with asyncio.timeout(60):
            while (message := await first.receive()).type is aiohttp.WSMsgType.BINARY:
                pass
        assert (message.data, message.extra) == (4001, "quizapp was opened again in another tab.")
        second = await opening
        await visitor.see(second, "Gradient descent")
        assert not old.is_running()
        (new,) = served.children
        second._response.close()  # as a tab that crashes: without a closing frame
        await eventually(lambda: not new.is_running())


@pytest.mark.exhaustive
async def test_an_answer_typed_in_an_interview_survives_a_closed_tab(
    home: Path, session: aiohttp.ClientSession
) -> None:
    (home / "tour-seen").touch()
    async with serving(home) as served:
        visitor = await enter(session, served.address)
        first = await visitor.connect()
        await visitor.see(first, "Gradient descent")
        for keys, shown in (
            ("m", "Begin (enter)"), ("\x1b[B", "\N{BLACK LEFT-POINTING SMALL TRIANGLE} Mixed"),
            ("\x1b[C", "Quiz"), ("\x1b[C", "Concepts"),  # only questions that are answered by typing
            ("\r", "enter begins"), ("\r", "Warm-up 1/1"), ("last words", "last words"),
        ):  # fmt: skip
            await first.send_str(json.dumps(["stdin", keys]))
            await visitor.see(first, shown)
        await first.close()
        visitor.terminal = Terminal()
        second = await visitor.connect()
        await visitor.see(second, "Gradient descent")
        for keys, shown in (("m", "is not finished"), ("r", "last words")):
            await second.send_str(json.dumps(["stdin", keys]))
            await visitor.see(second, shown)


@pytest.mark.slow
async def test_the_quit_key_ends_the_app_and_says_so(home: Path, session: aiohttp.ClientSession) -> None:
    (home / "tour-seen").touch()
    async with serving(home) as served:
        visitor = await enter(session, served.address)
        screen = await visitor.connect()
        await visitor.see(screen, "Gradient descent")
        await screen.send_str('["stdin", "\\u0011"]')
        async with asyncio.timeout(60):
            while (message := await screen.receive()).type is aiohttp.WSMsgType.BINARY:
                pass
        assert (message.data, message.extra) == (1000, "quizapp has ended.")
        await eventually(lambda: not served.children)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        *(
            pytest.param(other, marks=pytest.mark.exhaustive)
            for other in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
        ),
    ],
)
async def test_no_process_outlives_the_server_and_nothing_typed_is_lost(
    home: Path, session: aiohttp.ClientSession, number: signal.Signals
) -> None:
    (home / "tour-seen").touch()
    async with serving(home) as served:
        visitor = await enter(session, served.address)
        screen = await visitor.connect()
        await visitor.see(screen, "Gradient descent")
        await screen.send_str('["stdin", "n"]')
        await visitor.see(screen, "f3 Code")
        await screen.send_str(json.dumps(["stdin", "\x1bOR# half a thought"]))
        await visitor.see(screen, "half a thought")
        everyone = served.children
        if number is signal.SIGINT:  # the judge, which is still loading torch, ends some seconds later
            everyone = [process for process in everyone if "quizapp.tui.serve.child" in process.cmdline()]
        served.process.send_signal(number)
        await served.process.wait()
        await eventually(lambda: not any(_alive(process) for process in everyone))
        assert "Traceback" not in served.output
    (file,) = (home / "exercises").rglob("*.py")
    assert "# half a thought" in file.read_text("utf-8")


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.exhaustive
async def test_an_app_that_hangs_is_killed(home: Path, session: aiohttp.ClientSession) -> None:
    (home / "tour-seen").touch()
    async with serving(home) as served:
        visitor = await enter(session, served.address)
        screen = await visitor.connect()
        await visitor.see(screen, "Gradient descent")
        (app,) = served.children
        app.suspend()
        await screen.close()
        await eventually(lambda: not served.children)


@pytest.mark.slow
async def test_a_second_server_on_the_same_data_is_refused_with_a_sentence(home: Path) -> None:
    async with serving(home):
        second = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "quizapp", "serve", stderr=asyncio.subprocess.PIPE
        )
        _, errors = await second.communicate()
    assert (second.returncode, errors.count(b"\n")) == (2, 1)
    assert b"already runs" in errors


def test_a_taken_port_is_refused_with_a_sentence_and_the_usual_one_is_replaced(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from quizapp.cli.main import main

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port: int = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 2
        assert f"port {port}, cannot be used" in capsys.readouterr().err
        monkeypatch.setattr(server, "USUAL_PORT", port)

        async def port_found() -> str:
            async with listening("127.0.0.1", None) as door:
                return door.host

        assert asyncio.run(port_found()) != f"127.0.0.1:{port}"


def test_a_host_that_others_can_reach_is_refused_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    from quizapp.cli.main import main

    assert main(["serve", "--host", "0.0.0.0"]) == 2
    error = capsys.readouterr().err
    assert "ssh -L 8765:127.0.0.1:8765" in error
    assert error.count("\n") == 1
