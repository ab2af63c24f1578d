"""A process that is killed at a chosen change of the disk, without starting one.

Python reports each change (rename, deletion, new folder, file opened for writing) before it is made. From the
chosen one on, every change fails, so what a `finally` does never reaches the disk either.
"""

import os
import sys
import threading
from contextlib import contextmanager

EVENTS = ("os.rename", "os.link", "os.remove", "os.rmdir", "os.mkdir", "open")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class KilledError(BaseException):
    """The process is dead."""


class _Switch:
    def __init__(self):
        self.installed, self.root, self.left, self.changes = False, None, 0, []

    def hook(self, event, arguments):
        if self.root is None or event not in EVENTS or threading.current_thread() is not threading.main_thread():
            return
        if event == "open" and not (str(arguments[0]).startswith(self.root) and arguments[2] & WRITING):
            return
        if self.left <= 0:
            raise KilledError(event)
        self.left -= 1
        self.changes.append(event)


_switch = _Switch()


@contextmanager
def killed_after(changes, root):
    """Kill the block after so many changes of the disk. Yields the list of changes made."""
    if not _switch.installed:
        sys.addaudithook(_switch.hook)
        _switch.installed = True
    _switch.root, _switch.left, _switch.changes = str(root), changes, []
    try:
        yield _switch.changes
    except KilledError:
        pass
    finally:
        _switch.root = None
