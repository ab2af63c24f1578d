"""Models of `adapters` and `adapter-fusion` from a base and AdapterHub folders, here or on a hub.

Three layouts in folders: one adapter; `adapters/` with one folder for each, as SciRepEval's training and
SPECTER2's archive have it; and beside that `[CLF]_fusion/` and so on. The base is the folder itself, a folder
`base/` beside, or the model that the adapters name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from sciprism.encoders.checkpoints.adapterhub import ADAPTER, FUSION, Kind, Module, read_about, read_module
from sciprism.encoders.checkpoints.converted import facts_of, kept
from sciprism.encoders.checkpoints.family import CODES, MEMBERS, RENAMED, family_settings, way_of
from sciprism.encoders.checkpoints.folder import Parts, write_folder
from sciprism.encoders.checkpoints.locate import adapter_from_hub, locate
from sciprism.encoders.methods.per_format import PerFormat
from sciprism.encoders.methods.registry import make
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.files import sha256
from sciprism.formats import FORMATS, Format


@dataclass(frozen=True, slots=True)
class Set:
    """A base with its adapters, and fusions of them: way -> (what it is called, its folder).

    title: what it is called in provenance. place: what it is called in messages.
    """

    title: str
    place: str
    base: tuple[str, Path]
    formats: tuple[Format, ...]
    adapters: Mapping[Format, tuple[str, Path]]
    fusions: Mapping[Format, tuple[str, Path]] = field(default_factory=dict)


def convert_named(name: str) -> Path:
    """Return the model folder of a released model's name; an adapter that is nowhere is an InputError."""
    member = MEMBERS[name]
    found: dict[Format, tuple[str, Path]] = {}
    missing: dict[str, InputError] = {}
    for way in PerFormat(formats=member.formats).ways:
        known = member.family.adapters[way]
        try:
            found[way] = _first(known)
        except InputError as error:
            missing[f"{known[0]} ({way})"] = error
    if missing:
        reason = next(iter(missing.values()))
        raise InputError(
            f"{name}: {len(missing)} of its adapters are missing: {', '.join(missing)}; load it once with a "
            f"network, or load another adapter by its own name for a model of that format alone. {reason}"
        )
    return _convert(Set(name, name, locate(member.family.base), member.formats, found))


def _first(names: Sequence[str]) -> tuple[str, Path]:
    """Return the first of the names that a hub gives, today's or a former one, and its folder."""
    reasons = []
    for name in names:
        try:
            return name, adapter_from_hub(name)
        except InputError as error:
            reasons.append(error)
    raise reasons[0]


# ---- folders ----


def convert_folder(folder: Path, title: str) -> Path | None:
    """Return the model folder, called title, of a folder with adapters; None where it holds none."""
    if (folder / ADAPTER.config).exists():
        adapters = {_way(folder, ADAPTER): (title, folder)}
    else:
        adapters = _inside(folder / "adapters", ADAPTER)
    fusions = _inside(folder, FUSION)
    _check_whole(folder, adapters, fusions)
    if not adapters:
        return None
    if fusions:
        adapters = {way: adapters[way] for way in fusions}
    formats = tuple(format for format in FORMATS if format in adapters)
    base = _base(folder, [path for _, path in adapters.values()])
    return _convert(Set(title, str(folder), base, formats, adapters, fusions))


def _inside(folder: Path, kind: Kind) -> dict[Format, tuple[str, Path]]:
    """Return the folders of a kind that lie in a folder, by way."""
    if not folder.is_dir():
        return {}
    found: dict[Format, tuple[str, Path]] = {}
    for path in sorted(path for path in folder.iterdir() if (path / kind.config).exists()):
        way = _way(path, kind)
        if way in found:
            raise InputError(f"{path}: {found[way][0]} serves {way} too; remove one of them")
        found[way] = path.name, path
    return found


def _way(path: Path, kind: Kind) -> Format:
    """Return which way a folder serves: its own name says it, or its module's; the first of several."""
    module = str(read_about(path, kind)["name"]).partition(",")[0]
    name = path.resolve().name
    said = {way_of(name.removesuffix("_fusion")), way_of(module)} - {None}
    if len(said) == 1:
        return cast(Format, said.pop())
    known = ", ".join(f"{code} or {way}" for way, code in CODES.items())
    raise InputError(
        f"{path}: the folder is called {name}, its module {module}; name both by what it serves: {known}"
    )


def _check_whole(folder: Path, adapters: Collection[Format], fusions: Collection[Format]) -> None:
    """Refuse fusions without their adapters, and queries without the papers that they find."""
    if lacking := [CODES[way] for way in fusions if way not in adapters]:
        raise InputError(
            f"{folder}: has fusions, and lacks the adapters of the first step; put them there: "
            + ", ".join(f"adapters/{code}" for code in lacking)
        )
    ways = fusions or adapters
    if "search" in ways and "proximity" not in ways:
        raise InputError(
            f"{folder}: the adapter of search is for queries, that of proximity for the papers they find, "
            f"and that is missing; put both into one folder: adapters/{CODES['search']}, "
            f"adapters/{CODES['proximity']}"
        )


