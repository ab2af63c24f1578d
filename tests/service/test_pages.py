"""The pages of the service, in process: what is shown, what is escaped, and what forms must carry."""

import re
import time
from collections.abc import Iterator
from html import unescape
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

import sciprism.pages
from build_service import start
from five_papers import PAPERS
from sciprism.index import lexical
from sciprism.papers.records import Paper
from sciprism.service import desks, pages
from sciprism.service.batching import SharedEncoder
from sciprism.service.limits import POLICY
from sciprism.store import StoredCollection, embed
from sciprism.uses.tagging.suggestions import Judgement, TagReview, read_judgements

PAGE = {"accept": "text/html"}
MADE = [*PAPERS, Paper(id="a/b?", title="<b>Bold</b> & matter", abstract="Dark <i>matter</i> halos.", year=2001)]


@pytest.fixture(scope="module")
def client(tmp_path_factory, tiny_encoder) -> Iterator[TestClient]:
    place = tmp_path_factory.mktemp("pages")
    embed(MADE, tiny_encoder, place / "six")
    lexical.build(StoredCollection.open(place / "six"))
    with start([place / "six"], follow_redirects=True, workspace=place / "workspace") as client:
        yield client


def read(client: TestClient, path: str, status: int = 200) -> str:
    answer = client.get(path, headers=PAGE)
    assert answer.status_code == status, answer.text
    return answer.text


def test_results_are_counted_marked_filtered_and_escaped(client):
    page = read(client, "/library/six?q=dark+matter&mode=lexical")
    assert re.search(r"\d papers have these words", page) and 'value="lexical" checked' in page
    assert "<mark>Dark</mark> &lt;i&gt;<mark>matter</mark>&lt;/i&gt; halos." in page and "/papers/a%2Fb%3F" in page
    assert "1 paper, the nearest first" in read(client, "/library/six?q=halo&year_from=2001&year_to=2001")
    assert "beyond the last paper" in read(client, "/library/six?q=halo&page=2")
    page = read(client, "/library/six?q=zebra&mode=lexical")
    assert "No paper found" in page and "NOT and parentheses count" in page
    for wrong in ("year_from=soon", "venue=Nowhere", "author=Nobody", "mode=magic"):
        page = read(client, f"/library/six?q=halo&{wrong}", 400)
        assert 'role="alert"' in page and 'value="halo"' in page and ("Clear filters" in page) == ("mode" not in wrong)
    assert "year_to: Input should be a valid integer" in read(client, "/library/six?q=halo&year_to=soon", 400)
    for name in ("mode=lexical&q", "q=a&year_from", "q=a&venue", "q=a&author", "q=a&field", "q=a&mode", "q=a&page"):
        odd = read(client, f"/library/six?{name}={'%22' * 5_001}", 422 if name == "q=a&page" else 400)
        assert "error" in odd and len(odd) <= 4096
    assert "<details open>" in read(client, "/library/six")


def test_results_are_saved_as_files_with_the_filters_of_their_page(client):
    page = read(client, "/library/six?q=halo&year_from=2001&mode=exact")
    for suffix, entry in (("bib", "@"), ("ris", "TY  -")):
        (path,) = re.findall(rf'href="(/library/six/results.{suffix}.*?)"', page)
        answer = client.get(unescape(path))
        assert answer.headers["content-disposition"] == f'attachment; filename="results.{suffix}"'
        assert answer.text.count(entry) == sum(paper.year is not None and paper.year >= 2001 for paper in MADE)
    assert client.get("/library/six/results.ris?q=zebra&mode=lexical").text == "\n"
    for wrong in ("q=", "q=halo&year_from=soon"):
        assert client.get(f"/library/six/results.bib?{wrong}").status_code == 400


def test_a_paper_has_similar_ones_and_entries(client):
    page = read(client, "/library/six/papers/a%2Fb%3F")
    assert "&lt;b&gt;Bold&lt;/b&gt; &amp; matter" in page and "Similar papers" in page and "/papers/halo" in page
    addresses = [path.replace("&amp;", "&") for path in re.findall(r'download="[^"]*" href="([^"]*)"', page)]
    assert [client.get(path).text[:4] for path in addresses] == ["@mis", "TY  "]


