"""Objects of S3 and Google Cloud Storage are read as local files are; what a store refuses is one clear line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from build_parts import write_input
from build_servers import FileServer, serve_buckets, serve_files, use_environment
from sciprism.errors import InputError
from sciprism.papers import ReadReport, read_papers
from sciprism.papers.read import AbstractCompletion, AbstractIndex
from sciprism.papers.remote.objects import TRIES, RemoteObject, find_remote

LINE = b'{"id": "p1", "title": "A title", "abstract": "An abstract."}\n'


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    with serve_buckets() as client:
        client.create_bucket(Bucket="bucket")
        client.create_bucket(Bucket="empty")
        yield client


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory, s3: Any) -> Path:
    """A folder of files with and without papers, also in the bucket."""
    folder = tmp_path_factory.mktemp("local") / "works"
    for number, path in enumerate(write_input(folder / "files", 400)):
        (folder / f"date={number % 3}").mkdir(exist_ok=True)
        path.rename(folder / f"date={number % 3}" / path.name)
    (folder / "files").rmdir()
    (folder / "date=0-b").mkdir()
    (folder / "date=0-b" / "a#1.jsonl").write_bytes(LINE)
    (folder / "README.md").write_text("not papers")
    (folder / ".hidden.jsonl").write_bytes(LINE)
    upload(s3, folder)
    return folder


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """A server that may answer as S3 and as Google Cloud Storage does."""
    monkeypatch.setattr("sciprism.papers.remote.objects.BACKOFF", 0.0)
    keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "hunter2", "AWS_DEFAULT_REGION": "us-east-1"}
    with serve_files() as server, use_environment(AWS_ENDPOINT_URL=server.address, **keys):
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.address)
        yield server


def upload(client: Any, folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            client.upload_file(str(path), "bucket", path.relative_to(folder.parent).as_posix())


@pytest.mark.parametrize(
    "name",
    ["works", "works/", "works/*/*.jsonl", "works/**/1?-small.jsonl", "works/date=[12]", "works/date=0-b/a#1.jsonl"],
)
def test_objects_are_read_as_files_are(works: Path, name: str) -> None:
    local, remote = ReadReport(), ReadReport()
    papers = list(read_papers(works.parent / name, report=local))
    assert list(read_papers(f"s3://bucket/{name}", report=remote)) == papers and papers
    shown = [each.path for each in remote.files]
    assert shown == [each.path.replace(f"{works.parent}/", "s3://bucket/") for each in local.files]
    assert remote.ignored == local.ignored


def test_sheets_and_abstracts_of_objects(s3: Any, works: Path) -> None:
    s3.upload_file(str(Path(__file__).parent / "samples" / "excel.xlsx"), "bucket", "x/excel.xlsx")
    with pytest.raises(InputError, match=r"s3://bucket/x/excel.xlsx: no sheet 'None'; sheets: .*Notes"):
        list(read_papers("s3://bucket/x/excel.xlsx#None"))
    s3.put_object(Bucket="bucket", Key="bare.jsonl", Body=b'{"id": "p1", "title": "A title"}\n')
    with AbstractIndex("s3://bucket/works/date=0-b/") as index:
        (paper,) = AbstractCompletion(index).complete(read_papers("s3://bucket/bare.jsonl"))
    assert paper.abstract == "An abstract."


def test_an_object_that_changes_while_it_is_read_is_refused(s3: Any) -> None:
    s3.put_object(Bucket="bucket", Key="long.jsonl", Body=LINE * 5000)
    (found,) = find_remote("s3://bucket/long.jsonl")
    assert isinstance(found, RemoteObject)
    with found.open() as stream:
        assert stream.read(1000) == (LINE * 5000)[:1000]
        s3.put_object(Bucket="bucket", Key="long.jsonl", Body=LINE[::-1] * 5000)
        with pytest.raises(InputError, match=r"s3://bucket/long.jsonl has changed while it was read"):
            stream.read()
        s3.delete_object(Bucket="bucket", Key="long.jsonl")
    with found.open() as stream, pytest.raises(InputError, match="has changed while it was read"):
        stream.read()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("s3://nowhere/a.jsonl", "s3://nowhere/a.jsonl: no such file, folder or bucket; check the address"),
        ("s3://nowhere/*.jsonl", r"s3://nowhere: no such file, folder or bucket"),
        ("s3://bucket/none.jsonl", "s3://bucket/none.jsonl: no such file, folder or bucket"),
        ("s3://bucket/none/*.gz", r"s3://bucket/none/\*.gz: no object or folder matches this pattern"),
        ("s3://empty/", "s3://empty/: no file in a known format in this folder"),
    ],
)
def test_what_is_not_there_is_named(s3: Any, address: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_papers(address))


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, r"the request is refused \(.*Bad Request\); needed are .*AWS_PROFILE.*the same command continues"),
        (403, r"the request is refused \(.*Forbidden\); needed are s3:GetObject, s3:ListBucket, and AWS_PROFILE"),
        (503, rf"cannot be reached \(.*503.*\), {TRIES} times; try again later"),
    ],
)
def test_what_a_store_refuses_is_explained(flaky: FileServer, status: int, message: str) -> None:
    flaky.restart(statuses=[status] * 50)
    with pytest.raises(InputError, match=rf"s3://bucket/a.jsonl: {message}") as caught:
        list(read_papers("s3://bucket/a.jsonl"))
    assert "hunter2" not in str(caught.value)


def test_a_store_without_credentials_is_read_as_a_public_one() -> None:
    with serve_files() as server, use_environment(AWS_ENDPOINT_URL=server.address):
        server.restart(statuses=[403] * 9)
        with pytest.raises(InputError, match=r"refused .*; needed are .* AWS_PROFILE"):
            list(read_papers("s3://bucket/a.jsonl"))
        assert set(server.authorizations) == {""}
    with (
        use_environment(AWS_PROFILE="nobody"),
        pytest.raises(InputError, match=r"the request is refused \(.*nobody.*\); needed are .* AWS_PROFILE"),
    ):
        list(read_papers("s3://bucket/a.jsonl"))


def test_google_cloud_storage(flaky: FileServer, tmp_path: Path) -> None:
    papers = [json.dumps({"id": f"p{n}", "title": f"Title {n}", "abstract": "Words. " * 99}) for n in range(900)]
    names = ("works/a/0.jsonl", "works/b/1.jsonl", "works/b/2.jsonl")
    files = {f"/bucket/{name}": "\n".join(papers[n::3]).encode() for n, name in enumerate(names)}
    flaky.restart(files, drops=[200])
    for name, content in files.items():
        (tmp_path / name[1:]).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name[1:]).write_bytes(content)
    for name in ("works/", "works/*/[01].jsonl", "works/b/2.jsonl"):
        found = list(read_papers(f"gs://bucket/{name}"))
        assert found == list(read_papers(tmp_path / "bucket" / name)) and found
    assert str(found[0].place).startswith("gs://bucket/works/b/2.jsonl, record 1")
    (changing,) = find_remote("gcs://bucket/works/a/0.jsonl")
    assert isinstance(changing, RemoteObject)
    with changing.open() as stream:
        stream.read(10)
        flaky.files["/bucket/works/a/0.jsonl"] = files["/bucket/works/b/1.jsonl"]
        with pytest.raises(InputError, match="has changed while it was read"):
            stream.read()
    for name, message in (("none.jsonl", "no such file, folder or bucket"), ("*.gz", "no object or folder matches")):
        with pytest.raises(InputError, match=f"gs://bucket/.*: {message}"):
            list(read_papers(f"gs://bucket/{name}"))
    flaky.restart(statuses=[403] * 9)
    with pytest.raises(InputError, match=r"gs://bucket/a.jsonl: .* refused .*; needed are storage.objects.get"):
        list(read_papers("gs://bucket/a.jsonl"))
