"""Find the records of one paper in the exports of several databases, and merge them."""

from sciprism.uses.deduplication.dedupe import Deduplication as Deduplication
from sciprism.uses.deduplication.dedupe import dedupe as dedupe