def test_a_review_is_screened_by_forms(client):
    begin = {"title": "<i>Mine</i>", "criteria": "dark matter"}
    answer = client.post("/library/six/screening", data=begin, headers=PAGE)
    desk = answer.url.path
    assert answer.status_code == 200 and "&lt;i&gt;Mine" in answer.text and "0 of 6 decided" in answer.text
    said = {"include": "1 of 6 decided, 1 included", "exclude": "2 of 6 decided", "undo": "1 of 6"}
    for decision, words in said.items():
        id = re.search('name="id" value="(.*?)"', answer.text)[1]
        form = {"id": unescape(id), "decision": decision, "reason": "off"}
        answer = client.post(desk, data=form, headers=PAGE)
        assert words in answer.text and "recall of 95%" in answer.text
    assert "record" in answer.url.params
    table = client.get(f"{desk}/decisions.csv").text.splitlines()
    assert [line.split(",")[-4:-2] for line in table[1:]] == [["include", ""], ["exclude", "off"], ["undo", ""]]
    assert client.get(f"{desk}/included.ris").text.count("TY  -") == 1
    long = {"id": "halo", "decision": "exclude", "reason": "off " * 5000}
    assert client.post(desk, data=long).status_code == 200
    assert max(map(len, client.get(f"{desk}/decisions.csv").text.splitlines())) < 1200
    wrong = {"id": "halo", "decision": "maybe"}
    assert client.post(desk, data=wrong).status_code == 400
    for path in (f"{desk}?record=none", "/library/six/screening/screening-1", f"{desk}/item.json"):
        assert client.get(path, headers=PAGE).status_code in (404, 422)


def test_a_desk_encodes_the_criteria_alone(client, monkeypatch):
    encoded = []
    encode = SharedEncoder.encode
    monkeypatch.setattr(
        SharedEncoder, "encode", lambda self, items, **kind: encoded.extend(items) or encode(self, items, **kind)
    )
    form = {"criteria": "genes that a desk looks for"}
    assert "0 of 6 decided" in client.post("/library/six/screening", data=form, headers=PAGE).text
    assert [item.title for item in encoded] == ["genes that a desk looks for"]


def test_a_review_of_too_many_records_is_refused_before_it_begins(client, monkeypatch):
    monkeypatch.setattr(desks, "MAX_RECORDS", 5)
    page = read(client, "/library/six/screening")
    assert "six has 6 papers; a review has at most 5 records" in page and "<textarea" not in page
    before = page.count("begun ")
    assert client.post("/library/six/screening", data={}).status_code == 400
    assert read(client, "/library/six/screening").count("begun ") == before


def test_uploads_are_shown_with_what_became_of_them(client):
    for name, content in (("<i>refs", "@misc{a, title={Dark matter}, year={2001}}"), ("empty", "nothing")):
        facts = {"filename": "refs.bib", "name": name}
        assert client.post("/workspace/collections", params=facts, content=content).status_code == 202
    while "data-pending" in (page := read(client, "/uploads")):
        time.sleep(0.01)
    assert "1 papers" not in page and "1 paper ·" in page and "&lt;i&gt;refs" in page
    assert "the file holds nothing that can be used" in page and 'class="error"' in page
    for path in re.findall('action="(/items/.*?)"', page):
        assert client.post(path, data={"next": "/uploads"}).url.path == "/uploads"
    assert 'aria-current="page">Your collections' in page
    assert "<li>" not in read(client, "/uploads")


def wait_for_items(client: TestClient, path: str) -> str:
    while "data-pending" in (page := read(client, path)):
        time.sleep(0.01)
    return page


