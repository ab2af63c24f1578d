"""What a recommendation returns: papers with reasons, the interests of the library, and counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from sciprism.papers.records import Paper
from sciprism.uses.rankings import Hit
from sciprism.uses.recommending.interests import Interest


@dataclass(frozen=True, slots=True)
class NearPaper:
    """An own paper that is near to a recommended one, and the cosine of the two."""

    id: str
    title: str
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(Hit):
    """A recommended paper. interest: the nearest one's name. because: the nearest own papers, nearest first.

    score: its relevance, before diversity and the interests' shares decide on the order. unwanted: similarity to the
    nearest unwanted paper, None where none was given.
    """

    interest: str = ""
    because: tuple[NearPaper, ...] = ()
    unwanted: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return all but the paper as JSON values."""
        row = Hit.to_json(self)
        del row["why"]
        return row | {"because": [asdict(near) for near in self.because]}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendCounts:
    """How many papers there were. owned: new papers that the library has, by what shows it (`doi`, `title` ...).

    Near-duplicates and repeated papers, which are copies of a new one, are counted among the best new papers alone.
    skipped: records that could not be used, of all inputs. encoded: papers without a stored vector.
    """

    library: int
    library_without_abstract: int = 0
    unwanted_given: int = 0
    new: int = 0
    new_without_abstract: int = 0
    owned: dict[str, int] = field(default_factory=dict)
    unwanted: int = 0
    repeated: int = 0
    skipped: int = 0
    encoded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendations:
    """Recommended papers, best first; the interests of the library, the largest first; counts; the model's name.

    skipped: why the first records that could not be used were skipped.
    """

    hits: tuple[Recommendation, ...]
    interests: tuple[Interest, ...]
    counts: RecommendCounts
    model: str
    skipped: tuple[str, ...] = ()

    def papers(self) -> list[Paper]:
        """Return the recommended papers."""
        return [hit.paper for hit in self.hits]

    def to_json(self) -> dict[str, Any]:
        """Return interests, counts and papers as JSON values."""
        found = [hit.interest for hit in self.hits]
        interests = [
            {"name": each.name, "papers": each.papers, "central": each.central, "recommended": found.count(each.name)}
            for each in self.interests
        ]
        return {
            "model": self.model,
            "counts": asdict(self.counts),
            "interests": interests,
            "hits": [hit.to_json() for hit in self.hits],
            "skipped": list(self.skipped),
        }
