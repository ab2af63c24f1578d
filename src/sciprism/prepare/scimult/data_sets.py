"""Write SciMult's files as far as the published files are present, and record the inputs and outputs.

The published files below one folder, each plain or gzipped:

maple/FOLDER/{papers.json,labels.txt,labels_mesh.txt}          MAPLE (also directly as FOLDER/)
micol/MAG_label.json                                           MICoL's topics with definitions
mesh/desc2022.xml                                              MeSH descriptors (NLM)
scirepeval/{cite_prediction,search,trec_covid}/                allenai/scirepeval, Parquet or JSON lines
scirepeval_test/{search,trec_covid}/                           allenai/scirepeval_test
scidocs/{mag,mesh}/, scidocs/paper_metadata_*.json             SciDocs
beir/{scifact,nfcorpus,trec-covid}/                            BEIR's unpacked zips
PMC-Patients-ReCDS/{queries,PPR,PAR}/                          PMC-Patients
recommendation/user_study_results.tsv, recommendation/papers*  the user study, and texts in any format
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any, Literal, get_args

from sciprism.errors import InputError
from sciprism.evaluation.task import read_sizes
from sciprism.files import write_json
from sciprism.prepare.preparation import CountTable, Preparation, check_folders
from sciprism.prepare.scimult import classification, pretraining, retrieval
from sciprism.prepare.scimult.context import MissingFilesError, PreparedDataSet, SciMultPrepareContext

Purpose = Literal["pretrain", "test"]
DataSetWriter = Callable[[SciMultPrepareContext], PreparedDataSet | Mapping[str, PreparedDataSet]]
"""Writes a data set, or several by name. Raises MissingFilesError."""

RECORD_FILE = "scimult.json"
SECOND_COUNT: dict[Purpose, str] = {"pretrain": "positive pairs", "test": "candidates"}
"""What the tables count besides queries."""
TITLES: dict[Purpose, str] = {"pretrain": "Table A1: pre-training sources", "test": "Table A2: test sets"}

WRITERS: dict[Purpose, dict[str, DataSetWriter]] = {
    "pretrain": {
        "MAPLE CS-Journal": pretraining.write_cs_journal,
        "MAPLE Biology-MeSH + Medicine-MeSH": pretraining.write_biology_and_medicine,
        "MAPLE coarse": pretraining.write_coarse,
        "citation triplets": pretraining.write_citation_triplets,
        "SciRepEval-Search": pretraining.write_search_lists,
    },
    "test": {
        "CSConference": classification.write_cs_conference,
        "ChemistryMeSH": classification.write_chemistry_mesh,
        "Geography": classification.write_geography,
        "Psychology": classification.write_psychology,
        "MAG": classification.write_mag_classes,
        "MeSH": classification.write_mesh_classes,
        "SciDocs links": retrieval.write_scidocs_links,
        "PMC-Patients PPR": retrieval.write_similar_patients,
        "Recommendation": retrieval.write_recommendation,
        "Search": retrieval.write_scirepeval_search,
        "TRECCOVID_SciRepEval": retrieval.write_scirepeval_trec_covid,
        "TRECCOVID_BEIR": retrieval.write_trec_covid,
        "SciFact": retrieval.write_scifact,
        "NFCorpus": retrieval.write_nfcorpus,
        "PMC-Patients PAR, supervised": retrieval.write_supervised_articles,
        "PMC-Patients PPR, supervised": retrieval.write_supervised_patients,
    },
}


PUBLISHED = {name: tuple(counts.values()) for name, counts in read_sizes("scimult/A1", "scimult/A2").items()}
"""Tables A1 and A2: queries, and positive pairs or candidates (of a query, where each has its own), by data set."""


@dataclass(slots=True)
class PurposeResult:
    """The data sets of one purpose, in the order of its table; missing: data set -> raw file."""

    context: SciMultPrepareContext
    purpose: Purpose
    data_sets: dict[str, PreparedDataSet] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def write(self, on_start: Callable[[str], object]) -> None:
        """Write the data sets whose raw files exist."""
        for name, write in WRITERS[self.purpose].items():
            on_start(name)
            try:
                written = write(self.context)
            except MissingFilesError as missing:
                self.missing[name] = str(missing)
            else:
                self.data_sets |= {name: written} if isinstance(written, PreparedDataSet) else written

    def to_json(self) -> dict[str, Any]:
        """Return inputs, counts and what was dropped as JSON values."""
        second = SECOND_COUNT[self.purpose]
        return {
            "seed": self.context.seed,
            "versions": {"python": python_version()} | {name: version(name) for name in ("sciprism", "numpy")},
            "data_sets": [
                {
                    "name": name,
                    "files": list(data_set.files),
                    "queries": data_set.queries,
                    second: data_set.targets,
                    "published": dict(zip(("queries", second), PUBLISHED[name], strict=True)),
                    "counts": {key: count for key, count in data_set.counts.items() if key != second},
                    "missing_inputs": list(data_set.missing_inputs),
                    "dropped": data_set.dropped.to_json(),
                }
                for name, data_set in self.data_sets.items()
            ],
            "missing": self.missing,
            "inputs": self.context.data_root.provenance(),
        }

    def count_table(self) -> CountTable:
        """Return the paper's table with the published counts next to ours."""
        rows = []
        for name, data_set in self.data_sets.items():
            queries, targets = PUBLISHED[name]
            rows.append((name, data_set.queries, queries, data_set.targets, targets))
        heads = ("queries", "published", SECOND_COUNT[self.purpose], "published")
        return CountTable(("",), heads, rows, title=TITLES[self.purpose])


def prepare_scimult(
    raw: Path,
    out: Path,
    *,
    seed: int = 12345,
    only: Purpose | None = None,
    on_start: Callable[[str], object] = lambda _: None,
) -> Preparation:
    """Write sources to `out/pretrain`, and to `out/scimult` the test files that the suite reads.

    Missing raw files are listed. Calls with the same seed write the same bytes. `out/scimult.json` records
    both purposes, also of separate calls. on_start: is called with the name of each data set. Raises
    InputError where nothing can be written.
    """
    if only is not None and only not in get_args(Purpose):
        raise InputError(f"only is {only!r}; expected {' or '.join(get_args(Purpose))}")
    check_folders(raw, out)
    record, results = _read_earlier_record(out / RECORD_FILE), []
    for purpose in get_args(Purpose) if only is None else (only,):
        results.append(PurposeResult(SciMultPrepareContext(raw, out, seed), purpose))
        results[-1].write(on_start)
        record[purpose] = results[-1].to_json()
    missing = {name: file for result in results for name, file in result.missing.items()}
    data_sets = {name: data_set for result in results for name, data_set in result.data_sets.items()}
    if not data_sets:
        files = ", ".join(dict.fromkeys(missing.values()))
        raise InputError(f"{raw} has none of the files for SciMult's data sets; missing: {files}")
    write_json(out / RECORD_FILE, record, indent=2)
    return Preparation(
        files={name: count for result in results for name, count in result.context.counts.items()},
        record=record,
        dropped={name: data_set.dropped for name, data_set in data_sets.items()},
        not_made={name: f"{file} is missing" for name, file in missing.items()},
        tables=[result.count_table() for result in results if result.data_sets],
        notes=[f"{name}: written without {file}" for name, made in data_sets.items() for file in made.missing_inputs],
    )


def _read_earlier_record(path: Path) -> dict[str, Any]:
    """Return the record of an earlier call, perhaps for the other purpose."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}
    except (TypeError, ValueError):
        raise InputError(f"{path}: not the record of an earlier call; delete it") from None
