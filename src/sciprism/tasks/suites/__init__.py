"""The tasks of the papers' tables, one file per suite: declarations only."""

from __future__ import annotations

from sciprism.registry import Registry
from sciprism.tasks.task import Suite

suites: Registry[Suite] = Registry("suite")

from sciprism.tasks.suites import (  # noqa: E402, F401
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
