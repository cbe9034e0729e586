"""The commands that serve others: assistants over stdin and stdout, and a browser."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from quizapp.cli.content import load_user_bank
from quizapp.errors import DONE, QuizError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quizapp.incidents.model import IncidentLibrary
    from quizapp.interview.paper.incident_pool import ListedIncident
    from quizapp.scheduling.planner.plan import PlanInputs
    from quizapp.scheduling.service import Study


def mcp(_options: Namespace) -> int:
    """Serve one client until it closes stdin."""
    try:
        from quizapp.exchange.mcp_server import serve
    except ImportError:
        from quizapp.util.installation import install_command

        raise QuizError(
            f"the server needs the package mcp, version 2; install it with: {install_command('mcp')}"
        ) from None
    from quizapp.exchange.tutor.overview import Rehearsal
    from quizapp.scheduling.service import Study

    if sys.stdin.isatty():
        sys.stderr.write("quizapp: waiting for an MCP client on stdin; docs/tutor.md says how to add one\n")
    with Study.open(load_user_bank()) as study:
        serve(study, Rehearsal(_plan, _incidents, _incident_seconds))
    return DONE


def serve(options: Namespace) -> int:
    """Serve the app to a browser on this computer until ctrl+c."""
    from quizapp.util.installation import require

    require("Serving the app to a browser", "textual_serve", "serve")
    from quizapp.tui.serve.server import serve as serve_app

    return serve_app(options.host, options.port)


def _plan(study: "Study") -> "PlanInputs | None":
    from quizapp.interview.blueprint import load_blueprint
    from quizapp.interview.topic_weights import inputs_to_interview

    settings = study.settings.plan
    if settings.until is None or settings.until < study.today():
        return None
    return inputs_to_interview(study, load_blueprint(), settings.until, role=settings.role)


def _incidents(study: "Study", library: "IncidentLibrary") -> "Sequence[ListedIncident]":
    from quizapp.interview.paper.incident_pool import list_incidents

    return list_incidents(study, library)


def _incident_seconds() -> int:
    from quizapp.interview.blueprint import load_blueprint

    return load_blueprint().incident_seconds
