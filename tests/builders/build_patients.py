"""PMC-Patients in small: a release whose patients of one disease are told in two vocabularies."""

import random
from pathlib import Path

from build_data import lines, text

DISEASES = 12
SIGNS = "protein gene cell dna brain memory mouse virus vaccine trial cancer drug"
NAMES = "star galaxy planet universe electron atom nuclear laser crystal carbon oxygen polymer"
FILLERS = ["study", "method", "model", "data", "result", "theory", "law", "effect", "test", "evidence"]


def told(name: str, words: str) -> str:
    """A patient's text: the word of a disease among others, drawn by the name."""
    draw = random.Random(name)
    disease = words.split()[int(name.partition("-")[0]) % DISEASES]
    return " ".join([disease, disease, *draw.sample(FILLERS, 3)])


def write_release(folder: Path, search: str = "PPR", *, each: int = 3) -> Path:
    """Write a release of DISEASES diseases; in train `each` patients of one ask, in dev and test one.

    Those who ask tell of signs and are not in the corpus; `each` documents of a disease name it.
    """
    sides = {"train": range(each), "dev": range(each, each + 1), "test": range(each + 1, each + 2)}
    found = [f"{1000 * DISEASES + d}-{n}" for d in range(DISEASES) for n in range(each)]
    rows = ({"_id": name, "title": "", "text": told(name, NAMES)} for name in found)
    lines(folder / search / "corpus.jsonl", rows)
    for split, numbers in sides.items():
        asking = [f"{d}-{n}" for d in range(DISEASES) for n in numbers]
        rows = ({"_id": name, "text": told(name, SIGNS)} for name in asking)
        lines(folder / f"queries/{split}_queries.jsonl", rows)
        of = {name: int(name.partition("-")[0]) % DISEASES for name in (*asking, *found)}
        judged = [f"{name}\t{other}\t1\n" for name in asking for other in found if of[other] == of[name]]
        text(folder / search / f"qrels_{split}.tsv", "query-id\tcorpus-id\tscore\n" + "".join(judged))
    return folder
