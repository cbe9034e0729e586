"""The routes of the served app: the page, its files, and the WebSocket."""

import asyncio
import contextlib
import html
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from string import Template

import textual_serve
from aiohttp import WSCloseCode, WSMsgType, web

from quizapp.tui.serve.app_process import AppProcess
from quizapp.tui.serve.browser_messages import MAX_MESSAGE, Pace, parse_message
from quizapp.tui.serve.door import Door, Refused
from quizapp.util.log import write_crash

HEARTBEAT_S = 15.0
"""A browser that does not answer within one and a half times this counts as gone."""
REPLACED = 4001
"""Close code for a tab that another tab of the same browser has replaced."""
_PAGE = files("quizapp.tui.serve") / "page"
_LIBRARY = Path(textual_serve.__file__).parent / "static"
_FILES = {
    "page.css": Path(str(_PAGE / "page.css")),
    "page.js": Path(str(_PAGE / "page.js")),
    "xterm.css": _LIBRARY / "css" / "xterm.css",
    "textual.js": _LIBRARY / "js" / "textual.js",
    "mono.ttf": _LIBRARY / "fonts" / "RobotoMono-VariableFont_wght.ttf",
    "mono-italic.ttf": _LIBRARY / "fonts" / "RobotoMono-Italic-VariableFont_wght.ttf",
}
_SOCKET = "ws/{scheme:dark|light}/{keyboard:apple|other}"
_SIZE_LIMITS = {"width": (80, 2, 1000), "height": (24, 2, 500)}
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class _Seat:
    """The one connection that uses the app."""

    visitor: str
    websocket: web.WebSocketResponse
    left: asyncio.Event = field(default_factory=asyncio.Event)


