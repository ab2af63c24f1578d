"""Tag papers with the labels of a vocabulary: from the labels' names alone, or learned from tagged papers."""

from sciprism.uses.tagging.suggestions import PaperTags, Tag, TagChoice
from sciprism.uses.tagging.tagger import tag

__all__ = ["PaperTags", "Tag", "TagChoice", "tag"]
