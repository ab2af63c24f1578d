"""Make S2AND-mini, the small version that SciRepEval uses, out of the folders of S2AND."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.s2and import SOURCES, source_file
from sciprism.datasets.rows import as_id
from sciprism.errors import InputError

Rule = Literal["alphabetical", "largest"]
BLOCKS = 1000
SIGNATURES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What stays of one source, and how many there were."""

    source: str
    blocks: int
    signatures: int
    clusters: int
    papers: int
    all_blocks: int
    all_signatures: int
    all_clusters: int
    all_papers: int


def make_mini(
    folder: Path, out: Path, *, rule: Rule = "alphabetical", sources: Iterable[str] = SOURCES
) -> list[Kept]:
    """Write the small version of each source into a folder of the same layout; return what stays.

    Of each source 1,000 blocks of at most 500 signatures stay: the alphabetically first ones, as the public
    script takes them, or the largest ones, as its constant is called. Clusters stay whose signatures are all
    in such blocks, and signatures stay that have a cluster. Papers: those of the signatures, and all that
    papers of the source refer to. Ids of signatures and clusters get the source's name in front.
    """
    if rule not in get_args(Rule):
        raise InputError(f"rule {rule!r} is unknown; {' or '.join(get_args(Rule))}")
    if out.resolve() == folder.resolve():
        raise InputError(f"{out} is the folder that is read; name another one")
    present = [source for source in sources if (folder / source).is_dir()]
    if not present:
        raise InputError(f"{folder} has none of the folders {', '.join(sources)}; see the layout of S2AND")
    return [_make_source(folder, out, source, rule) for source in present]


def choose_blocks(sizes: Mapping[str, int], rule: Rule) -> set[str]:
    """Return the names of the blocks that stay, of block -> number of signatures."""
    small = [block for block, size in sizes.items() if size <= SIGNATURES]
    small.sort(key=lambda block: block if rule == "alphabetical" else (-sizes[block], block))
    return set(small[:BLOCKS])


def _make_source(folder: Path, out: Path, source: str, rule: Rule) -> Kept:
    home, place = DataRoot(folder), folder / source
    signatures = {as_id(key): row for key, row in home.members(source_file(place, "signatures"))}
    clusters = dict(home.members(source_file(place, "clusters")))
    sizes = Counter(row["author_info"]["block"] for row in signatures.values())
    blocks = choose_blocks(sizes, rule)
    inside = {key for key, row in signatures.items() if row["author_info"]["block"] in blocks}
    whole = {
        name: row for name, row in clusters.items() if {as_id(key) for key in row["signature_ids"]} <= inside
    }
    stay = {as_id(key) for row in whole.values() for key in row["signature_ids"]}
    kept = {key: row for key, row in signatures.items() if key in stay}
    papers, all_papers = _papers(home, source_file(place, "papers"), kept)
    _write(out / source / f"{source}_signatures.json", _renamed(source, kept, "signature_id"))
    _write(out / source / f"{source}_clusters.json", _renamed(source, whole, "cluster_id"))
    _write(out / source / f"{source}_papers.json", papers)
    _divide(home, folder, out, source, kept)
    return Kept(
        source=source,
        blocks=len({row["author_info"]["block"] for row in kept.values()}),
        signatures=len(kept),
        clusters=len(whole),
        papers=len(papers),
        all_blocks=len(sizes),
        all_signatures=len(signatures),
        all_clusters=len(clusters),
        all_papers=all_papers,
    )


def _renamed(source: str, rows: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Put the source's name before the ids of signatures and clusters."""
    found = {}
    for name, row in rows.items():
        found[f"{source}_{name}"] = own = row | {key: f"{source}_{name}"}
        if "signature_ids" in row:
            own["signature_ids"] = [f"{source}_{as_id(member)}" for member in row["signature_ids"]]
    return found


def _papers(home: DataRoot, path: Path, kept: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return the papers that stay and the number of all; the file is read twice and never held whole."""
    wanted = {as_id(row["paper_id"]) for row in kept.values()}
    count = 0
    for _, record in home.members(path):
        count += 1
        wanted.update(as_id(key) for key in record.get("references") or ())
    return {key: record for key, record in home.members(path) if key in wanted}, count


def _divide(home: DataRoot, folder: Path, out: Path, source: str, kept: Mapping[str, Any]) -> None:
    """Write the division of blocks, where there is one, with the signatures that stay."""
    path = folder / "blocks" / f"block_sigs_{source}.json"
    if not path.exists():
        return
    blocks = {row["author_info"]["block"] for row in kept.values()}
    division: dict[str, Any] = {}
    for part, listed in home.members(path):
        if isinstance(listed, dict):
            own = {
                b: [f"{source}_{as_id(k)}" for k in keys if as_id(k) in kept] for b, keys in listed.items()
            }
            division[part] = {block: keys for block, keys in own.items() if keys}
        else:
            division[part] = [block for block in listed if block in blocks]
    _write(out / "blocks" / path.name, division)


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """Write one JSON object, a member a line; a file that is there is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    with partial.open("w", encoding="utf-8") as file:
        file.write("{")
        for number, (key, value) in enumerate(content.items()):
            file.write(f"{',' if number else ''}\n{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
        file.write("\n}\n")
    partial.replace(path)


def total(kept: Iterable[Kept]) -> dict[str, int]:
    """Return the sums over all sources."""
    sums: Counter[str] = Counter()
    for one in kept:
        sums.update({key: value for key, value in asdict(one).items() if key != "source"})
    return dict(sums)
