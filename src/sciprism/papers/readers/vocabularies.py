"""Vocabularies as JSON lines, tables, or MeSH's XML: your own, `Label.to_json`'s, Annif's, those of MICoL and MAPLE."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from xml.etree.ElementTree import Element

from sciprism.papers.bibliographic_fields import split_list
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.json_rows import JsonObject, get_first, list_texts
from sciprism.papers.readers.registry import label_readers, without
from sciprism.papers.records import Label
from sciprism.papers.rows import FIELD_NAMES, detect_layout, find_columns, is_table, normalize_header, read_rows
from sciprism.papers.xml_records import read_xml_records, text_of, texts_of

_KEYS = (re.compile(r'"(id|label)"\s*:'), re.compile(r'"name"\s*:'))
_MICOL = re.compile(r'"name"\s*:\s*\[|"combined_text"\s*:')
_TEXTS = ("name", "synonyms", "definition")  # fields whose columns may name a language
_OF_LANGUAGE = re.compile(
    r"(.*?[^\s_@.:(-])[\s_@.:(-]+(?!id\b|nr\b)([a-z]{2}(?:[-_][a-z0-9]{2,8}){0,3})\)?", re.IGNORECASE
)
_PREFIX = re.compile(r"(?:skos|rdfs|dct|dcterms):", re.IGNORECASE)
_URI = r"(?:<[^<>\s]+>|\w+://\S+|urn:\S+)"
_ANNIF = re.compile(rf"\A(?:\s*{_URI}[^\S\n]*\n)*\s*{_URI}\t(?!\s*<)[^\t\n]+(?:\t[^\t\n]*)?(?:\n|\Z)", re.IGNORECASE)
_MAPLE = re.compile(r"\A(?:[A-Z]?\d+\t[^\t\n]+(?:\t[^\t\n]*)*(?:\n|$))+")
_DEPTH = re.compile(r"\d{1,2}")


@label_readers.json_objects(
    "jsonl", "Labels as `Label.to_json` writes them, and others", (*_KEYS, without(_MICOL.pattern))
)
def _build_label(row: JsonObject) -> Label:
    return Label.from_json(
        {
            "id": get_first(row, "id", "label"),
            "name": row.get("name"),
            "synonyms": list_texts(get_first(row, "synonyms", "alt_names", "aliases")),
            "definition": get_first(row, "definition", "description", "scope_notes"),
            "broader": list_texts(get_first(row, "broader", "parents"), "id"),
            "codes": list_texts(get_first(row, "codes", "tree_numbers")),
        }
    )


@label_readers.json_objects("micol", "Labels of the MICoL release", (re.compile(r'"label"\s*:'), _MICOL))
def _build_micol_label(row: JsonObject) -> Label:
    """Build the label of an object whose first name is the label's."""
    names = list_texts(row.get("name"))
    synonyms, definition = names[1:], row.get("definition")
    return Label.from_json(
        {"id": row.get("label"), "name": "".join(names[:1]), "synonyms": synonyms, "definition": definition}
    )


Columns = dict[str, list[tuple[str, int]]]  # field -> language and number of each column that has it, the best first


def _list_columns(headers: Sequence[str], language: str = "en") -> Columns:
    """Return the columns of all fields; "label_fi" and "prefLabel@fi" are names in Finnish."""
    columns: Columns = {}
    untagged = rank_language("", language)
    for field, known in ((field, names.split()) for field, names in FIELD_NAMES["labels"].items()):
        ranked = []
        for number, header in enumerate(headers):
            plain = _PREFIX.sub("", header.strip())
            tagged = _OF_LANGUAGE.fullmatch(plain) if field in _TEXTS else None
            if (base := normalize_header(plain)) in known:
                ranked.append((untagged, known.index(base), "", number))
            elif tagged and (base := normalize_header(tagged[1])) in known:
                tag = normalize_language(tagged[2])
                ranked.append((rank_language(tag, language), known.index(base), tag, number))
        if ranked:
            columns[field] = [(tag, number) for _, _, tag, number in sorted(ranked)]
    return columns