def test_reviewers_are_matched_in_the_background_and_again_with_locks(client):
    entry = "@misc{%s, title={Dark matter of %s}, year={2001}}"
    people = [{"name": f"{name}.bib", "text": entry % (name, name)} for name in ("ann", "bob", "cy")]
    constraints = {"name": "c.csv", "text": "cy,ann,-1\n"}
    body = {"title": "<i>", "per_paper": 1, "submissions": people[2:], "reviewers": people[:2]}
    for odd in ([{"name": "../x.bib", "text": ""}], people[:1] * 2, [{"name": "ж" * 96 + ".xlsx", "text": ""}]):
        assert client.post("/workspace/matches", json=body | {"reviewers": odd}).status_code == 400
    bids = {"name": "b.csv", "text": "cy,bob,0.5\n"}
    for sent in (body | {"constraints": constraints, "bids": bids}, body | {"per_paper": 3}):
        assert client.post("/workspace/matches", json=sent).status_code == 202
    page = wait_for_items(client, "/matching")
    assert page.count('class="error">') == 2  # without JavaScript; more reviewers than there are
    (address,) = re.findall('<h2><a href="(/matching/match-.*?)">', page)

    def assigned() -> str:
        lines = ZipFile(BytesIO(client.get(f"{address}/report.zip").content)).read("assignments.csv").decode()
        return lines.splitlines()[1].split(",")[1]

    assert assigned() == "bob"
    one = f"{address}?submission=cy"
    assert "forbidden: constraints.csv, line 1" in read(client, one) and "bid 0.5" in read(client, one)

    def state(reviewer: str, constraint: str, status: int = 200) -> None:
        form = {"submission": "cy", "reviewer": reviewer, "constraint": constraint}
        assert client.post(address, data=form, headers=PAGE).status_code == status

    state("ann", "withdraw")
    state("bob", "forbid")
    assert "1 locked or forbidden pair is not in this assignment yet" in read(client, address)
    assert client.get(f"{address}/constraints.csv").text.splitlines() == ["paper,reviewer,constraint", "cy,bob,-1"]
    client.post(f"{address}/solve", data={"stay": "yes"})
    page = wait_for_items(client, address)
    assert assigned() == "ann" and "not in this assignment" not in page
    state("bob", "lock")
    state("ann", "lock")
    client.post(f"{address}/solve", data={})
    assert 'class="error"' in wait_for_items(client, address) and assigned() == "ann"  # two locks on one place
    state("zoe", "lock", 400)
    state("ann", "marry", 400)
    names = ZipFile(BytesIO(client.get(f"{address}/report.zip").content)).namelist()
    assert {"assignments.csv", "assignments.audit.json", "report/index.html", "report/reviewers/ann-1.html"} <= {*names}
    folder = client.app.state.service.workspace.folder
    assert not [path for path in folder.rglob("result/*.*") if str(folder).encode() in path.read_bytes()]


def test_suggested_tags_are_decided_and_become_files(client, tmp_path, monkeypatch):
    text = "id,name\nsky,dark matter\nlife,<b>enzyme\nsky,other\nlost,\n"
    vocabulary = {"name": "v.csv", "text": text.replace("sky,other\n", "")}
    body = {"collection": "six", "k": 2, "threshold": 0, "vocabulary": vocabulary}
    for odd, status in (({"name": "v.exe", "text": ""}, 400), (None, 404)):
        assert client.post("/workspace/tag-reviews", json=body | {"vocabulary": odd}).status_code == status
    monkeypatch.setattr(desks, "MAX_TAGS", 12)
    many = client.post("/workspace/tag-reviews", json=body | {"k": 3})
    assert many.status_code == 400 and "at most 12 tags" in many.text
    for sent in (body, body | {"vocabulary": {"name": "w.csv", "text": f"{text}sky,other"}}):
        assert client.post("/workspace/tag-reviews", json=sent).status_code == 202
    page = wait_for_items(client, "/library/six/tags")
    assert "two labels have the id sky" in page
    (address,) = re.findall('<h2><a href="(/library/six/tags/tagging-.*?)">', page)
    page = read(client, address)
    total = int(re.search(r"0 of (\d+) tags decided", page)[1])
    assert "1 record of the vocabulary skipped" in page and "found in " in page and "&lt;b&gt;enzyme" in page

    def decide(paper: str, decision: str, status: int = 200) -> str:
        form = {"paper": paper, "decision": decision}
        answer = client.post(address, data=form, headers=PAGE)
        assert answer.status_code == status
        return answer.text

    assert f"1 of {total} tags decided, 1 accepted" in decide("halo", "yes sky")
    assert f"1 of {total} tags decided, 0 accepted" in decide("halo", "no sky")
    assert f"0 of {total} tags decided" in decide("halo", "undo")
    decide("halo", "yes sky")
    decide("crispr", "rest")
    for paper, decision in (("halo", "maybe sky"), ("halo", "yes sea"), ("zoe", "rest")):
        decide(paper, decision, 400)
    with (tmp_path / "tags.csv").open("w") as file:
        file.write(client.get(f"{address}/tags.csv").text)
    judged = read_judgements(tmp_path / "tags.csv")
    assert Judgement("halo", "sky", accepted=True) in judged
    assert {item.accepted for item in judged if item.paper == "crispr"} == {False}
    assert '{"id": "halo"' in client.get(f"{address}/tags.jsonl").text
    assert "\t<sky>\n" in client.get(f"{address}/tags.tsv").text
    assert client.get(f"{address}/tags.json").json()[0]["results"][0]["uri"] == "sky"
    folder = client.app.state.service.workspace.find("everyone", address.rpartition("/")[2]).folder
    with (folder / "decisions.jsonl").open("a") as file:
        file.write('\n["halo", "sk')  # a kill in the midst of a line
    again = TagReview(folder / "suggestions.jsonl", folder / "decisions.jsonl")
    again.undo()
    assert again.verdicts["halo", "sky"] == "yes" and again.counts()["tags"] == total
    assert TagReview(folder / "suggestions.jsonl", folder / "decisions.jsonl").verdicts == again.verdicts
    for path in (f"{address}?paper=none", "/library/six/tags/tagging-1", f"{address}/tags.exe"):
        assert client.get(path, headers=PAGE).status_code in (404, 422)


