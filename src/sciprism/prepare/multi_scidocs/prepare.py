"""Build Multi2SPE's benchmark from a corpus, and write what was read, written and dropped."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from sciprism.datasets.data_root import DataRoot
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.prepare.multi_scidocs.corpus import CorpusInputs, read_corpus
from sciprism.prepare.multi_scidocs.pools import BenchmarkSettings, PoolSampler
from sciprism.prepare.multi_scidocs.writing import WrittenBenchmark, write_files

REPORT = "multi-scidocs.json"


@dataclass(frozen=True, slots=True)
class PreparedBenchmark:
    """What was written, the size of the corpus, and what was dropped: papers and citations, and queries."""

    papers: int
    citations: int
    written: WrittenBenchmark
    dropped_papers: DropReport
    dropped_queries: DropReport


def prepare_multi_scidocs(out: Path, inputs: CorpusInputs, settings: BenchmarkSettings) -> PreparedBenchmark:
    """Write `multi-scidocs/` and `multi-scidocs.json` below `out`.

    A later call with the same corpus and settings writes the same bytes, whatever PYTHONHASHSEED is. Raises
    InputError if no query and no class is left.
    """
    data_root = DataRoot()
    with TemporaryDirectory() as folder:
        corpus = read_corpus(inputs, data_root, Path(folder) / "papers.jsonl")
        sampler = PoolSampler(corpus, settings)
        write_json(out / REPORT, {"finished": False})
        written = write_files(sampler, out)
        citations = len(corpus.graph.cited.others)
        prepared = PreparedBenchmark(corpus.graph.size, citations, written, corpus.dropped, sampler.dropped)
    write_json(
        out / REPORT,
        {
            "version": version("sciprism"),
            "settings": asdict(settings),
            "fields": list(inputs.fields) or "all",
            "read": list(corpus.files),
            "edges": data_root.provenance(),
            "papers": prepared.papers,
            "citations": prepared.citations,
            "counts": {name: counts.to_json() for name, counts in written.counts.items()},
            "classes": written.class_numbers,
            "files": written.files,
            "not_written": written.not_written,
            "dropped": {
                "papers and citations": prepared.dropped_papers.to_json(),
                "queries": prepared.dropped_queries.to_json(),
            },
        },
    )
    if not any(counts.rows for counts in written.counts.values()):
        raise InputError(f"no query and no class is left; {out / REPORT} says what was dropped and why")
    return prepared
