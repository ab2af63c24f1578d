"""Manifests of snapshots stand for their files: local copies, buckets, signed addresses."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from build_servers import FileServer, serve_buckets, serve_files, use_environment
from sciprism.errors import InputError
from sciprism.papers import ReadReport, read_papers
from sciprism.papers.input_file import ReadOptions, SealedFile

ORIGIN = "s3://openalex/data/works"
PARTS = [f"updated_date=2026-0{part}.gz" for part in ("1-01/part_000", "2-01/part_000", "2-01/part_001")]
Contents = dict[str, bytes]


@pytest.fixture(scope="module")
def server() -> Iterator[FileServer]:
    with serve_files() as running, use_environment():
        yield running


def pack_works(number: int, count: int = 3) -> bytes:
    work = '{{"id": "https://openalex.org/W{0}", "title": "Work {0}", "abstract_inverted_index": {{"A": [0]}}}}\n'
    return gzip.compress("".join(work.format(f"{number}{row}") for row in range(count)).encode())


def list_entries(files: Contents, origin: str = ORIGIN) -> bytes:
    """Return a manifest as OpenAlex writes it: all have three works."""
    entries = [
        {"url": f"{origin}/{name}", "meta": {"content_length": len(content), "record_count": 3}}
        for name, content in files.items()
    ]
    total = {"content_length": sum(map(len, files.values())), "record_count": 3 * len(files)}
    return json.dumps({"entries": entries, "meta": total}).encode()


@pytest.fixture
def files() -> Contents:
    return {name: pack_works(number) for number, name in enumerate(PARTS)}


def write(folder: Path, files: Contents) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def read(*paths: Path | str | SealedFile, **options: Any) -> list[str]:
    return [paper.id for paper in read_papers(paths, **options)]


IDS = [f"W{number}{row}" for number in range(3) for row in range(3)]


@pytest.mark.parametrize("below", ["", "data/works", "openalex/data/works"])
def test_a_local_copy_is_read_from_its_own_folder(tmp_path: Path, files: Contents, below: str) -> None:
    """Wherever the manifest lies above its files, and whatever else lies beside them."""
    write(tmp_path / below, files | {"other.gz": pack_works(9)})
    (tmp_path / "manifest").write_bytes(list_entries(files))
    report = ReadReport()
    assert read(tmp_path / "manifest", report=report) == IDS
    assert [each.path for each in report.files] == [str(tmp_path / below / name) for name in PARTS]
    assert read(tmp_path / "manifest", options=ReadOptions(ids_per_file=True))[3] == f"{PARTS[1]}:W10"


def test_what_does_not_agree_with_the_manifest_is_refused(tmp_path: Path, files: Contents) -> None:
    manifest = write(tmp_path, files) / "manifest"
    manifest.write_bytes(list_entries(files))
    (tmp_path / PARTS[1]).unlink()
    message = rf"manifest: of 3 files that it lists, 1 cannot be found \({ORIGIN}/{PARTS[1]}\); fetch them"
    with pytest.raises(InputError, match=message):
        read(manifest)
    (tmp_path / PARTS[1]).write_bytes(files[PARTS[1]][:-1])
    with pytest.raises(InputError, match=rf"{PARTS[1]} has [\d,]+ bytes, but [\d,]+ in .*manifest; fetch both again"):
        read(manifest)
    short = files | {PARTS[1]: pack_works(1, 2)}
    write(tmp_path, short)
    manifest.write_bytes(list_entries(short))
    with pytest.raises(InputError, match=rf"{PARTS[1]}: 2 records, but 3 in the manifest; fetch both again"):
        read(manifest)
    report = ReadReport()
    assert len(read(manifest, skip_bad=True, report=report)) == 8 and report.skipped_count == 1
    twice = json.loads(list_entries(files))
    manifest.write_text(json.dumps({"entries": twice["entries"][:1] * 2}))
    with pytest.raises(InputError, match=r"manifest: lists 1 files twice; fetch it again"):
        read(manifest)
    manifest.write_bytes(list_entries(files)[:-9])
    with pytest.raises(InputError, match="a manifest that is not valid JSON"):
        read(manifest)


def test_json_of_papers_is_no_manifest(tmp_path: Path) -> None:
    (tmp_path / "papers.json").write_text('{"items": [{"id": "a", "title": "T", "url": "https://x/y"}]}')
    assert read(tmp_path / "papers.json") == ["a"]
    (tmp_path / "b.json").write_text('{"entries": [{"url": "https://x/y", "title": "T"}]}')
    with pytest.raises(InputError, match="not in a known format"):
        read(tmp_path / "b.json")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.json", b'{"entries": [{"url": "%s"}]}', "names other files"),
        ("x.json", b'{"entries": [{"url": "other.jsonl"}]}', "names other files"),
        ("x.json", b'{"entries": [{"url": "https://127.0.0.1:9/a.jsonl"}]}', "names other files"),
        ("manifest.txt", b'{"files": ["s3://a/b.gz", "gs://a/b.gz"]}', "names other files"),
        ("x.json", b'{"start_release": "a", "diffs": [{"update_files": ["other.jsonl"]}]}', "names other files"),
        ("x.json", b"\x1f\x8b\x08", "compressed or a database"),
        ("x.jsonl", b"SQLite format 3\x00", "compressed or a database"),
    ],
)
def test_a_sealed_file_leads_to_no_other(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "a", "title": "Secret"}')
    (tmp_path / name).write_bytes(content.replace(b"%s", str(other).encode()))
    with pytest.raises(InputError, match=f"{name}.* {words}"):
        read(SealedFile(tmp_path / name))
    assert read(SealedFile(other)) == ["a"]


def test_in_buckets_at_its_place_and_in_another(files: Contents) -> None:
    """The manifest of a mirror is of the mirror's files; one elsewhere is of those at its addresses."""
    with serve_buckets() as client:
        for bucket in ("openalex", "mirror"):
            client.create_bucket(Bucket=bucket)
        for name, content in files.items():
            client.put_object(Bucket="openalex", Key=f"data/works/{name}", Body=content)
            client.put_object(Bucket="mirror", Key=f"copy/{name}", Body=content)
        for bucket, key in (("openalex", "data/works"), ("mirror", "copy"), ("mirror", "elsewhere")):
            client.put_object(Bucket=bucket, Key=f"{key}/manifest", Body=list_entries(files))
        places = {"openalex/data/works": ORIGIN, "mirror/copy": "s3://mirror/copy", "mirror/elsewhere": ORIGIN}
        for place, origin in places.items():
            report = ReadReport()
            assert read(f"s3://{place}/manifest", report=report) == IDS
            assert [each.path for each in report.files] == [f"{origin}/{name}" for name in PARTS]
        client.delete_object(Bucket="mirror", Key=f"copy/{PARTS[2]}")
        with pytest.raises(InputError, match=rf"s3://mirror/copy/manifest: of 3 files .* 1 cannot .*{PARTS[2]}"):
            read("s3://mirror/copy/manifest")


