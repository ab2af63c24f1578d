"""Write S2AND-mini, the small version that SciRepEval uses, from the folders of S2AND."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.s2and import SOURCES, find_source_file
from sciprism.datasets.rows import as_id
from sciprism.errors import InputError

BlockRule = Literal["alphabetical", "largest"]
MAX_BLOCKS = 1000
MAX_SIGNATURES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class S2andCounts:
    """Numbers of retained and of all blocks, signatures, clusters and papers of a source."""

    source: str
    blocks: int
    signatures: int
    clusters: int
    papers: int
    all_blocks: int
    all_signatures: int
    all_clusters: int
    all_papers: int


def write_s2and_mini(
    folder: Path, out: Path, *, rule: BlockRule = "alphabetical", sources: Iterable[str] = SOURCES
) -> list[S2andCounts]:
    """Write the small version of each source to a folder of the same layout; return the counts.

    Each source retains 1,000 blocks of at most 500 signatures: the alphabetically first ones, as in the
    public script, or the largest ones, as its constant is named; the clusters whose signatures are all in
    these blocks; the signatures of these clusters; and their papers with all papers that papers of the source
    refer to. The ids of signatures and clusters are prefixed with the source's name.
    """
    if rule not in get_args(BlockRule):
        raise InputError(f"unknown rule {rule!r}; known: {', '.join(get_args(BlockRule))}")
    if out.resolve() == folder.resolve():
        raise InputError(f"{out} is the input folder; choose another output folder")
    present = [source for source in sources if (folder / source).is_dir()]
    if not present:
        raise InputError(f"{folder} has none of the folders {', '.join(sources)}; see the layout of S2AND")
    return [_write_source(folder, out, source, rule) for source in present]


def choose_blocks(sizes: Mapping[str, int], rule: BlockRule) -> set[str]:
    """Return the names of the retained blocks, given block -> number of signatures."""
    small = [block for block, size in sizes.items() if size <= MAX_SIGNATURES]
    small.sort(key=lambda block: block if rule == "alphabetical" else (-sizes[block], block))
    return set(small[:MAX_BLOCKS])


def _write_source(folder: Path, out: Path, source: str, rule: BlockRule) -> S2andCounts:
    data_root, path = DataRoot(folder), folder / source
    signatures = {as_id(key): row for key, row in data_root.members(find_source_file(path, "signatures"))}
    clusters = dict(data_root.members(find_source_file(path, "clusters")))
    sizes = Counter(row["author_info"]["block"] for row in signatures.values())
    blocks = choose_blocks(sizes, rule)
    inside = {key for key, row in signatures.items() if row["author_info"]["block"] in blocks}
    complete = {name: row for name, row in clusters.items() if {as_id(key) for key in row["signature_ids"]} <= inside}
    retained = {as_id(key) for row in complete.values() for key in row["signature_ids"]}
    selected = {key: row for key, row in signatures.items() if key in retained}
    papers, all_papers = _select_papers(data_root, find_source_file(path, "papers"), selected)
    _write(out / source / f"{source}_signatures.json", _prefix_ids(source, selected, "signature_id"))
    _write(out / source / f"{source}_clusters.json", _prefix_ids(source, complete, "cluster_id"))
    _write(out / source / f"{source}_papers.json", papers)
    _write_split(data_root, folder, out, source, selected)
    return S2andCounts(
        source=source,
        blocks=len({row["author_info"]["block"] for row in selected.values()}),
        signatures=len(selected),
        clusters=len(complete),
        papers=len(papers),
        all_blocks=len(sizes),
        all_signatures=len(signatures),
        all_clusters=len(clusters),
        all_papers=all_papers,
    )


def _prefix_ids(source: str, rows: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Prefix the ids of signatures and clusters with the source's name."""
    found = {}
    for name, row in rows.items():
        found[f"{source}_{name}"] = own = row | {key: f"{source}_{name}"}
        if "signature_ids" in row:
            own["signature_ids"] = [f"{source}_{as_id(member)}" for member in row["signature_ids"]]
    return found


def _select_papers(data_root: DataRoot, path: Path, selected: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return the retained papers and the number of all; the file is streamed twice."""
    wanted = {as_id(row["paper_id"]) for row in selected.values()}
    count = 0
    for _, record in data_root.members(path):
        count += 1
        wanted.update(as_id(key) for key in record.get("references") or ())
    return {key: record for key, record in data_root.members(path) if key in wanted}, count


def _write_split(data_root: DataRoot, folder: Path, out: Path, source: str, selected: Mapping[str, Any]) -> None:
    """Write the split of blocks, if there is one, with the retained signatures."""
    path = folder / "blocks" / f"block_sigs_{source}.json"
    if not path.exists():
        return
    blocks = {row["author_info"]["block"] for row in selected.values()}
    split: dict[str, Any] = {}
    for part, listed in data_root.members(path):
        if isinstance(listed, dict):
            own = {b: [f"{source}_{as_id(k)}" for k in keys if as_id(k) in selected] for b, keys in listed.items()}
            split[part] = {block: keys for block, keys in own.items() if keys}
        else:
            split[part] = [block for block in listed if block in blocks]
    _write(out / "blocks" / path.name, split)


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """Write one JSON object atomically, one member a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    with partial.open("w", encoding="utf-8") as file:
        file.write("{")
        for number, (key, value) in enumerate(content.items()):
            file.write(f"{',' if number else ''}\n{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
        file.write("\n}\n")
    partial.replace(path)


def sum_counts(counts: Iterable[S2andCounts]) -> dict[str, int]:
    """Return the sums over all sources."""
    sums: Counter[str] = Counter()
    for one in counts:
        sums.update({key: value for key, value in asdict(one).items() if key != "source"})
    return dict(sums)
