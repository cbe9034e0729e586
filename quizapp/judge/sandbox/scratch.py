"""A worker's scratch folder. The submission can write to ``work`` but not to the stack files beside it."""

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

MAX_BYTES = 256 << 20
MAX_ENTRIES = 5000


def new_folder() -> Path:
    """Create a private folder for this judge's scratch folders. Removes those of judges that were killed."""
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
    """The scratch folder of one group of workers."""

    def __init__(self, base: Path):
        self.base = base
        self.work = base / "work"

    def prepare(self) -> "ScratchFolder":
        """Create the part that the submission can write to."""
        self.work.mkdir(mode=0o700)
        return self

    def stack(self, rank: int) -> Path:
        """The file that the worker of ``rank`` writes its stacks to."""
        return self.base / f"stack{rank}"

    def is_over_limit(self) -> bool:
        """Whether the submission wrote too much, or hid how much it wrote."""
        size = entries = 0
        unvisited = [str(self.work)]
        while unvisited:
            try:
                with os.scandir(unvisited.pop()) as entries_here:
                    for entry in entries_here:
                        entries += 1
                        if entries > MAX_ENTRIES:
                            return True
                        with suppress(FileNotFoundError):
                            # Count blocks, not st_size: a sparse file takes less than its size.
                            size += entry.stat(follow_symlinks=False).st_blocks * 512
                            if entry.is_dir(follow_symlinks=False):
                                unvisited.append(entry.path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:  # a path longer than 4 KiB, or a folder without permissions
                return True
        return size > MAX_BYTES

    def remove(self) -> None:
        """Delete the folder with everything that a submission left in it. Links are not followed."""
        with suppress(RecursionError):
            shutil.rmtree(self.base, ignore_errors=True)
        if self.base.exists():
            # Folders without permissions, or nested more deeply than Python can recurse.
            for tool in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
                subprocess.run([*tool, str(self.base)], check=False, capture_output=True)  # noqa: S603
