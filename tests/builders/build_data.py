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


def hub(folder: Path, split: str, rows: list[dict[str, Any]], parts: int = 1) -> None:
    """Write a split as the hub keeps it: `<split>-0000i-of-0000n.parquet`."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows)
    size = -(-len(rows) // parts)
    for part in range(parts):
        name = f"{split}-{part:05}-of-{parts:05}.parquet"
        parquet.write_table(table.slice(part * size, size), folder / name)


def counted(data: Any) -> dict[str, int]:
    """Return how many records were dropped from data, by reason."""
    return {reason: entry["count"] for reason, entry in data.dropped.to_json().items()}


def paper(name: Any, **more: Any) -> dict[str, Any]:
    """Return a record of the simple kind."""
    return {"doc_id": name, "title": f"Title {name}", "abstract": f"About {name}."} | more
