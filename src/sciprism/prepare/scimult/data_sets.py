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

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any, Literal

from sciprism.errors import InputError
from sciprism.evaluation.task import read_sizes
from sciprism.files import write_json
from sciprism.prepare.preparation import CountTable, Preparation, check_folders
from sciprism.prepare.scimult import maple, retrieval
from sciprism.prepare.scimult.context import MissingFilesError, PreparedDataSet, SciMultPrepareContext

Purpose = Literal["pretrain", "test"]
DataSetWriter = Callable[[SciMultPrepareContext], PreparedDataSet | Mapping[str, PreparedDataSet]]
"""Writes a data set, or several by name. Raises MissingFilesError."""

SECOND_COUNT: dict[Purpose, str] = {"pretrain": "positive pairs", "test": "candidates"}
"""What the tables count besides queries."""
TITLES: dict[Purpose, str] = {"pretrain": "Table A1: pre-training sources", "test": "Table A2: test sets"}

WRITERS: dict[Purpose, dict[str, DataSetWriter]] = {
    "pretrain": {
        "MAPLE CS-Journal": maple.write_cs_journal,
        "MAPLE Biology-MeSH + Medicine-MeSH": maple.write_biology_and_medicine,
        "MAPLE coarse": maple.write_coarse,
        "citation triplets": maple.write_citation_triplets,
        "SciRepEval-Search": maple.write_search_lists,
    },
    "test": {
        "CSConference": maple.write_cs_conference,
        "ChemistryMeSH": maple.write_chemistry_mesh,
        "Geography": maple.write_geography,
        "Psychology": maple.write_psychology,
        "MAG": maple.write_mag_classes,
        "MeSH": maple.write_mesh_classes,
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


def prepare_scimult(
    raw: Path,
    out: Path,
    *,
    seed: int = 12345,
    on_start: Callable[[str], object] = lambda _: None,
) -> Preparation:
    """Write sources to `out/pretrain`, and to `out/scimult` the test files that the suite reads.

    Missing raw files are listed. Calls with the same seed write the same bytes. `out/scimult.json` records both.
    on_start: is called with the name of each data set. Raises InputError where nothing can be written.
    """
    check_folders(raw, out)
    record, done = dict[str, Any](), Preparation()
    lacking: dict[str, str] = {}
    for purpose, writers in WRITERS.items():
        context, second = SciMultPrepareContext(raw, out, seed), SECOND_COUNT[purpose]
        made, missing = dict[str, PreparedDataSet](), dict[str, str]()
        for name, write in writers.items():
            on_start(name)
            try:
                written = write(context)
            except MissingFilesError as error:
                missing[name] = str(error)
            else:
                made |= {name: written} if isinstance(written, PreparedDataSet) else written
        record[purpose] = {
            "seed": seed,
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
                for name, data_set in made.items()
            ],
            "missing": missing,
            "inputs": context.data_root.provenance(),
        }
        lacking |= missing
        done.files |= context.counts
        done.dropped |= {name: data_set.dropped for name, data_set in made.items()}
        done.notes += [f"{name}: written without {file}" for name in made for file in made[name].missing_inputs]
        published = {name: PUBLISHED[name] for name in made}
        rows = [(n, made[n].queries, queries, made[n].targets, targets) for n, (queries, targets) in published.items()]
        heads = ("queries", "published", second, "published")
        done.tables += [CountTable(("",), heads, rows, title=TITLES[purpose])] if made else []
    if not done.dropped:
        files = ", ".join(dict.fromkeys(lacking.values()))
        raise InputError(f"{raw} has none of the files for SciMult's data sets; missing: {files}")
    write_json(out / "scimult.json", record, indent=2)
    done.record, done.not_made = record, {name: f"{file} is missing" for name, file in lacking.items()}
    return done
