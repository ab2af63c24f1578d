"""What is said of an input file once it is read: repairs, choices made for the user, what was left out."""

from __future__ import annotations

import warnings

from sciprism.errors import GuessedEncodingWarning, UnreadSheetsWarning
from sciprism.papers.input_file import InputFile


def describe_repairs(file: InputFile) -> str:
    """Return how a file was decoded, what was replaced in it, left out and noticed."""
    notes = []
    if file.encoding:
        lines = f" in {_count_noun(file.redecoded_lines, 'line')}" if file.redecoded_lines else ""
        notes.append(f"read as {file.encoding}{lines}")
    if file.damaged_characters:
        notes.append(f"{_count_noun(file.damaged_characters, 'damaged character')} replaced")
    if file.removed_characters:
        notes.append(f"{_count_noun(file.removed_characters, 'control character')} removed")
    if file.omitted:
        counts = ", ".join(_count_noun(count, what) for what, count in sorted(file.omitted.items()))
        notes.append(f"not papers: {counts}")
    notes += [_count_noun(count, what) for what, count in sorted(file.noticed.items())]
    if file.unread_sheets:
        notes.append(f"{_count_noun(len(file.unread_sheets), 'other sheet')} not read")
    return ", ".join([*notes, *file.remarks])


def warn_of_choices(file: InputFile, path: str) -> None:
    """Warn of what was chosen for the user: a guessed encoding, one sheet of several."""
    if file.guessed:
        guess = f"{path}: not UTF-8, read as {file.encoding}, a guess; --encoding NAME decides"
        warnings.warn(guess, GuessedEncodingWarning, stacklevel=2)
    if file.unread_sheets:
        names = ", ".join(map(repr, file.unread_sheets))
        choice = f"the first sheet with a title column was read, not {names}; choose one with {path}#SHEET"
        warnings.warn(f"{path}: {choice}", UnreadSheetsWarning, stacklevel=2)


def _count_noun(number: int, noun: str) -> str:
    plural = noun if number == 1 else f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {plural}"
