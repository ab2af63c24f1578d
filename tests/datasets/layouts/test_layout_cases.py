"""What layouts make of files: each case states a rule, with the layout, its settings, the files and the whole input.

The cases are in `layout_cases.json` (`build_cases`).
"""

import json
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from build_cases import describe, read_cases, write_files
from sciprism.datasets.data_root import DataRoot
from sciprism.errors import InputError

CASES = read_cases(Path(__file__).with_name("layout_cases.json"))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_case(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, case["files"])
    module, _, name = case["layout"].partition(":")
    layout = getattr(import_module(f"sciprism.datasets.layouts.{module}"), name)
    declared = TypeAdapter(layout).validate_json(json.dumps(case.get("settings", {})))
    try:
        found = describe(declared.read(DataRoot(tmp_path)))
    except InputError as error:
        said = str(error).replace(f"{tmp_path}/", "").replace(str(tmp_path), ".")
        assert case.get("error", "no error is expected") in said
    else:
        assert found == case.get("found")
