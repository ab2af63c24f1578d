"""Records of MARC 21 as bytes of ISO 2709."""

from collections.abc import Iterable
from pathlib import Path

MarcRow = tuple[str, str]  # tag, and a text: of a data field the indicators and the subfields, as in "1 $aKeller, Ada"

TIDES: list[MarcRow] = [
    ("001", "12"),
    ("003", "XxTide"),
    ("008", "200101s2020    xx            000 0 eng d"),
    ("020", "  $a9780000000002 (paper)"),
    ("024", "7 $a10.5555/tides$2doi"),
    ("100", "1 $aKeller, Ada,$d1809-1882,$eauthor."),
    ("245", "10$aTides :$ba study of the coast /$cby Ada Keller ; translated by Bo Lee."),
    ("264", " 1$aHaven :$bSea Press,$cc2020."),
    ("520", "  $aTides rise and fall."),
    ("650", " 0$aTides."),
    ("650", " 0$aCoasts$zNorway."),
    ("653", "  $asea level$asalt"),
    ("700", "1 $aLee, Bo,$etranslator."),
    ("700", "1 $aRoe, Kim."),
    ("710", "2 $aInstitute of Tides.$bSection Two."),
    ("700", "12$aShakespeare, William.$tThe tempest."),
    ("856", "40$uhttps://example.org/tides"),
]
ARTICLE: list[MarcRow] = [
    ("001", "13"),
    ("008", "990101s1999    xx            000 0 eng d"),
    ("245", "00$aÅ and salt /"),
    ("700", "1 $aMoss, Ed,$eeditor."),
    ("773", "0 $tJournal of salt$gVol. 1, p. 2"),
]


def build_record(rows: Iterable[MarcRow], encoding: str = "utf-8", coding: str = "a") -> bytes:
    """Return a record; coding: what its leader says of its text, "a" for UTF-8, else MARC-8."""
    fields = [(tag, text.replace("$", "\x1f").encode(encoding) + b"\x1e") for tag, text in rows]
    directory, data = "", b""
    for tag, field in fields:
        directory += f"{tag}{len(field):04}{len(data):05}"
        data += field
    start = 24 + len(directory) + 1
    leader = f"{start + len(data) + 1:05}nam {coding}22{start:05} a 4500"
    return leader.encode() + directory.encode() + b"\x1e" + data + b"\x1d"


def build_marc(path: Path) -> None:
    """Write a file of two records."""
    path.write_bytes(build_record(TIDES) + build_record(ARTICLE))
