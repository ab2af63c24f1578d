"""What a command prints when it fails, and its exit status: one place for all commands."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

from sciprism.cli.json_documents import is_json_asked, print_json
from sciprism.errors import InputError, InterruptedRunError, RunFailedError
from sciprism.files import FULL, REFUSED, explain_write_errors, flush_output, is_explained, name_os_error

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
EXIT_STATUSES = {
    DONE: "done",
    FAILED: "partly failed: a task has no number, a file is damaged, the disk is full; what was finished is stored",
    WRONG: "wrong usage or input: nothing was done, the message says what to change",
    INTERRUPTED: "interrupted (Ctrl-C); the message says whether the same command continues",
}
"""Exit status -> meaning."""
OUTPUTS = ("output", "out", "collection", "folder")
"""Parameters of commands that name what is written."""
_FULL_TEXT = {
    errno.ENOSPC: re.compile(r"no space left on device|os error 28\b|errno[:= ]+28\b", re.IGNORECASE),
    errno.EDQUOT: re.compile(r"disk quota exceeded|os error 122\b", re.IGNORECASE),
}
"""What libraries that write files themselves say of a full disk, in errors that are no OSError."""


Stored = Callable[[Mapping[str, Any]], bool]


def with_explained_failures(
    command: Callable[..., None], *, stored: Stored | None = None, writes: bool = False
) -> Callable[..., None]:
    """Return a command that names the path of a full disk or a missing permission, and what an interruption means.

    stored: says, of the command's options, whether a run stored something, which the same command then does not
    do again. writes: the command writes files, all or none.
    """

    outputs = OUTPUTS if writes or stored is not None else OUTPUTS[:2]  # others only read a collection or folder

    @wraps(command)
    def run(**options: Any) -> None:
        try:
            command(**options)
        except InterruptedRunError as error:
            stop(f"interrupted; {error}", INTERRUPTED)
        except KeyboardInterrupt:
            stop(f"interrupted{_after_interruption(stored, writes, options)}", INTERRUPTED)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _locate(error, options, outputs) from error
        except (InputError, RunFailedError):
            raise
        except Exception as error:
            if (number := _find_full_disk(error)) is None:
                raise
            raise _locate(OSError(number, os.strerror(number)), options, outputs) from error

    return run


def stop_for(error: BaseException) -> NoReturn:
    """Print the message of a failure that was foreseen, and exit with its status."""
    if isinstance(error, InputError):
        stop(str(error), WRONG)
    if isinstance(error, RunFailedError):
        stop(str(error), FAILED)
    if isinstance(error, MemoryError):
        stop(f"the memory does not suffice ({str(error) or 'MemoryError'})", FAILED)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        words = error.strerror if is_explained(error) else f"{where}{name_os_error(error)}"
        stop(str(words), WRONG if error.errno in REFUSED else FAILED)
    raise error


def stop(message: str, status: int) -> NoReturn:
    """Print a message on standard error, with --json as JSON in one line, and exit."""
    if is_json_asked():
        print_json("sciprism.error/1", {"error": message, "exit": status}, error=True)
    else:
        print(f"sciprism: {message}", file=sys.stderr)
    sys.exit(status)


def stop_for_usage(error: Any) -> NoReturn:
    """Print what is wrong with a command line, and exit."""
    if is_json_asked():
        stop(error.format_message(), WRONG)
    error.show()
    sys.exit(WRONG)


def _after_interruption(stored: Stored | None, writes: bool, options: Mapping[str, Any]) -> str:
    if stored is None:
        return "; the same command starts again" if writes else ""
    if stored(options):
        return "; the same command continues where this one stopped"
    return " before anything was stored; the same command starts again"


def _locate(error: OSError, options: Mapping[str, Any], outputs: Sequence[str]) -> Exception:
    """Return an error of the system with the path that it is about: its own, else the command's output."""
    if error.errno not in FULL and error.errno not in REFUSED:
        return error
    if is_explained(error):
        return error
    if error.filename is None and (broken := flush_output()) is not None:
        return broken
    path = error.filename or next((options[name] for name in outputs if options.get(name)), "standard output")
    if error.errno in FULL:
        try:
            with explain_write_errors(Path(str(path))):
                raise error
        except OSError as explained:
            return explained
    return InputError(f"{path}: {name_os_error(error)}; name a path that you can read and write")


def _find_full_disk(error: BaseException | None) -> int | None:
    """Return the number of the error where a library's error, or its cause, tells of a full disk."""
    while error is not None:
        for number, pattern in _FULL_TEXT.items():
            if pattern.search(str(error)):
                return number
        error = error.__cause__ or error.__context__
    return None
