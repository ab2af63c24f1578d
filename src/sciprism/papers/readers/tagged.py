"""Tagged lines: RIS, MEDLINE (`.nbib`), Web of Science (`savedrecs.txt`), EndNote's; EndNote's XML."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

from sciprism.errors import InputError
from sciprism.limits import LINE_SIZE, describe_excess, limit
from sciprism.papers.bibliographic_fields import choose_title, is_medline, reorder_name, split_all, split_list
from sciprism.papers.cleaning import normalize_doi
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.paper_rows import build_listed_paper
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper
from sciprism.papers.rows import FIELD_NAMES
from sciprism.papers.xml_records import text_of, texts_of

TaggedFields = dict[str, list[str]]  # tag -> its values
TaggedLines = list[list[str]]  # the lines of each value of a tag
Match = Callable[[str], re.Match[str] | None]  # finds `tag` and `value` of a line; None of a text
_INDENTED, _OTHER_LINE = re.compile(r"^ {2,}\S", re.MULTILINE), "other line"  # one of no record: a search strategy


@dataclass(frozen=True, slots=True)
class TaggedSyntax:
    """How a format writes records.

    Lines without a tag go on with the tag before. first: the tag that begins a record; where it is missing, the
    record's own first tag does once there is a title. titles: other tags are a record of their own where one of these
    is among them. outside: tags outside of records; the first one ends a record. lists: tags of which each line is a
    value. paragraphs: tags that go on after empty lines. ends_at_empty_line: records without `first` do, and others
    where the next one begins as they do.
    """

    match: Match
    first: str
    titles: tuple[str, ...]
    outside: tuple[str, ...] = ()
    lists: Collection[str] = ()
    paragraphs: Collection[str] = ()
    ends_at_empty_line: bool = False


def build_tagged_papers(
    file: InputFile, syntax: TaggedSyntax, build: Callable[[TaggedFields], Paper]
) -> Iterator[Paper]:
    """Yield what `build` makes of the fields of each record; lines of no record are counted."""
    for block in _read_blocks(file, syntax):
        fields = {tag: [" ".join(lines).strip() for lines in values] for tag, values in block.items()}
        if syntax.first in fields or not fields.keys().isdisjoint(syntax.titles):
            yield build(fields) if any(map(any, fields.values())) else Paper(id="")
        else:
            file.omitted[_OTHER_LINE] += sum(map(len, fields.values()))


def _read_blocks(file: InputFile, syntax: TaggedSyntax) -> Iterator[dict[str, TaggedLines]]:
    """Yield the fields from the first tag of a record to the next one, or to a tag outside of records."""
    fields: dict[str, TaggedLines] = {}
    last, is_after_empty_line, ends, size, most = "", False, False, 0, limit("record")
    for line, text in file.lines():
        tagged = syntax.match(text)
        size += len(text) + LINE_SIZE
        if fields and size > most:
            raise InputError(f"{file.path}, line {file.record_line}: {describe_excess('record')}")
        if tagged is None:
            words = text.strip()
            is_after_empty_line |= not words
            if words and not last:
                file.omitted[_OTHER_LINE] += 1
            elif words and last in syntax.lists:
                fields[last].append([words])
            elif words:
                fields[last][-1].append(words)
            last = last if words or last in syntax.paragraphs else ""
            continue
        last = tagged["tag"]
        if fields and (last in (syntax.first, *syntax.outside) or _is_next(last, fields, syntax, is_after_empty_line)):
            ends |= last in syntax.outside[:1]
            yield fields
            fields = {}
        is_after_empty_line = False
        if last in syntax.outside:
            last = ""
            continue
        if not fields:
            file.record_line, size = line, len(text)
        fields.setdefault(last, []).append([(tagged["value"] or "").strip()])
    if fields:
        if ends and syntax.first in fields:
            file.remarks.append(f"the last record has no {syntax.outside[0]}: the file may end in the middle of it")
        yield fields


def _is_next(tag: str, fields: dict[str, TaggedLines], syntax: TaggedSyntax, is_after_empty_line: bool) -> bool:
    """Say whether a tag, other than `first`, begins a record after one of these fields."""
    parts, lacks_first = syntax.ends_at_empty_line and is_after_empty_line, syntax.first not in fields
    begins = next((name for name in fields if name != syntax.first), "") == tag
    has_title = not fields.keys().isdisjoint(syntax.titles)
    return (parts and lacks_first) or ((parts or lacks_first) and begins and has_title)


def _limit_tags(match: Match, tags: Collection[str], file: InputFile) -> Match:
    """Return `match`, of known tags alone where the file does not indent texts that go on: "MR images" may be one."""
    if _INDENTED.search(file.head()):
        return match
    return lambda line: tagged if (tagged := match(line)) and tagged["tag"] in tags else None


def first_value(fields: TaggedFields, *tags: str) -> str:
    """Return the first value of these tags that is not empty, or an empty text."""
    return next((value for tag in tags for value in fields.get(tag, ()) if value), "")


# ---- RIS ----

# The standard has two spaces before the dash. With fewer spaces only these tags are read: "IV - results" is text.
_RIS_TAGS, _NBIB_NAMES, _WOS_NAMES = (
    frozenset(FIELD_NAMES["tags"][format].split()) for format in ("ris", "nbib", "web_of_science")
)
_RIS_LINE = re.compile(r"(?P<indent>\s*)(?P<tag>PMID|[A-Z][A-Z0-9])(?P<gap>\s{0,3})-(?P<space>\s*)(?P<value>.*)")
_RIS_CODE, _RIS_END = re.compile(r"[A-Z]{3,}"), ("ER", "EF")  # the code of a type: JOUR, CONF
# Never text:
_ONE_LINE = frozenset(("TY", "ID", "AU", "A1", "PY", "Y1", "Y2", "DA", "DO", "VL", "IS", "SP", "EP", "SN", "LA"))
_RIS_TYPE = re.compile(r"^[^\S\n]*TY\s{0,3}-\s*[A-Z]", re.MULTILINE)
_RIS_FIELD = re.compile(r"^(?:TI|T1|AU|A1|AB|N2|PY|Y1|JO|JF|ER)  - ", re.MULTILINE)
_VENUES = ("JF", "T2", "JO", "BT", "JA", "J1", "J2", "C3", "PB")
_TITLES = ("TI", "T1", "CT", "BT", "TT", "ST")
_PARAGRAPHS = ("AB", "N2", "N1")
_RIS_DOI = re.compile(r"\s*(?:doi\b|10\.|https?://(?:dx\.)?doi\.org/)", re.IGNORECASE)


def _is_ris(head: str) -> bool:
    """Look for a type line, or for several tagged lines that are not MEDLINE's."""
    return bool(_RIS_TYPE.search(head) or (len(_RIS_FIELD.findall(head)) > 1 and not _CITATION.search(head)))


