"""SKOS vocabularies in RDF/XML, Turtle or N-Triples.

The whole graph is held in memory. Ids are the concepts' IRIs. Names are in English or the chosen language, where a
concept has one; hidden labels are synonyms too. Deprecated concepts are left out and counted.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from sciprism.errors import InputError, MissingExtraError
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import label_readers
from sciprism.papers.records import Label

if TYPE_CHECKING:
    from rdflib import Graph

_RDF = re.compile(r"<rdf:RDF\b|w3\.org/2004/02/skos/core#|^\s*@?prefix\s+skos:", re.IGNORECASE | re.MULTILINE)
_XML = re.compile(r"\s*<(\?xml|!DOCTYPE|!--|rdf:)")
_MAX_ENTITY_CHARS = 300  # vocabularies abbreviate IRIs by entities


@label_readers.reader(
    "skos",
    "SKOS vocabularies in RDF/XML, Turtle or N-Triples",
    (".rdf", ".ttl", ".nt", ".skos", ".xml", ".owl"),
    patterns=(_RDF,),
)
def read_skos(file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
    """Yield every skos:Concept that has a name, before the first fault of the file; needs rdflib."""
    try:
        import rdflib
    except ImportError:
        raise MissingExtraError("labels", f"reading the vocabulary {file.path}") from None
    graph = rdflib.Graph()
    fault = _parse_graph(graph, file)
    number = 0
    concepts = list(dict.fromkeys(graph.subjects(rdflib.RDF.type, rdflib.SKOS.Concept)))
    concepts = concepts or list(dict.fromkeys(graph.subjects(rdflib.SKOS.prefLabel, None)))
    if deprecated := _list_deprecated(graph, concepts):
        noun = "concept" if len(deprecated) == 1 else "concepts"
        file.remarks.append(f"{len(deprecated):,} deprecated {noun} left out")
    if repeated := _count_repeated_names(graph, concepts):
        noun = "concept has" if repeated == 1 else "concepts have"
        file.remarks.append(f"{repeated:,} {noun} several preferred names in one language: the first is used")
    current = (concept for concept in concepts if concept not in deprecated)
    for number, label in enumerate(_build_labels(graph, current, options.language), 1):
        yield BadRecord(number, None, label) if isinstance(label, str) else label
    if fault is not None:
        yield BadRecord(number + 1, *fault)


def _parse_graph(graph: Graph, file: InputFile) -> tuple[int | None, str] | None:
    """Fill the graph; return the line and the reason of a fault."""
    from xml.sax import SAXException, SAXParseException

    from rdflib.exceptions import Error

    try:
        with _silence_logger("rdflib"):
            if _XML.match(file.head()):
                with file.binary() as stream:
                    data = stream.read()
                _refuse_entity_bombs(data)
                graph.parse(io.BytesIO(data), format="xml")
            else:
                style = "nt" if file.name.endswith(".nt") else "turtle"
                graph.parse(data="".join(file.chunks()), format=style)
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


@contextmanager
def _silence_logger(logger_name: str) -> Iterator[None]:
    """Suppress rdflib's tracebacks for values that do not fit their type."""
    logger = logging.getLogger(logger_name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _list_deprecated(graph: Graph, concepts: Iterable[Any]) -> set[Any]:
    """Return the concepts that are deprecated in the way of OWL: by a value of true, or by their class."""
    from rdflib import OWL, RDF

    def is_deprecated(concept: Any) -> bool:
        marks = {str(value).lower() for value in graph.objects(concept, OWL.deprecated)}
        return bool(marks & {"true", "1"}) or (concept, RDF.type, OWL.DeprecatedClass) in graph

    return {concept for concept in concepts if is_deprecated(concept)}


def _count_repeated_names(graph: Graph, concepts: Iterable[Any]) -> int:
    """Count concepts that may be two with one IRI: SKOS allows one preferred name in each language."""
    from rdflib import SKOS

    names = (_collect_texts(graph, concept, SKOS.prefLabel) for concept in concepts)
    return sum(any(len(texts) > 1 for texts in by_language.values()) for by_language in names)


def _build_labels(graph: Graph, concepts: Iterable[Any], language: str) -> Iterator[Label | str]:
    """Yield a label for each concept, or the reason why it is unusable."""
    from rdflib import SKOS, URIRef

    for concept in concepts:
        if not isinstance(concept, URIRef):
            yield "a concept without an IRI (a blank node)"
            continue
        names = _collect_texts(graph, concept, SKOS.prefLabel)
        if not names:
            yield f"{concept} has no skos:prefLabel"
            continue
        chosen = _choose_language(names, language)
        other_names = (_collect_texts(graph, concept, kind) for kind in (SKOS.altLabel, SKOS.hiddenLabel))
        others = [
            *names[chosen][1:],
            *(text for by_language in other_names for text in by_language.get(chosen, [])),
        ]
        above = [*graph.objects(concept, SKOS.broader), *graph.subjects(SKOS.narrower, concept)]
        described = (_collect_texts(graph, concept, kind) for kind in (SKOS.definition, SKOS.scopeNote))
        definition: dict[str, list[str]] = next(filter(None, described), {})
        yield Label(
            id=str(concept),
            name=names[chosen][0],
            synonyms=tuple(dict.fromkeys(others)),
            definition=" ".join(definition[_choose_language(definition, language)]) if definition else "",
            broader=tuple(dict.fromkeys(str(node) for node in above if isinstance(node, URIRef))),
            codes=tuple(dict.fromkeys(str(code) for code in graph.objects(concept, SKOS.notation))),
        )


def _collect_texts(graph: Graph, concept: Any, kind: Any) -> dict[str, list[str]]:
    """Return language -> texts of a kind; the text of a node is its rdf:value."""
    from rdflib import RDF, Literal

    texts: dict[str, list[str]] = {}
    for item in graph.objects(concept, kind):
        value = item if isinstance(item, Literal) else graph.value(item, RDF.value)
        if isinstance(value, Literal) and str(value).strip():
            language = (value.language or "").lower()
            texts.setdefault("en" if language.startswith("en-") else language, []).append(str(value))
    return texts


def _choose_language(texts: Mapping[str, list[str]], wanted: str) -> str:
    """Return the language to read: the wanted one, a regional form of it, English, none, the first other by code."""
    wanted = wanted.lower().replace("_", "-")

    def rank(language: str) -> tuple[bool, bool, bool, bool, str]:
        regional = bool(wanted) and language.startswith(f"{wanted}-")
        return bool(wanted) and language != wanted, not regional, language != "en", language != "", language

    return min(texts, key=rank)
