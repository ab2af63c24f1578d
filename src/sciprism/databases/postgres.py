"""PostgreSQL with the extension pgvector: a table of papers, whose comment is their record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import psycopg
from psycopg.sql import Literal

from sciprism.databases import database

SCHEMA = """key bigint PRIMARY KEY, version bigint, id text, title text, venue text, year integer,
    fields text[], authors text[], paper text, words tsvector"""
CONDITIONS = {
    "year_from": "year >= %(year_from)s",
    "year_to": "year <= %(year_to)s",
    "venue": "venue = ANY(%(venue)s)",
    "fields": "fields && %(fields)s",
    "authors": "authors && %(authors)s",
}
WORDS = "to_tsvector('english', left(%(text)s, 200000))"  # a tsvector has a megabyte at most
OPERATORS = {"cosine": ("<=>", "1 -", "cosine"), "dot": ("<#>", "-", "ip"), "euclidean": ("<->", "-", "l2")}
"""Of each distance: its operator, how a score is computed of it, and its word in the names of classes of operators."""
SETTINGS = """SELECT set_config('enable_indexscan', %(indexes)s, true), set_config('enable_seqscan', %(scans)s, true),
    set_config('hnsw.ef_search', %(effort)s, true), set_config('hnsw.iterative_scan', 'strict_order', true)"""
SEARCHES = {
    "vectors": """SELECT key, paper, {sign} ({distance}) AS score FROM {table}
        WHERE {passes} ORDER BY {distance} LIMIT %(k)s""",
    "words": """SELECT key, paper, ts_rank(words, query) AS score FROM {table},
        CAST(replace(plainto_tsquery('english', %(text)s)::text, ' & ', ' | ') AS tsquery) AS query
        WHERE words @@ query AND {passes} ORDER BY score DESC, key LIMIT %(k)s""",
}


class _Postgres(database.VectorDatabase):
    """A table in PostgreSQL. User, password and TLS are those of libpq: PGUSER, PGPASSWORD or ~/.pgpass, PGSSLMODE."""

    failures = (psycopg.Error,)
    advice: ClassVar[dict[str, str]] = {
        "connection (failed|is bad)": "cannot connect; see that the server runs, and that PGUSER, PGPASSWORD are right",
        '"vector"': "pgvector is missing; have it installed on the server, and run there: CREATE EXTENSION vector",
        "InsufficientPrivilege|ReadOnlySqlTransaction": "the user may not do this; ask for the right, or set PGUSER",
    }

    def __init__(self, address: database.Address) -> None:
        self.address, self._table = address, f'"{address["name"]}"'
        place: dict[str, Any] = {"host": address["host"], "port": address["port"], "dbname": address["place"]}
        with self.explained():
            self._connection = psycopg.connect(**place, connect_timeout=10, autocommit=True)

    def _run(self, statement: str, values: database.Conditions | None = None) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(statement.replace("{table}", self._table).encode(), values)
        return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        self._connection.close()

    def read_text(self) -> str | None:
        text = "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE oid = to_regclass(%(table)s)"
        found = self._run(text, {"table": self._table})
        return (found[0][0] or "") if found else None

    def write(self, record: database.RemoteRecord) -> None:
        vectors = [f"{record.column(space)} vector({each.dim})" for space, each in record.spaces.items()]
        with self._connection.transaction():
            if self.read_text() is None:
                self._run("CREATE EXTENSION IF NOT EXISTS vector")
                self._run(f"CREATE TABLE {{table}} ({', '.join([SCHEMA, *vectors])})")
                self._run("CREATE INDEX ON {table} (year); CREATE INDEX ON {table} USING gin (words)")
            self._run(f"COMMENT ON TABLE {{table}} IS {Literal(record.model_dump_json()).as_string(self._connection)}")

    def index(self, record: database.RemoteRecord) -> None:
        settings = f"(m = {database.HNSW_LINKS}, ef_construction = {database.HNSW_CONSTRUCTION})"
        for column in map(record.column, record.spaces):
            index = f'"{self.address["name"]}_{column}"'
            used = f"USING hnsw ({column} vector_{OPERATORS[record.encoder.distance][2]}_ops) WITH {settings}"
            if record.approximate:
                self._run(f"CREATE INDEX IF NOT EXISTS {index} ON {{table}} {used}")
            else:
                self._run(f"DROP INDEX IF EXISTS {index}")

    def upsert(self, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
        values = {column.split()[0]: f"%({column.split()[0]})s" for column in SCHEMA.split(",")} | {"words": WORDS}
        values |= {name: f"%({name})s::vector" for name in columns}
        changes = ", ".join(f"{name} = EXCLUDED.{name}" for name in values)
        stored = f"INSERT INTO {self._table} ({', '.join(values)}) VALUES ({', '.join(values.values())})"
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(f"{stored} ON CONFLICT (key) DO UPDATE SET {changes}".encode(), rows)

    def delete(self, keys: Sequence[int]) -> None:
        self._run("DELETE FROM {table} WHERE key = ANY(%(keys)s)", {"keys": list(keys)})

    def read_versions(self) -> dict[int, int]:
        return dict(self._run("SELECT key, version FROM {table}"))

    def count(self, conditions: database.Conditions) -> int:
        return int(self._run(f"SELECT count(*) FROM {{table}} WHERE {_join(conditions)}", conditions)[0][0])

    def count_names(self, column: str) -> dict[str, int]:
        names = column if column == "venue" else f"unnest({column})"
        return dict(self._run(f"SELECT {names} AS name, count(*) FROM {{table}} GROUP BY name"))

    def search(self, query: database.Query) -> list[tuple[float, str]]:
        operator, sign, _ = OPERATORS[query.distance]
        names = {"table": self._table, "passes": _join(query.conditions)}
        names |= {"sign": sign, "distance": f"{query.column} {operator} %(vector)s::vector"}
        values = query.conditions | {"text": query.text.replace("\0", " "), "k": query.k}
        values |= {"vector": query.vector, "indexes": str(not query.exact), "scans": str(query.exact)}
        values |= {"effort": str(min(1000, max(database.HNSW_SEARCH, 2 * query.k)))}
        with self._connection.transaction():
            self._run(SETTINGS, values)
            found = self._run(SEARCHES[query.mode].format_map(names), values)
        return [(float(score), paper) for _, paper, score in found]


def _join(conditions: database.Conditions) -> str:
    return " AND ".join(CONDITIONS[name] for name in conditions) or "true"


connect = _Postgres
