"""SKOS vocabularies in RDF/XML, JSON-LD, Turtle or one of its family; labels also by SKOS-XL.

The whole graph is held in memory. Ids are the concepts' IRIs. Names are in English or the chosen language, where a
concept has one; hidden labels are synonyms too. Deprecated concepts are left out and counted.
"""

from __future__ import annotations

import io
import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from sciprism.errors import InputError, import_extra
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import label_readers
from sciprism.papers.readers.vocabularies import (
    LanguageRank,
    describe_other_languages,
    normalize_language,
    primary_language,
    rank_language,
)
from sciprism.papers.records import Label

if TYPE_CHECKING:
    from rdflib import Graph

_RDF = re.compile(r"<rdf:RDF\b|w3\.org/2004/02/skos/core#|^[^\S\n]*@?prefix\s+skos:", re.IGNORECASE | re.MULTILINE)
_XML = re.compile(r"\s*<(\?xml|!DOCTYPE|!--|([\w.-]+:)?RDF\b)")
_BASE = "http://relative.invalid/"  # rdflib would put the working folder before relative IRIs
_JSON = re.compile(r"\s*(\{|\[\s*[{\]])")
_STYLES = {".nt": "nt", ".nq": "nquads", ".trig": "trig"}  # of Turtle's family; the others are Turtle
_ISO = "http://purl.org/iso25964/skos-thes#"  # ISO 25964's refinements of skos:broader and skos:narrower
_ISO_KINDS = ("Generic", "Instantial", "Partitive")
_MAX_ENTITY_CHARS = 300  # vocabularies abbreviate IRIs by entities


