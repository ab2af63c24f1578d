"""The tasks of the papers' tables, one module of declarations per suite."""

from sciprism.evaluation.suites import (
    beir,
    blurb,
    climate_ner,
    multi_scidocs,
    nasa_ir,
    nasa_qa,
    open,
    open_nlu,
    pmc_patients,
    scidocs,
    scimult,
    scirepeval,
)
from sciprism.evaluation.suites.registry import suites

__all__ = [
    "beir",
    "blurb",
    "climate_ner",
    "multi_scidocs",
    "nasa_ir",
    "nasa_qa",
    "open",
    "open_nlu",
    "pmc_patients",
    "scidocs",
    "scimult",
    "scirepeval",
    "suites",
]
