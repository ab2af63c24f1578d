"""Small data sets written in the layouts of published benchmarks."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet


def lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write one object a line."""
    return text(path, "".join(json.dumps(row) + "\n" for row in rows))


def text(path: Path, content: str) -> Path:
    """Write a text file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def hub(folder: Path, split: str, rows: list[dict[str, Any]]) -> None:
    """Write a split as the hub keeps it."""
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(rows), folder / f"{split}-00000-of-00001.parquet")


def paper(name: Any, **more: Any) -> dict[str, Any]:
    """Return a record of the simple kind."""
    return {"doc_id": name, "title": f"Title {name}", "abstract": f"About {name}."} | more
