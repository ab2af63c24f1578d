"""Readers of paper formats, one file each; importing this package registers all."""

from sciprism.papers.readers import (  # noqa: F401 - registered by their import
    arxiv,
    beir,
    bibtex,
    csl_json,
    endnote_xml,
    enw,
    excel,
    jsonl,
    nbib,
    openalex,
    openreview,
    parquet,
    pubmed_xml,
    ris,
    semantic_scholar,
    specter,
    tables,
    web_of_science,
    zotero,
    zotero_rdf,
)
