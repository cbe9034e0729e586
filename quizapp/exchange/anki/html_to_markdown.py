"""Converts the HTML of a note to Markdown: paragraphs, lists, tables, code, bold, italics, and safe links.

Everything else loses its markup and keeps its text. Pictures become their names.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import unquote

from quizapp.util.sanitize import escape_controls

_PARAGRAPHS = frozenset(
    {"p", "div", "br", "section", "article", "header", "footer", "center", "dl", "dt", "dd", "figure"}
    | {"figcaption", "thead", "tbody", "tfoot", "caption", "hr", "details", "summary", "address", "form"}
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_CONTAINERS = frozenset({"ul", "ol", "li", "blockquote", "pre", "table", "tr", "td", "th"})
_EMPHASIS = {"b": "**", "strong": "**", "i": "*", "em": "*"}
_SCRIPTS = {"sup": "^", "sub": "_"}
_DROPPED = frozenset({"script", "style", "head", "template", "noscript", "iframe", "object"})
# Linear: no part looks beyond the next angle bracket for an end that may not be there.
_TOKEN = re.compile(r"<!--|<(/?)([A-Za-z][A-Za-z0-9]{0,20})(?=[\s/>])([^<>]*)>|<[!?][^<>]*>")
_ATTRIBUTE = re.compile(r"""(?<![\w-])([\w-]{1,30})\s{0,9}=\s{0,9}("[^"]*"|'[^']*'|[^\s"'=<>`]+)""")
_WITH_ATTRIBUTES = frozenset({"a", "img", "code", "ol"})
_SAFE_LINK = re.compile(r"(?:https?://|mailto:)[^\s<>()]+")
_SPACES = re.compile(r"[ \t\r\n\f\xa0]+")
_LANGUAGE = re.compile(r"(?:^|\s)language-([\w+#.-]{1,30})")
_MOST_NESTED = (
    40  # containers; deeper ones are read as text, because their indents would grow with the square
)
# A backslash in front of these would otherwise vanish, and the others would become markup.
_MARKUP = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|[`*]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<=\])\("
)
_LINE_START = re.compile(r"^(#{1,6}(?:\s|$)|>|=+\s*$|\[[^\]]*\]:)")


@dataclass(slots=True)
class _Frame:
    """An open element: its finished blocks, and the pieces of the paragraph that is being read.

    ``open_marks`` holds, for each open emphasis or link, its tag, where it starts, and its target.
    """

    tag: str
    blocks: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    open_marks: list[tuple[str, int, str]] = field(default_factory=list)
    loose: bool = False
    language: str = ""
    start: int = 1


class _Converter:
    """Builds Markdown from the innermost element outward.

    It finds the tags itself: `html.parser` takes minutes for a note made to slow it down.
    """

    def __init__(self) -> None:
        self.frames = [_Frame("")]
        self.dropped = 0

    def feed(self, html: str) -> None:
        """Read a whole note."""
        end = 0
        for tag in _TOKEN.finditer(html):
            if tag.start() < end:
                continue  # within a comment
            self.handle_data(html[end : tag.start()])
            end = tag.end()
            if tag[0] == "<!--":
                close = html.find("-->", end)
                end = close + 3 if close >= 0 else len(html)
            elif tag[2]:
                handle = self.handle_endtag if tag[1] else self.handle_starttag
                handle(tag[2].lower(), tag[3])
        self.handle_data(html[end:])

    @property
    def top(self) -> _Frame:
        return self.frames[-1]

    @property
    def in_pre(self) -> bool:
        return self.top.tag == "pre"

    def handle_starttag(self, tag: str, text: str) -> None:
        """Begin an element; ``text`` holds its attributes."""
        attrs = _attributes(text) if tag in _WITH_ATTRIBUTES else {}
        if tag in _DROPPED:
            self.dropped += 1
        elif self.dropped:
            return
        elif self.in_pre and tag != "pre":
            self._in_pre(tag, attrs)
        elif tag in _CONTAINERS:
            self._open(tag, attrs.get("start") or "")
        elif tag in _PARAGRAPHS or tag in _HEADINGS:
            self._break(tag)
        elif tag == "img":
            self.top.pieces.append(_escaped(f"[image: {_file_name(attrs.get('src') or '')}]"))
        elif len(self.top.open_marks) >= _MOST_NESTED:
            return
        elif tag in _EMPHASIS or tag in {"code", "kbd", "samp", "tt", "a"} or tag in _SCRIPTS:
            self.top.open_marks.append((tag, len(self.top.pieces), attrs.get("href") or ""))

    def _in_pre(self, tag: str, attrs: Mapping[str, str]) -> None:
        if tag == "code":
            found = _LANGUAGE.search(attrs.get("class") or "")
            self.top.language = found[1] if found else self.top.language
        elif tag in {"br", "div", "p"} and (tag == "br" or self.top.pieces):
            self.top.pieces.append("\n")

    def handle_endtag(self, tag: str, _text: str) -> None:
        """End an element."""
        if tag in _DROPPED:
            self.dropped = max(0, self.dropped - 1)
        elif self.dropped:
            return
        elif tag in _CONTAINERS:
            if any(frame.tag == tag for frame in self.frames):
                while self.top.tag != tag:
                    self._close()
                self._close()
        elif self.in_pre:
            return
        elif tag in _PARAGRAPHS:
            self._break(tag)
        elif tag in _HEADINGS:
            self._flush(_HEADINGS[tag] + " ")
        else:
            self._end_mark(tag)

    def handle_data(self, data: str) -> None:
        """Read the text between two tags."""
        if self.dropped or not data:
            return
        data = _unescaped(data)
        if self.in_pre:
            self.top.pieces.append(data.replace("\xa0", " "))
        elif self._in_code():
            self.top.pieces.append(_SPACES.sub(" ", data))
        else:
            self.top.pieces.append(_escaped(_SPACES.sub(" ", data)))

    def _in_code(self) -> bool:
        return any(tag in {"code", "kbd", "samp", "tt"} for tag, _, _ in self.top.open_marks)

    def _break(self, tag: str) -> None:
        self._flush()
        if tag == "p":
            self.top.loose = True
        elif tag == "hr" and (self.top.blocks or len(self.frames) > 1):
            self.top.blocks.append("---")

    def _end_mark(self, tag: str) -> None:
        marks = self.top.open_marks
        place = next((n for n in range(len(marks) - 1, -1, -1) if marks[n][0] == tag), None)
        if place is None:
            return
        _, start, target = marks[place]
        del marks[place:]
        inner = "".join(self.top.pieces[start:])
        del self.top.pieces[start:]
        self.top.pieces.append(_marked(tag, inner, target))

    def _flush(self, prefix: str = "") -> None:
        """End the paragraph that is being read."""
        top = self.top
        while top.open_marks:
            self._end_mark(top.open_marks[-1][0])
        text = _SPACES.sub(" ", "".join(top.pieces)).strip()
        top.pieces.clear()
        if text:
            top.blocks.append(prefix + text if prefix else _LINE_START.sub(r"\\\1", text, count=1))

    def _open(self, tag: str, start: str) -> None:
        if tag == "li" and self.top.tag == "li":
            self._close()
        if tag in {"td", "th", "tr"}:
            while self.top.tag in {"td", "th"} or (tag == "tr" and self.top.tag == "tr"):
                self._close()
        self._flush()
        if len(self.frames) <= _MOST_NESTED:
            number = int(start) if re.fullmatch("[0-9]{1,9}", start) else 1
            self.frames.append(_Frame(tag, start=number))

    def _close(self) -> None:
        frame = self.top
        if frame.tag == "pre":
            text = _fenced("".join(frame.pieces), frame.language)
        else:
            self._flush()
            text = _RENDER.get(frame.tag, _blocks)(frame)
        self.frames.pop()
        if frame.tag == "li":
            self.top.loose |= frame.loose
        # An empty cell keeps its place; every other empty element leaves nothing.
        if text or frame.tag in {"td", "th"}:
            self.top.blocks.append(_apart(self.top, text) if frame.tag == "ul" else text)

    def text(self) -> str:
        """The Markdown of everything read so far."""
        while len(self.frames) > 1:
            self._close()
        self._flush()
        return "\n\n".join(self.top.blocks)


def to_markdown(html: str) -> str:
    """Convert HTML to Markdown; control characters become visible escapes."""
    converter = _Converter()
    converter.feed(html)
    return escape_controls(converter.text())


def _attributes(text: str) -> dict[str, str]:
    return {name.lower(): _unescaped(value.strip("\"'")) for name, value in _ATTRIBUTE.findall(text)}


def _unescaped(text: str) -> str:
    try:
        return unescape(text)
    except ValueError:  # a reference with thousands of digits
        return text


def _escaped(text: str) -> str:
    return _MARKUP.sub(lambda match: "\\" + match[0], text)


def _file_name(source: str) -> str:
    if source.startswith("data:"):
        return "in the note"
    return unquote(source).rsplit("/", 1)[-1][:80] or "unnamed"


def _marked(tag: str, inner: str, target: str) -> str:
    """The text of an inline element with its marks inside the spaces around it, where Markdown wants them."""
    text = inner.strip()
    if not text:
        return inner
    before, after = inner[: len(inner) - len(inner.lstrip())], inner[len(inner.rstrip()) :]
    if tag in _EMPHASIS:
        mark = _EMPHASIS[tag]
        # Doubled marks, as in bold within bold, would cancel each other.
        text = text if text.startswith("*") and text.endswith("*") else f"{mark}{text}{mark}"
    elif tag in _SCRIPTS:
        text = _SCRIPTS[tag] + text
    elif tag == "a":
        text = f"[{text}]({target})" if _SAFE_LINK.fullmatch(target) and "](" not in text else text
    else:
        fence = "`" * (_longest_run(text) + 1)
        padding = " " if text.startswith("`") or text.endswith("`") else ""
        text = f"{fence}{padding}{text}{padding}{fence}"
    return before + text + after


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _fenced(code: str, language: str) -> str:
    fence = "`" * max(3, _longest_run(code) + 1)
    code = code.strip("\r\n")
    return f"{fence}{language}\n{code}\n{fence}" if code.strip() else ""


def _blocks(frame: _Frame) -> str:
    return "\n\n".join(frame.blocks)


def _item(frame: _Frame) -> str:
    """The content of a list entry. In a tight list, a nested list follows without an empty line."""
    text = ""
    for block in frame.blocks:
        tight = not frame.loose and re.match(r"- |\d+\. |```", block)
        text += ("\n" if tight else "\n\n") + block if text else block
    return text


def _list(frame: _Frame) -> str:
    entries = []
    for number, block in enumerate(frame.blocks, frame.start):
        mark = f"{number}. " if frame.tag == "ol" else "- "
        entries.append(mark + _indented(block, " " * len(mark)))
    return ("\n\n" if frame.loose else "\n").join(entries)


def _apart(parent: _Frame, text: str) -> str:
    """A list directly behind another one, with another mark: the same mark would join the two."""
    joins = bool(parent.blocks) and parent.blocks[-1].startswith("- ")
    return re.sub(r"^- ", "* ", text, flags=re.MULTILINE) if joins else text


def _indented(text: str, indent: str) -> str:
    return text.replace("\n", "\n" + indent).replace("\n" + indent + "\n", "\n\n")


def _quoted(frame: _Frame) -> str:
    text = _blocks(frame)
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n")) if text else ""


def _cell(frame: _Frame) -> str:
    return " ".join(" ".join(frame.blocks).split()).replace("|", "\\|")


def _row(frame: _Frame) -> str:
    return f"| {' | '.join(frame.blocks)} |" if any(frame.blocks) else ""


def _table(frame: _Frame) -> str:
    if not frame.blocks:
        return ""
    rows = [row for row in frame.blocks if row.startswith("| ")]
    if not rows:
        return _blocks(frame)
    columns = max(len(re.findall(r"(?<!\\)\|", row)) - 1 for row in rows)
    # The first row is the heading, because Markdown has no table without one.
    return "\n".join([rows[0], "|" + " --- |" * columns, *rows[1:]])


_RENDER: dict[str, Callable[[_Frame], str]] = {
    "ul": _list,
    "ol": _list,
    "li": _item,
    "blockquote": _quoted,
    "td": _cell,
    "th": _cell,
    "tr": _row,
    "table": _table,
}
