"""MARC 21, the records of library catalogues, as MARCXML.

The title is that of field 245 with its remainder and part, without the punctuation between them. Authors are the
main and the added entries (1XX, 7XX), but for works, and people of another role, such as translators. The id is the
number of the record after its organization, as in `(DLC)5637241`; subjects are keywords.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from sciprism.papers.bibliographic_fields import reorder_name
from sciprism.papers.paper_rows import build_listed_paper
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper
from sciprism.papers.xml_records import text_of

MarcFields = dict[str, list[list[tuple[str, str]]]]  # tag -> its fields, each of codes and texts; "" of a control field
_FULL_STOP = re.compile(r"[ ,]+\Z|(?<=[^\W\d_]{3})\.\Z")  # the end of a field, no initial
_PERSONS, _BODIES = ("100", "700"), ("110", "111", "710", "711")
_SUBJECTS = ("600", "610", "611", "630", "650", "651", "653")
_AUTHOR = re.compile(r"\b(?:author|aut|creator|cre|dissertant|dis)\b", re.IGNORECASE)
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/)?10\.\d{4}")


def _texts(fields: MarcFields, codes: str, *tags: str) -> list[str]:
    """Return the text of these subfields ("" of a control field) in each field of these tags that has any."""
    found = (" ".join(text for code, text in parts if code in codes) for tag in tags for parts in fields.get(tag, ()))
    return [text for text in found if text]


@paper_readers.xml_elements("marcxml", "{http://www.loc.gov/MARC21/slim}record")
def _build_paper(record: Element) -> Paper:
    fields: MarcFields = {}
    for field in record:
        parts = [(part.get("code", ""), text_of(part)) for part in field] or [("", text_of(field))]
        fields.setdefault(field.get("tag", ""), []).append(parts)
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
