"""What readers make of files: each case states a rule, with the file, the options, the records and what is reported.

The cases are in `reader_cases.jsonl`, one a line; one of each format is its sample, which the conformance tests damage.
`reader`: named, else the content tells; `bytes`: the content is not UTF-8, and each character stands for a byte.
"""

import warnings
from pathlib import Path
from typing import Any

import pytest

from format_samples import CASES
from sciprism.errors import InputError
from sciprism.papers import Label, Paper, ReadReport, read_labels, read_papers
from sciprism.papers.input_file import ReadOptions


def describe(record: Paper | Label) -> dict[str, Any]:
    row = record.to_json()
    if isinstance(record, Paper):
        row |= {"notice": record.notice} if record.notice else {}
        row |= {"line": record.place.line} if record.place and record.place.line is not None else {}
    return row


def read(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    path, report = folder / case["file"], ReadReport()
    path.write_bytes(case["bytes"].encode("latin-1") if "bytes" in case else case["text"].encode())
    reading = read_labels if case.get("labels") else read_papers
    options = ReadOptions(**case.get("options", {}))
    try:
        records = reading(path, reader=case.get("reader", ""), options=options, skip_bad=True, report=report)
        found = {"records": [describe(record) for record in records]}
    except InputError as error:
        return {"error": str(error).replace(f"{folder}/", "")}
    (file,) = report.files
    found |= {"skipped": [str(skipped).replace(f"{folder}/", "") for skipped in report.skipped], "note": file.note}
    found |= {"unread": list(file.unread_columns), "format": file.format}
    return {name: value for name, value in found.items() if value}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    with warnings.catch_warnings(action="ignore"):
        found = read(case, tmp_path)
    given = ("name", "file", "text", "bytes", "options", "reader", "labels")
    assert found == {name: value for name, value in case.items() if name not in given}
