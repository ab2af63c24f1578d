"""Build Multi2SPE's benchmark from a corpus, and write what was read, written and dropped."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.prepare.multi_scidocs.corpus import CorpusInputs, read_corpus
from sciprism.prepare.multi_scidocs.pools import BenchmarkSettings, PoolSampler, QueryCounts
from sciprism.prepare.multi_scidocs.writing import BenchmarkWriter
from sciprism.prepare.preparation import CountTable, Preparation

REPORT = "multi-scidocs.json"
HEADS = ("cite: val", "test", "co-cite: val", "test", "class: val", "test", "train")


def prepare_multi_scidocs(out: Path, inputs: CorpusInputs, settings: BenchmarkSettings) -> Preparation:
    """Write `multi-scidocs/` and `multi-scidocs.json` below `out`.

    A later call with the same corpus and settings writes the same bytes, whatever PYTHONHASHSEED is. Raises
    InputError if no query and no class is left.
    """
    data_root = DataRoot()
    with TemporaryDirectory() as folder:
        corpus = read_corpus(inputs, data_root, Path(folder) / "papers.jsonl")
        sampler = PoolSampler(corpus, settings)
        write_json(out / REPORT, {"finished": False})
        writer = BenchmarkWriter(sampler, out)
        writer.write()
    record = _record(sampler, writer, inputs, data_root)
    write_json(out / REPORT, record)
    if not any(counts.rows for counts in writer.counts.values()):
        raise InputError(f"no query and no class is left; {out / REPORT} says what was dropped and why")
    return Preparation(
        files=writer.files,
        record=record,
        dropped={"papers and citations": corpus.dropped, "queries and classes": sampler.dropped},
        not_made=writer.not_written,
        tables=[_count_by_field(writer.counts.values())],
        notes=[f"{record['papers']:,} papers, {record['citations']:,} citations among them"],
        warnings=[
            f"{name}: {counts.short:,} queries with fewer than {settings.negatives:,} negatives; "
            f"the least is {counts.fewest:,}"
            for name, counts in writer.counts.items()
            if counts.short
        ],
    )


def _record(sampler: PoolSampler, writer: BenchmarkWriter, inputs: CorpusInputs, data_root: DataRoot) -> dict[str, Any]:
    corpus = sampler.corpus
    return {
        "version": version("sciprism"),
        "settings": asdict(sampler.settings),
        "fields": list(inputs.fields) or "all",
        "read": list(corpus.files),
        "edges": data_root.provenance(),
        "papers": corpus.graph.size,
        "citations": len(corpus.graph.cited.others),
        "counts": {name: counts.to_json() for name, counts in writer.counts.items()},
        "classes": writer.class_numbers,
        "files": list(writer.files),
        "not_written": writer.not_written,
        "dropped": {"papers and citations": corpus.dropped.to_json(), "queries": sampler.dropped.to_json()},
    }


def _count_by_field(counts: Collection[QueryCounts]) -> CountTable:
    """Return a row for each field, one for their sum, and one of distinct papers."""
    fields = sorted({name for counted in counts for name in counted.fields})
    rows: list[list[str | int]] = [[name, *(counted.fields[name] for counted in counts)] for name in fields]
    rows.append(["sum over fields", *(counted.fields.total() for counted in counts)])
    return CountTable(("field",), HEADS, [*rows, ["unique", *(len(counted.rows) for counted in counts)]])
