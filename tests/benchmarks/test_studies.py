"""Studies: runs on file are of the recipes in the tree."""

import argparse
import importlib
from pathlib import Path

import pytest

import study


@pytest.mark.parametrize("name", ["scimult", "scirepeval", "prism", "multi2spe", "multi2spe_fields", "indus"])
def test_runs_on_file_are_of_the_recipes_in_the_tree(name):
    """Else a study that continues trains all of them again."""
    plan = importlib.import_module(name).STUDY
    results = Path(__file__).parents[2] / "results" / plan.paper
    latest, *_ = study.read_commands(results / study.RUNS)
    args = argparse.Namespace(backbone=study.RETRIEVER, change=latest["changes"], output=results)
    study.list_missing(plan, study.order_runs(plan.arms, plan.seeds), args)
