"""Tokens of the same texts, ours against another tokenizer's: the evidence for INDUS's claim on them (I1).

Texts must be held out: no text that either vocabulary was learnt from; --held-out takes the test papers
alone of a set of the open data, of which `sciprism prepare text --data` learns nothing. Run from the
repository root:

    python benchmarks/tokens.py SOURCES/text/tokenizer other/ --held-out --texts arxiv=DATA/arxiv_multidomain
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evidence.measurements import add_findings, compare_token_counts
from measurement import build_parser, provenance
from sciprism.cli.tokenizer import read_texts
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import SplitTable, list_paper_keys
from sciprism.encoders.checkpoints.names import load_tokenizer
from sciprism.papers.read import read_papers


def read_held_out(folder: Path) -> Iterator[str]:
    """Yield titles and abstracts of the test papers of a data set among its neighbours."""
    table = SplitTable.load(DataRoot(folder.parent))
    for path in sorted(folder.glob("*.jsonl.gz")):
        for paper in read_papers(path, skip_bad=True):
            if table.part(*list_paper_keys(paper, folder.name)) == "test":
                yield " ".join(filter(None, (paper.title, paper.abstract)))


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("ours", help="a model by name or folder, or a tokenizer.json")
    parser.add_argument("other")
    parser.add_argument("--texts", action="append", required=True, help="DOMAIN=FILE; repeatable")
    parser.add_argument("--held-out", action="store_true", help="DOMAIN=DATA/SET: its test papers")
    parser.add_argument(
        "--figure",
        type=float,
        help="the paper's relative change over all texts; without it, it is shown, but does not decide",
    )
    parser.add_argument("--named", default="", help="what is compared, behind the name of each finding")
    parser.add_argument("--evidence", type=Path, help="the folder of INDUS's results")
    args = parser.parse_args()
    domains = {}
    for word in args.texts:
        domain, mark, path = word.partition("=")
        if not mark:
            parser.error(f"--texts {word}: expected DOMAIN=FILE")
        domains[domain] = read_held_out(Path(path)) if args.held_out else read_texts(Path(path))
    ours, other = load_tokenizer(args.ours), load_tokenizer(args.other)
    counted = compare_token_counts(ours, other, domains, figure=args.figure)
    decides = args.figure is not None
    found = [
        replace(each, name=", ".join(filter(None, (each.name, args.named))), decides=each.decides and decides)
        for each in counted
    ]
    for each in found:
        edges = f"{100 * each.low:+.2f} to {100 * each.high:+.2f}"
        print(f"{each.name:48} {100 * each.value:+.2f} % ({edges}), {each.n:,} texts: {each.verdict}")
    if args.evidence:
        command = provenance(["tokenizers"])["command"]
        add_findings(args.evidence, "I1", found, command, datetime.date.today().isoformat())


if __name__ == "__main__":
    main()
