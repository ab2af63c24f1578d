"""`sciprism models`, `describe`, `export`: which models there are, what one is, and one for other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sciprism.cli.options import Pooling
from sciprism.cli.output import echo, print_facts, print_result, print_table, table_width

if TYPE_CHECKING:
    from sciprism.encoders.checkpoints.names import KnownModel
    from sciprism.formats import Format

MESSAGES = {
    "plain": """{folder}: transformers and sentence-transformers open it: SentenceTransformer("{folder}")
encode and encode_document give the vectors of papers, encode_query those of queries, for {formats}""",
    "compact": "{folder}: sciprism opens it",
    "peft": "{folder}: peft, sentence-transformers and sciprism open base/ with a folder of adapters/",
    "module": """{folder}: sentence-transformers opens it where sciprism is installed: \
SentenceTransformer("{folder}", trust_remote_code=True)
encode gives the {chosen} vectors of papers, encode_query and encode_document the {search} ones of queries and papers
other vectors: encode(texts, format="NAME") with {formats}; or export with --format NAME""",
}


def models() -> None:
    """List the models that are packaged or in the hub's cache, and known hub ids.

    Commands accept any other hub id or folder too. Nothing is downloaded.

    Example: sciprism models --json
    """
    from sciprism.encoders.checkpoints.names import list_models

    listed = list_models()
    documents = [asdict(model) | {"here": model.size is not None} for model in listed]
    print_result("sciprism.models/1", {"models": documents}, lambda: _print_models(listed))


def _print_models(listed: Sequence[KnownModel]) -> None:
    from sciprism.formats import FORMATS

    rows = [
        [
            model.name,
            model.method,
            "all" if model.formats == FORMATS else ", ".join(model.formats),
            "no" if model.size is None else f"{model.size / 1e6:,.0f} MB",
        ]
        for model in listed
    ]
    print_table(("model", "method", "formats", "here"), (), rows)
    absent: dict[str, list[str]] = {}
    for model in listed:
        if model.size is None:
            absent.setdefault(model.obtain, []).append(model.name)
    for obtain, names in absent.items():
        which = names[0] if len(names) == 1 else f"{len(names)} models"
        echo("\n  ".join(wrap(f"not here: {which}: {obtain}", table_width() - 2, break_on_hyphens=False)))


def describe(
    model: Annotated[str, typer.Argument(help="A model: folder, packaged name or hub id.")] = "",
    pooling: Pooling = "",
    speed: Annotated[bool, "Measure the speed on this machine."] = False,
) -> None:
    """Print backbone, method, formats, spaces, pooling, template, distance and fingerprint of a model.

    Without a name: of the default model. --speed adds the CPU instructions, and for each precision papers a second (on
    64 papers) and the share of the matrix product rate.

    Example: sciprism describe all-MiniLM-L6-v2
    """
    from sciprism.encoders.encoder import Encoder

    encoder = Encoder.load(model or None, pooling=pooling or None)
    facts = encoder.describe()
    if speed:
        from sciprism.encoders.speed import measure_speed

        facts["speed"] = measure_speed(encoder)
    shown = {key: _readable(key, value) for key, value in facts.items()}
    print_result("sciprism.describe/1", facts, lambda: print_facts(shown))


def _readable(key: str, value: Any) -> str:
    if key in ("spaces", "routes"):
        spaces = {space for roles in value.values() for space in roles.values()}
        if len(spaces) == 1:
            return f"{spaces.pop()} (every format and role)"
        return "; ".join(f"{format}: {_by_role(roles)}" for format, roles in value.items())
    if key == "speed":
        lines = [f"{value['threads']} threads, {' '.join(value['instructions']) or 'instructions unknown'}"]
        agree = "" if value["auto"] == "float32" else ", if the model's vectors agree with those of float32"
        lines.append(f"--precision auto takes {value['auto']}{agree}")
        return "\n".join([*lines, *(f"{name}: {_rate(speed)}" for name, speed in value["precisions"].items())])
    if key == "template":
        parts = [f"title {value['separator']!r} abstract"]
        parts += [f"{role} prompt {prompt!r}" for role, prompt in value["prompts"].items()]
        return ", ".join(parts)
    if key == "provenance":
        return "; ".join(f"{what}: {_origin(part)}" for what, part in value.items()) or "unknown"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_origin(part)}" for name, part in value.items()) or "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _rate(speed: dict[str, Any]) -> str:
    if "papers_per_second" not in speed:
        return str(speed["path"])
    share = f"{speed['share_of_product_rate']:.0%} of {speed['product_gflops']:,.0f} GFLOP/s"
    return f"{speed['papers_per_second']:,.0f} papers/s, {share} ({speed['path']})"


def _by_role(spaces: dict[str, str]) -> str:
    distinct = set(spaces.values())
    return distinct.pop() if len(distinct) == 1 else ", ".join(f"{role}={space}" for role, space in spaces.items())


def _origin(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if not isinstance(value, dict):
        return str(value)
    if "from" in value:
        return str(value["from"])
    return ", ".join(f"{what} {_origin(part)}" for what, part in value.items())


def export(
    model: Annotated[str, "A model (folder, packaged name, hub id) or a collection."],
    output: Annotated[Path, "A new folder; or a .parquet, .npy or .csv.", "-o", "--output"],
    format: Annotated[str, "Format of the vectors: classification, regression, proximity, search."] = "",
    compact: Annotated[bool, "int8 weights, which only sciprism opens."] = False,
    peft: Annotated[bool, "For lora: the backbone and each format's updates, in peft's layout."] = False,
    pooling: Pooling = "",
    truncate_dim: Annotated[int, "Truncate vectors to this length, for Matryoshka models; 0: full length."] = 0,
    prompt: Annotated[
        list[str] | None, 'A role and its prefix, as query="query: "; roles: query, paper, label.'
    ] = None,
) -> None:
    """Write a model, or a collection's vectors and metadata, for other programs.

    A model becomes a folder that sentence-transformers opens, with the same vectors. A collection becomes a table of
    vectors and details: Parquet, CSV, or .npy with a .csv of details.

    The method single, and experts and lora with --format, become a plain BERT that transformers opens without sciprism.
    Others hold the whole model, need sciprism installed, and have --format as default format. The command says what
    plain `encode` returns. --compact takes a quarter of the bytes and changes vectors a little. --peft writes base/ and
    adapters/FORMAT/, which peft, sentence-transformers and sciprism open. --prompt and --truncate-dim become settings
    of the folder.

    Example: sciprism export models/experts -o plain/ --format classification
    """
    from sciprism.encoders import export as exports
    from sciprism.encoders.encoder import Encoder
    from sciprism.store.collection import is_collection
    from sciprism.uses.collection import Collection

    if is_collection(model):
        count = Collection(Path(model)).export(output, format=format)
        more = f", their details in {output.with_suffix('.csv')}" if output.suffix == ".npy" else ""
        document = {"output": str(output), "kind": "collection", "papers": count}
        return print_result("sciprism.export/1", document, f"wrote {output} (papers: {count:,}){more}")
    encoder = Encoder.load(model, pooling=pooling or None, truncate_dim=truncate_dim or None)
    encoder.set_prompts(dict(word.partition("=")[::2] for word in prompt or ()))
    chosen = cast("Format | None", format or None)
    kind = exports.export(encoder, output, format=chosen, compact=compact, peft=peft)
    formats = [chosen] if chosen is not None and kind == "plain" else encoder.formats
    formats_of_calls = {"chosen": chosen or exports.default_format(encoder), "search": chosen or encoder.search_format}
    text = MESSAGES[kind].format(folder=output, formats=", ".join(formats), **formats_of_calls)
    return print_result("sciprism.export/1", {"output": str(output), "kind": kind}, text)
