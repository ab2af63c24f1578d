"""Which papers are asked about, so that no field of science drowns the others (Multi2SPE, section 4)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.seeding import random_fraction

Fields = Sequence[Sequence[str]]
"""The fields of each paper, by row."""
NO_FIELD = "no field"
ONE_FIELD = "of one field alone"
BEYOND = "beyond its field's number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """How queries are shared out among fields.

    smoothing: a field weighs its share of papers to this power; 1 leaves shares as they are, 0 makes all
    fields equal, the published code has 0.7. cap: queries of a field at most, 0 for no limit. A field with
    too few papers has some of them asked about again. crossing: the least share of queries with several
    fields in what comes of that; others give way, of all fields alike, and 1 leaves none of them.
    """

    smoothing: float = 1.0
    cap: int = 0
    crossing: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing <= 1 or self.cap < 0 or not 0 <= self.crossing <= 1:
            raise InputError(
                f"smoothing {self.smoothing}, cap {self.cap}, crossing {self.crossing}: a power and a share "
                "from 0 to 1 and no negative cap are needed"
            )

    @property
    def idle(self) -> bool:
        """Whether all queries stay as they are, those without a field too."""
        return self.smoothing == 1 and not self.cap and not self.crossing

    def queries(
        self, rows: Sequence[int], fields: Fields, names: Sequence[str], dropped: DropReport
    ) -> list[tuple[int, int]]:
        """Return (row, turn) of the queries in the order of the rows; turn counts how often one is asked.

        rows: papers that can be asked about. A paper of several fields stands for one of them, by hash.
        """
        if self.idle:
            return [(row, 0) for row in rows]
        members = self._members(rows, fields, names, dropped)
        total = sum(map(len, members.values()))
        weights = {field: (len(own) / total) ** self.smoothing for field, own in members.items()}
        scale = total / sum(weights.values()) if weights else 0.0
        found: list[tuple[int, int]] = []
        for field, own in members.items():
            wanted = round(weights[field] * scale)
            if self.cap and wanted > self.cap:
                wanted = self.cap
            found += [(row, turn) for turn in range(wanted // len(own)) for row in own]
            rest = own[: wanted % len(own)]
            found += [(row, wanted // len(own)) for row in rest]
            for row in own[len(rest) :] if wanted < len(own) else ():
                dropped.add(BEYOND, names[row])
        return self._crossing(sorted(found), fields, names, dropped)

    def _members(
        self, rows: Sequence[int], fields: Fields, names: Sequence[str], dropped: DropReport
    ) -> dict[str, list[int]]:
        """Return field -> its queries in the order of a hash."""
        members: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            own = sorted({*fields[row]})
            if own:
                members[own[int(random_fraction(self.seed, "field", names[row]) * len(own))]].append(row)
            else:
                dropped.add(NO_FIELD, names[row])
        for own_rows in members.values():
            own_rows.sort(key=lambda row: random_fraction(self.seed, "query", names[row]))
        return dict(sorted(members.items()))

    def _crossing(
        self, asked: list[tuple[int, int]], fields: Fields, names: Sequence[str], dropped: DropReport
    ) -> list[tuple[int, int]]:
        """Leave queries of one field out until those of several have their share."""
        if not self.crossing:
            return asked
        single = [(row, turn) for row, turn in asked if len({*fields[row]}) < 2]
        several = len(asked) - len(single)
        single.sort(key=lambda each: random_fraction(self.seed, "crossing", names[each[0]], each[1]))
        out = {*single[int(several / self.crossing) - several :]}
        for row, _ in sorted(out):
            dropped.add(ONE_FIELD, names[row])
        return [each for each in asked if each not in out]


@dataclass(slots=True)
class Domain:
    """What a sample holds of one field. queries, papers: different ones, these in any place of a triplet."""

    queries: int = 0
    triplets: int = 0
    papers: int = 0


class DomainTable:
    """A sample by fields (Table 5): a paper of several fields counts in each of them."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._asked: set[int] = set()
        self._papers: set[int] = set()
        self.triplets = 0
        self.crossing = 0
        """Triplets whose query and positive share no field, both having some."""
        self._triplets: Counter[str] = Counter()

    def add(self, row: int, positives: Iterable[int], negatives: Iterable[int]) -> None:
        """Take in what was drawn for one query, for the first time or once more."""
        found = list(positives)
        own = {*self._fields[row]}
        self._asked.add(row)
        self.triplets += len(found)
        self._papers |= {row, *found, *negatives}
        for field in own or {NO_FIELD}:
            self._triplets[field] += len(found)
        for other in found:
            theirs = {*self._fields[other]}
            self.crossing += bool(own and theirs and not own & theirs)

    @property
    def queries(self) -> int:
        """Return how many papers are asked about."""
        return len(self._asked)

    def rows(self) -> Mapping[str, Domain]:
        """Return field -> what the sample holds of it, the largest first."""
        papers, queries = self._counted(self._papers), self._counted(self._asked)
        names = sorted(papers, key=lambda field: (-self._triplets[field], -papers[field], field))
        return {name: Domain(queries[name], self._triplets[name], papers[name]) for name in names}

    def _counted(self, rows: Iterable[int]) -> Counter[str]:
        return Counter(field for row in rows for field in {*self._fields[row]} or {NO_FIELD})

    def to_json(self) -> dict[str, object]:
        """Return the table as JSON values."""
        return {
            "queries": self.queries,
            "triplets": self.triplets,
            "papers": len(self._papers),
            "across_fields": self.crossing,
            "fields": {name: asdict(row) for name, row in self.rows().items()},
        }
