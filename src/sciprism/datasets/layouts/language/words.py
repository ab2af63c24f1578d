"""Sentences as words, each with a tag: files of one word a line (CoNLL), and JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Tagged
from sciprism.datasets.layouts.language.parts import (
    PartFiles,
    Parts,
    cut_dev,
    need_rows,
    together,
    unique_ids,
)
from sciprism.datasets.layouts.language.records import is_table, records
from sciprism.datasets.sources import PARTS, Part
from sciprism.drop_report import DropReport
from sciprism.errors import InputError

ENTITY = "entity"
"""The type of tags that name none."""
DOCUMENT = "-DOCSTART-"
_TAG = re.compile(r"([BIES])(?:-(\S+))?")
_BEGINS = {"B": "B", "I": "I", "S": "B", "E": "I"}
NO_WORDS, NO_TAG, UNKNOWN = (
    "sentence without words",
    "word without a tag, read as O",
    "unknown tag, read as O",
)
UNEQUAL = "sentence with another number of tags than of words, left out"
BARE_I = "I- tag that begins an entity"
NO_CHARACTERS = "word without characters"


class Sentence(NamedTuple):
    """The words of a sentence and the tag of each."""

    id: str
    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTags:
    """Read sentences of tagged words.

    Files ending in .tsv or .txt have a word, white space and its tag on each line (columns between are not
    read), an empty line after a sentence, and perhaps `-DOCSTART-` lines; others are JSON lines of `tokens`
    and `ner_tags` or `tags`. Tags are B-, I- (or S-, E-) and a type, or bare; an I- that begins an entity
    stays as it is. only: the one type that counts, all others become O. merged: all types become one.
    dev_share: of the train sentences, where there is no dev, drawn by a hash of their numbers.
    """

    files: PartFiles
    only: str = ""
    merged: bool = False
    dev_share: float = 0.0

    def read(self, home: DataRoot) -> Tagged:
        """Return the sentences that have words. Raises InputError where train has no entity."""
        tally, where = DropReport(), self.files.where
        types: set[str] = set()

        def rows(path: Path, part: Part) -> Iterator[Sentence]:
            for sentence in _sentences(home, path, part, tally):
                types.update(types_of(sentence.tags))
                yield sentence._replace(tags=self._tags(sentence.tags))

        parts = self.files.read(home, rows)
        if self.only and self.only not in types:
            raise InputError(f"{where}: no entity of type {self.only}; there are {', '.join(sorted(types))}")
        cut_dev(parts, self.dev_share)
        return tagged(parts, tally, where)

    def _tags(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        if self.merged:
            return one_type(tags)
        return tuple(tag if tag[2:] == self.only else "O" for tag in tags) if self.only else tags


def tagged(parts: Parts[Sentence], tally: DropReport, where: str) -> Tagged:
    """Return sentences as a protocol's input. Raises InputError where there is nothing to learn or test."""
    need_rows(parts, where)
    known = {part: {kind for each in parts[part] for kind in types_of(each.tags)} for part in PARTS}
    if not known["train"]:
        raise InputError(f"{where}: no train sentence has an entity, so there is nothing to learn")
    for kind in sorted(known["test"] - known["train"]):
        tally.add("type of test entities without a train entity", kind)
    ids = unique_ids(parts, tally)
    whole, rows = together(parts)
    return Tagged(
        ids=ids,
        words=[each.words for each in whole],
        tags=[each.tags for each in whole],
        train=rows["train"],
        test=rows["test"],
        dev=rows["dev"],
        tally=tally,
    )


def types_of(tags: Sequence[str]) -> set[str]:
    """Return the types that some tags name."""
    return {tag[2:] for tag in tags if tag != "O"}


def begins(tags: Sequence[str]) -> list[bool]:
    """Tell of each tag whether an entity begins there: at B-, and at an I- after O or another type."""
    before = ["O", *tags]
    return [
        tag[0] == "B" or (tag[0] == "I" and last[2:] != tag[2:])
        for last, tag in zip(before, tags, strict=False)
    ]


def one_type(tags: Sequence[str]) -> tuple[str, ...]:
    """Give all entities one type, and keep them apart: where one began, one begins."""
    return tuple(
        "O" if tag == "O" else f"{'B' if first else 'I'}-{ENTITY}"
        for tag, first in zip(tags, begins(tags), strict=True)
    )


def _sentences(home: DataRoot, path: Path, part: Part, tally: DropReport) -> Iterator[Sentence]:
    """Yield the sentences of a file that have words, tags as ours; what is not as it should be is counted."""
    for number, words, raw in _lines(home, path) if is_table(path) else _objects(home, path):
        name = f"{part}/{number}"
        if not words:
            tally.add(NO_WORDS, name)
        elif len(words) != len(raw):
            tally.add(UNEQUAL, name)
        else:
            tags = tuple(_tag(tag, name, tally) for tag in raw)
            for tag, first in zip(tags, begins(tags), strict=True):
                if first and tag[0] == "I":
                    tally.add(BARE_I, name)
            for _ in filter(lambda word: not word.strip(), words):
                tally.add(NO_CHARACTERS, name)
            yield Sentence(number, tuple(words), tags)


def _tag(raw: str, name: str, tally: DropReport) -> str:
    if raw == "O":
        return raw
    found = _TAG.fullmatch(raw)
    if found is None:
        tally.add(UNKNOWN if raw else NO_TAG, f"{name}: {raw}" if raw else name)
        return "O"
    return f"{_BEGINS[found[1]]}-{found[2] or ENTITY}"


def _lines(home: DataRoot, path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (number of its first line, words, tags) of each sentence; no tag is an empty one."""
    words: list[str] = []
    tags: list[str] = []
    start = 0
    for number, line in home.lines(path):
        word, tag = _word(line)
        if word is None or word.startswith(DOCUMENT):
            if words:
                yield str(start), words, tags
            words, tags = [], []
            continue
        if not words:
            start = number
        words.append(word)
        tags.append(tag)
    if words:
        yield str(start), words, tags


def _word(line: str) -> tuple[str | None, str]:
    """Return the first and the last of a line's fields; no word where the line is empty."""
    if not line.strip():
        return None, ""
    fields = line.split("\t") if "\t" in line else line.split()
    return fields[0], fields[-1].strip() if len(fields) > 1 else ""


def _objects(home: DataRoot, path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    for record in records(home, path):
        words, tags = record.need("tokens", "words"), record.need("ner_tags", "tags")
        if not isinstance(words, list) or not isinstance(tags, list):
            raise InputError(f"{record.where}: tokens and tags are not lists")
        if not all(isinstance(tag, str) for tag in tags):
            raise InputError(f"{record.where}: the tags are numbers; write the names that they stand for")
        yield record.id, [str(word) for word in words], tags
