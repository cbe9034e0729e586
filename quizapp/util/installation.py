"""How quizapp was installed, and the command that adds an optional part of it."""

import importlib.util
import shlex
import sys
from pathlib import Path

from quizapp.errors import QuizError

DISTRIBUTION = "quizapp-ml"
"""The name on the package index, where "quizapp" is somebody else's program."""
JUDGE = "judge"
"""The extra that brings torch."""


class PartMissing(QuizError):
    """What was asked for needs an optional package that is not installed."""


def has_package(name: str) -> bool:
    """Whether the top-level package ``name`` can be imported. Does not import it."""
    return importlib.util.find_spec(name) is not None


def require_torch(what: str = "Grading") -> None:
    """Raise `PartMissing` with the command that installs torch, unless it is there. ``what`` needs it."""
    require(what, "torch", JUDGE)


def require(what: str, package: str, extra: str) -> None:
    """Raise `PartMissing` unless ``package`` is installed, which ``what`` needs and ``extra`` brings."""
    if not has_package(package):
        raise PartMissing(
            f"{what} needs {package}, which is not installed; install it with: {install_command(extra)}"
        )


def install_command(extra: str) -> str:
    """The shell command that adds ``extra`` to this installation, by the tool that made the installation."""
    prefix = Path(sys.prefix)
    checkout = Path(__file__).parents[2]
    named = f"{DISTRIBUTION}[{extra}]"
    if prefix == checkout / ".venv" and extra == JUDGE:
        return shlex.join(["make", "-C", str(checkout), "run"])
    if (prefix / "uv-receipt.toml").exists():
        return shlex.join(["uv", "tool", "install", _with_source(extra)])
    if (prefix / "pipx_metadata.json").exists():
        return shlex.join(["pipx", "runpip", DISTRIBUTION, "install", named])
    if (prefix.parent.parent / "CACHEDIR.TAG").exists():  # an environment that lasts as long as uv's cache
        return shlex.join(["uvx", "--from", _with_source(extra), "quizapp"])
    if has_package("pip"):
        return shlex.join([sys.executable, "-m", "pip", "install", named])
    return shlex.join(["uv", "pip", "install", "--python", sys.executable, named])


def _with_source(extra: str) -> str:
    """The requirement with the file, folder or repository that quizapp came from, if it was not an index.

    pip takes what is installed already; uv looks for it again.
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution  # costs 10 ms

    named = f"{DISTRIBUTION}[{extra}]"
    try:
        origin = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
        if not (url := origin.get("url")):
            return named
        if vcs := origin.get("vcs_info"):
            url = f"{vcs['vcs']}+{url}@{vcs.get('requested_revision') or vcs['commit_id']}"
    except (PackageNotFoundError, OSError, ValueError, KeyError):
        return named
    return f"{named} @ {url}"