def _base(folder: Path, adapters: Sequence[Path]) -> tuple[str, Path]:
    """Return the name and folder of the model that the adapters were trained on."""
    for place in (folder, folder / "base", folder.parent / "base", folder.parent.parent / "base"):
        if (place / "config.json").exists():
            return place.resolve().name, place
    names = {str(read_about(path, ADAPTER).get("model_name") or "") for path in adapters}
    if names == {""} or len(names) > 1:
        says = f"name {', '.join(sorted(names))}" if len(names) > 1 else "name none"
        raise InputError(f"{folder}: which base model? its adapters {says}; put it into {folder / 'base'}")
    name = names.pop()
    try:
        return locate(RENAMED.get(name, name))
    except InputError as error:
        raise InputError(f"{folder}: no base model; put it into {folder / 'base'}: {error}") from error


# ---- one model of them ----


def _convert(parts: Set) -> Path:
    found = [*parts.adapters.values(), *parts.fusions.values()]
    ways = (parts.formats, tuple(parts.adapters), tuple(parts.fusions))
    facts = (parts.base[0], facts_of(parts.base[1], *(path for _, path in found)), ways)
    return kept(parts.title, facts, lambda draft: _write(draft, parts))


def _write(draft: Path, parts: Set) -> None:
    """Write base, adapters and fusions as one model folder."""
    adapters = {way: read_module(path, ADAPTER) for way, (_, path) in parts.adapters.items()}
    fusions = {way: read_module(path, FUSION) for way, (_, path) in parts.fusions.items()}
    reductions = sorted({module.reduction for module in adapters.values()})
    if len(reductions) != 1:
        raise InputError(f"{parts.place}: the reduction of its adapters differs: {reductions}")
    _check_fused(parts.place, adapters, fusions)
    options = {"reduction": reductions[0], "formats": parts.formats}
    base = Parts(parts.base[1], {"pooling": "cls"})
    if base.settings.method != "single":
        raise InputError(f"{parts.place}: its base {parts.base[0]} is of the method {base.settings.method}")
    settings = replace(
        family_settings(base.settings.max_length, base.special),
        method="adapter-fusion" if fusions else "adapters",
        options=options,
    )
    make(settings.method, settings.options).fill(base.model)
    _fill(parts.place, base.model, {"experts": adapters, "fusions": fusions})
    modules = (*adapters.values(), *fusions.values())
    provenance = {
        "converted from": parts.title,
        "backbone": parts.base[0],
        "adapters": {way: _origin(parts.adapters[way][0], module) for way, module in adapters.items()},
        "ignored": [*base.ignored, *(name for module in modules for name in module.ignored)],
    }
    if fusions:
        found = {way: _origin(parts.fusions[way][0], module) for way, module in fusions.items()}
        provenance["fusions"] = found
    write_folder(draft, model=base.model, tokenizer=base.tokenizer, settings=settings, provenance=provenance)


def _origin(name: str, module: Module) -> dict[str, str]:
    return {"from": name, "sha256": sha256(module.path)}


def _check_fused(place: str, adapters: Mapping[Format, Module], fusions: Mapping[Format, Module]) -> None:
    """Refuse a fusion of other adapters than those that are there."""
    have = sorted(module.name for module in adapters.values())
    for module in fusions.values():
        if sorted(module.name.split(",")) != have:
            raise InputError(
                f"{module.path}: fuses {module.name}; {place} has adapters and fusions of {','.join(have)}"
            )


def _fill(place: str, model: Transformer, modules: Mapping[str, Mapping[Format, Module]]) -> None:
    """Put the modules' weights into the model; a missing, unknown or misshapen one is an InputError."""
    state = model.state_dict()
    wanted = {name for name in state if ".adapter." in name}
    for slot, by_way in modules.items():
        for way, module in by_way.items():
            for (block, part), tensor in module.weights.items():
                name = f"blocks.{block}.adapter.{slot}.{way}.{part}"
                if name not in wanted:
                    raise InputError(f"{module.path}: the base has no place for {name}: another base?")
                if tensor.shape != state[name].shape or not tensor.is_floating_point():
                    given, needed = tuple(tensor.shape), tuple(state[name].shape)
                    raise InputError(f"{module.path}: {name} is {tensor.dtype} {given}, expected {needed}")
                state[name] = tensor.float()
                wanted.discard(name)
    if wanted:
        raise InputError(f"{place}: {len(wanted)} adapter weights are missing, the first is {min(wanted)}")
    model.load_state_dict(state)