@label_readers.reader(
    "tables",
    "Vocabularies as tables with a header line: CSV or TSV, one label in each row; columns may be of languages",
    (".csv", ".tsv", ".tab"),
    check=lambda head: is_table(head, _list_columns, "name"),
)
def read_label_table(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield one label from each row; in a table without ids the names are the ids.

    Several synonyms, broader labels or codes in one cell are separated by semicolons or bars. Raises InputError for a
    table without a column of names.
    """
    layout = detect_layout(file.head(), _list_columns)
    language, headers = normalize_language(options.language) or "en", layout.headers
    columns = _list_columns(headers, language)
    ranked = {field: [headers[number] for _, number in columns.get(field, ())] for field in FIELD_NAMES["labels"]}
    known = {
        field: " ".join([*map(normalize_header, ranked[field]), names])
        for field, names in FIELD_NAMES["labels"].items()
    }
    found = find_columns(file.path, headers, known, chosen=options.columns, required="name", option="")
    columns |= {field: [("", found[field][0])] for field in options.columns}
    columns["codes"] = [code for code in columns.get("codes", []) if code[1] not in found.get("id", ())[:1]]
    others, deprecated = Counter[str](), 0
    by_language = all(tag for tag, _ in columns["name"])  # as in Annif's, where a label without names is deprecated
    for number, (cells, fault) in enumerate(read_rows(file, layout), 1):
        label = _build_table_label(cells, columns, language, others)
        if by_language and label.id and not (label.name or fault):
            deprecated += 1
        else:
            yield BadRecord(number, file.record_line, fault) if fault else label
    file.remarks += [*describe_other_languages(others, language), *_describe_deprecated(deprecated)]


def _build_table_label(cells: Sequence[str], columns: Columns, language: str, others: Counter[str]) -> Label:
    """Build the label of a row. others: counts names of other languages."""
    filled = {
        field: [(tag, text) for tag, number in numbers if number < len(cells) and (text := cells[number].strip())]
        for field, numbers in columns.items()
    }

    def first(field: str) -> tuple[str, str]:
        return next(iter(filled.get(field, ())), ("", ""))

    def split(field: str, languages: Container[str] | None = None) -> tuple[str, ...]:
        items = [text for tag, text in filled.get(field, ()) if languages is None or primary_language(tag) in languages]
        return tuple(dict.fromkeys(item for text in items for item in split_list(text)))

    tag, name = first("name")
    languages = {"", primary_language(language), primary_language(tag)}
    others[tag] += primary_language(tag) not in ("", primary_language(language))
    return Label(
        id=bare_uri(first("id")[1]) or name,
        name=name,
        synonyms=split("synonyms", languages),
        definition=first("definition")[1],
        broader=tuple(map(bare_uri, split("broader"))),
        codes=split("codes"),
    )


@label_readers.reader(
    "annif",
    "Annif's vocabularies: URI, label and a notation if there is one, tab-separated, no header",
    (".tsv", ".txt"),
    patterns=(_ANNIF,),
)
def read_annif(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield the label of every line that has one; a URI alone is a deprecated label, which is counted."""
    deprecated = 0
    filled = ((line, text) for line, text in file.lines() if text.strip())
    for number, (line, text) in enumerate(filled, 1):
        file.record_line = line
        identifier, name, notation, *more = (cell.strip() for cell in (*text.split("\t"), "", ""))
        if any(more):
            yield BadRecord(number, line, f"{text[:100]!r} has more than a URI, a label and a notation")
        elif name:
            yield Label(id=bare_uri(identifier), name=name, codes=(notation,) if notation else ())
        else:
            deprecated += 1
    file.remarks += _describe_deprecated(deprecated)


def _describe_deprecated(count: int) -> list[str]:
    return [f"{count:,} deprecated {'label' if count == 1 else 'labels'} left out"] if count else []


def bare_uri(text: str) -> str:
    """Return a URI without the angle brackets around it."""
    return text[1:-1].strip() if text.startswith("<") and text.endswith(">") else text


@label_readers.reader(
    "maple",
    "Labels of the MAPLE release: `labels.txt` and `labels_mesh.txt`, tab-separated, no header",
    (".txt",),
    patterns=(_MAPLE,),
)
def read_maple(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield the label of every line that is not empty.

    `labels.txt` has id, name and in most folders the depth in the tree, which is ignored; `labels_mesh.txt` has id,
    name and any number of synonyms.
    """
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


# ---- MeSH ----


_MESH = re.compile(r"<DescriptorRecord(Set)?\b")
_TREE_NUMBER = re.compile(r"[A-Z]\d\d(?:\.\d{3})*")


@label_readers.reader(
    "mesh",
    "MeSH descriptors in the XML of the National Library of Medicine (`desc2024.xml`)",
    (".xml",),
    patterns=(_MESH,),
)
def read_mesh(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield every descriptor: entry terms are synonyms, scope notes definitions, tree numbers codes.

    Tree numbers give a descriptor's broader ones, which may follow later; one that is not in the file is dropped. So
    all labels (some 30,000, not the XML) are held until the file has been read.
    """
    items = [
        record if isinstance(record, BadRecord) else _build_mesh_label(record, number)
        for number, record in enumerate(read_xml_records(file, ("DescriptorRecord",)), 1)
    ]
    linked = iter(link_tree_numbers([item for item in items if isinstance(item, Label)]))
    for item in items:
        yield item if isinstance(item, BadRecord) else next(linked)


def link_tree_numbers(labels: Sequence[Label]) -> list[Label]:
    """Return labels with those one level up in MeSH's tree as the broader ones: C04.588 for C04.588.322."""
    owners = {code: label.id for label in labels for code in label.codes if _TREE_NUMBER.fullmatch(code)}

    def list_above(label: Label) -> tuple[str, ...]:
        above = (code.rpartition(".")[0] for code in label.codes if code in owners)
        return tuple(dict.fromkeys(owners[code] for code in above if code in owners))

    return [replace(label, broader=list_above(label)) for label in labels]


def _build_mesh_label(record: Element, number: int) -> Label | BadRecord:
    identifier, name = text_of(record, "DescriptorUI"), text_of(record, "DescriptorName/String")
    if not identifier or not name:
        return BadRecord(number, None, f"descriptor {identifier or name or ''!r} has no UI or no name")
    terms = texts_of(record, "ConceptList/Concept/TermList/Term/String")
    return Label(
        id=identifier,
        name=name,
        synonyms=tuple(term for term in terms if term != name),
        definition=text_of(record, "ConceptList/Concept[@PreferredConceptYN='Y']/ScopeNote"),
        codes=texts_of(record, "TreeNumberList/TreeNumber"),
    )


# ---- languages ----


LanguageRank = tuple[int, int, int, str]


def rank_language(language: str, wanted: str) -> LanguageRank:
    """Return a rank of a language tag, the best lowest: the wanted tag, its language, none, English, others by tag."""
    pairs = zip(language.split("-"), wanted.split("-"), strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if shared:
        return 0, -shared, len(language), language
    return (1 if not language else 2 if primary_language(language) == "en" else 3), 0, 0, language


def normalize_language(tag: str) -> str:
    """Return a language tag in lower case, with hyphens: "pt_BR" as "pt-br"."""
    return tag.strip().lower().replace("_", "-")


def primary_language(language: str) -> str:
    """Return the language of a tag without region or script."""
    return language.partition("-")[0]


def describe_other_languages(counts: Mapping[str, int], wanted: str) -> Iterator[str]:
    """Yield how many names are in another language than the wanted one. counts: language tag -> names."""
    listed = [f"{tag} {count:,}" for tag, count in sorted(counts.items(), key=lambda item: -item[1]) if count]
    if listed:
        total = sum(counts.values())
        names = "1 name is" if total == 1 else f"{total:,} names are"
        yield f"{names} in another language than {wanted}: {', '.join(listed)}"
