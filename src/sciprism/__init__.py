"""sciprism: one scientific paper in, a spectrum of embeddings out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.papers import Label, Paper, read_papers
    from sciprism.uses.collection import Collection

__version__ = "0.1.0"
__all__ = ["Collection", "Encoder", "Label", "Paper", "__version__", "read_papers"]

_MODULES = {
    "Collection": "sciprism.uses.collection",
    "Encoder": "sciprism.encoders.encoder",
    "Label": "sciprism.papers",
    "Paper": "sciprism.papers",
    "read_papers": "sciprism.papers",
}


def __getattr__(name: str) -> Any:
    """Import the public names on first use, so that `import sciprism` stays cheap (no torch)."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'sciprism' has no attribute {name!r}")
