"""Balance queries among fields of science, and count a sample by fields (Multi2SPE, section 4)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sciprism.drop_report import DropReport
from sciprism.prepare.preparation import Count, CountTable, Settings, Share
from sciprism.seeding import random_fraction

Fields = Sequence[Sequence[str]]  # the fields of each paper, by row
NO_FIELD = "no field"
SINGLE_FIELD = "query of a single field"
BEYOND_LIMIT = "beyond the number of its field"


class FieldBalance(Settings):
    """How many queries each field has.

    sampling_exponent: a field's weight is its share of papers to this power; 1 keeps the shares, 0 makes all
    fields equal, the published code has 0.7. max_per_field: queries, 0 for no limit. A field with too few
    papers has some of them as queries several times. min_multi_field: least share of queries with several
    fields; queries of a single field are dropped for it, of all fields alike, and 1 drops all of them.
    """

    sampling_exponent: Share = 1.0
    max_per_field: Count = 0
    min_multi_field: Share = 0.0
    seed: int = 0

    def select(
        self, rows: Sequence[int], fields: Fields, names: Sequence[str], dropped: DropReport
    ) -> list[tuple[int, int]]:
        """Return (row, turn) of the queries in the order of the rows; turn counts a row's repetitions from 0.

        rows: papers that can be queries. A paper of several fields counts for one of them, chosen by hash.
        The defaults change nothing: papers without a field are queries too.
        """
        if self.sampling_exponent == 1 and not self.max_per_field and not self.min_multi_field:
            return [(row, 0) for row in rows]
        members = self._members(rows, fields, names, dropped)
        total = sum(map(len, members.values()))
        weights = {field: (len(field_rows) / total) ** self.sampling_exponent for field, field_rows in members.items()}
        scale = total / sum(weights.values()) if weights else 0.0
        queries: list[tuple[int, int]] = []
        for field, field_rows in members.items():
            wanted = round(weights[field] * scale)
            turns, rest = divmod(min(wanted, self.max_per_field or wanted), len(field_rows))
            queries += [(row, turn) for turn in range(turns) for row in field_rows]
            queries += [(row, turns) for row in field_rows[:rest]]
            for row in field_rows[rest:] if not turns else ():
                dropped.add(BEYOND_LIMIT, names[row])
        return self._with_multi_field_share(sorted(queries), fields, names, dropped)

    def _members(
        self, rows: Sequence[int], fields: Fields, names: Sequence[str], dropped: DropReport
    ) -> dict[str, list[int]]:
        """Return field -> its queries, ordered by hash."""
        members: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            choices = sorted({*fields[row]})
            if choices:
                members[choices[int(random_fraction(self.seed, "field", names[row]) * len(choices))]].append(row)
            else:
                dropped.add(NO_FIELD, names[row])

        def rank(row: int) -> float:
            return random_fraction(self.seed, "query", names[row])

        return {field: sorted(rows, key=rank) for field, rows in sorted(members.items())}

    def _with_multi_field_share(
        self, queries: list[tuple[int, int]], fields: Fields, names: Sequence[str], dropped: DropReport
    ) -> list[tuple[int, int]]:
        """Drop queries of a single field until those of several have their share."""
        if not self.min_multi_field:
            return queries
        single = [(row, turn) for row, turn in queries if len({*fields[row]}) < 2]
        several = len(queries) - len(single)
        single.sort(key=lambda query: random_fraction(self.seed, "crossing", names[query[0]], query[1]))
        out = {*single[int(several / self.min_multi_field) - several :]}
        for row, _ in sorted(out):
            dropped.add(SINGLE_FIELD, names[row])
        return [query for query in queries if query not in out]


class DomainTable:
    """A sample counted by fields (Multi2SPE, Table 5): a paper of several fields counts in each of them.

    across_fields: triplets whose query and positive have fields, but none in common.
    """

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._queries: set[int] = set()
        self._papers: set[int] = set()
        self.triplets = 0
        self.across_fields = 0
        self._triplets: Counter[str] = Counter()

    def add(self, row: int, positives: Iterable[int], negatives: Iterable[int]) -> None:
        """Count the sample of one query; a query may come several times."""
        linked = list(positives)
        fields = {*self._fields[row]}
        self._queries.add(row)
        self.triplets += len(linked)
        self._papers |= {row, *linked, *negatives}
        for field in fields or {NO_FIELD}:
            self._triplets[field] += len(linked)
        for other in linked:
            theirs = self._fields[other]
            self.across_fields += bool(fields and theirs and fields.isdisjoint(theirs))

    @property
    def queries(self) -> int:
        """Return the number of distinct queries."""
        return len(self._queries)

    def rows(self) -> Mapping[str, Mapping[str, int]]:
        """Return field -> its distinct queries, triplets and distinct papers, that with the most triplets first."""
        papers, queries = self._by_field(self._papers), self._by_field(self._queries)
        names = sorted(papers, key=lambda field: (-self._triplets[field], -papers[field], field))
        return {
            name: {"queries": queries[name], "triplets": self._triplets[name], "papers": papers[name]} for name in names
        }

    def _by_field(self, rows: Iterable[int]) -> Counter[str]:
        return Counter(field for row in rows for field in {*self._fields[row]} or {NO_FIELD})

    def count_table(self, name: str) -> CountTable:
        """Return a row for each field, one for the triplets across fields, and one for all."""

        def percent(triplets: int) -> str:
            return f"{100 * triplets / max(1, self.triplets):.1f}"

        rows: list[tuple[str | int, ...]] = [
            (field, row["queries"], row["triplets"], percent(row["triplets"]), row["papers"])
            for field, row in self.rows().items()
        ]
        rows.append(("across fields", "", self.across_fields, percent(self.across_fields), ""))
        rows.append(("all", self.queries, self.triplets, "100.0", ""))
        return CountTable((name,), ("queries", "triplets", "%", "papers"), rows)

    def to_json(self) -> dict[str, object]:
        """Return the table as JSON values."""
        return {
            "queries": self.queries,
            "triplets": self.triplets,
            "papers": len(self._papers),
            "across_fields": self.across_fields,
            "fields": self.rows(),
        }


MAPLE_FOLDERS = """
Art Philosophy Geography Business Sociology History Political_Science Environmental_Science Economics
Engineering Psychology Geology Mathematics Materials_Science Physics Biology Chemistry Medicine
"""
FIELDS = {folder: folder.replace("_", " ").lower() for folder in MAPLE_FOLDERS.split()}
"""Folder -> label of the 18 fields that are not computer science."""

MAG_CLASSES = tuple(sorted(("computer science", *FIELDS.values())))
