"""Vocabularies: JSON lines, tables, MeSH's XML, those of Annif (and its corpora), MICoL, MAPLE, SKOS in any RDF.

Of SKOS the whole graph is held in memory. Ids are the concepts' IRIs. Names are in English or the chosen language,
where a concept has one; hidden labels are synonyms too. Deprecated concepts are left out and counted."""

from __future__ import annotations

import io
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element
from xml.parsers import expat

import sciprism.papers.rows as rows
from sciprism.drop_report import count_noun
from sciprism.errors import InputError, import_extra
from sciprism.papers.bibliographic_fields import split_list
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import build_record, label_readers, paper_readers, read_objects
from sciprism.papers.records import Deletion, Label, Paper
from sciprism.papers.xml_records import read_xml_records, text_of, texts_of

if TYPE_CHECKING:
    from rdflib import Graph

_TEXTS = ("name", "synonyms", "definition")  # fields whose columns may name a language
_OF_LANGUAGE = re.compile(
    r"(.*?[^\s_@.:(-])[\s_@.:(-]+(?!id\b|nr\b)([a-z]{2}(?:[-_][a-z0-9]{2,8}){0,3})\)?", re.IGNORECASE
)
_PREFIX = re.compile(r"(?:skos|rdfs|dct|dcterms):", re.IGNORECASE)
_DEPTH = re.compile(r"\d{1,2}")


@label_readers.json_objects("jsonl")
def _build_label(row: rows.JsonObject) -> Label:
    columns, values = rows.guess_columns([*row], rows.FIELD_NAMES["labels"]), [*row.values()]
    filled = {field: [values[number] for number in numbers if values[number]] for field, numbers in columns.items()}
    found = {field: next(iter(listed), None) for field, listed in filled.items()}
    lists = {field: rows.list_texts(found.get(field), "id") for field in ("synonyms", "broader", "codes")}
    if isinstance(names := found.get("name"), list):  # of the MICoL release: the first is the label's
        found["name"], lists["synonyms"] = "".join(rows.list_texts(names)[:1]), rows.list_texts(names)[1:]
    return Label.from_json({**found, "id": found.get("id") or row.get("label"), **lists})


Columns = dict[str, list[tuple[str, int]]]  # field -> language and number of each column that has it, the best first


def _list_columns(headers: Sequence[str], language: str = "en") -> Columns:
    """Return the columns of all fields; "label_fi" and "prefLabel@fi" are names in Finnish."""
    columns: Columns = {}
    untagged = rank_language("", language)
    for field, known in ((field, names.split()) for field, names in rows.FIELD_NAMES["labels"].items()):
        ranked = []
        for number, header in enumerate(headers):
            plain = _PREFIX.sub("", header.strip())
            tagged = _OF_LANGUAGE.fullmatch(plain) if field in _TEXTS else None
            if (base := rows.normalize_header(plain)) in known:
                ranked.append((untagged, known.index(base), "", number))
            elif tagged and (base := rows.normalize_header(tagged[1])) in known:
                tag = normalize_language(tagged[2])
                ranked.append((rank_language(tag, language), known.index(base), tag, number))
        if ranked:
            columns[field] = [(tag, number) for _, _, tag, number in sorted(ranked)]
    return columns


