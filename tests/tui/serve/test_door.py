"""Who may use the served app: the rules, without a network."""

import json

import pytest

from quizapp.errors import QuizError
from quizapp.tui.serve.browser_messages import (
    FocusGained,
    Pace,
    SizeChange,
    TerminalSize,
    TypedInput,
    parse_message,
)
from quizapp.tui.serve.door import Door, Refused
from quizapp.tui.serve.server import loopback_address


@pytest.fixture
def door() -> Door:
    return Door("127.0.0.1", 8765)


def token_of(door: Door) -> str:
    return door.address.partition("?token=")[2]


def test_the_token_has_at_least_128_bits_and_no_two_doors_share_one(door: Door) -> None:
    assert len(token_of(door)) >= 128 / 6
    assert token_of(door) != token_of(Door("127.0.0.1", 8765))
    assert door.room != Door("127.0.0.1", 8765).room


def test_a_token_works_once_and_another_one_follows(door: Door) -> None:
    first = token_of(door)
    visitor = door.exchange(first)
    assert door.check_visitor(visitor) == visitor
    with pytest.raises(Refused, match="has been used"):
        door.exchange(first)
    assert door.exchange(token_of(door)) != visitor


@pytest.mark.parametrize("token", ["", "x", "ü\ud800", "\0" * 43])
def test_a_wrong_token_is_refused_and_the_right_one_still_works(door: Door, token: str) -> None:
    with pytest.raises(Refused):
        door.exchange(token)
    door.exchange(token_of(door))


@pytest.mark.parametrize("cookie", [None, "", "x", "ü\ud800"])
def test_a_cookie_that_the_door_did_not_give_is_refused(door: Door, cookie: str | None) -> None:
    door.exchange(token_of(door))
    with pytest.raises(Refused, match="not known here"):
        door.check_visitor(cookie)


def test_the_sixteen_latest_browsers_are_known(door: Door) -> None:
    visitors = [door.exchange(token_of(door)) for _ in range(17)]
    with pytest.raises(Refused):
        door.check_visitor(visitors[0])
    assert [door.check_visitor(visitor) for visitor in visitors[1:]] == visitors[1:]


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        ["localhost:8765"],
        ["evil.example:8765"],
        ["127.0.0.1"],
        ["127.0.0.1:8766"],
        ["127.0.0.1:8765", "127.0.0.1:8765"],
        ["127.0.0.1:8765.evil.example"],
    ],
)
def test_any_host_but_the_served_address_is_refused(door: Door, hosts: list[str]) -> None:
    with pytest.raises(Refused, match=r"answers only at http://127\.0\.0\.1:8765"):
        door.check_host(hosts)
    door.check_host(["127.0.0.1:8765"])


@pytest.mark.parametrize(
    "origins",
    [
        [],
        ["null"],
        ["https://evil.example"],
        ["https://127.0.0.1:8765"],
        ["http://127.0.0.1:8766"],
        ["http://127.0.0.1:8765.evil.example"],
        ["http://127.0.0.1:8765", "http://127.0.0.1:8765"],
    ],
)
def test_any_origin_but_the_served_address_is_refused(door: Door, origins: list[str]) -> None:
    with pytest.raises(Refused, match="Only the page"):
        door.check_origin(origins)
    door.check_origin(["http://127.0.0.1:8765"])


def test_the_address_is_written_as_browsers_write_it() -> None:
    assert Door("::1", 8765).origin == "http://[::1]:8765"
    assert Door("127.0.0.1", 80).origin == "http://127.0.0.1"


def test_only_loopback_addresses_are_listened_at() -> None:
    assert [loopback_address(host) for host in ("127.0.0.1", "127.8.9.1", "::1", "localhost")] == [
        "127.0.0.1", "127.8.9.1", "::1", "127.0.0.1",
    ]  # fmt: skip
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org", "", "::ffff:10.0.0.1"):
        with pytest.raises(QuizError, match=r"ssh -L 8765:127\.0\.0\.1:8765"):
            loopback_address(host)


def test_messages_of_the_page_are_read() -> None:
    assert parse_message('["stdin", "é\\r"]') == TypedInput("é\r")
    assert parse_message('["resize", {"width": 64, "height": 40}]') == SizeChange(TerminalSize(64, 40))
    assert parse_message('["focus"]') == FocusGained()


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "null", "7", "[]", "{}", '["stdin"]', '["stdin", 5]', '["stdin", ["x"]]', '["quit", "x"]',
        '["resize", {"width": 1e9, "height": 3}]', '["resize", {"width": "80", "height": 24}]',
        '["resize", {"width": -1, "height": 24}]', '["resize", {}]', '["ping", 3]',
        json.dumps(["ping", "x" * 65]), '["stdin", "\ud800"]', "[" * 100_000,
    ],
)  # fmt: skip
def test_anything_else_is_no_message(text: str) -> None:
    assert parse_message(text) is None


def test_a_flood_waits_and_typing_does_not() -> None:
    now = 0.0
    pace = Pace(lambda: now)
    for _ in range(300):  # ten seconds of a key that repeats
        assert pace.spend(12) == 0
        now += 1 / 30
    assert pace.spend(256 << 10) == 0  # the largest module that the judge accepts, pasted
    waits = [pace.spend(1 << 10) for _ in range(10_000)]
    assert waits == sorted(waits)
    assert waits[-1] > 30
