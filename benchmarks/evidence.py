"""Verdicts on the papers' claims from the results that there are, and the page that shows them.

For each paper with a folder of results (results/scimult), every claim that its results can answer gets a
record in results/<paper>/claims.json; other benchmarks' records are kept. Then the page is written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sciprism.reproduce.claims.page import page
from sciprism.reproduce.claims.records import measure, read, write
from sciprism.reproduce.claims.registry import claims
from sciprism.reproduce.tables.registry import reproductions

ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs" / "evidence.md")
    given = parser.parse_args()
    records = {}
    for claim in claims.values():
        home = given.results / claim.paper
        if claim.paper in reproductions and claim.questions:
            paper = reproductions[claim.paper]
            found = measure(claim, paper, paper.shapes[claim.data], home)
            if found:
                write(home, found)
        record = read(home, claim.id)
        if record:
            records[claim.id] = record
            print(f"{claim.id}: {record.verdict}", file=sys.stderr)
    given.output.write_text(page(claims, records), encoding="utf-8")


if __name__ == "__main__":
    main()