@paper_readers.reader("ris", check=_is_ris)
def read_ris(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield one paper from each TY to the next or to ER; lines outside of records are counted."""
    # EndNote writes one keyword a line under one tag.
    syntax = TaggedSyntax(_RisTags().match, "TY", _TITLES, _RIS_END, lists=("KW",), paragraphs=_PARAGRAPHS)
    return build_tagged_papers(file, syntax, _build_ris_paper)


@dataclass(slots=True)
class _RisTags:
    """Finds the tags of RIS: lines in the form of the first tag of their record, so that "ER-positive" is text.

    After a tag that holds no text, such as the year, other forms are tags too: some programs mix them.
    """

    _form: str = field(default="", init=False)  # what is around the dash
    _is_typed: bool = field(default=False, init=False)  # whether the record has begun with its type
    _last: str = field(default="", init=False)

    def match(self, line: str) -> re.Match[str] | None:
        """Return tag and value of a line, None of a text."""
        tagged = _RIS_LINE.match(line)
        if tagged is None or (len(tagged["gap"]) < 2 and tagged["tag"] not in _RIS_TAGS):
            return None
        tag, value, space = tagged["tag"], tagged["value"], tagged["space"][:1]
        if tag in _RIS_END and not value:
            self._form, self._is_typed, self._last = "", False, ""
            return tagged
        is_standard = len(tagged["gap"]) > 1
        form = "  -" if is_standard else f"{'>' if tagged['indent'] else ''}{tagged['gap']}-{space}"
        if tag == "TY" and (_RIS_CODE.fullmatch(value) or (not self._is_typed and value[:1].isupper())):
            self._form, self._is_typed = form, True
        elif not self._form and (is_standard or space or not value):
            self._form = form
        has_form = form == self._form or (not value and form.rstrip() == self._form.rstrip())
        if not has_form and not (self._last in _ONE_LINE and (space or not value)):
            return None
        self._last = tag
        return tagged


def _build_ris_paper(fields: TaggedFields) -> Paper:
    title_tag = next((tag for tag in _TITLES if first_value(fields, tag)), "")
    values = [(tag, value) for tag in ("DO", "M3", "L3", "N1", "UR", "L2") for value in fields.get(tag, ())]
    dois = (value for tag, value in values if "10." in value and (tag == "DO" or _RIS_DOI.match(value)))
    label, accession, custom, database, provider = (first_value(fields, tag) for tag in ("ID", "AN", "C2", "DB", "DP"))
    is_book = first_value(fields, "TY") in ("BOOK", "EBOOK", "EDBOOK", "WHOLE")
    ids = {"doi": next(dois, ""), "isbn": first_value(fields, "SN") if is_book else ""}
    ids["pmid"] = first_value(fields, "PMID")  # the tag is PsycNet's
    return build_listed_paper(
        "ris",
        lambda tag: fields.get(tag, ()),
        title=first_value(fields, title_tag),
        abstract=max((" ".join(fields.get(tag, ())) for tag in ("AB", "N2")), key=len),
        venue=first_value(fields, *(tag for tag in _VENUES if tag != title_tag)),
        keywords=split_all(fields.get("KW", [])),
        **_identify(label, accession, custom, ids, medical=is_medline(database, provider)),
    )


def _identify(label: str, accession: str, custom: str, ids: dict[str, str], *, medical: bool) -> dict[str, Any]:
    """Return id and ids of a record in EndNote's fields. medical: whether its accession number may be a PMID.

    The id is the label, unless it numbers the records of a library, which recurs; else what a database calls the paper.
    Papers with a DOI or a PMID have an id already.
    """
    pmid = ids.get("pmid") or (accession if accession.isdigit() and medical else "")
    ids |= {"pmid": pmid, "pmcid": custom if custom.upper().startswith("PMC") else ""}
    return {"id": label if label and not label.isdigit() else "" if ids["doi"] or pmid else accession, "ids": ids}


# ---- MEDLINE ----

# Lines are in the form of the PMID's, with a space behind the dash or without, so that "DNA-binding" is text.
_NBIB_LINES = [re.compile(rf"(?P<tag>[A-Z][A-Z0-9]{{1,3}}) {{0,2}}-(?:{space}(?P<value>.*))?$") for space in (" ", "")]
_NBIB_TITLES = ("TI", "BTI", "TT", "CTI")
# A PMID, or a tag that RIS has not, or not with a year.
_CITATION = re.compile(
    r"^(?:PMID\s*- ?\d|(?P<eric>OWN - ERIC\s*$)|(?:FAU|STAT|JT) {0,2}- |DP {0,2}- ?\d{4}\b)", re.MULTILINE
)
# ERIC's records have no PMID and begin with their owner; "ISSN -" is wider than PubMed's tags (colrev 0.16.2).
_ERIC_LINE = re.compile(r"(?P<tag>[A-Z]{2,4}) {0,2}-(?: (?P<value>.*))?$")


@paper_readers.reader("nbib", check=lambda head: bool(_CITATION.search(head) and not _RIS_TYPE.search(head)))
def read_nbib(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield one paper from each PMID to the next, of ERIC from each OWN; the id is the PMID, or ERIC's number.

    Records without a PMID end at empty lines.
    """
    found = _CITATION.search(file.head())
    line = _NBIB_LINES[bool(found and re.search(r"-\d", found[0]))]
    match, first = (_ERIC_LINE.match, "OWN") if found and found["eric"] else (line.match, "PMID")
    syntax = TaggedSyntax(_limit_tags(match, _NBIB_NAMES, file), first, _NBIB_TITLES, ends_at_empty_line=True)
    return build_tagged_papers(file, syntax, _build_nbib_paper)


def _build_nbib_paper(fields: TaggedFields) -> Paper:
    pmid = first_value(fields, "PMID")
    marked = [*fields.get("AID", ()), *fields.get("LID", ())]  # each with the name of its system in brackets
    doi = next((value.removesuffix("[doi]") for value in marked if value.endswith("[doi]") or "doi.org/" in value), "")
    # A star marks the main headings; a slash precedes the aspect of a topic.
    words = [*(heading.split("/")[0] for heading in fields.get("MH", ())), *fields.get("OT", ())]
    authors = [reorder_name(name) for name in fields.get("FAU", fields.get("AU", []))]
    return build_listed_paper(
        "nbib",
        lambda tag: fields.get(tag, ()),
        title=choose_title(first_value(fields, tag) for tag in _NBIB_TITLES),
        authors=tuple(filter(None, [*authors, *fields.get("CN", ())])),
        keywords=tuple(dict.fromkeys(filter(None, (word.replace("*", "") for word in words)))),
        ids={"doi": doi, "url": first_value(fields, "LID") if not pmid else ""},
    )


# ---- Web of Science ----

# The tags that part records are alone on their line, or have a value of their own: "ER positive" is text.
_WOS_LINE = re.compile(
    r"(?P<tag>(?:ER|EF)(?=\s*$)|PT(?= [A-Z]\s*$)|VR(?= \d)|FN(?= (?:Clarivate|Thomson|ISI|Web of))"
    r"|(?!ER|EF|PT|VR|FN)[A-Z][A-Z0-9])(?: (?P<value>.*))?$"
)
_CITED_DOI = re.compile(r"\bDOI \[?(10\.[^\s,\]]+)")


@paper_readers.reader("web_of_science")
def read_web_of_science(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield one paper from each PT to the next or to ER; the id is Web of Science's own."""
    match, tags = _limit_tags(_WOS_LINE.match, _WOS_NAMES, file), _WOS_NAMES
    syntax = TaggedSyntax(match, "PT", ("TI",), ("ER", "FN", "VR", "EF"), lists=tags, paragraphs=tags)
    return build_tagged_papers(file, syntax, _build_wos_paper)


def _build_wos_paper(fields: TaggedFields) -> Paper:
    def find(tag: str) -> list[str]:
        return [" ".join(filter(None, fields.get(tag, ())))]

    cited = (doi[1] for reference in fields.get("CR", ()) if (doi := _CITED_DOI.search(reference)))
    authors = max(fields.get("AF", []), fields.get("AU", []), key=len) or fields.get("CA", [])
    return build_listed_paper(
        "web_of_science",
        find,
        authors=tuple(dict.fromkeys(reorder_name(name) for name in authors if name)),
        fields=split_list(*(find("WC") if fields.get("WC") else find("SC"))),
        keywords=split_all([*find("DE"), *find("ID")]),
        references=tuple(dict.fromkeys(f"doi:{normalize_doi(doi)}" for doi in cited)),
        ids={"isbn": first_value(fields, "BN") if first_value(fields, "PT") == "B" else ""},
    )


@paper_readers.xml_elements("endnote_xml", "record")
def _build_xml_paper(record: Element) -> Paper:
    urls = [text_of(url) for url in record.iterfind("urls/*/url")]
    urls = [url for url in urls if url.startswith(("http://", "https://"))]
    label, accession, custom = (text_of(record, path) for path in ("label", "accession-num", "custom2"))
    names = (text_of(record, f"remote-database-{part}") for part in ("name", "provider"))
    medical = is_medline(*names) or any("ncbi.nlm.nih.gov" in url for url in urls)
    is_book = "book" in (kind.get("name", "").lower() if (kind := record.find("ref-type")) is not None else "")
    link = next((url for url in urls if "doi.org/" in url), "")
    ids = {
        "doi": normalize_doi(text_of(record, "electronic-resource-num")) or normalize_doi(link),
        "isbn": text_of(record, "isbn") if is_book else "",
        "url": urls[0] if urls else "",
    }
    # Library and record number, which alone recurs:
    numbered = [text_of(record, "database"), text_of(record, "rec-number")]
    accession = accession or (":".join(numbered) if all(numbered) else "")
    return build_listed_paper(
        "endnote_xml",
        lambda path: texts_of(record, path),
        keywords=split_all(texts_of(record, "keywords/keyword")),
        is_apart=True,
        **_identify(label, accession, custom, ids, medical=medical),
    )


# ---- formats of one rule: a tag a line, several names or keywords in one with semicolons ----

_BY_TAGS = {  # reader -> its lines, the tag that begins a record
    "refworks": (
        r"(?P<tag>RT|SR|ID|A[1-6BD]|T[1-3]|J[FO]|YR|FD|VO|vo|IS|SP|OP|K1|S[NP]|C[LN]|LA|D[BOS]|UL|LK|PB|PP|NO|ED|RD|OL|U\d)"
        r"(?: (?P<value>.*))?$",
        "RT",
    ),
    "noteexpress": (r"\{(?P<tag>[A-Z][A-Za-z/ ]*)\}:(?: (?P<value>.*))?$", "Reference Type"),
    "cochrane": (r"(?P<tag>Record|[A-Z]{2,3}(?=: ))(?:: | #)(?P<value>.*)$", "Record"),
}


def _add_reader(name: str, line: str, first: str) -> None:
    names = FIELD_NAMES["formats"][name]
    several = {tag for field in ("authors", "keywords") for tag in names[field]}

    def build(fields: TaggedFields) -> Paper:
        def find(tag: str) -> list[str]:
            texts = [text.removeprefix("PUBMED ") for text in fields.get(tag, ())]
            return list(split_all(texts)) if tag in several else texts

        return build_listed_paper(name, find)

    @paper_readers.reader(name)
    def read(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
        return build_tagged_papers(file, TaggedSyntax(re.compile(line).match, first, names["title"]), build)


for _name, _facts in _BY_TAGS.items():
    _add_reader(_name, *_facts)


# ---- EndNote's tagged text ----

_ENW_LINE = re.compile(r"%(?P<tag>[0-46-9A-Z@!?+^&$#()\[\]{}<>=~*,:;/|])(?:\s+(?P<value>.*))?$")
_ENW_TYPE = re.compile(r"^%0 [A-Z]", re.MULTILINE)
_ENW_FIELD = re.compile(r"^%([ATDJXB]) \S", re.MULTILINE)
# Digital Commons: the title before the type, which some records lack (exports of AIS eLibrary, colrev 0.16.2).
_ENW_TITLE_FIRST = re.compile(r"\A(?:(?!%).*\n)*(?=%T )(?:.*\n)*?%T .*\n%0 [A-Z]")
_ENW_TITLES, _ENW_LINES, _ENW_PARAGRAPHS = ("T", "!", "B"), ("A", "E", "Y", "K"), ("X", "Z")


@paper_readers.reader(
    "enw", check=lambda head: _ENW_TYPE.search(head) is not None or len(set(_ENW_FIELD.findall(head))) > 2
)
def read_enw(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield one paper from each %0 (in some files from each %T) to the next; without %0, records end at empty lines."""
    first = "T" if _ENW_TITLE_FIRST.search(file.head()) else "0"
    syntax = TaggedSyntax(_ENW_LINE.match, first, _ENW_TITLES, (), _ENW_LINES, _ENW_PARAGRAPHS, ends_at_empty_line=True)
    return build_tagged_papers(file, syntax, _build_enw_paper)


def _build_enw_paper(fields: TaggedFields) -> Paper:
    label, accession, custom = (first_value(fields, tag) for tag in "FM2")
    links = [url for url in fields.get("U", ()) if "doi.org/" in url]
    is_book = "book" in first_value(fields, "0").lower()
    ids = {
        "doi": normalize_doi(" ".join([*fields.get("R", ()), *links])),
        "isbn": first_value(fields, "@") if is_book else "",
    }
    return build_listed_paper(
        "enw",
        # EndNote ends the name of an institution with a comma.
        lambda tag: [text.rstrip(",") if tag in "AQE" else text for text in fields.get(tag, ())],
        keywords=split_all(fields.get("K", [])),
        is_apart=True,
        **_identify(
            label, accession, custom, ids, medical=is_medline(first_value(fields, "~"), first_value(fields, "W"))
        ),
    )
