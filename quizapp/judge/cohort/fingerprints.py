"""Fingerprints of source code by winnowing, which names, comments and layout do not change.

The algorithm is that of Schleimer, Wilkerson and Aiken, "Winnowing: local algorithms for document
fingerprinting", SIGMOD 2003: of the hashes of all runs of ``RUN`` tokens, each window of ``WINDOW`` keeps
the smallest. Two sources that share a run of ``RUN + WINDOW - 1`` tokens share a fingerprint; what they share
in shorter runs than ``RUN`` is never seen.
"""

import builtins
import io
import keyword
import tokenize
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

RUN = 16
WINDOW = 8
MAX_TOKENS = 50_000  # of one source; a solution has some hundred
_IGNORED = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}
_LAYOUT = frozenset("();")  # parentheses may be added at will, above all for a line break
_CLOSING = frozenset(")]}")
_STATEMENT_ENDS = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
_BUILTINS = frozenset(dir(builtins))
_MARKS_OF_STRINGS = {getattr(tokenize, name) for name in dir(tokenize) if name.startswith("FSTRING")}
NAME, NUMBER, STRING = "name", "number", "string"


@dataclass(frozen=True)
class CodeToken:
    """A token without what a copy can change at no cost: ``text`` is the same for all names and literals."""

    text: str
    line: int


@dataclass(frozen=True)
class Fingerprints:
    """What winnowing keeps of a source: by hash, the lines of the runs that have it, as (first, last)."""

    lines: dict[int, tuple[tuple[int, int], ...]]

    def without(self, common: frozenset[int]) -> "Fingerprints":
        """The fingerprints that are not ``common``."""
        return Fingerprints({key: lines for key, lines in self.lines.items() if key not in common})


def fingerprints(source: bytes) -> Fingerprints:
    """The fingerprints of a source. Broken code has those of its part before the fault."""
    tokens = normalized_tokens(source)
    hashes = _run_hashes(tokens)
    chosen = sorted({_smallest(hashes, start) for start in range(max(1, len(hashes) - WINDOW + 1))} - {-1})
    lines: dict[int, list[tuple[int, int]]] = {}
    for place in chosen:
        lines.setdefault(hashes[place], []).append((tokens[place].line, tokens[place + RUN - 1].line))
    return Fingerprints({key: tuple(places) for key, places in lines.items()})


def all_runs(source: bytes) -> frozenset[int]:
    """The hashes of all runs of a source that everybody has, such as the starter.

    All, and not only the fingerprints: the windows of a submission fall elsewhere.
    """
    return frozenset(_run_hashes(normalized_tokens(source)))


def normalized_tokens(source: bytes) -> list[CodeToken]:
    """The tokens of a source without comments, docstrings and layout.

    Names that the source itself gives to something become one word, and so do literals. Keywords, builtins
    and the attributes of libraries stay, because a copy cannot rename them.
    """
    raw = list(_raw_tokens(source))
    given = _given_names(raw)
    tokens: list[CodeToken] = []
    before = None  # the token before, comments and empty lines left out
    for token, after in zip(raw, [*raw[1:], None], strict=True):
        if token.type in (tokenize.COMMENT, tokenize.NL):
            continue
        if token.string in _CLOSING and tokens and tokens[-1].text == ",":
            tokens.pop()  # a comma before a bracket changes nothing
        if not (token.type in _IGNORED or token.string in _LAYOUT or _is_docstring(before, token, after)):
            text = _normalized(before, token, given)
            if not (text == STRING and tokens and tokens[-1].text == STRING):  # one string in two parts
                tokens.append(CodeToken(text, token.start[0]))
        before = token
        if len(tokens) == MAX_TOKENS:
            break
    return tokens


def _raw_tokens(source: bytes) -> Iterator[tokenize.TokenInfo]:
    text = source.decode("utf-8-sig", errors="replace")
    try:
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
    except (tokenize.TokenError, SyntaxError):
        return


def _given_names(raw: Sequence[tokenize.TokenInfo]) -> frozenset[str]:
    """The names that a source defines, assigns, imports under, or takes as arguments."""
    given = set()
    for before, token, after in zip(raw, raw[1:], raw[2:], strict=False):
        if token.type == tokenize.NAME and (
            before.string in ("def", "class", "as", "for", "import", "global", "nonlocal")
            or after.string in ("=", ":=", ":")
        ):
            given.add(token.string)
    return frozenset(given)


def _is_docstring(
    before: tokenize.TokenInfo | None, token: tokenize.TokenInfo, after: tokenize.TokenInfo | None
) -> bool:
    """Whether a string is a statement by itself, which does nothing wherever it stands."""
    begins = before is None or before.type in _STATEMENT_ENDS
    ends = after is None or after.type in (tokenize.NEWLINE, tokenize.ENDMARKER)
    return token.type == tokenize.STRING and begins and ends


def _normalized(before: tokenize.TokenInfo | None, token: tokenize.TokenInfo, given: frozenset[str]) -> str:
    if token.type == tokenize.NUMBER:
        return NUMBER
    if token.type == tokenize.STRING or token.type in _MARKS_OF_STRINGS:
        return STRING
    if token.type != tokenize.NAME or keyword.iskeyword(token.string):
        return token.string
    of_a_library = before is not None and before.string == "."
    if token.string not in given and (of_a_library or token.string in _BUILTINS):
        return token.string
    return NAME


def _run_hashes(tokens: Sequence[CodeToken]) -> list[int]:
    """The hash of each run of ``RUN`` tokens, the same in every process."""
    texts = [token.text.encode() for token in tokens]
    return [
        zlib.crc32(b"\0".join(texts[start : start + RUN])) for start in range(max(0, len(texts) - RUN + 1))
    ]


def _smallest(hashes: Sequence[int], start: int) -> int:
    """The place of the smallest hash in a window, the last one of several; -1 if there is none."""
    window = hashes[start : start + WINDOW]
    return start + max(range(len(window)), key=lambda n: (-window[n], n)) if window else -1