def test_a_map_is_drawn_once_in_the_background_and_stored(client, monkeypatch):
    def draw(*_, **__):
        return drawn.append(1) or "map"

    drawn = []
    monkeypatch.setattr(pages, "draw_map", draw)
    monkeypatch.setattr(pages, "write_parquet", lambda *_: None)
    monkeypatch.setattr(pages, "write_page", lambda _, __, path, **names: path.write_text(f"{sorted(names.items())}"))
    page = read(client, "/library/six/map", 202)
    assert "being drawn" in page and "data-pending" in page and "refresh" not in page
    while client.get("/library/six/map", headers=PAGE).status_code == 202:
        time.sleep(0.01)
    for _ in range(2):
        assert read(client, "/library/six/map") == "[('address', '/library/six'), ('title', 'six')]"
    assert drawn == [1] and "WebGL" in client.get("/static/map.js").text
    facts = {"filename": "refs.bib"}
    sent = client.post("/workspace/collections", params=facts, content="@misc{a, title={Dark matter}}")
    item = client.app.state.service.workspace.find("everyone", sent.json()["id"])
    while client.get(f"/workspace/collections/{item.id}").json()["state"] != "ready":
        time.sleep(0.01)
    while client.get(f"/library/{item.id}/map", headers=PAGE).status_code != 200:
        time.sleep(0.01)
    client.delete(f"/workspace/collections/{item.id}")
    assert not [*item.folder.parents[1].rglob(f"*{item.id}*")]  # nor a map of it


def test_an_error_is_a_page_and_static_files_are_asked_for_again(client):
    page = read(client, "/library/six/papers/none", 404)
    assert "<h1>Not found</h1>" in page and "six has no paper with the id" in page and "Try again" not in page
    answer = client.get("/static/icon.svg")
    assert answer.headers["cache-control"] == "private, no-cache"
    assert client.get("/static/icon.svg", headers={"if-none-match": answer.headers["etag"]}).status_code == 304
    assert client.get("/library/six", headers=PAGE).headers["cache-control"] == "private, no-cache"


def test_no_page_loads_anything_from_elsewhere_or_has_a_script_inside():
    folder = Path(sciprism.pages.__file__).parent
    alone = {"base.html", "comparison.html"}  # pages that are files, with style and script inside
    parts = [*(folder / "templates").iterdir(), *(folder / "static").iterdir()]
    for path in (path for path in parts if path.name not in alone):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(src|action|@import|url\()\W*(https?:)?//|<style|\son\w+=|\sstyle=", text), path
        assert all(" src=" in script or "octet-stream" in script for script in re.findall("<script[^>]*>", text)), path
    assert "unsafe" not in POLICY
