"""Draw the papers of a collection as a map: near papers lie together, and dense groups have names."""

from sciprism.uses.mapping.map_files import read_layout as read_layout
from sciprism.uses.mapping.map_files import write_neighbours as write_neighbours
from sciprism.uses.mapping.map_files import write_parquet as write_parquet
from sciprism.uses.mapping.page import write_page as write_page
from sciprism.uses.mapping.paper_map import PaperMap as PaperMap
from sciprism.uses.mapping.paper_map import Topic as Topic
from sciprism.uses.mapping.paper_map import draw_map as draw_map
