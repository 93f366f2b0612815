"""Limits that a process sets to itself before it runs SQL of people: no way to write, reach out or grow."""

import ctypes
import os
import resource
import signal
import struct
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_NO_NEW_PRIVILEGES = 38
_PATH_BENEATH = 1
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Rights over files that a version of Landlock knows; from 5 on one more."""
_TCP_RIGHTS = 0b11
_TCP_SINCE, _SCOPE_SINCE = 4, 6
_O_PATH = 0o10000000


def limit(seconds: float, threads: int, address_bytes: int, files: int) -> None:
    """Bound address space, processor time, files and life of this process; it can write no byte to a file."""
    processor = int(seconds * threads) + 2
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CPU, processor),
        (resource.RLIMIT_NOFILE, files),
        (resource.RLIMIT_AS, address_bytes),
    ):
        resource.setrlimit(kind, (most, most))
    signal.alarm(int(seconds) + 5)


def shut_in(readable: Iterable[Path]) -> bool:
    """Take all files but the `readable` ones, all programs and all TCP from this process, for good.

    True when the kernel can do that (Landlock, Linux 5.13), False where it cannot: the database refuses files
    and network by its own settings in any case. It holds for this thread and those started later: call it
    before the database starts its own. Raises OSError when the kernel has it and refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    if version < 1:
        return False
    rights = (1 << _FILE_RIGHTS.get(version, 16)) - 1
    tcp = _TCP_RIGHTS if version >= _TCP_SINCE else 0
    wanted = struct.pack("QQQ", rights, tcp, _TCP_RIGHTS if version >= _SCOPE_SINCE else 0)
    size = 24 if version >= _SCOPE_SINCE else 16 if version >= _TCP_SINCE else 8
    ruleset = _checked(libc.syscall(_CREATE_RULESET, wanted, ctypes.c_size_t(size), 0))
    for path in filter(Path.exists, readable):
        handle = os.open(path, _O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", _READ_FILE | (_READ_FOLDER if path.is_dir() else 0), handle)
        _checked(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
        os.close(handle)
    _checked(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _checked(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)
    return True


def _checked(answer: int) -> int:
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return answer
