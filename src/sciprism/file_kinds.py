"""What a file is that is not what it should be: a Git-LFS pointer, an HTML page, empty, or binary."""

from __future__ import annotations

import re
from pathlib import Path

HEAD = 4096
"""Bytes that tell what a file is."""

_SIGNATURES = {
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive, or a document of an office program",
    b"SQLite format 3\x00": "an SQLite database",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ\x00": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive",
    b"PAR1": "a Parquet file",
    b"\xd0\xcf\x11\xe0": "a document of an old office program",
    b"\x80\x02": "a Python pickle",
    b"\x7fELF": "a program",
}
_HTML = re.compile(rb"\s*(<!--.*?-->\s*)*(<!doctype html|<html|<head|<body)", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_LFS_SIZE = re.compile(rb"^size (\d+)$", re.MULTILINE)
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


def describe_wrong_file(head: bytes, *, binary: bool = False) -> str:
    """Return what the first bytes of a file show it to be and what to do, "" where nothing is wrong with it.

    binary: the file should be binary, so that only other kinds are wrong.
    """
    if not head.strip(b"\x00\x1a \t\r\n\xef\xbb\xbf"):
        return "the file is empty" if not head else "the file is empty: it holds nothing but blanks"
    if head.startswith(b"version https://git-lfs"):
        size = _LFS_SIZE.search(head)
        much = f" of {int(size[1]):,} bytes" if size else ""
        return f"a Git-LFS pointer, not the file{much} that it stands for; fetch it with: git lfs pull"
    if _HTML.match(head.removeprefix(b"\xef\xbb\xbf")):
        title = _TITLE.search(head)
        words = " ".join(title[1].decode("utf-8", "replace").split()) if title else ""
        named = f" ({words:.80})" if words else ""
        return f"an HTML page{named}, not the file itself: a download often gives one for an error; fetch it again"
    if binary:
        return ""
    known = next((what for signature, what in _SIGNATURES.items() if head.startswith(signature)), "")
    if known or (b"\x00" in head and not head.startswith(_BYTE_ORDER_MARKS) and not _is_wide_text(head)):
        return f"{known or 'a binary file'}, not text; name a file in a known format"
    return ""


def describe_wrong_path(path: Path, *, binary: bool = False) -> str:
    """Return what a file is that is not what it should be, "" where nothing is wrong or it cannot be read."""
    try:
        with path.open("rb") as file:
            return describe_wrong_file(file.read(HEAD), binary=binary)
    except OSError:
        return ""


def _is_wide_text(head: bytes) -> bool:
    """Tell text whose letters have two or four bytes from binary content: every other byte is zero."""
    return any(not any(head[start::2]) for start in (0, 1))
