"""Keeps strangers' connections from crowding out the learner's own."""

import asyncio

from aiohttp import web

MAX_STRANGERS = 64
FIRST_REQUEST_S = 10.0
"""Seconds in which a whole request must have arrived; a slow sender is cut off."""


class ConnectionLimit:
    """Makes the protocols of a server, and closes the oldest stranger's connection if there are too many.

    A connection is a stranger's until a request on it has passed the door. The learner's own connections are
    never closed here, so a flood of others cannot push them out.
    """

    def __init__(self, server: web.Server) -> None:
        self._server = server
        self._welcome: set[web.RequestHandler] = set()

    def __call__(self) -> asyncio.Protocol:
        """Make the protocol of a new connection."""
        open_now = self._server.connections
        self._welcome.intersection_update(open_now)
        strangers = [connection for connection in open_now if connection not in self._welcome]
        for connection in strangers[: max(0, len(strangers) - MAX_STRANGERS + 1)]:
            connection.force_close()
        protocol: asyncio.Protocol = self._server()
        return protocol

    def welcome(self, request: web.Request) -> None:
        """Keep the connection of a request that has passed the door."""
        self._welcome.add(request.protocol)
