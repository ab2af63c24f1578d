"""Labels of the MAPLE release: `labels.txt` and `labels_mesh.txt`, tab-separated, no header.

`labels.txt` has id, name and in most folders the depth in the tree, which is ignored; `labels_mesh.txt` has
id, name and any number of synonyms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.label_readers.registry import label_readers
from sciprism.papers.records import Label

_LINES = re.compile(r"(?:[A-Z]?\d+\t[^\t\n]+(?:\t[^\t\n]*)*(?:\n|$))+")
_DEPTH = re.compile(r"\d{1,2}")


class MapleReader:
    """Read one label a line."""

    suffixes: tuple[str, ...] = (".txt",)

    def recognises(self, head: str) -> bool:
        """Look for a first line of a number (MeSH: after a letter), a tab and a name."""
        return _LINES.match(head) is not None

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
        """Yield the label of every line that is not empty."""
        filled = ((line, text) for line, text in file.lines() if text.strip())
        for number, (line, text) in enumerate(filled, 1):
            file.record_line = line
            identifier, *texts = (column.strip() for column in text.split("\t"))
            if len(texts) == 2 and _DEPTH.fullmatch(texts[1]):
                texts.pop()
            if identifier and texts and texts[0]:
                synonyms = dict.fromkeys(item for item in texts[1:] if item and item != texts[0])
                yield Label(id=identifier, name=texts[0], synonyms=tuple(synonyms))
            else:
                yield BadRecord(number, line, f"{text[:100]!r} is not an id, a tab and a name")


label_readers.register("maple")(MapleReader())