@label_readers.reader("tables", check=lambda head: rows.is_table(head, _list_columns, "name"))
def read_label_table(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield one label from each row; in a table without ids the names are the ids.

    Several synonyms, broader labels or codes in one cell are separated by semicolons or bars. Raises InputError for a
    table without a column of names.
    """
    layout = rows.detect_layout(file.head(), _list_columns)
    language, headers = normalize_language(options.language) or "en", layout.headers
    columns = _list_columns(headers, language)
    if options.columns or "name" not in columns:
        known = rows.FIELD_NAMES["labels"]
        found = rows.find_columns(file.path, headers, known, chosen=options.columns, required="name", option="")
        columns |= {field: [("", found[field][0])] for field in options.columns}
    identifiers = [number for _, number in columns.get("id", ())[:1]]
    columns["codes"] = [code for code in columns.get("codes", []) if code[1] not in identifiers]
    others, deprecated = Counter[str](), 0
    by_language = all(tag for tag, _ in columns["name"])  # as in Annif's, where a label without names is deprecated
    for number, (cells, fault) in enumerate(rows.read_rows(file, layout), 1):
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


@label_readers.reader("annif")
def read_annif(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield the label of every line that has one; a URI alone is a deprecated label, which is counted."""
    deprecated = 0

    def build(cells: list[str]) -> Label | str | None:
        nonlocal deprecated
        identifier, name, notation, *more = (*cells, "", "")
        if any(more):
            return "has more than a URI, a label and a notation"
        if name:
            return Label(id=bare_uri(identifier), name=name, codes=(notation,) if notation else ())
        deprecated += 1
        return None

    yield from _read_lines(file, build)
    file.remarks += _describe_deprecated(deprecated)


def _read_lines(file: InputFile, build: Callable[[list[str]], Label | str | None]) -> Iterator[Label | BadRecord]:
    """Yield the label that `build` makes of the cells of each line that is not empty, or what it says is wrong."""
    filled = ((line, text) for line, text in file.lines() if text.strip())
    for number, (line, text) in enumerate(filled, 1):
        file.record_line = line
        label = build([cell.strip() for cell in text.split("\t")])
        if label is not None:
            yield BadRecord(number, line, f"{text[:100]!r} {label}") if isinstance(label, str) else label


def _describe_deprecated(count: int) -> list[str]:
    return [f"{count_noun(count, 'deprecated label')} left out"] if count else []


def bare_uri(text: str) -> str:
    """Return a URI without the angle brackets around it."""
    return text[1:-1].strip() if text.startswith("<") and text.endswith(">") else text


@label_readers.reader("maple")
def read_maple(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield the label of every line that is not empty.

    `labels.txt` has id, name and in most folders the depth in the tree, which is ignored; `labels_mesh.txt` has id,
    name and any number of synonyms.
    """

    def build(cells: list[str]) -> Label:
        identifier, name, *texts = cells if len(cells) > 1 else [*cells, ""]
        if len(texts) == 1 and _DEPTH.fullmatch(texts[0]):
            texts.pop()
        return Label(id=identifier, name=name, synonyms=tuple(dict.fromkeys(x for x in texts if x and x != name)))

    return _read_lines(file, build)


# ---- MeSH ----


_TREE_NUMBER = re.compile(r"[A-Z]\d\d(?:\.\d{3})*")


@label_readers.reader("mesh")
def read_mesh(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield every descriptor: entry terms are synonyms, scope notes definitions, tree numbers codes.

    Tree numbers give a descriptor's broader ones, which may follow later; one that is not in the file is dropped. So
    all labels (some 30,000, not the XML) are held until the file has been read.
    """
    records = read_xml_records(file, ("DescriptorRecord",))
    items = [record if isinstance(record, BadRecord) else _build_mesh_label(record) for record in records]
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


def _build_mesh_label(record: Element) -> Label:
    name = text_of(record, "DescriptorName/String")
    terms = texts_of(record, "ConceptList/Concept/TermList/Term/String")
    return Label(
        id=text_of(record, "DescriptorUI"),
        name=name,
        synonyms=tuple(term for term in terms if term != name),
        definition=text_of(record, "ConceptList/Concept[@PreferredConceptYN='Y']/ScopeNote"),
        codes=texts_of(record, "TreeNumberList/TreeNumber"),
    )


# ---- languages ----


def rank_language(language: str, wanted: str) -> tuple[int, int, int, str]:
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


_XML = re.compile(r"\s*<(\?xml|!DOCTYPE|!--|([\w.-]+:)?RDF\b)")
_BASE = "http://relative.invalid/"  # rdflib would put the working folder before relative IRIs
_JSON = re.compile(r"\s*(\{|\[\s*[{\]])")
_STYLES = {".nt": "nt", ".nq": "nquads", ".trig": "trig"}  # of Turtle's family; the others are Turtle
_MAX_ENTITY_CHARS = 300  # vocabularies abbreviate IRIs by entities


@label_readers.reader("skos")
def read_skos(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield every skos:Concept that has a name, before the first fault of the file; needs rdflib."""
    with import_extra("labels", f"reading the vocabulary {file.path}"):
        import rdflib
    graph = rdflib.Graph()
    fault = _parse_graph(graph, file)
    for named in rdflib.Dataset(store=graph.store).graphs():  # JSON-LD, TriG and N-Quads may name graphs
        if named.identifier != graph.identifier:
            for triple in list(named):
                graph.add(triple)
    concepts, number = _Concepts(graph, normalize_language(options.language) or "en"), 0
    used = (concept for concept in concepts.list_concepts() if not concepts.is_deprecated(concept))
    for number, label in enumerate(map(concepts.build_label, used), 1):
        yield BadRecord(number, None, label) if isinstance(label, str) else label
    file.remarks += concepts.describe_counts()
    if fault is not None:
        yield BadRecord(number + 1, *fault)


def _parse_graph(graph: Graph, file: InputFile) -> tuple[int | None, str] | None:
    """Fill the graph; return the line and the reason of a fault."""
    from xml.sax import SAXException, SAXParseException

    from rdflib.exceptions import Error

    try:
        with _read_literals_as_written():
            if _XML.match(file.head()):
                with file.binary() as stream:
                    data = stream.read()
                _refuse_entity_bombs(data)
                graph.parse(io.BytesIO(data), format="xml", publicID=_BASE)
            else:
                text = "".join(file.chunks())
                if _JSON.match(file.head()):
                    _refuse_remote_contexts(json.loads(text))
                    style = "json-ld"
                else:
                    style = next((name for suffix, name in _STYLES.items() if file.name.endswith(suffix)), "turtle")
                graph.parse(data=text, format=style, publicID=_BASE)
    except InputError:  # the file cannot be read at all
        raise
    # What rdflib raises for malformed content, its own bugs included, as found by random changes to files.
    except (SyntaxError, ValueError, LookupError, AttributeError, AssertionError, RecursionError) as error:
        lines = getattr(error, "lines", None)  # of its BadSyntax, counted from 0
        return (None if lines is None else lines + 1), _describe_fault(error)
    except (SAXException, Error, expat.ExpatError) as error:
        return (error.getLineNumber() if isinstance(error, SAXParseException) else None), _describe_fault(error)
    return None


def _describe_fault(error: Exception) -> str:
    message = " ".join(str(error).split()) or type(error).__name__
    return f"not valid RDF, nothing after this can be read: {message[:200]}"


def _refuse_entity_bombs(data: bytes) -> None:
    """Raise ValueError for entities that can fill the memory or read other files; short ones are allowed."""

    def check(name: str, is_parameter: bool, value: str | None, *_: Any) -> None:
        if is_parameter or value is None or "&" in value or len(value) > _MAX_ENTITY_CHARS:
            raise ValueError(f"the entity {name!r} is long, nested or in another file; replace it by its text")

    def stop(*_: Any) -> None:
        raise StopIteration

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = check
    parser.StartElementHandler = stop  # entities are declared before the first element
    try:
        parser.Parse(data, True)
    except StopIteration:
        return


def _refuse_remote_contexts(value: Any) -> None:
    """Raise ValueError for a JSON-LD context at another address: rdflib would fetch it."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            context = item.get("@context")
            parts = [*(context if isinstance(context, list) else [context]), item.get("@import")]
            if remote := next((part for part in parts if isinstance(part, str)), ""):
                raise ValueError(f"its @context is at {remote}, which is not fetched; put the context into the file")
            waiting += item.values()


@contextmanager
def _read_literals_as_written() -> Iterator[None]:
    """Let rdflib keep the zeros of "0610" with a number's type, and print no tracebacks of values that do not fit."""
    import rdflib

    logger = logging.getLogger("rdflib")
    level, normalize = logger.level, rdflib.NORMALIZE_LITERALS
    logger.setLevel(logging.CRITICAL + 1)
    rdflib.NORMALIZE_LITERALS = False
    try:
        yield
    finally:
        logger.setLevel(level)
        rdflib.NORMALIZE_LITERALS = normalize


class _Concepts:
    """The concepts of a graph. language: of their names, a tag in lower case such as "en" or "de-at"."""

    def __init__(self, graph: Graph, language: str) -> None:
        from rdflib import RDFS, SKOS, Namespace

        xl = Namespace("http://www.w3.org/2008/05/skos-xl#")
        self._graph, self._language, self._literal_form = graph, language, xl.literalForm
        self._languages = {"", primary_language(language)}
        self._preferred = (SKOS.prefLabel, xl.prefLabel)
        self._names = (*self._preferred, RDFS.label)
        self._others = (SKOS.altLabel, xl.altLabel, SKOS.hiddenLabel, xl.hiddenLabel)
        self._deprecated = self._unused = 0
        self._other_languages = Counter[str]()

    def list_concepts(self) -> list[Any]:
        """Return what is a concept by its type, in a file without types all that has a name; count the others."""
        from rdflib import RDF, SKOS

        graph = self._graph
        named = dict.fromkeys(node for kind in self._preferred for node in graph.subjects(kind, None))
        schemes = {*graph.subjects(RDF.type, SKOS.ConceptScheme), *graph.objects(None, SKOS.inScheme)}
        concepts = dict.fromkeys(graph.subjects(RDF.type, SKOS.Concept)) or {n: None for n in named if n not in schemes}
        self._unused = len(named.keys() - concepts.keys() - schemes)
        return list(concepts)

    def is_deprecated(self, concept: Any) -> bool:
        """Tell, and count, whether a concept is deprecated in the way of OWL or its class, or replaced by another."""
        from rdflib import DCTERMS, OWL, RDF

        marks = {str(value).strip().lower() for value in self._graph.objects(concept, OWL.deprecated)}
        replaced = not marks and (concept, DCTERMS.isReplacedBy, None) in self._graph
        is_old = bool(marks & {"true", "1"}) or replaced or (concept, RDF.type, OWL.DeprecatedClass) in self._graph
        self._deprecated += is_old
        return is_old

    def describe_counts(self) -> Iterator[str]:
        """Yield what was left out or chosen, after the last label."""
        if count := self._deprecated:
            yield f"{count_noun(count, 'deprecated concept')} left out"
        if count := self._unused:
            yield f"{count:,} named {'resource is' if count == 1 else 'resources are'} no skos:Concept and left out"
        yield from describe_other_languages(self._other_languages, self._language)

    def build_label(self, concept: Any) -> Label | str:
        from rdflib import SKOS, BNode, URIRef

        if not isinstance(concept, URIRef):
            return "a concept without an IRI (a blank node)"
        iri = str(concept).removeprefix(_BASE)
        names = self._collect_texts(concept, self._names)
        if not names:
            return f"{iri} has no skos:prefLabel"
        chosen = min(names, key=lambda tag: rank_language(tag, self._language))
        languages = self._languages | {primary_language(chosen)}
        if languages != self._languages:
            self._other_languages[chosen] += 1
        by_languages = [*names.items(), *self._collect_texts(concept, self._others).items()]
        every_name = (text for tag, texts in by_languages if primary_language(tag) in languages for text in texts)
        definitions = [  # and scope notes, those in the chosen language first
            (primary_language(language) not in self._languages, order, rank_language(language, self._language), texts)
            for order, kind in enumerate((SKOS.definition, SKOS.scopeNote))
            for language, texts in self._collect_texts(concept, [kind]).items()
        ]
        name = names[chosen][0]
        above = (*self._graph.objects(concept, SKOS.broader), *self._graph.subjects(SKOS.narrower, concept))
        return Label(
            id=iri,
            name=name,
            synonyms=tuple(text for text in dict.fromkeys(every_name) if text != name),
            definition=" ".join(min(definitions)[-1]) if definitions else "",
            broader=tuple(
                str(node).removeprefix(_BASE) for node in dict.fromkeys(above) if not isinstance(node, BNode)
            ),
            codes=tuple(dict.fromkeys(str(code) for code in self._graph.objects(concept, SKOS.notation))),
        )

    def _collect_texts(self, concept: Any, kinds: Iterable[Any]) -> dict[str, list[str]]:
        """Return language -> distinct texts of some kinds; a node has its text in skosxl:literalForm or rdf:value."""
        from rdflib import RDF, Literal

        texts: dict[str, list[str]] = {}
        for item in (item for kind in kinds for item in self._graph.objects(concept, kind)):
            parts = (self._literal_form, RDF.value)
            values = [item] if isinstance(item, Literal) else [v for p in parts for v in self._graph.objects(item, p)]
            for value in values:
                if isinstance(value, Literal) and (text := str(value).strip()):
                    of_language = texts.setdefault(normalize_language(value.language or ""), [])
                    if text not in of_language:
                        of_language.append(text)
        return texts


_HEADERS = {"text": "text", "subjects": "subjecturis", "id": "documentid", "title": "title"}
_ANNIF_KEYS = {"document_id", "text", "metadata", "subjects"}
URI = r"<[^<>\n]+>|\w+://\S+|urn:\S+"
# Lines without subjects may come first; XML and JSON are something else.
_TSV = re.compile(rf"\A(?!\s*[<{{])(?:[^\t\n]*(?:\t[^\S\n]*)?\n)*?[^\t\n]+\t\s*(?:{URI})", re.IGNORECASE)
_SUBJECT = re.compile(r"<([^<>]+)>|([^\s<>]+)")


def _is_corpus(head: str) -> bool:
    if head.lstrip().startswith("{"):
        return is_annif_object(head.lstrip())
    return {"text", "subjects"} <= rows.detect_columns(head, _HEADERS)[1].keys() or _TSV.match(head) is not None


def is_annif_object(text: str) -> bool:
    """Tell whether the first object of a text has keys of Annif's documents, and no others; it may be cut."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return '"subjects"' in text or '"document_id"' in text
    return isinstance(value, dict) and value.keys() <= _ANNIF_KEYS and bool(value.keys() & {"text", "metadata"})


@paper_readers.reader("annif", check=_is_corpus)
def read_annif_corpus(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield a paper of each document; a text without a title is the title. Documents without subjects are counted."""
    if file.head().lstrip().startswith("{"):
        yield from read_objects(file, build_annif_paper)
        return
    for number, (row, fault) in enumerate(_list_rows(file), 1):
        yield (
            BadRecord(number, file.record_line, fault) if fault else build_record(build_annif_paper, row, number, file)
        )


def _list_rows(file: InputFile) -> Iterator[tuple[rows.JsonObject, str]]:
    """Yield the document of each row as Annif's JSON would have it, and what is wrong with the row."""
    layout, columns = rows.detect_columns(file.head(), _HEADERS)
    if {"text", "subjects"} <= columns.keys():
        for cells, fault in rows.read_rows(file, layout):
            cell = rows.cell_getter(cells, columns)
            about = {"document_id": cell("id"), "metadata": {"title": cell("title")}}
            yield {"text": cell("text"), "subjects": _split_subjects(cell("subjects")), **about}, fault
        return
    for line, row in file.lines():
        text, tab, subjects = row.partition("\t")
        file.record_line = line
        if row.strip():
            fault = "" if tab else "no tab between the text and its subjects"
            yield {"text": text, "subjects": _split_subjects(subjects)}, fault


def _split_subjects(text: str) -> list[str]:
    return [bracketed or bare for bracketed, bare in _SUBJECT.findall(text)]


def build_annif_paper(row: rows.JsonObject) -> Paper:
    """Build the paper of a document in Annif's JSON; its keywords are URIs, or labels where there is no URI."""
    metadata, text = row.get("metadata") or {}, str(row.get("text") or "")
    if not isinstance(metadata, Mapping):
        raise ValueError(f"metadata is {metadata!r}, not an object")
    title = str(metadata.get("title") or "")
    return Paper(
        id=str(row.get("document_id") or ""),
        title=title or text,
        abstract=text if title else "",
        keywords=tuple(map(bare_uri, rows.list_texts(row.get("subjects"), "uri", "label"))),
        notice="" if row.get("subjects") else "untagged document",
    )
