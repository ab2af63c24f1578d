"""Embeddings as OpenAI's API gives them, and embeddings and rankings as text-embeddings-inference gives them."""

from __future__ import annotations

import asyncio
import base64
from importlib.metadata import version
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from sciprism.arrays import Floats, normalize_rows
from sciprism.encoders.encoder import compute_similarity
from sciprism.errors import InputError
from sciprism.formats import Format, Role
from sciprism.papers.cleaning import is_blank
from sciprism.service.batching import EncodedTexts, TokenBatcher
from sciprism.service.limits import BoundedRoute
from sciprism.service.observation import TRUNCATED
from sciprism.service.responses import Refusal, json_response
from sciprism.service.state import ServiceState

router = APIRouter(tags=["embeddings"], route_class=BoundedRoute)
ROLES: dict[str, Role] = {"query": "query", "passage": "paper", "document": "paper", "paper": "paper"}
"""Input type, name of a prompt, or end of a model's name, as OpenAI's requests have no field for it -> the role."""
InputType = Literal["query", "passage", "document", "paper"]
MOST = 100_000  # items that are looked at
MAX_TEXTS = 2_048  # of a request
Texts = Annotated[list[str], Field(fail_fast=True, max_length=MOST)]
Name = Annotated[str, Field(max_length=1_000)]


class OpenAIRequest(BaseModel):
    """A request as OpenAI's clients send it; input_type, format and truncate are additions. null is the default."""

    input: str | Annotated[list[str | int | list[int]], Field(fail_fast=True, max_length=MOST)]
    model: Name | None = ""
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: int | None = None
    input_type: InputType | None = None
    format: Format | None = None
    truncate: bool | None = True


class EmbedRequest(BaseModel):
    """A request as the clients of text-embeddings-inference send it."""

    inputs: str | Texts
    normalize: bool | None = True
    prompt_name: InputType | None = None
    truncate: bool | None = True
    dimensions: int | None = None


class RerankRequest(BaseModel):
    """Texts to rank for a query. raw_scores: makes no difference, scores are the model's similarities."""

    query: str
    texts: Texts = Field(min_length=1)
    raw_scores: bool | None = False
    return_text: bool | None = False
    truncate: bool | None = True


@router.post("/v1/embeddings")
async def openai_embeddings(request: Request, body: OpenAIRequest) -> Response:
    """Return the vectors of texts, as OpenAI's address of the same name does.

    model: of those at /v1/models, "" is the first; its suffix -query or -paper, or input_type, says what the texts are.
    """
    batcher, role = _find_model(request.app.state.service, body.model or "")
    role = ROLES[body.input_type] if body.input_type else role
    encoded = await _encode(batcher, _read_texts(body.input), role, body.truncate, body.format)
    vectors = _finish(batcher, encoded.vectors, body.dimensions, normalize=True)
    packed = body.encoding_format == "base64"
    rows = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in vectors] if packed else vectors.tolist()
    data = [{"object": "embedding", "index": number, "embedding": row} for number, row in enumerate(rows)]
    usage = {"prompt_tokens": encoded.tokens, "total_tokens": encoded.tokens}
    document = {"object": "list", "model": body.model or batcher.name, "data": data, "usage": usage}
    return json_response(document, _count_truncated(encoded))


@router.get("/v1/models")
async def openai_models(request: Request) -> dict[str, Any]:
    """List the models."""
    state: ServiceState = request.app.state.service
    models = [
        {"id": batcher.name + end, "object": "model", "created": 0, "owned_by": "sciprism"}
        for batcher in state.batchers.values()
        for end in ("", "-query", "-paper")
    ]
    return {"object": "list", "data": models}


@router.post("/", include_in_schema=False)
@router.post("/embed")
async def embed(request: Request, body: EmbedRequest) -> Response:
    """Return the vectors of texts, as text-embeddings-inference does; prompt_name says what the texts are."""
    batcher = request.app.state.service.find_batcher("")
    texts = [body.inputs] if isinstance(body.inputs, str) else body.inputs
    encoded = await _encode(batcher, texts, ROLES[body.prompt_name or "paper"], body.truncate)
    vectors = _finish(batcher, encoded.vectors, body.dimensions, normalize=body.normalize is not False)
    return json_response(vectors.tolist(), _count_truncated(encoded))


