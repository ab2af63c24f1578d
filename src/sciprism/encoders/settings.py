"""What decides an encoder's vectors except its weights, a fingerprint of all, and what a model says of its training."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from sciprism.encoders.layers import poolings
from sciprism.encoders.methods.registry import PLAIN, build_method
from sciprism.encoders.transformer import BERT, Transformer
from sciprism.errors import InputError, ShownWarning
from sciprism.text.template import Template
from sciprism.text.tokenizer import describe_tokenizer

KEPT_START = "kept_start"
"""Key in the provenance of a model that is step 0 of its stage: no step improved the dev score."""
UNNAMED = "unnamed"


def training_facts(stage: str, step: int) -> dict[str, Any]:
    """Return the stage and step of a model, as provenance; of step 0 with a mark."""
    return {"stage": stage, "step": step} | ({} if step else {KEPT_START: True})


def find_title(model: Any) -> str:
    """Return a model's name for tables and cards: that of its recipe, else its folder's without the path, else its own.

    model: an encoder, or any other thing with a name.
    """
    given = getattr(model, "provenance", {}).get("name")
    return str(given or (Path(model.name).name if Path(model.name).is_dir() else model.name))


def untrained_stage(facts: Mapping[str, Any]) -> str:
    """Return the stage of which a model is step 0; "" for one that learned in its last stage or was not trained.

    facts: what `describe()` of an encoder, an ensemble or a system returns. Of an ensemble, "STAGE of MEMBER" for
    each such member.
    """
    provenance = facts.get("provenance") or {}
    if provenance.get("step") == 0:
        return str(provenance.get("stage") or UNNAMED)
    parts = [*facts.get("members", ()), *filter(None, [facts.get("encoder")])]
    stages = ((untrained_stage(part), part.get("name")) for part in parts)
    return ", ".join(f"{stage} of {name}" for stage, name in stages if stage)


def describe_unpaid(provenance: Mapping[str, Any]) -> str:
    """Say in words that a model is not better on dev than the untouched one; "" if it is, or is not compared."""
    dev, untouched = provenance.get("dev"), provenance.get("untouched")
    if dev is None or untouched is None or (dev > untouched and provenance.get("step")):
        return ""
    verdict = "better on dev" if dev < untouched else "as good on dev"
    return f"training did not pay: the untouched model is {verdict} ({untouched:.4f}, this one {dev:.4f})"


def describe_untrained(stage: str) -> str:
    """Say in words that a model is step 0 of a stage."""
    start = f"its training kept step 0 of stage {stage}"
    return f"{start}: no step improved its dev score, so it is that stage's untrained start"


DISTANCES = ("cosine", "dot", "euclidean")
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
AUTO = "auto"  # the fastest precision that a device has instructions for, and whose vectors agree with those of float32
MIN_COSINE = 0.999  # of each vector with that of float32, in a precision that `auto` takes
CPU_FEATURES = {"bfloat16": ("avx512_bf16", "amx_bf16", "bf16"), "float16": ("avx512_fp16", "amx_fp16")}
"""Features of a processor, as torch and Linux name them, one of which a precision needs."""
TIMES_SLOWER = {"bfloat16": "2 to 5", "float16": "8"}
"""Without the instructions, against float32, as measured on CPUs (results/encode.json)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSettings:
    """All that decides an encoder's vectors, except weights and vocabulary.

    max_length: tokens per text, special ones included; longer texts are truncated. normalize: scale vectors
    to length 1. distance: how the vectors are meant to be compared. truncate_dim: how many numbers are kept,
    the first ones, 0 for all; it counts after normalize, as in sentence-transformers. options: the method's keywords;
    defaults are filled in, so that saved settings are complete.
    """

    pooling: str
    max_length: int
    method: str = PLAIN
    options: Mapping[str, Any] = field(default_factory=dict)
    template: Template = field(default_factory=Template)
    normalize: bool = False
    distance: str = "cosine"
    truncate_dim: int = 0

    def __post_init__(self) -> None:
        method = build_method(self.method, self.options)
        object.__setattr__(self, "options", method.options.model_dump(mode="json"))
        poolings[self.pooling]
        if self.pooling == "code" and not method.reserved_positions:
            raise InputError(f"pooling code needs a control code, which the method {self.method} does not have")
        if self.distance not in DISTANCES:
            raise InputError(f"unknown distance {self.distance!r}; known: {', '.join(DISTANCES)}")
        if not isinstance(self.max_length, int) or self.max_length < 3:
            raise InputError(f"a maximum length of {self.max_length} tokens leaves no room for text")
        if not isinstance(self.truncate_dim, int) or self.truncate_dim < 0:
            raise InputError(f"truncate_dim is {self.truncate_dim!r}, not a number of dimensions")

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values, without the keys `options` and `truncate_dim` where they are empty."""
        values = asdict(self) | {"template": self.template.to_json()}
        return {key: value for key, value in values.items() if value or key not in ("options", "truncate_dim")}

    @classmethod
    def from_json(cls, row: dict[str, Any], where: str) -> EncoderSettings:
        """Build settings from what `to_json` wrote; an unknown or missing key is an InputError."""
        try:
            values = dict(row)
            return cls(template=Template(**values.pop("template", {})), **values)
        except (TypeError, ValueError) as error:
            raise InputError(f"{where}: {error}") from error


def compute_fingerprint(model: Transformer, tokenizer: Tokenizer, settings: EncoderSettings) -> str:
    """Return a hash of all that decides the vectors: weights, architecture, vocabulary and settings."""
    config = replace(model.config, dropout=0.0, attention_dropout=0.0)
    absent = {"lexical": 0, "relative_buckets": 0, "style": asdict(BERT)}
    shape = {key: value for key, value in asdict(config).items() if absent.get(key) != value}
    digest = hashlib.sha256(json.dumps([settings.to_json(), shape], sort_keys=True).encode())
    digest.update(json.dumps(describe_tokenizer(tokenizer)).encode())
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(f"{key}{tuple(tensor.shape)}".encode())
        digest.update(tensor.float().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:16]


def has_instructions(precision: str, device: torch.device) -> bool:
    """Return whether a device has instructions for products in this precision.

    Without them, half precision is computed by conversion to float32 and back, at a fraction of its speed.
    """
    if precision == "float32":
        return True
    if device.type == "cpu":
        return not set(CPU_FEATURES[precision]).isdisjoint(cpu_features())
    if device.type == "cuda" and precision == "bfloat16":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return True


def effective_precision(precision: str, device: torch.device) -> str:
    """Return the precision of products: tf32 for float32 where torch is set to it on a GPU."""
    if precision != "float32" or device.type != "cuda":
        return precision
    products: Any = torch.backends.cuda.matmul
    state = getattr(products, "fp32_precision", None)  # of torch 2.9; what it has replaced may not be read beside it
    return "tf32" if (products.allow_tf32 if state is None else state == "tf32") else precision


def fastest_precision(device: torch.device) -> str:
    """Return bfloat16 where the device has the instructions, else float32.

    Not float16: some models exceed its range.
    """
    fast = device.type in ("cpu", "cuda") and has_instructions("bfloat16", device)
    return "bfloat16" if fast else "float32"


def check_precision(precision: str, device: torch.device) -> None:
    """Warn about a precision that the device has no instructions for. Raises InputError for an unknown one."""
    if precision not in PRECISIONS:
        raise InputError(f"unknown precision {precision!r}; known: {', '.join([AUTO, *PRECISIONS])}")
    if slow := describe_slowness(precision, device):
        warnings.warn(ShownWarning(f"{slow}; --precision auto takes the fastest"), stacklevel=3)


def describe_slowness(precision: str, device: torch.device) -> str:
    """Say that a device has no instructions for a precision and what it costs; "" where it has them."""
    if has_instructions(precision, device):
        return ""
    where = "this processor" if device.type == "cpu" else f"the device {device}"
    return f"{where} has no instructions for {precision}: it takes {TIMES_SLOWER[precision]} times as long as float32"


def cpu_features() -> set[str]:
    """Return the names of the processor's features: as torch states them, else as Linux does."""
    try:
        return {name for name, value in torch.cpu.get_capabilities().items() if value is True}
    except (AttributeError, RuntimeError):  # torch before 2.12
        pass
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return {name for line in lines if line.startswith(("flags", "Features")) for name in line.split()}