class Site:
    """Serves the app to one browser at a time, behind a door.

    ``on_entry`` is called after a browser has used the printed address; ``welcome`` with every request that
    has passed the door.
    """

    def __init__(self, door: Door, *, on_entry: Callable[[], None]) -> None:
        self.door = door
        self.welcome: Callable[[web.Request], None] = lambda _request: None
        self._on_entry = on_entry
        self._cookie = f"quizapp-{door.host.rpartition(':')[2]}"
        self._seat: _Seat | None = None
        self._turn = asyncio.Lock()

    def application(self) -> web.Application:
        """The web application."""
        application = web.Application(middlewares=[self._guard])
        room = self.door.room
        application.add_routes([
            web.get("/", self._enter, allow_head=False),
            web.get(room, self._show_page, allow_head=False),
            web.get(f"{room}static/{{name}}", self._send_file, allow_head=False),
            web.get(f"{room}{_SOCKET}", self._connect, allow_head=False),
        ])  # fmt: skip
        application.on_response_prepare.append(self._add_headers)
        application.on_shutdown.append(self._close)
        return application

    # the door

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Let a request through, or answer it with one sentence and end its connection."""
        try:
            self.door.check_host(request.headers.getall("Host", []))
            if request.path != "/":
                self._visitor(request)
                self.welcome(request)
            return await handler(request)
        except Refused as refused:
            status, sentence = refused.status, refused.sentence
        except web.HTTPException as error:
            status, sentence = HTTPStatus(error.status), f"{error.reason}."
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - logged in full; a stranger learns nothing from it
            write_crash(error)
            status, sentence = HTTPStatus.INTERNAL_SERVER_ERROR, "quizapp serve has failed; its log says why."
        text = _refusal(status, sentence, self._way_on(request, status))
        response = web.Response(status=status, text=text, content_type="text/html")
        response.force_close()
        return response

    def _way_on(self, request: web.Request, status: HTTPStatus) -> str:
        """A link for a refused page, or nothing."""
        if request.path != self.door.room:
            return ""
        if status is HTTPStatus.CONFLICT:
            return '<p><a href="?here">Use it here</a></p>'
        # A strict cookie is not sent when a page of another site links here. It is sent when this page does.
        return '<p><a href="./">Try again</a></p>'

    def _visitor(self, request: web.Request) -> str:
        return self.door.check_visitor(request.cookies.get(self._cookie))

    async def _add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        socket = self.door.origin.replace("http", "ws", 1)
        response.headers.update({
            "Server": "quizapp",
            "Content-Security-Policy": (
                "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
                f"img-src 'self' data:; connect-src 'self' {socket}; base-uri 'none'; form-action 'none'; "
                "frame-ancestors 'none'"
            ),
            "X-Frame-Options": "DENY",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-cache" if "/static/" in request.path else "no-store",
        })  # fmt: skip

    # pages

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        """Exchange the token of the printed address for a cookie, and move on to an address without it."""
        if "prefetch" in request.headers.get("Sec-Purpose", ""):
            raise Refused(
                HTTPStatus.SERVICE_UNAVAILABLE, "The address works once, so it cannot be prefetched."
            )
        visitor = self.door.exchange(request.query.get("token", ""))
        self.welcome(request)
        response = web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": self.door.room})
        response.set_cookie(
            self._cookie, visitor, path=self.door.room, httponly=True, samesite="Strict", secure=False
        )
        self._on_entry()
        return response

    async def _show_page(self, request: web.Request) -> web.StreamResponse:
        if (
            "here" in request.query
        ):  # only a link on our own page sends the cookie along, so nobody else can ask
            async with self._turn:
                await self._end_seat(REPLACED, "quizapp was opened in another browser.")
            return web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": self.door.room})
        self._check_free(self._visitor(request))
        return web.Response(text=_read("index.html"), content_type="text/html")

    async def _send_file(self, request: web.Request) -> web.StreamResponse:
        path = _FILES.get(request.match_info["name"])
        if path is None:
            raise web.HTTPNotFound
        return web.FileResponse(path)

    # the connection

    def _check_free(self, visitor: str) -> None:
        if self._seat is not None and self._seat.visitor != visitor:
            raise Refused(
                HTTPStatus.CONFLICT,
                "quizapp is open in another browser, and it can be used in one at a time.",
            )

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        """Run the app for one browser until one of them ends."""
        self.door.check_origin(request.headers.getall("Origin", []))
        visitor = self._visitor(request)
        websocket = web.WebSocketResponse(
            heartbeat=HEARTBEAT_S, timeout=2.0, max_msg_size=MAX_MESSAGE, compress=False
        )
        async with self._turn:
            self._check_free(visitor)
            await self._end_seat(REPLACED, "quizapp was opened again in another tab.")
            await websocket.prepare(request)
            seat = self._seat = _Seat(visitor, websocket)
        try:
            await self._run(request, websocket)
        finally:
            self._seat = None
            seat.left.set()
        return websocket

    async def _run(self, request: web.Request, websocket: web.WebSocketResponse) -> None:
        async def close() -> None:
            await websocket.close(code=WSCloseCode.OK, message=b"quizapp has ended.")

        app = AppProcess(
            browser=(request.match_info["scheme"], request.match_info["keyboard"]),
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=close,
        )
        try:
            await app.start(_size(request, "width"), _size(request, "height"))
            pace = Pace()
            async for frame in websocket:
                if frame.type is WSMsgType.TEXT:
                    await pace.keep(len(frame.data))
                    if message := parse_message(frame.data):
                        await app.receive(message)
        except (ConnectionError, TimeoutError):
            return  # the browser went away in the middle of an answer, or the app hangs
        finally:
            await asyncio.shield(app.stop())

    async def _end_seat(self, code: int, reason: str) -> None:
        """Close the connection that uses the app, if there is one, and wait until its app has ended."""
        seat = self._seat
        if seat is not None:
            with contextlib.suppress(ConnectionError):
                await seat.websocket.close(code=code, message=reason.encode())
            await seat.left.wait()

    async def _close(self, _application: web.Application) -> None:
        await self._end_seat(WSCloseCode.GOING_AWAY, "quizapp serve was stopped in its terminal.")


def _size(request: web.Request, name: str) -> int:
    """A side of the terminal as the page measured it, in character cells."""
    usual, least, most = _SIZE_LIMITS[name]
    text = request.query.get(name, "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else usual
    return min(max(number, least), most)


def _read(name: str) -> str:
    return (_PAGE / name).read_text("utf-8")


def _refusal(status: HTTPStatus, sentence: str, link: str) -> str:
    """A page that says why a request was refused, and how to go on."""
    return Template(_read("refused.html")).substitute(
        status=int(status), sentence=html.escape(sentence), link=link
    )
