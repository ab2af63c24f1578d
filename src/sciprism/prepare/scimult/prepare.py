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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any, Literal, get_args

from sciprism.deprecation import current_names
from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.prepare.scimult import (
    citations,
    classification,
    label_sources,
    links,
    patients,
    recommendation,
    search,
    searches,
)
from sciprism.prepare.scimult.context import MissingFilesError, PreparedDataSet, SciMultPrepareContext

Purpose = Literal["pretrain", "test"]
DataSetWriter = Callable[[SciMultPrepareContext], PreparedDataSet | Sequence[PreparedDataSet]]

RECORD_FILE = "scimult.json"
SECOND_COUNT: dict[Purpose, str] = {"pretrain": "positive pairs", "test": "candidates"}
"""What the tables count besides queries."""

WRITERS: dict[Purpose, dict[str, DataSetWriter]] = {
    "pretrain": {
        "MAPLE CS-Journal": label_sources.write_cs_journal,
        "MAPLE Biology-MeSH + Medicine-MeSH": label_sources.write_biology_and_medicine,
        "MAPLE coarse": label_sources.write_coarse,
        "citation triplets": citations.write_citation_triplets,
        "SciRepEval-Search": searches.write_search_lists,
    },
    "test": {
        "CSConference": classification.write_cs_conference,
        "ChemistryMeSH": classification.write_chemistry_mesh,
        "Geography": classification.write_geography,
        "Psychology": classification.write_psychology,
        "MAG": classification.write_mag_classes,
        "MeSH": classification.write_mesh_classes,
        "SciDocs links": links.write_scidocs_links,
        "PMC-Patients PPR": patients.write_similar_patients,
        "Recommendation": recommendation.write_recommendation,
        "Search": search.write_scirepeval_search,
        "TRECCOVID_SciRepEval": search.write_scirepeval_trec_covid,
        "TRECCOVID_BEIR": search.write_trec_covid,
        "SciFact": search.write_scifact,
        "NFCorpus": search.write_nfcorpus,
        "PMC-Patients PAR, supervised": patients.write_supervised_articles,
        "PMC-Patients PPR, supervised": patients.write_supervised_patients,
    },
}


@dataclass(frozen=True, slots=True)
class PreparedPurpose:
    """The data sets of one purpose, in the order of its table; missing: data set -> raw file."""

    data_sets: list[PreparedDataSet] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def prepare_scimult(
    raw: Path,
    out: Path,
    *,
    seed: int = 12345,
    only: Purpose | None = None,
    on_start: Callable[[str], object] | None = None,
) -> dict[Purpose, PreparedPurpose]:
    """Write sources to `out/pretrain`, and to `out/scimult` the test files that the suite reads.

    Missing raw files are listed. Calls with the same seed write the same bytes. `out/scimult.json` records
    both purposes, also of separate calls. on_start: is called with the name of each data set. Raises
    InputError where nothing can be written.
    """
    if only is not None and only not in get_args(Purpose):
        raise InputError(f"only is {only!r}; expected {' or '.join(get_args(Purpose))}")
    if not raw.is_dir():
        raise InputError(f"{raw}: no such folder")
    if out.resolve() == raw.resolve():
        raise InputError(f"{out} is the input folder; choose another output folder")
    done: dict[Purpose, PreparedPurpose] = {}
    records = _read_earlier_record(out / RECORD_FILE)
    for purpose in get_args(Purpose) if only is None else (only,):
        context = SciMultPrepareContext(raw, out, seed)
        done[purpose] = _run_writers(context, WRITERS[purpose], on_start)
        records[purpose] = _build_record(context, done[purpose], SECOND_COUNT[purpose])
    if not any(part.data_sets for part in done.values()):
        missing = dict.fromkeys(file for part in done.values() for file in part.missing.values())
        raise InputError(f"{raw} has none of the files for SciMult's data sets; missing: {', '.join(missing)}")
    write_json(out / RECORD_FILE, records, indent=2)
    return done


def _run_writers(
    context: SciMultPrepareContext,
    parts: Mapping[str, DataSetWriter],
    on_start: Callable[[str], object] | None,
) -> PreparedPurpose:
    done = PreparedPurpose()
    for name, build in parts.items():
        if on_start:
            on_start(name)
        try:
            found = build(context)
        except MissingFilesError as missing:
            done.missing[name] = str(missing)
        else:
            done.data_sets.extend([found] if isinstance(found, PreparedDataSet) else found)
    return done


def _read_earlier_record(record: Path) -> dict[str, Any]:
    """Return the record of an earlier call, perhaps for the other purpose, with today's keys."""
    try:
        found = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
        return {purpose: _rename_keys(facts) for purpose, facts in found.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f"{record}: not the record of an earlier call; delete it") from None


def _rename_keys(facts: Mapping[str, Any]) -> dict[str, Any]:
    facts = current_names(facts, {"made": "data_sets"}, "scimult.json", warn=None)
    renamed = {"without": "missing_inputs"}
    return facts | {
        "data_sets": [current_names(each, renamed, "scimult.json", warn=None) for each in facts["data_sets"]]
    }


def _build_record(context: SciMultPrepareContext, done: PreparedPurpose, second: str) -> dict[str, Any]:
    return {
        "seed": context.seed,
        "versions": {"python": python_version()} | {name: version(name) for name in ("sciprism", "numpy")},
        "data_sets": [
            {
                "name": made.name,
                "files": list(made.files),
                "queries": made.queries,
                second: made.targets,
                "published": dict(zip(("queries", second), made.published, strict=True)),
                "counts": {key: count for key, count in made.counts.items() if key != second},
                "missing_inputs": list(made.missing_inputs),
                "dropped": made.dropped.to_json(),
            }
            for made in done.data_sets
        ],
        "missing": done.missing,
        "inputs": context.data_root.provenance(),
    }
