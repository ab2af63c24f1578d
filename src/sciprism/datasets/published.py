"""The data sets that the suites read: who owns them, where they are published, and under which licence.

The manifest is `published.toml`, next to this module; `fetching` fetches what it names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from sciprism.errors import InputError

MANIFEST = Path(__file__).with_name("published.toml")
UNKNOWN = "unknown"  # a checksum or size that nobody states: the first one seen is trusted, and recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFile:
    """One download. name: how the converter knows it. checksum: "sha256:..." or "md5:...", "" where it is unknown.

    fixed: False for an archive that its server makes anew for each request, whose bytes may differ.
    """

    url: str
    name: str
    checksum: str = ""
    size: int | None = None
    fixed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedData:
    """A data set of the manifest: its owner, licence, files and converter; or why it cannot be fetched.

    suites: that read it. needs: data sets that its tasks read too. members: patterns of an archive's files. hub: its
    name is one on the hub. by_hand: how a person gets it; absent: why nobody does.
    """

    name: str
    what: str
    owner: str
    home: str
    licence: str
    suites: tuple[str, ...]
    needs: tuple[str, ...] = ()
    files: tuple[PublishedFile, ...] = ()
    converter: str = ""
    members: tuple[str, ...] = ()
    hub: bool = False
    note: str = ""
    by_hand: str = ""
    absent: str = ""

    @property
    def size(self) -> int | None:
        """Return the bytes to download, None where they are not known of each file."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if len(sizes) == len(self.files) > 0 else None

    @property
    def obtain(self) -> str:
        """Return how the data are obtained, for messages."""
        if self.by_hand or self.absent:
            return self.by_hand or self.absent
        return f"get them with: sciprism data fetch {self.name} -o FOLDER"


def read_manifest() -> Mapping[str, PublishedData]:
    """Return name -> data set of the manifest."""
    return _read_manifest(MANIFEST)


@cache
def _read_manifest(path: Path) -> Mapping[str, PublishedData]:
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    entries = ((name, table) for key, table in tables.items() for name in table.get("names", (key,)))
    return {name: _read_entry(name, table) for name, table in entries}


def _read_entry(name: str, table: Mapping[str, Any]) -> PublishedData:
    base = table.get("base", "")
    settings: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in table.items()
        if key not in ("base", "names")
    }
    settings["files"] = tuple(_read_file(base, file) for file in table.get("files", ()))
    return PublishedData(name=name, **settings)


def _read_file(base: str, table: Mapping[str, Any]) -> PublishedFile:
    url = base + table["url"]
    known = {key: table[key] for key in ("checksum", "size") if table[key] != UNKNOWN}
    name = table.get("name", url.rstrip("/").rpartition("/")[2])
    return PublishedFile(url=url, name=name, fixed=table.get("fixed", True), **known)


def select_data(names: Iterable[str]) -> list[PublishedData]:
    """Return the data sets of suites, and those named with what their tasks read too. InputError for another name."""
    known = read_manifest()
    suites = {suite for data in known.values() for suite in data.suites}
    selected: dict[str, PublishedData] = {}
    for name in names:
        suite = name.partition("/")[0]
        if suite in suites and (suite == name or name not in known):  # "open/quick" reads what "open" reads
            chosen = [data for data in known.values() if suite in data.suites]
        elif name in known:
            chosen = [known[name], *(known[other] for other in known[name].needs)]
        else:
            near = get_close_matches(name, [*suites, *known], n=3)
            advice = f"did you mean {' or '.join(near)}?" if near else f"suites: {', '.join(sorted(suites))}"
            raise InputError(f"{name!r} is neither a suite nor a data set of the manifest; {advice}")
        selected |= {data.name: data for data in chosen}
    return list(selected.values())


def describe_obtaining(name: str, folder: Path | None) -> str:
    """Return how the data set of a path in a data folder is obtained, "" where the manifest lacks it."""
    data = read_manifest().get(Path(name).parts[0]) if name else None
    obtain = data.obtain if data else ""
    return obtain if folder is None else obtain.replace("FOLDER", str(folder))