@label_readers.reader(
    "skos",
    "SKOS vocabularies in RDF/XML, Turtle, N-Triples or JSON-LD",
    (".rdf", ".ttl", ".nt", ".n3", ".jsonld", ".trig", ".nq", ".skos", ".xml", ".owl"),
    patterns=(_RDF,),
)
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
    concepts = _Concepts(graph, normalize_language(options.language) or "en")
    number = 0
    for number, label in enumerate(concepts.build_labels(), 1):
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

        xl, iso = Namespace("http://www.w3.org/2008/05/skos-xl#"), Namespace(_ISO)
        self._graph, self._language, self._literal_form = graph, language, xl.literalForm
        self._languages = {"", primary_language(language)}
        self._preferred = self._expand(SKOS.prefLabel, xl.prefLabel)
        self._names = [*self._preferred, *self._list_used([RDFS.label])]
        self._others = self._expand(SKOS.altLabel, xl.altLabel, SKOS.hiddenLabel, xl.hiddenLabel)
        self._up = self._expand(SKOS.broader, *(iso[f"broader{kind}"] for kind in _ISO_KINDS))
        self._down = self._expand(SKOS.narrower, *(iso[f"narrower{kind}"] for kind in _ISO_KINDS))
        self._all_up = [*self._up, *self._list_used([SKOS.broaderTransitive])]
        self._all_down = [*self._down, *self._list_used([SKOS.narrowerTransitive])]
        self._deprecated = self._repeated = self._unused = 0
        self._other_languages = Counter[str]()

    def build_labels(self) -> Iterator[Label | str]:
        """Yield a label for each concept in use, or the reason why it is unusable."""
        for concept in self._list_concepts():
            if self._is_deprecated(concept):
                self._deprecated += 1
            else:
                yield self._build_label(concept)

    def describe_counts(self) -> Iterator[str]:
        """Yield what was left out or chosen, after the last label."""
        if count := self._deprecated:
            yield f"{count:,} deprecated {'concept' if count == 1 else 'concepts'} left out"
        if count := self._unused:
            yield f"{count:,} named {'resource is' if count == 1 else 'resources are'} no skos:Concept and left out"
        if count := self._repeated:
            noun = "concept has" if count == 1 else "concepts have"
            yield f"{count:,} {noun} several preferred names in one language: the first is used"
        yield from describe_other_languages(self._other_languages, self._language)

    def _expand(self, *kinds: Any) -> list[Any]:
        """Return properties and those that the file declares to be kinds of them; a mapping is no hierarchy."""
        from rdflib import RDFS, SKOS

        def list_kinds(kind: Any) -> Iterator[Any]:
            yield from self._graph.transitive_subjects(RDFS.subPropertyOf, kind)

        mappings = {*list_kinds(SKOS.broadMatch), *list_kinds(SKOS.narrowMatch)}
        expanded = dict.fromkeys(kind for first in kinds for kind in list_kinds(first) if kind not in mappings)
        return self._list_used(expanded)

    def _list_used(self, kinds: Iterable[Any]) -> list[Any]:
        return [kind for kind in kinds if (None, kind, None) in self._graph]  # looking for the others costs time

    def _list_concepts(self) -> list[Any]:
        """Return what is a concept by its type or by its place in the hierarchy; count what else has a name."""
        from rdflib import RDF, RDFS, SKOS

        graph = self._graph
        classes = graph.transitive_subjects(RDFS.subClassOf, SKOS.Concept)
        concepts = dict.fromkeys(node for kind in classes for node in graph.subjects(RDF.type, kind))
        is_typed = bool(concepts)
        schemes = {*graph.subjects(RDF.type, SKOS.ConceptScheme), *graph.objects(None, SKOS.inScheme)}
        schemes |= {*graph.subjects(SKOS.hasTopConcept, None), *graph.objects(None, SKOS.topConceptOf)}
        groups = set(graph.subjects(SKOS.member, None))
        placed = {*graph.subjects(SKOS.topConceptOf, None), *graph.objects(None, SKOS.hasTopConcept)}
        for kind in (*self._all_up, *self._all_down):
            placed.update(node for pair in graph.subject_objects(kind) for node in pair)
        named = dict.fromkeys(node for kind in self._preferred for node in graph.subjects(kind, None))
        for node in (node for node in named if node not in concepts and node not in schemes):
            is_other = is_typed and (node, RDF.type, None) in graph
            if node in placed or not (is_other or node in groups):
                concepts[node] = None
            else:
                self._unused += 1
        return list(concepts)

    def _is_deprecated(self, concept: Any) -> bool:
        """Tell whether a concept is deprecated in the way of OWL, by a value or its class, or replaced by another."""
        from rdflib import DCTERMS, OWL, RDF

        marks = {str(value).strip().lower() for value in self._graph.objects(concept, OWL.deprecated)}
        replaced = not marks and (concept, DCTERMS.isReplacedBy, None) in self._graph
        return bool(marks & {"true", "1"}) or replaced or (concept, RDF.type, OWL.DeprecatedClass) in self._graph

    def _build_label(self, concept: Any) -> Label | str:
        from rdflib import SKOS, URIRef

        if not isinstance(concept, URIRef):
            return "a concept without an IRI (a blank node)"
        iri = str(concept).removeprefix(_BASE)
        names = self._collect_texts(concept, self._names)
        if not names:
            return f"{iri} has no skos:prefLabel"
        chosen = min(names, key=self._rank)
        languages = self._languages | {primary_language(chosen)}
        if languages != self._languages:
            self._other_languages[chosen] += 1
        preferred = self._collect_texts(concept, self._preferred).values()
        self._repeated += any(len(set(map(str.casefold, texts))) > 1 for texts in preferred)
        every_name = (
            text
            for by_language in (names, self._collect_texts(concept, self._others))
            for language, texts in by_language.items()
            if primary_language(language) in languages
            for text in texts
        )
        name = names[chosen][0]
        return Label(
            id=iri,
            name=name,
            synonyms=tuple(text for text in dict.fromkeys(every_name) if text != name),
            definition=self._choose_definition(concept),
            broader=tuple(str(node).removeprefix(_BASE) for node in self._list_broader(concept)),
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

    def _rank(self, language: str) -> LanguageRank:
        return rank_language(language, self._language)

    def _choose_definition(self, concept: Any) -> str:
        """Return the definition, else the scope note, in the chosen language; else in another."""
        from rdflib import SKOS

        options = [
            (primary_language(language) not in self._languages, order, self._rank(language), texts)
            for order, kind in enumerate((SKOS.definition, SKOS.scopeNote))
            for language, texts in self._collect_texts(concept, [kind]).items()
        ]
        return " ".join(min(options)[-1]) if options else ""

    def _list_broader(self, concept: Any) -> list[Any]:
        """Return the concepts directly above; of those above through others, the nearest."""
        direct = self._list_above(concept, self._up, self._down)
        above = [node for node in self._list_above(concept, self._all_up, self._all_down) if node != concept]
        indirect = [node for node in above if node not in direct]
        if not indirect:
            return direct
        further = {top for node in above for top in self._list_above(node, self._all_up, self._all_down) if top != node}
        return direct + [node for node in indirect if node not in further] or above

    def _list_above(self, concept: Any, up: Iterable[Any], down: Iterable[Any]) -> list[Any]:
        from rdflib import BNode

        above = [node for kind in up for node in self._graph.objects(concept, kind)]
        above += [node for kind in down for node in self._graph.subjects(kind, concept)]
        return [node for node in dict.fromkeys(above) if not isinstance(node, BNode)]
