"""From records to token ids: templates and tokenizers."""

from sciprism.text.template import Item, Template

__all__ = ["Item", "Template"]
