"""The table ``[voice]`` of the settings file: a language model's server as a second voice."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from quizapp.settings.checks import number, switch, text

LONGEST_TIMEOUT_S = 300


class VoiceSettings(NamedTuple):
    """A server that speaks OpenAI's protocol, asked about key points where the marking is unsure.

    ``endpoint`` is the address before ``/chat/completions``; empty means off. ``key_env`` names the
    environment variable with the key, which is stored nowhere. ``timeout`` is in seconds, for all that is
    asked about one answer. Servers on other machines need ``allow_remote``.
    """

    endpoint: str = ""
    model: str = ""
    key_env: str = ""
    timeout: float = 20.0
    allow_remote: bool = False

    @property
    def host(self) -> str:
        """The server's host and port as the address writes them; empty if the voice is off."""
        return self.endpoint.partition("://")[2].partition("/")[0]


NO_VOICE = VoiceSettings()
VOICE_CHECKS: Mapping[str, Callable[[object], object]] = {
    "endpoint": text,
    "model": text,
    "key_env": text,
    "timeout": number(1, LONGEST_TIMEOUT_S),
    "allow_remote": switch,
}


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: ``localhost``, 127.0.0.0/8 or ::1."""
    from ipaddress import ip_address  # only for those who switched the voice on

    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def voice_fault(voice: VoiceSettings) -> tuple[str, str] | None:
    """The key at fault in a table whose values have the right types, and a sentence about it."""
    if voice.key_env and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", voice.key_env):
        # The value is not repeated, since it is likely to be the key itself.
        return "key_env", (
            "key_env must be the name of an environment variable such as LLM_KEY; "
            "the key itself does not belong in this file."
        )
    if not voice.endpoint:
        return None
    host = _host_of(voice.endpoint)
    if not host:
        return "endpoint", (
            "endpoint must be an address such as http://127.0.0.1:11434/v1, "
            "without a user, a password, ? and #."
        )
    if not voice.allow_remote and not is_loopback(host):
        return "endpoint", (
            f"{host!r} is not this machine, and your answers would leave it; "
            "if you want that, add allow_remote = true."
        )
    if not voice.model.strip():
        return "endpoint", "a second voice needs the name of a model: add model below [voice]."
    return None


def _host_of(endpoint: str) -> str:
    """The host of an address that can be asked; empty if there is none."""
    from urllib.parse import urlsplit

    if re.search(r"[^!-~]|[?#@\\]", endpoint):
        return ""
    try:
        parts = urlsplit(endpoint)
        if parts.scheme not in {"http", "https"} or parts.port == 0:
            return ""
        return parts.hostname or ""
    except ValueError:  # half of an IPv6 address, or a port that is not a number
        return ""
