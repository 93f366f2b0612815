"""Files and folders that must be on the disk before something else says that they are."""

import os
from pathlib import Path


def flush(path: Path) -> None:
    """Wait until a file or a folder is on the disk; raises OSError when the disk refuses."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
