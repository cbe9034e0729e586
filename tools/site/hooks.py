"""Adds pages to the site from files outside ``docs/``, and makes links work both there and on GitHub.

`mkdocs.yml` names this module, and mkdocs calls its functions. In the repository, pages link to each
other and to other files by relative paths, as GitHub shows them. On the site, a link to a file that is a
page goes to the page; a link to another file of the repository goes to ``repo_url``, or becomes plain
text while there is none.
"""

import logging
import os
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PAGES = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "authors-tools.md": "tools/README.md",
    "labeled-answers.md": "tests/marking/answers/README.md",
}
"""Pages of the site and the files of the repository that they are made from."""
_DOCS = "docs"
_LINK = re.compile(r"(?P<text>!?\[[^\[\]]*\])\((?P<target>[^()\s]+)\)")
_CODE = re.compile(r"(`+)(?:(?!\1).)+\1")
_FENCE = re.compile(r"^\s*(```|~~~)")
_CELL = re.compile(r"<t[dh]\b.*?</t[dh]>", re.DOTALL)
_log = logging.getLogger("mkdocs.hooks.site")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from other files of the repository."""
    root = Path(config.docs_dir).parent
    for page, source in PAGES.items():
        text = (root / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links of a page for the site. ``files`` is unused, but mkdocs passes it."""
    del files
    root = Path(config.docs_dir).parent
    return rewrite_links(markdown, page.file.src_uri, root, config.repo_url or "")


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    r"""Show ``|`` for the ``\|`` that a code span in a table needs, as GitHub does."""
    del page, config, files
    return _CELL.sub(lambda cell: cell[0].replace(r"\|", "|"), html)


def rewrite_links(markdown: str, page: str, root: Path, repo_url: str) -> str:
    """The text of ``page`` with links as the site needs them. A link to a missing file logs a warning."""
    source = PAGES.get(page, f"{_DOCS}/{page}")
    lines, in_code = [], False
    for line in markdown.split("\n"):
        if _FENCE.match(line):
            in_code = not in_code
        lines.append(line if in_code else _line_for_site(line, source, root, repo_url))
    return "\n".join(lines)


def _line_for_site(line: str, source: str, root: Path, repo_url: str) -> str:
    code = [match.span() for match in _CODE.finditer(line)]

    def replaced(match: re.Match[str]) -> str:
        bracket = match.start("target") - 1
        if any(start <= bracket < end for start, end in code):
            return match[0]
        return _link_for_site(match["text"], match["target"], source, root, repo_url)

    return _LINK.sub(replaced, line)


def _link_for_site(text: str, target: str, source: str, root: Path, repo_url: str) -> str:
    path, _, anchor = target.partition("#")
    if not path or ":" in path:
        return f"{text}({target})"
    end = f"#{anchor}" if anchor else ""
    file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    pages = {made_from: page for page, made_from in PAGES.items()}
    if not os.path.lexists(root / file):
        _log.warning("%s links to %s, which does not exist", source, target)
        return text.strip("[]")
    inside = f"{_DOCS}/"
    page = pages.get(file) or (file.removeprefix(inside) if file.startswith(inside) else "")
    if page:
        here = pages.get(source) or source.removeprefix(inside)
        return f"{text}({posixpath.relpath(page, posixpath.dirname(here) or '.')}{end})"
    return f"{text}({repo_url.rstrip('/')}/blob/main/{file}{end})" if repo_url else text[1:-1]
