"""Make all of SciMult's files that the published ones at hand allow, and record what was made of what.

Where the published files are looked for, below one folder, each perhaps gzipped:

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
from sciprism.prepare.scimult.desk import Desk, Made, MissingFilesError

Purpose = Literal["pretrain", "test"]
Build = Callable[[Desk], Made | Sequence[Made]]

RECORD = "scimult.json"
SECOND: dict[Purpose, str] = {"pretrain": "positive pairs", "test": "candidates"}
"""What the tables count beside queries."""

PARTS: dict[Purpose, dict[str, Build]] = {
    "pretrain": {
        "MAPLE CS-Journal": label_sources.cs_journal,
        "MAPLE Biology-MeSH + Medicine-MeSH": label_sources.biology_and_medicine,
        "MAPLE coarse": label_sources.coarse,
        "citation triplets": citations.citation_triplets,
        "SciRepEval-Search": searches.search_lists,
    },
    "test": {
        "CSConference": classification.cs_conference,
        "ChemistryMeSH": classification.chemistry_mesh,
        "Geography": classification.geography,
        "Psychology": classification.psychology,
        "MAG": classification.mag_classes,
        "MeSH": classification.mesh_classes,
        "SciDocs links": links.scidocs_links,
        "PMC-Patients PPR": patients.similar_patients,
        "Recommendation": recommendation.recommendation,
        "Search": search.scirepeval_search,
        "TRECCOVID_SciRepEval": search.scirepeval_trec_covid,
        "TRECCOVID_BEIR": search.trec_covid,
        "SciFact": search.scifact,
        "NFCorpus": search.nfcorpus,
        "PMC-Patients PAR, supervised": patients.supervised_articles,
        "PMC-Patients PPR, supervised": patients.supervised_patients,
    },
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was made for one purpose, in the order of its table, and what is missing: part -> raw file."""

    made: list[Made] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def prepare_scimult(
    raw: Path,
    out: Path,
    *,
    seed: int = 12345,
    only: Purpose | None = None,
    tell: Callable[[str], object] | None = None,
) -> dict[Purpose, Prepared]:
    """Make sources below `out/pretrain`, and below `out/scimult` test files that the suite reads.

    What is missing in `raw` is listed; where nothing is found, InputError. A second call makes everything
    anew, the same bytes for the same seed. `out/scimult.json` tells of both purposes, whichever came last.
    tell: is given the name of each part when its turn comes.
    """
    if only is not None and only not in get_args(Purpose):
        raise InputError(f"--only {only}: {' or '.join(get_args(Purpose))}")
    if not raw.is_dir():
        raise InputError(f"{raw}: no such folder")
    if out.resolve() == raw.resolve():
        raise InputError(f"{out} is the folder that is read; name another one")
    done: dict[Purpose, Prepared] = {}
    records = _earlier(out / RECORD)
    for purpose in get_args(Purpose) if only is None else (only,):
        desk = Desk(raw, out, seed)
        done[purpose] = _made(desk, PARTS[purpose], tell)
        records[purpose] = _record(desk, done[purpose], SECOND[purpose])
    if not any(part.made for part in done.values()):
        missing = dict.fromkeys(file for part in done.values() for file in part.missing.values())
        raise InputError(f"{raw} holds nothing to make SciMult's files of; missing: {', '.join(missing)}")
    write_json(out / RECORD, records, indent=2)
    return done


def _made(desk: Desk, parts: Mapping[str, Build], tell: Callable[[str], object] | None) -> Prepared:
    done = Prepared()
    for name, build in parts.items():
        if tell:
            tell(name)
        try:
            found = build(desk)
        except MissingFilesError as missing:
            done.missing[name] = str(missing)
        else:
            done.made.extend([found] if isinstance(found, Made) else found)
    return done


def _earlier(record: Path) -> dict[str, Any]:
    """Return what an earlier call recorded: each purpose can be served by a call of its own."""
    try:
        return dict(json.loads(record.read_text(encoding="utf-8"))) if record.exists() else {}
    except (ValueError, TypeError):
        raise InputError(f"{record}: not the record of an earlier call; remove it") from None


def _record(desk: Desk, done: Prepared, second: str) -> dict[str, Any]:
    return {
        "seed": desk.seed,
        "versions": {"python": python_version()} | {name: version(name) for name in ("sciprism", "numpy")},
        "made": [_described(made, second) for made in done.made],
        "missing": done.missing,
        "inputs": desk.home.provenance(),
    }


def _described(made: Made, second: str) -> dict[str, Any]:
    return {
        "name": made.name,
        "files": list(made.files),
        "queries": made.first,
        second: made.second,
        "published": dict(zip(("queries", second), made.published, strict=True)),
        "counts": {key: count for key, count in made.counts.items() if key != second},
        "without": list(made.lacking),
        "dropped": made.tally.to_json(),
    }
