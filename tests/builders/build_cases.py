"""Cases in JSON: the files of each, and values as JSON to compare with.

A list is a file's rows, one object a line (of `.parquet`, a table's); `gzip` holds what is compressed. `like` names
the case that has the other files; None: a file that is not there.
"""

import gzip
import json
from dataclasses import fields, is_dataclass

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from sciprism.datasets.open_data import MISSING_DATA
from sciprism.drop_report import DropReport
from sciprism.papers.records import Label, Paper


def read_cases(path):
    """Return name -> case, each with all its files."""
    cases = {case["name"]: case for case in json.loads(path.read_text(encoding="utf-8"))}
    for case in cases.values():
        files = cases[case["like"]]["files"] if "like" in case else {}
        case["files"] = files | case.get("files", {})
    return cases


def write_files(folder, files):
    for place, content in files.items():
        if content is None:
            continue
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        packed = isinstance(content, dict)
        content = content["gzip"] if packed else content
        if path.suffix == ".parquet":
            parquet.write_table(pa.Table.from_pylist(content), path)
            continue
        text = content if isinstance(content, str) else "".join(json.dumps(row) + "\n" for row in content)
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())


def describe(value):
    """Return a value as JSON holds it; of a declaration without what is empty."""
    return json.loads(json.dumps(_plain(value)))


def _plain(value):
    if isinstance(value, Paper | Label):
        return value.to_json()
    if isinstance(value, DropReport):
        return {reason: entry for reason, entry in value.to_json().items() if reason != MISSING_DATA}
    if is_dataclass(value):
        row = {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
        return {name: each for name, each in row.items() if each not in (None, "", [], {})}
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, frozenset):
        return sorted(value)
    return value if value is None or isinstance(value, str | int | float) else [_plain(each) for each in value]
