"""Taking from a process, for good, the right to read files below a folder, except in one part of it.

Linux's Landlock does it: no rights are needed, it cannot be undone, and it holds for all that the process starts.
Only reading files is taken away; names can still be listed. Where there is no Landlock, nothing is promised:
`can_read` tells what holds.
Source: Linux kernel documentation, userspace-api/landlock.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_VERSION_FLAG = 1
_READ_FILE = 1 << 2
_REFER = 1 << 13
_SET_NO_NEW_PRIVILEGES = 38


def hide(folder: Path, *, but: Path | None = None) -> bool:
    """Make all files below `folder` unreadable for this process and its children, except those below `but`.

    Several calls add up.

    Args:
        folder: what is hidden.
        but: a folder in it that stays readable, if any.

    Returns:
        Whether the kernel enforces it.
    """
    if sys.platform != "linux":
        return False
    kernel = ctypes.CDLL(None, use_errno=True)
    version = kernel.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    if version < 2:  # the first version forbids renaming a file into another folder
        return False
    rights = struct.pack("Q", _READ_FILE | _REFER)
    ruleset = kernel.syscall(_CREATE_RULESET, rights, ctypes.c_size_t(len(rights)), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    try:
        for path in _open_parts(folder.resolve(), None if but is None else but.resolve()):
            _allow(kernel, ruleset, path, _READ_FILE | _REFER)
        _allow(kernel, ruleset, Path("/"), _REFER)
        if kernel.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            return False
        return bool(kernel.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)) == 0)
    except OSError:  # a folder above cannot be listed
        return False
    finally:
        os.close(ruleset)


def _open_parts(folder: Path, but: Path | None) -> Iterator[Path]:
    """What stays readable: beside every folder on the way down all others, and in the end the exception."""
    for above in reversed(folder.parents):
        below = next(part for part in (folder, *folder.parents) if part.parent == above and part != above)
        for entry in above.iterdir():
            if entry != below:
                yield entry
    if but is not None:
        yield but


def _allow(kernel: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> None:
    if path.is_symlink() or not path.is_dir():
        rights &= _READ_FILE
    try:
        # A link must not lead to what is hidden; what else it leads to is allowed by itself.
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # it went away, or cannot be opened
        return
    try:
        rule = struct.pack("=Qi", rights, opened)
        kernel.syscall(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_RULE_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(opened)


def can_read(path: Path) -> bool:
    """Whether this process can open a file for reading."""
    try:
        with path.open("rb"):
            return True
    except OSError:
        return False
