"""MARC 21, the records of library catalogues: MARCXML, and files of ISO 2709 (`.mrc`, in MARC-8 or UTF-8).

The title is that of field 245 with its remainder and part, without the punctuation between them. Authors are the
main and the added entries (1XX, 7XX), but for works, and people of another role, such as translators. The id is the
number of the record after its organization, as in `(DLC)5637241`; subjects are keywords.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator

from sciprism.errors import import_extra
from sciprism.papers.bibliographic_fields import reorder_name
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions, has_invalid_utf8
from sciprism.papers.paper_rows import build_listed_paper
from sciprism.papers.readers.registry import build_record, paper_readers
from sciprism.papers.records import Deletion, Paper
from sciprism.papers.xml_records import read_xml_records

Subfields = list[tuple[str, str]]  # code and text of each; a control field has the code ""
MarcFields = dict[str, list[Subfields]]  # tag -> its fields
_NAMESPACE = "http://www.loc.gov/MARC21/slim"
_LEADER = re.compile(r"\A\s*\d{5}[a-z0-9 #|]{5}22\d{5}[\s\S]{3}45")
_END, _PIECE, _MOST_BYTES = b"\x1d", 1 << 16, 1 << 20  # of a record the format allows 99,999 bytes
_NOT_MARC_8 = re.compile(rb"[\xe0-\xfe]{3}")  # where these are accents of the letter after them
_FULL_STOP = re.compile(r"[ ,]+\Z|(?<=[^\W\d_]{3})\.\Z")  # the end of a field, no initial
_PERSONS, _BODIES = ("100", "700"), ("110", "111", "710", "711")
_SUBJECTS = ("600", "610", "611", "630", "650", "651", "653")
_AUTHOR = re.compile(r"\b(?:author|aut|creator|cre|dissertant|dis)\b", re.IGNORECASE)
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/)?10\.\d{4}")


@paper_readers.reader("marcxml")
def read_marcxml(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield every record of a collection, or of replies of SRU and OAI; a fault of the file is one BadRecord."""
    for number, record in enumerate(read_xml_records(file, (f"{{{_NAMESPACE}}}record",)), 1):
        if isinstance(record, BadRecord):
            yield record
            continue
        fields = ((field, [(part.get("code", ""), "".join(part.itertext())) for part in field]) for field in record)
        rows = [(field.get("tag", ""), parts or [("", field.text or "")]) for field, parts in fields]
        yield build_record(_build_paper, rows, number, file)


@paper_readers.reader("marc", check=lambda head: bool(_LEADER.match(head)))
def read_marc(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield every record; text that is UTF-8 is read so, whatever its leader says. MissingExtraError without pymarc."""
    with import_extra("marc", "reading MARC (not MARCXML)"):
        from pymarc import MARCReader
    logging.getLogger("pymarc").addHandler(logging.NullHandler())  # it logs what it repairs
    encoding = file.chosen_encoding or "iso8859-1"  # which stands for MARC-8
    for number, chunk in enumerate(_split_records(file), 1):
        is_utf8 = not file.chosen_encoding and not has_invalid_utf8(chunk.decode(errors="surrogateescape"))
        if not is_utf8 and not file.chosen_encoding and _NOT_MARC_8.search(chunk) and b"\x1b" not in chunk:
            yield BadRecord(number, None, "its text is neither UTF-8 nor MARC-8; name its encoding (--encoding cp1251)")
            continue
        reader = MARCReader(chunk, force_utf8=is_utf8, hide_utf8_warnings=True, file_encoding=encoding)
        record = next(reader, None)
        if record is None:
            yield BadRecord(number, None, f"not MARC 21: {reader.current_exception}")
            continue
        rows = [(field.tag, [(code, text) for code, text in field.subfields]) for field in record.fields]
        rows += [(field.tag, [("", field.data or "")]) for field in record.fields if not field.subfields]
        yield build_record(_build_paper, rows, number, file)


def _split_records(file: InputFile) -> Iterator[bytes]:
    """Yield the bytes of each record; those of a damaged one do not shift the next."""
    rest = b""
    with file.binary() as stream:
        while len(rest) < _MOST_BYTES and (piece := stream.read(_PIECE)):
            *records, rest = (rest + piece).split(_END)
            yield from (record.lstrip() + _END for record in records)
    if rest.strip(b"\0\x1a \t\r\n"):
        yield rest


def _texts(fields: MarcFields, codes: str, *tags: str) -> list[str]:
    """Return the text of these subfields ("" of a control field) in each field of these tags that has any."""
    found = (" ".join(text for code, text in parts if code in codes) for tag in tags for parts in fields.get(tag, ()))
    return [text for text in found if text]


def _build_paper(rows: Iterable[tuple[str, Subfields]]) -> Paper:
    fields: MarcFields = {}
    for tag, parts in rows:
        fields.setdefault(tag, []).append([(code, " ".join(text.split())) for code, text in parts])
    if "245" not in fields and "200" in fields:
        raise ValueError("UNIMARC, whose fields differ; convert it to MARC 21, such as with MarcEdit")

    def first(codes: str, *tags: str) -> str:
        return next(iter(_texts(fields, codes, *tags)), "").strip(" /:;,=.")

    number, organization = first("", "001"), first("", "003")
    links = _texts(fields, "u", "856")
    ids = {
        "doi": next(filter(_DOI.match, (*_texts(fields, "a", "024"), *links)), ""),
        "isbn": "" if "773" in fields else first("a", "020").split(" ")[0],
        "url": next(iter(links), ""),
    }
    return build_listed_paper(
        "marc",
        lambda path: [first(path[3:], path[:3])] if path != "008" else [first("", "008")[7:11]],
        id=f"({organization}){number}" if organization and number else number,
        title=re.sub(r" ([:;.,])(?= )", r"\1", first("abnp", "245")),
        abstract=max(_texts(fields, "ab", "520"), key=len, default=""),
        authors=_name_authors(fields),
        keywords=tuple(dict.fromkeys(_FULL_STOP.sub("", text) for text in _texts(fields, "a", *_SUBJECTS))),
        ids=ids,
    )


def _name_authors(fields: MarcFields) -> tuple[str, ...]:
    """Return the authors, else all people and bodies, such as editors."""
    names: dict[str, bool] = {}
    for tag in sorted((*_PERSONS, *_BODIES)):
        for parts in fields.get(tag, ()):
            roles = " ".join(text for code, text in parts if code in "e4")
            name = " ".join(text for code, text in parts if code == "a" or (code == "b" and tag in _BODIES))
            if name and not any(code == "t" for code, _ in parts):
                name = _FULL_STOP.sub("", name)
                name = reorder_name(name) if tag in _PERSONS else name
                names[name] = names.get(name, False) or not roles or _AUTHOR.search(roles) is not None
    return tuple(name for name, wrote in names.items() if wrote or not any(names.values()))
