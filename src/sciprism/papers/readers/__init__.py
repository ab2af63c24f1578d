"""One file per paper format; importing this package registers them all."""

from __future__ import annotations

from sciprism.papers.source import PaperReader
from sciprism.registry import Registry

paper_readers: Registry[PaperReader] = Registry("paper reader")

from sciprism.papers.readers import (  # noqa: E402, F401 (they register themselves in what stands above)
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
