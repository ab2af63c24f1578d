"""SKOS vocabularies in RDF/XML, Turtle or N-Triples.

The whole graph is held in memory. Ids are the concepts' addresses. Of several languages English is taken.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from sciprism.errors import InputError, MissingExtraError
from sciprism.papers.label_readers.registry import label_readers
from sciprism.papers.records import Label
from sciprism.papers.source import BadRecord, ReadOptions, Source

if TYPE_CHECKING:
    from rdflib import Graph

_RDF = re.compile(r"<rdf:RDF\b|w3\.org/2004/02/skos/core#|^\s*@?prefix\s+skos:", re.IGNORECASE | re.MULTILINE)
_XML = re.compile(r"\s*<(\?xml|!DOCTYPE|!--|rdf:)")
_LONGEST_ENTITY = 300  # characters; vocabularies abbreviate addresses by entities


class Skos:
    """Read every skos:Concept; a fault of the file ends it, after the concepts that stand before."""

    suffixes: tuple[str, ...] = (".rdf", ".ttl", ".nt", ".skos", ".xml", ".owl")

    def recognises(self, head: str) -> bool:
        """Look for SKOS's address or an RDF/XML root."""
        return _RDF.search(head) is not None

    def read(self, source: Source, options: ReadOptions) -> Iterator[Label | BadRecord]:
        """Yield every concept that has a name; needs rdflib."""
        try:
            import rdflib
        except ImportError:
            raise MissingExtraError("labels", f"reading the vocabulary {source.path}") from None
        graph = rdflib.Graph()
        fault = _parse(graph, source)
        number = 0
        for number, label in enumerate(_labels(graph), 1):
            yield BadRecord(number, None, label) if isinstance(label, str) else label
        if fault is not None:
            yield BadRecord(number + 1, *fault)


def _parse(graph: Graph, source: Source) -> tuple[int | None, str] | None:
    """Fill the graph; return the line and the reason where that stopped short of the end."""
    from xml.sax import SAXException, SAXParseException

    from rdflib.exceptions import Error

    try:
        with _silence("rdflib"):
            if _XML.match(source.head()):
                with source.binary() as stream:
                    data = stream.read()
                _refuse_entity_bombs(data)
                graph.parse(io.BytesIO(data), format="xml")
            else:
                style = "nt" if source.name.endswith(".nt") else "turtle"
                graph.parse(data="".join(source.chunks()), format=style)
    except InputError:  # the file cannot be read at all
        raise
    # What rdflib raises at malformed content, its own accidents among them, as random changes to files show.
    except (SyntaxError, ValueError, LookupError, AttributeError, AssertionError, RecursionError) as error:
        lines = getattr(error, "lines", None)  # of its BadSyntax, counted from 0
        return (None if lines is None else lines + 1), _reason(error)
    except (SAXException, Error, expat.ExpatError) as error:
        return (error.getLineNumber() if isinstance(error, SAXParseException) else None), _reason(error)
    return None


def _reason(error: Exception) -> str:
    told = " ".join(str(error).split()) or type(error).__name__
    return f"not valid RDF, nothing after this can be read: {told[:200]}"


def _refuse_entity_bombs(data: bytes) -> None:
    """Raise ValueError for entities that can fill the memory or name other files; short ones may stay."""

    def check(name: str, is_parameter: bool, value: str | None, *_: Any) -> None:
        if is_parameter or value is None or "&" in value or len(value) > _LONGEST_ENTITY:
            raise ValueError(
                f"the entity {name!r} is long, nested or in another file; write its text out instead"
            )

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
def _silence(logger_name: str) -> Iterator[None]:
    """Keep rdflib from logging a traceback for each value that does not fit its type."""
    logger = logging.getLogger(logger_name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _labels(graph: Graph) -> Iterator[Label | str]:
    """Yield a label for each concept, or the reason why there is none."""
    from rdflib import RDF, SKOS, URIRef

    concepts = dict.fromkeys(graph.subjects(RDF.type, SKOS.Concept)) or dict.fromkeys(
        graph.subjects(SKOS.prefLabel, None)
    )
    for concept in concepts:
        if not isinstance(concept, URIRef):
            yield "a concept without an address (a blank node)"
            continue
        names = _texts(graph, concept, SKOS.prefLabel)
        if not names:
            yield f"{concept} has no skos:prefLabel"
            continue
        language = min(names, key=_rank)
        others = [*names[language][1:], *_texts(graph, concept, SKOS.altLabel).get(language, [])]
        above = [*graph.objects(concept, SKOS.broader), *graph.subjects(SKOS.narrower, concept)]
        yield Label(
            id=str(concept),
            name=names[language][0],
            synonyms=tuple(dict.fromkeys(others)),
            definition=_definition(graph, concept),
            broader=tuple(dict.fromkeys(str(node) for node in above if isinstance(node, URIRef))),
            codes=tuple(dict.fromkeys(str(code) for code in graph.objects(concept, SKOS.notation))),
        )


def _definition(graph: Graph, concept: Any) -> str:
    from rdflib import SKOS

    for kind in (SKOS.definition, SKOS.scopeNote):
        if texts := _texts(graph, concept, kind):
            return " ".join(texts[min(texts, key=_rank)])
    return ""


def _texts(graph: Graph, concept: Any, kind: Any) -> dict[str, list[str]]:
    """Return the texts of a kind by language; where there is a node instead of a text, its rdf:value."""
    from rdflib import RDF, Literal

    texts: dict[str, list[str]] = {}
    for item in graph.objects(concept, kind):
        value = item if isinstance(item, Literal) else graph.value(item, RDF.value)
        if isinstance(value, Literal) and str(value).strip():
            language = (value.language or "").lower()
            texts.setdefault("en" if language.startswith("en-") else language, []).append(str(value))
    return texts


def _rank(language: str) -> tuple[bool, bool, str]:
    """Order languages: English, then none named, then by their codes."""
    return language != "en", language != "", language


label_readers.register("skos")(Skos())
