"""Commands on the installation: doctor, restore, shell completion."""

import sys
from argparse import Namespace

from quizapp.errors import DONE, FAULTS


def doctor(_options: Namespace) -> int:
    """Say what works here and what does not, with the remedy."""
    from quizapp.doctor import examine

    findings = examine()
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark = "ok  " if finding.good else "BAD "
        sys.stdout.write(f"{mark} {finding.name:{width}}  {finding.text}\n")
    return DONE if all(finding.good for finding in findings) else FAULTS


def restore(options: Namespace) -> int:
    """List the backups, or restore one; what was there is kept."""
    from quizapp import paths
    from quizapp.store.backups import list_backups, restore_backup

    if options.backup is None:
        backups = list_backups(paths.backups())
        for backup in backups:
            sys.stdout.write(f"{backup.name}  {backup.stat().st_size / 1e6:.1f} MB\n")
        if not backups:
            sys.stdout.write("no backups yet; one is made when the app starts\n")
        return DONE
    kept = restore_backup(paths.database(), paths.backups(), options.backup)
    sys.stdout.write(
        f"restored {options.backup}" + (f"; what was there is kept as {kept}\n" if kept else "\n")
    )
    return DONE


def completion(options: Namespace) -> int:
    """Print the completion script of a shell."""
    from quizapp.commands.arguments import build_parser
    from quizapp.exchange.completion import script

    sys.stdout.write(script(build_parser(), options.shell))
    return DONE
