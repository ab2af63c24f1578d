"""What INDUS's studies train on: words, texts and pairs of the domain, and words and texts of general English.

DATA is the folder of the data sets, GENERAL one of plain texts (.txt) of general English with at least a million words,
such as speeches and novels in the public domain. Each text is packed with both vocabularies. Citing with cited titles
are split again, by the citing paper: 83 pairs only have both papers in the dev part. Run from the repository root:

    python benchmarks/indus_data.py DATA GENERAL out/indus-sources
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from sciprism.seeding import random_fraction
from study import run_command

DOMAIN = {
    "arxiv": ("arxiv_multidomain",),
    "conference": ("conference_papers",),
    "biomedical": ("xmc_pubmed_mesh", "cls_systematic_review_screening", "cls_ohsumed/train.jsonl.gz"),
}
CITING = ("citegraph_vis", "citegraph_acl")
"""Papers that cite each other: pairs alone, no text."""
WORDS = 16_000
LENGTH = 128
CITATIONS = "citing-cited-titles"
SHAPES = f"title-abstract,neighbour-sentences,{CITATIONS}"
DEV = 0.1
"""Of the citing papers."""


def name_texts(data: Path, general: Path) -> dict[str, list[str]]:
    """Return the sources of each kind of text, as `prepare text` takes them."""
    domain = [f"{name}={data / part}" for name, parts in DOMAIN.items() for part in parts]
    return {"domain": domain, "general": [f"general={general}", "--kind", "general=text"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "general", "output"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    texts = name_texts(args.data, args.general)
    own = {kind: args.output / f"{kind}-words" / f"{kind}-text" for kind in texts}
    for kind, named in texts.items():
        if not (own[kind] / "mixture.json").exists():
            more = ("--vocab-size", WORDS, "--length", LENGTH, "--data", args.data)
            run_command("prepare", "text", *named, "-o", own[kind], *more)
    for words in texts:
        for kind, named in texts.items():
            folder = args.output / f"{words}-words" / f"{kind}-text"
            if not (folder / "mixture.json").exists():
                more = ("--tokenizer", own[words] / "tokenizer", "--length", LENGTH, "--data", args.data)
                run_command("prepare", "text", *named, "-o", folder, *more)
    link, pairs = args.output / "text", args.output / "pairs"
    if not link.exists():
        link.symlink_to(own["domain"].resolve())
    if not pairs.exists():
        parts = [*(part for each in DOMAIN.values() for part in each), *CITING]
        files = [path for part in parts for path in sorted_files(args.data / part)]
        run_command("prepare", "pairs", *files, "-o", pairs, "--shapes", SHAPES, "--data", args.data)
    hold_out_citations(pairs / "train" / f"{CITATIONS}.jsonl", args.output / "citations")


def hold_out_citations(pairs: Path, output: Path) -> None:
    """Write the pairs of a tenth of the citing papers as dev pairs, the others as train pairs."""
    parts: dict[str, list[str]] = {"train": [], "dev": []}
    for line in pairs.read_text("utf-8").splitlines(keepends=True):
        held_out = random_fraction(0, json.loads(line)["question_id"]) < DEV
        parts["dev" if held_out else "train"].append(line)
    output.mkdir(exist_ok=True)
    for part, lines in parts.items():
        (output / f"{part}.jsonl").write_text("".join(lines), encoding="utf-8")


def sorted_files(path: Path) -> list[Path]:
    """Return a file, or the packed files of a folder."""
    return sorted(path.glob("*.gz")) if path.is_dir() else [path]


if __name__ == "__main__":
    main()