@router.post("/rerank")
async def rerank(request: Request, body: RerankRequest) -> Response:
    """Rank texts by their similarity with a query, the best first."""
    batcher = request.app.state.service.find_batcher("")
    query, texts = await asyncio.gather(
        _encode(batcher, [body.query], "query", body.truncate),
        _encode(batcher, body.texts, "paper", body.truncate),
    )
    scores = compute_similarity(query.vectors, texts.vectors, batcher.encoder.distance)[0].tolist()
    ranked = sorted(enumerate(scores), key=lambda item: -item[1])
    return json_response(
        [{"index": i, "score": score} | ({"text": body.texts[i]} if body.return_text else {}) for i, score in ranked],
        _count_truncated(texts),
    )


@router.get("/info")
async def info(request: Request) -> dict[str, Any]:
    """Describe the first model, as text-embeddings-inference does."""
    batcher: TokenBatcher = request.app.state.service.find_batcher("")
    encoder = batcher.encoder
    return {
        "model_id": batcher.name,
        "model_sha": encoder.fingerprint,
        "model_dtype": encoder.precision,
        "model_type": {"embedding": {"pooling": encoder.settings.pooling}},
        "max_concurrent_requests": batcher.queue,
        "max_input_length": encoder.max_seq_length,
        "max_batch_tokens": batcher.budget,
        "max_client_batch_size": MAX_TEXTS,
        "auto_truncate": True,
        "tokenization_workers": 1,
        "version": version("sciprism"),
    }


def _find_model(state: ServiceState, name: str) -> tuple[TokenBatcher, Role]:
    """Return the model of a name with or without the role of texts at its end, and the role."""
    model, _, end = name.rpartition("-")
    if end in ROLES and name not in (batcher.name for batcher in state.batchers.values()):
        return state.find_batcher(model), ROLES[end]
    return state.find_batcher(name), "paper"


def _read_texts(given: str | list[str | int | list[int]]) -> list[str]:
    if isinstance(given, str):
        return [given]
    texts = [text for text in given if isinstance(text, str)]
    if len(texts) == len(given):
        return texts
    raise InputError(
        "input holds numbers of tokens, which are of another model's vocabulary; send texts "
        "(LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False))"
    )


async def _encode(
    batcher: TokenBatcher,
    texts: list[str],
    role: Role,
    truncate: bool | None,
    format: Format | None = None,
) -> EncodedTexts:
    """Return the vectors of texts. Raises Refusal for too many or too long ones, InputError for those without words."""
    if len(texts) > MAX_TEXTS:
        raise Refusal(413, f"{len(texts):,} texts in one request; send at most {MAX_TEXTS:,}")
    if empty := next((number for number, text in enumerate(texts, 1) if is_blank(text)), 0):
        raise InputError(f"text {empty} is empty; leave it out")
    template, format = batcher.encoder.settings.template, format or batcher.encoder.search_format
    encoded = await batcher.encode(
        [template.text(text, role) for text in texts], format=format, role=role, truncate=truncate is not False
    )
    TRUNCATED.inc(encoded.truncated)
    return encoded


def _finish(batcher: TokenBatcher, vectors: Floats, dimensions: int | None, *, normalize: bool) -> Floats:
    """Return vectors of length 1 where the model compares by cosines: dot products are cosines then."""
    encoder = batcher.encoder
    if dimensions not in (None, encoder.dim):
        raise InputError(f"dimensions is {dimensions}; {batcher.name} has {encoder.dim}, which cannot be fewer")
    return normalize_rows(vectors) if normalize and encoder.distance == "cosine" else vectors


def _count_truncated(encoded: EncodedTexts) -> dict[str, str]:
    return {"x-truncated-texts": str(encoded.truncated)} if encoded.truncated else {}
