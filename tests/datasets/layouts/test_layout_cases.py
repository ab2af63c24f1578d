"""What layouts make of files: each case states a rule, with the layout, its settings, the files and the whole input.

The cases are in `layout_cases.json`. A list is a file's rows, one object a line (of `.parquet`, a table's); `gzip`
holds what is compressed. `like` names the case that has the other files; None: a file that is not there.
"""

import gzip
import json
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pydantic import TypeAdapter

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import MISSING_DATA
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper

CASES = json.loads(Path(__file__).with_name("layout_cases.json").read_text(encoding="utf-8"))
BY_NAME = {case["name"]: case for case in CASES}


def plain(value):
    """Return JSON values; of a declaration without what is empty."""
    if isinstance(value, Paper | Label):
        return value.to_json()
    if isinstance(value, DropReport):
        return {reason: entry for reason, entry in value.to_json().items() if reason != MISSING_DATA}
    if is_dataclass(value):
        row = {item.name: plain(getattr(value, item.name)) for item in fields(value)}
        return {name: each for name, each in row.items() if each not in (None, "", [], {})}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, frozenset):
        return sorted(value)
    return value if value is None or isinstance(value, str | int | float) else [plain(each) for each in value]


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = isinstance(content, dict)
    content = content["gzip"] if packed else content
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(content), path)
        return
    text = content if isinstance(content, str) else "".join(json.dumps(row) + "\n" for row in content)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())


@pytest.mark.parametrize("case", CASES, ids=BY_NAME)
def test_case(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module, _, name = case["layout"].partition(":")
    layout = getattr(import_module(f"sciprism.datasets.layouts.{module}"), name)
    files = BY_NAME.get(case.get("like"), {}).get("files", {}) | case.get("files", {})
    for place, content in files.items():
        if content is not None:
            write(tmp_path / place, content)
    declared = TypeAdapter(layout).validate_json(json.dumps(case.get("settings", {})))
    try:
        found = plain(declared.read(DataRoot(tmp_path)))
    except InputError as error:
        said = str(error).replace(f"{tmp_path}/", "").replace(str(tmp_path), ".")
        assert case.get("error", "no error is expected") in said
    else:
        assert json.loads(json.dumps(found)) == case.get("found")
