"""Make Multi2SPE's benchmark of a corpus, and record what was made of what."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.prepare.multi_scidocs.corpus import Given, read_corpus
from sciprism.prepare.multi_scidocs.pools import Choices, Drawing
from sciprism.prepare.multi_scidocs.writing import Written, write_files

RECORD = "multi-scidocs.json"

_CHOICES = Choices()


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was written, of how many papers and citations, and what was left out of these and of queries."""

    papers: int
    citations: int
    written: Written
    of_corpus: DropReport
    of_queries: DropReport


def prepare_multi_scidocs(out: Path, given: Given, choices: Choices = _CHOICES) -> Prepared:
    """Write `multi-scidocs/` and `multi-scidocs.json` below `out`.

    A later call with the same corpus and choices writes the same bytes, whatever PYTHONHASHSEED is. Raises
    InputError where nothing can be made.
    """
    home = DataRoot()
    with TemporaryDirectory() as folder:
        corpus = read_corpus(given, home, Path(folder) / "papers.jsonl")
        drawing = Drawing(corpus, choices)
        write_json(out / RECORD, {"finished": False})
        written = write_files(drawing, out)
        citations = len(corpus.graph.cited.others)
        prepared = Prepared(corpus.graph.size, citations, written, corpus.dropped, drawing.dropped)
    write_json(out / RECORD, _record(given, choices, prepared, list(corpus.read), home))
    if not any(counted.rows for counted in written.counts.values()):
        raise InputError(f"no query and no class is left; {out / RECORD} tells what was left out and why")
    return prepared


def _record(
    given: Given, choices: Choices, prepared: Prepared, read: list[dict[str, object]], home: DataRoot
) -> dict[str, Any]:
    written = prepared.written
    return {
        "version": version("sciprism"),
        "choices": asdict(choices),
        "fields": list(given.fields) or "all",
        "read": read,
        "edges": home.provenance(),
        "papers": prepared.papers,
        "citations": prepared.citations,
        "made": {name: counted.to_json() for name, counted in written.counts.items()},
        "classes": written.labels,
        "files": written.files,
        "left_out": written.left_out,
        "dropped": {
            "papers and citations": prepared.of_corpus.to_json(),
            "queries": prepared.of_queries.to_json(),
        },
    }
