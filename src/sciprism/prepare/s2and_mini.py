"""Write S2AND-mini, the small version that SciRepEval uses, from the folders of S2AND."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot, as_id
from sciprism.datasets.layouts.mentions import SOURCES, find_source_file
from sciprism.errors import InputError
from sciprism.files import write_lines
from sciprism.prepare.preparation import CountTable, Preparation, check_folders

MAX_BLOCKS = 1000
MAX_SIGNATURES = 500
COUNTS = ("blocks", "signatures", "clusters", "papers")


def prepare_s2and_mini(folder: Path, out: Path) -> Preparation:
    """Write the small version of each source to a folder of the same layout.

    Each source retains the alphabetically first 1,000 blocks of at most 500 signatures, as in the public script; the
    clusters whose signatures are all in these blocks; the signatures of these clusters; and their papers with all
    papers that papers of the source refer to. The ids of signatures and clusters are prefixed with the source's name.
    The record has, of each source, the retained blocks, signatures, clusters and papers, and under "all" all of them.
    """
    check_folders(folder, out)
    present = [source for source in SOURCES if (folder / source).is_dir()]
    if not present:
        raise InputError(f"{folder} has none of the folders {', '.join(SOURCES)}; see the layout of S2AND")
    done = Preparation()
    retained, total = Counter[str](), Counter[str]()
    for source in present:
        record = done.record[source] = _write_source(folder, out, source, done.files)
        retained.update(record["retained"])
        total.update(record["all"])
    counted = {source: (record["retained"], record["all"]) for source, record in done.record.items()}
    rows = [
        [name, *(f"{some[kind]:,} of {every[kind]:,}" for kind in COUNTS)]
        for name, (some, every) in (counted | {"all": (retained, total)}).items()
    ]
    done.tables = [CountTable(("source",), COUNTS, rows)]
    return done


def _write_source(folder: Path, out: Path, source: str, files: dict[str, int]) -> dict[str, dict[str, int]]:
    """Write one source; return the numbers of retained and of all blocks, signatures, clusters and papers."""
    data_root, path = DataRoot(folder), folder / source
    signatures = {as_id(key): row for key, row in data_root.members(find_source_file(path, "signatures"))}
    clusters = dict(data_root.members(find_source_file(path, "clusters")))
    sizes = Counter(row["author_info"]["block"] for row in signatures.values())
    blocks = {*sorted(block for block, size in sizes.items() if size <= MAX_SIGNATURES)[:MAX_BLOCKS]}
    inside = {key for key, row in signatures.items() if row["author_info"]["block"] in blocks}
    complete = {name: row for name, row in clusters.items() if {as_id(key) for key in row["signature_ids"]} <= inside}
    retained = {as_id(key) for row in complete.values() for key in row["signature_ids"]}
    selected = {key: row for key, row in signatures.items() if key in retained}
    papers, all_papers = _select_papers(data_root, find_source_file(path, "papers"), selected)
    left = {row["author_info"]["block"] for row in selected.values()}
    contents: dict[str, Mapping[str, Any]] = {
        f"{source}/{source}_signatures.json": _prefix_ids(source, selected, "signature_id"),
        f"{source}/{source}_clusters.json": _prefix_ids(source, complete, "cluster_id"),
        f"{source}/{source}_papers.json": papers,
    }
    if (split := folder / "blocks" / f"block_sigs_{source}.json").exists():
        parts = contents[f"blocks/{split.name}"] = dict[str, Any]()
        for part, listed in data_root.members(split):
            parts[part] = [block for block in listed if block in left]
            if isinstance(listed, dict):
                keys_of = {b: [f"{source}_{as_id(k)}" for k in listed[b] if as_id(k) in selected] for b in listed}
                parts[part] = {block: keys for block, keys in keys_of.items() if keys}
    for name, content in contents.items():
        write_lines(out / name, _list_lines(content))
        files[name] = len(content)
    return {
        "retained": dict(zip(COUNTS, map(len, (left, selected, complete, papers)), strict=True)),
        "all": dict(zip(COUNTS, (len(sizes), len(signatures), len(clusters), all_papers), strict=True)),
    }


def _prefix_ids(source: str, rows: Mapping[str, Any], key: str) -> dict[str, Any]:
    prefixed = {}
    for name, row in rows.items():
        prefixed[f"{source}_{name}"] = member_row = row | {key: f"{source}_{name}"}
        if "signature_ids" in row:
            member_row["signature_ids"] = [f"{source}_{as_id(member)}" for member in row["signature_ids"]]
    return prefixed


def _select_papers(data_root: DataRoot, path: Path, selected: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return the retained papers and the number of all; the file is streamed twice."""
    wanted = {as_id(row["paper_id"]) for row in selected.values()}
    count = 0
    for _, record in data_root.members(path):
        count += 1
        wanted.update(as_id(key) for key in record.get("references") or ())
    return {key: record for key, record in data_root.members(path) if key in wanted}, count


def _list_lines(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of one JSON object, one member a line."""
    yield "{"
    for number, (key, value) in enumerate(content.items(), 1):
        comma = "," if number < len(content) else ""
        yield f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}{comma}"
    yield "}"
