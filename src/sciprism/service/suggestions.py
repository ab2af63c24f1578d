"""Tags and recommendations over HTTP, with the documents of the commands' --json."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.papers import read_labels
from sciprism.papers.records import Paper
from sciprism.service.papers import MAX_K, PaperText, RequestBody, name_collection, use_collection
from sciprism.service.responses import json_response
from sciprism.store import StoredCollection
from sciprism.uses.recommending import RecommendSettings, recommend
from sciprism.uses.tagging.call import TagVectors
from sciprism.uses.tagging.suggestions import Parents, TagChoice
from sciprism.uses.tagging.tagger import Tagger, build_zero_shot, load_tagger
from sciprism.uses.tagging.vocabulary import Vocabulary

router = APIRouter(tags=["papers"])
MAX_PAPERS = 1_000
GivenPapers = list[str | PaperText]
"""Ids of papers of the collection, and papers from elsewhere."""


class TagRequest(RequestBody):
    """Papers to tag. tagger: the name of one that is served; "" is the only one."""

    papers: GivenPapers = Field(min_length=1, max_length=MAX_PAPERS)
    collection: str = ""
    tagger: str = ""
    limit: int = Field(10, ge=1, le=100)
    threshold: float | None = Field(None, ge=0, le=1)
    exclude: tuple[str, ...] = ()
    branch: tuple[str, ...] = ()
    parents: Parents = "keep"


class RecommendRequest(RequestBody):
    """Papers that someone has, by which the papers of the collection are ranked."""

    library: GivenPapers = Field(min_length=1, max_length=MAX_PAPERS)
    unwanted: GivenPapers = Field([], max_length=MAX_PAPERS)
    collection: str = ""
    k: int = Field(50, ge=1, le=MAX_K)
    interests: int | None = Field(None, ge=1, le=100)
    balance: float = Field(0.25, ge=0, le=1)
    diversity: float = Field(0.0, ge=0, lt=1)
    half_life: float | None = Field(None, gt=0)


class ServedTagger:
    """A trained tagger or a vocabulary, with the encoder of its vectors."""

    def __init__(self, path: Path, encoder: Encoder) -> None:
        vectors = TagVectors(encoder)
        self.name, self.format, self.fingerprint = path.stem, vectors.format, encoder.fingerprint
        if path.is_dir():
            self.tagger: Tagger = load_tagger(path)
            if self.tagger.encoder.get("fingerprint") != encoder.fingerprint:
                raise InputError(f"{path} is of the model {self.tagger.encoder.get('name')}; serve it with --model")
        else:
            vocabulary = Vocabulary(read_labels(path))
            self.tagger = build_zero_shot(vocabulary, vectors.encode_labels(vocabulary.labels))

    def suggest(self, papers: Sequence[Paper], encoder: Encoder, choice: TagChoice) -> dict[str, Any]:
        """Return the document of the papers' tags."""
        vectors = encoder.encode(list(papers), format=self.format, role="paper")
        threshold = self.tagger.weighing.threshold if choice.threshold is None else choice.threshold
        facts = {"labels": len(self.tagger.vocabulary), "trained": self.tagger.training is not None}
        blocks = self.tagger.suggest(papers, vectors, choice)
        tags = [paper.to_json() for block in blocks for paper in block]
        return {"schema": "sciprism.tag/1", **facts, "threshold": threshold, "papers": tags}


@router.post("/tag")
async def tag(request: Request, body: TagRequest) -> Response:
    """Suggest labels of a vocabulary for papers, each with a probability and a reason."""
    state = request.app.state.service
    state.check_ready()
    tagger: ServedTagger = state.find_tagger(body.tagger)
    options = body.model_dump(include={"limit", "threshold", "branch", "parents"})
    choice, encoder = TagChoice(excluded=body.exclude, **options), state.share_model(tagger.fingerprint)
    if any(isinstance(paper, str) for paper in body.papers):
        papers = await use_collection(request, body.collection, lambda stored, _: collect(stored, body.papers))
    else:
        papers = [paper.build() for paper in body.papers if isinstance(paper, PaperText)]
    return json_response(await state.run(tagger.suggest, papers, encoder, choice))


@router.post("/recommend")
async def post_recommend(request: Request, body: RecommendRequest) -> Response:
    """Rank the papers of a collection for someone by the papers that they have."""
    settings = RecommendSettings(**body.model_dump(exclude={"library", "unwanted", "collection"}))

    def work(stored: StoredCollection, encoder: Encoder) -> dict[str, Any]:
        library, unwanted = collect(stored, body.library), collect(stored, body.unwanted)
        inputs = {"library": [paper.id for paper in library], "unwanted": [paper.id for paper in unwanted]}
        recommended = recommend(library, stored, unwanted=unwanted, settings=settings, model=encoder)
        names = {"schema": "sciprism.recommend/1", "new": [name_collection(request, body.collection)], "output": []}
        return {**names, **inputs, **recommended.to_json()}

    return json_response(await use_collection(request, body.collection, work))


def collect(stored: StoredCollection, given: GivenPapers) -> list[Paper]:
    """Return the papers of a collection whose ids are stated, and those from elsewhere, in the order given."""
    return [stored.paper(paper) if isinstance(paper, str) else paper.build() for paper in given]