def test_signed_addresses_of_semantic_scholar(server: FileServer, tmp_path: Path) -> None:
    """Signatures are sent and never shown; a folder with copies of the files is read instead."""
    papers = [gzip.compress(json.dumps({"corpusid": n, "title": f"T{n}"}).encode()) for n in range(4)]
    server.restart({f"/papers/{n}.gz": content for n, content in enumerate(papers)})
    signed = [f"{server.address}/papers/{n}.gz?Signature=SECRET{n}%2F&Expires=1" for n in range(4)]
    listing = {"name": "papers", "README": "Long. " * 500, "files": signed}
    (tmp_path / "listing.json").write_text(json.dumps(listing))
    report = ReadReport()
    found = list(read_papers(tmp_path / "listing.json", report=report))
    assert [paper.id for paper in found] == ["0", "1", "2", "3"]
    assert all("Signature=SECRET" in path for path, _ in server.requests)
    assert "SECRET" not in str((report, [paper.place for paper in found]))
    server.restart(statuses=[403] * 9, body=b"<Error><Message>Request has expired</Message></Error>")
    with pytest.raises(InputError, match=r"/papers/\d.gz: .* refused .* is signed, fetch a new one") as caught:
        read(tmp_path / "listing.json")
    assert "SECRET" not in str(caught.value)
    write(tmp_path, {f"{n}.gz": content for n, content in enumerate(papers)})
    server.restart({})
    assert read(tmp_path / "listing.json") == ["0", "1", "2", "3"] and not server.requests
