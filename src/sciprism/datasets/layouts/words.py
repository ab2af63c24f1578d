"""Sentences of tagged words: CoNLL files, JSON lines, and documents with marked spans."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import TaggingInput
from sciprism.datasets.layouts.item_tables import NO_TEXT
from sciprism.datasets.layouts.texts import (
    PART_NAMES,
    LanguageRecord,
    PartFiles,
    Parts,
    concatenate_parts,
    read_records,
    require_rows,
    split_off_dev,
)
from sciprism.datasets.open_data import PARTS, Part
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.text.sentences import split_sentences

ENTITY = "entity"  # the type of tags without a type
_TAG = re.compile(r"([BIES])(?:-(\S+))?")
_BEGINS = {"B": "B", "I": "I", "S": "B", "E": "I"}


class TaggedSentence(NamedTuple):
    """The words of a sentence and the tag of each, and the document that it is of, if that is known."""

    id: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    document: str = ""


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
        dropped, where = DropReport(), str(self.files)
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
    types_of = {part: {kind for sentence in parts[part] for kind in list_types(sentence.tags)} for part in PARTS}
    if not types_of["train"]:
        raise InputError(f"{where}: no train sentence has an entity")
    for kind in sorted(types_of["test"] - types_of["train"]):
        dropped.add("type of test entities without a train entity", kind)
    ids, whole, rows = concatenate_parts(parts, dropped)
    return TaggingInput(
        ids=ids,
        words=[sentence.words for sentence in whole],
        tags=[sentence.tags for sentence in whole],
        documents=[sentence.document or id for sentence, id in zip(whole, ids, strict=True)],
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
    is_text = path.name.removesuffix(".gz").endswith((".tsv", ".txt"))
    rows = read_tagged_lines(data_root.lines(path)) if is_text else _read_objects(data_root, path)
    for number, words, raw in rows:
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
    match = _TAG.fullmatch(raw)
    if match is None:
        reason = "unknown tag, read as O" if raw else "word without a tag, read as O"
        dropped.add(reason, f"{name}: {raw}" if raw else name)
        return "O"
    return f"{_BEGINS[match[1]]}-{match[2] or ENTITY}"


def read_tagged_lines(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (number of its first line, words, tags) of each sentence of CoNLL's form; a missing tag is empty."""
    words: list[str] = []
    tags: list[str] = []
    start = 0
    for number, line in chain(lines, [(0, "")]):
        fields = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or fields[0].startswith("-DOCSTART-"):
            if words:
                yield str(start), words, tags
            words, tags = [], []
            continue
        start = start if words else number
        words.append(fields[0])
        tags.append(fields[-1].strip() if len(fields) > 1 else "")


def _read_objects(data_root: DataRoot, path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    for record in read_records(data_root, path):
        words, tags = record.need("tokens", "words"), record.need("ner_tags", "tags")
        if not isinstance(words, list) or not isinstance(tags, list):
            raise InputError(f"{record.where}: tokens and tags are not lists")
        if not all(isinstance(tag, str) for tag in tags):
            raise InputError(f"{record.where}: the tags are numbers; replace them by their names")
        yield record.id, [str(word) for word in words], tags


_WORD = re.compile(r"</?[a-z]+>|\w+|[^\w\s]")


class Entity(NamedTuple):
    """An entity as a span of words: words[start:end]."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedDocuments:
    """Read documents of `id`, `text`, `entities` (each with `start`, `end`, `label`) and `split`.

    A word is a run of letters and digits, or one other character; markup such as <heading> is ignored.
    Paragraphs are split into sentences, but not inside an entity; each sentence is a row. A span that ends
    inside a word is widened to the whole word; of spans that share a word, the first and longest is used.
    """

    path: str
    obtain: str = ""

    def read(self, data_root: DataRoot) -> TaggingInput:
        """Return the sentences of all documents. Raises InputError for an unknown split."""
        dropped = DropReport()
        parts: Parts[TaggedSentence] = {part: [] for part in PARTS}
        for record in read_records(data_root, data_root.local(self.path, self.obtain)):
            value = str(record.need("split"))
            if value not in PART_NAMES:
                raise InputError(f"{record.where}: unknown split {value!r}; known: {', '.join(PART_NAMES)}")
            part = next(part for part in PARTS if part == PART_NAMES[value])
            parts[part] += build_sentences(record, dropped)
        return build_tagging_input(parts, dropped, self.path)


def build_sentences(record: LanguageRecord, dropped: DropReport) -> Iterator[TaggedSentence]:
    """Yield the tagged sentences of a document; unusable spans are counted."""
    text = str(record.need("text") or "")
    words = split_words(text)
    if not words:
        dropped.add(NO_TEXT, record.id)
        return
    entities = parse_entities(record, text, words, dropped)
    tags = ["O"] * len(words)
    for entity in entities:
        tags[entity.start : entity.end] = [f"I-{entity.label}"] * (entity.end - entity.start)
        tags[entity.start] = f"B-{entity.label}"
    ends = []
    for end in find_sentence_ends(text, words):
        if any(entity.start < end < entity.end for entity in entities):
            dropped.add("sentence end inside an entity, ignored", record.id)
        else:
            ends.append(end)
    for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        texts = tuple(word[0] for word in words[start:end])
        yield TaggedSentence(f"{record.id}:{number}", texts, tuple(tags[start:end]), record.id)


def split_words(text: str) -> list[re.Match[str]]:
    """Return the words of a text, without markup."""
    return [word for word in _WORD.finditer(text) if len(word[0]) == 1 or word[0][0] != "<"]


def find_sentence_ends(text: str, words: Sequence[re.Match[str]]) -> list[int]:
    """Return the number of words up to the end of each sentence; a line is a paragraph."""
    ends, place = set(), 0
    for paragraph in text.splitlines():
        for sentence in split_sentences(paragraph):
            for piece in sentence.split():
                place = text.index(piece, place) + len(piece)
            ends.add(bisect_right(words, place, key=lambda word: word.end()))
    return sorted(ends - {0})


def parse_entities(
    record: LanguageRecord, text: str, words: Sequence[re.Match[str]], dropped: DropReport
) -> list[Entity]:
    """Return a document's entities in order, without overlaps."""
    spans = []
    for number, entity in enumerate(record.need("entities") or ()):
        try:
            start, end, value = int(entity["start"]), int(entity["end"]), str(entity["label"])
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{record.where}: entity {number} is {entity!r:.80}; it needs start, end and label"
            ) from None
        name = f"{record.id}: {value} {start}-{end}"
        if not 0 <= start < end <= len(text):
            dropped.add("span outside the text, dropped", name)
            continue
        first = bisect_right(words, start, key=lambda word: word.end())
        last = bisect_left(words, end, key=lambda word: word.start())
        if first >= last:
            dropped.add("span without a word, dropped", name)
            continue
        if words[first].start() < start or words[last - 1].end() > end:
            dropped.add("span that begins or ends inside a word, widened to it", name)
        spans.append((first, -last, "-".join(value.split()), name))
    entities: list[Entity] = []
    for first, last, label, name in sorted(spans):
        if entities and first < entities[-1].end:
            dropped.add("span that shares a word with an earlier or longer one, dropped", name)
        else:
            entities.append(Entity(first, -last, label))
    return entities
