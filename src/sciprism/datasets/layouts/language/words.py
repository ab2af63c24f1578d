"""Sentences of tagged words: files with one word a line (CoNLL), and JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import TaggingInput
from sciprism.datasets.layouts.language.parts import (
    PartFiles,
    Parts,
    concatenate_parts,
    require_rows,
    split_off_dev,
)
from sciprism.datasets.layouts.language.records import is_table, read_records
from sciprism.datasets.open_data import PARTS, Part
from sciprism.drop_report import DropReport
from sciprism.errors import InputError

ENTITY = "entity"
"""The type of tags without a type."""
_TAG = re.compile(r"([BIES])(?:-(\S+))?")
_BEGINS = {"B": "B", "I": "I", "S": "B", "E": "I"}


class TaggedSentence(NamedTuple):
    """The words of a sentence and the tag of each."""

    id: str
    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTags:
    """Read sentences of tagged words.

    Files ending in .tsv or .txt have a word, white space and its tag on each line (columns in between are
    ignored), an empty line after a sentence, and optionally `-DOCSTART-` lines; others are JSON lines of
    `tokens` and `ner_tags` or `tags`. Tags are B-, I- (or S-, E-) and a type, or without a type; an I- that
    begins an entity is not changed. only: the only type to keep, all others become O. merged: all types
    become one. dev_share: of train, where there is no dev, sampled by a hash of the sentences' numbers.
    """

    files: PartFiles
    only: str = ""
    merged: bool = False
    dev_share: float = 0.0

    def read(self, data_root: DataRoot) -> TaggingInput:
        """Return the sentences that have words. Raises InputError where train has no entity."""
        dropped, where = DropReport(), self.files.where
        types: set[str] = set()

        def rows(path: Path, part: Part) -> Iterator[TaggedSentence]:
            """Yield the sentences of a part, and collect their types."""
            for sentence in _read_sentences(data_root, path, part, dropped):
                types.update(list_types(sentence.tags))
                if self.merged:
                    sentence = sentence._replace(tags=merge_types(sentence.tags))
                elif self.only:
                    chosen = (tag if tag[2:] == self.only else "O" for tag in sentence.tags)
                    sentence = sentence._replace(tags=tuple(chosen))
                yield sentence

        parts = self.files.read(data_root, rows)
        if self.only and self.only not in types:
            raise InputError(f"{where}: no entity of type {self.only}; there are {', '.join(sorted(types))}")
        split_off_dev(parts, self.dev_share)
        return build_tagging_input(parts, dropped, where)


def build_tagging_input(parts: Parts[TaggedSentence], dropped: DropReport, where: str) -> TaggingInput:
    """Return the protocol's input. Raises InputError where train or test cannot be used."""
    require_rows(parts, where)
    known = {part: {kind for each in parts[part] for kind in list_types(each.tags)} for part in PARTS}
    if not known["train"]:
        raise InputError(f"{where}: no train sentence has an entity")
    for kind in sorted(known["test"] - known["train"]):
        dropped.add("type of test entities without a train entity", kind)
    ids, whole, rows = concatenate_parts(parts, dropped)
    return TaggingInput(
        ids=ids,
        words=[each.words for each in whole],
        tags=[each.tags for each in whole],
        **rows,
        dropped=dropped,
    )


def list_types(tags: Sequence[str]) -> set[str]:
    """Return the entity types of some tags."""
    return {tag[2:] for tag in tags if tag != "O"}


def find_entity_starts(tags: Sequence[str]) -> list[bool]:
    """Tell for each tag whether an entity begins there: at B-, and at an I- after O or another type."""
    return [
        tag[0] == "B" or (tag[0] == "I" and last[2:] != tag[2:]) for last, tag in zip(["O", *tags], tags, strict=False)
    ]


def merge_types(tags: Sequence[str]) -> tuple[str, ...]:
    """Return tags with one type for all entities, whose boundaries do not change."""
    return tuple(
        "O" if tag == "O" else f"{'B' if first else 'I'}-{ENTITY}"
        for tag, first in zip(tags, find_entity_starts(tags), strict=True)
    )


def _read_sentences(data_root: DataRoot, path: Path, part: Part, dropped: DropReport) -> Iterator[TaggedSentence]:
    """Yield the sentences of a file, tags normalized; empty and malformed ones are counted."""
    for number, words, raw in _read_lines(data_root, path) if is_table(path) else _read_objects(data_root, path):
        name = f"{part}/{number}"
        if not words:
            dropped.add("sentence without words", name)
        elif len(words) != len(raw):
            dropped.add("sentence with unequal numbers of words and tags, dropped", name)
        else:
            tags = tuple(_parse_tag(tag, name, dropped) for tag in raw)
            for tag, first in zip(tags, find_entity_starts(tags), strict=True):
                if first and tag[0] == "I":
                    dropped.add("I- tag that begins an entity", name)
            for _ in filter(lambda word: not word.strip(), words):
                dropped.add("word without characters", name)
            yield TaggedSentence(number, tuple(words), tags)


def _parse_tag(raw: str, name: str, dropped: DropReport) -> str:
    if raw == "O":
        return raw
    found = _TAG.fullmatch(raw)
    if found is None:
        reason = "unknown tag, read as O" if raw else "word without a tag, read as O"
        dropped.add(reason, f"{name}: {raw}" if raw else name)
        return "O"
    return f"{_BEGINS[found[1]]}-{found[2] or ENTITY}"


def _read_lines(data_root: DataRoot, path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (number of its first line, words, tags) of each sentence; a missing tag is empty."""
    words: list[str] = []
    tags: list[str] = []
    start = 0
    for number, line in data_root.lines(path):
        fields = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or fields[0].startswith("-DOCSTART-"):
            if words:
                yield str(start), words, tags
            words, tags = [], []
            continue
        if not words:
            start = number
        words.append(fields[0])
        tags.append(fields[-1].strip() if len(fields) > 1 else "")
    if words:
        yield str(start), words, tags


def _read_objects(data_root: DataRoot, path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    for record in read_records(data_root, path):
        words, tags = record.need("tokens", "words"), record.need("ner_tags", "tags")
        if not isinstance(words, list) or not isinstance(tags, list):
            raise InputError(f"{record.where}: tokens and tags are not lists")
        if not all(isinstance(tag, str) for tag in tags):
            raise InputError(f"{record.where}: the tags are numbers; replace them by their names")
        yield record.id, [str(word) for word in words], tags
