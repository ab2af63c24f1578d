"""Readers of paper formats, one file each; importing this package registers all."""

from sciprism.papers.readers import (
    arxiv,
    beir,
    bibtex,
    csl_json,
    jsonl,
    nbib,
    openalex,
    pubmed_xml,
    ris,
    semantic_scholar,
    tables,
)
from sciprism.papers.readers.registry import paper_readers

__all__ = [
    "arxiv",
    "beir",
    "bibtex",
    "csl_json",
    "jsonl",
    "nbib",
    "openalex",
    "paper_readers",
    "pubmed_xml",
    "ris",
    "semantic_scholar",
    "tables",
]
