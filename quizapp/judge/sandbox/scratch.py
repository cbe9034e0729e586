"""A worker's scratch folder: ``work`` is writable by the submission, the stack files beside it are not."""

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

MAX_BYTES = 256 << 20
MAX_ENTRIES = 5000


def new_folder() -> Path:
    """A private folder for this judge's scratch folders; sweeps those of judges that were killed."""
    prefix = f"quizapp-judge-{os.getuid()}-"
    for old in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        owner = old.name.removeprefix(prefix).partition("-")[0]
        with suppress(OSError):
            if old.stat().st_uid == os.getuid() and owner.isdigit() and not _alive(int(owner)):
                ScratchFolder(old).remove()
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-"))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class ScratchFolder:
    """One scratch folder, with its watch and its removal."""

    def __init__(self, base: Path):
        self.base = base
        self.work = base / "work"

    def prepare(self) -> "ScratchFolder":
        """Make the writable part."""
        self.work.mkdir(mode=0o700)
        return self

    def stack(self, rank: int) -> Path:
        """Where the worker of ``rank`` writes its stacks."""
        return self.base / f"stack{rank}"

    def is_over_limit(self) -> bool:
        """Whether the submission wrote more than it may, or where nobody can see how much."""
        size = entries = 0
        waiting = [str(self.work)]
        while waiting:
            try:
                with os.scandir(waiting.pop()) as found:
                    for entry in found:
                        entries += 1
                        if entries > MAX_ENTRIES:
                            return True
                        with suppress(FileNotFoundError):
                            size += entry.stat(follow_symlinks=False).st_blocks * 512
                            if entry.is_dir(follow_symlinks=False):
                                waiting.append(entry.path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:  # a path of more than 4 KiB, a folder that may not be listed
                return True
        return size > MAX_BYTES

    def remove(self) -> None:
        """Delete the folder, whatever a submission left in it; links are not followed."""
        with suppress(RecursionError):
            shutil.rmtree(self.base, ignore_errors=True)
        if self.base.exists():
            # Folders without permissions, or nested deeper than Python recurses.
            for tool in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
                subprocess.run([*tool, str(self.base)], check=False, capture_output=True)  # noqa: S603
