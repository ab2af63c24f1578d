"""Decide the papers' claims from the stored results, and write docs/evidence.md and results/claims.md.

For each paper with a folder of results (results/scimult), every claim that its results can decide gets a
record in results/<paper>/claims.json; records of other benchmarks are not changed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from evidence.claims import claims, settings
from evidence.method_choice import format_choice
from evidence.page import format_page, format_records
from evidence.records import decide_claim, read_record, remove_record, write_record
from measurement import build_parser
from sciprism.reproduce.papers import reproductions

ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = build_parser(__doc__, output=ROOT / "docs" / "evidence.md")
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    args = parser.parse_args()
    records = {}
    for claim in claims.values():
        folder = args.results / claim.paper
        if claim.paper in reproductions and claim.questions:
            paper = reproductions[claim.paper]
            found = decide_claim(claim, paper, paper.suites[claim.data], args.results / (claim.study or claim.paper))
            if found:
                write_record(folder, found)
            elif not claim.measured:
                remove_record(folder, claim.id)
        record = read_record(folder, claim.id)
        if record:
            records[claim.id] = record
            print(f"{claim.id}: {record.verdict}", file=sys.stderr)
    choice = format_choice(args.results, args.output.parent / "pictures" / "methods.svg")
    args.output.write_text(format_page(claims, records, choice=choice), encoding="utf-8")
    page = format_records([*claims.values()], records, settings, reproductions)
    (args.results / "claims.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
