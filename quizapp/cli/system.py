"""Commands on the installation: doctor, restore, shell completion."""

import sys
from argparse import Namespace

from quizapp.errors import DONE, FAULTS, QuizError
from quizapp.util.text import plural

_AFTER_LIST = "'quizapp restore NAME' puts one of them in place; what is there now is kept\n"


def doctor(_options: Namespace) -> int:
    """Say what works here and what does not, with the remedy."""
    from quizapp.cli.doctor import examine

    findings = examine()
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark = "ok  " if finding.good else "BAD "
        sys.stdout.write(f"{mark} {finding.name:{width}}  {finding.text}\n")
    return DONE if all(finding.good for finding in findings) else FAULTS


def restore(options: Namespace) -> int:
    """List the backups, or restore one; what was there is kept."""
    from datetime import UTC, datetime

    from quizapp import paths
    from quizapp.store.backups import listed
    from quizapp.store.backups import restore as put_back

    backups = listed(paths.backups())
    if options.backup is None:
        for backup in backups:
            when = backup.time.astimezone().strftime("%Y-%m-%d %H:%M:%S")
            sys.stdout.write(
                f"{backup.path.name}  {when}  {plural(backup.events, 'event')}  {backup.reason}\n"
            )
        sys.stdout.write(_AFTER_LIST if backups else "no backups yet; one is made when the app starts\n")
        return DONE
    chosen = next((b for b in backups if b.path.name == options.backup), None)
    if chosen is None:
        raise QuizError(f"there is no backup '{options.backup}'; 'quizapp restore' lists them")
    kept = put_back(paths.database(), chosen.path, paths.backups(), now=datetime.now(UTC))
    sys.stdout.write(
        f"restored {options.backup}" + (f"; what was there is kept as {kept}" if kept else "") + "\n"
    )
    return DONE


def completion(options: Namespace) -> int:
    """Print the completion script of a shell."""
    from quizapp.cli.completion import script
    from quizapp.cli.parser import build_parser

    sys.stdout.write(script(build_parser(), options.shell))
    return DONE
