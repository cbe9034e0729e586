"""The judge as a process: answers orders that come over a socket."""

import base64
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

from quizapp.errors import QuizError
from quizapp.judge import wire


def main(descriptor: str) -> int:
    """Serve the socket ``descriptor`` until the other side closes it."""
    from quizapp.judge.engine import Engine
    from quizapp.judge.run import warm

    warm()
    engine = Engine()
    with socket.socket(fileno=int(descriptor)) as sock:
        while (message := wire.receive(sock)) is not None:
            wire.send(sock, answer(engine, message))
    return 0


def answer(engine: Any, message: dict[str, Any]) -> dict[str, Any]:
    """What to send back for one message."""
    from quizapp.judge.engine import Order

    ticket = message.get("id")
    try:
        order = Order(
            Path(message["folder"]),
            base64.b64decode(message["source"]),
            message["file"],
            message["device"],
            message["timeout"],
            message["seed"],
            message["tier"],
        )
        return {"id": ticket, "verdict": engine.grade(order).as_json()}
    except QuizError as error:
        return {"id": ticket, "fault": str(error), "exit": error.exit_code}
    except Exception:  # noqa: BLE001 - whatever broke in the judge must reach the log, not the learner
        return {"id": ticket, "broken": traceback.format_exc()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
