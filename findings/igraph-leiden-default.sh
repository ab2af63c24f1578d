#!/usr/bin/env bash
# Guess: community_leiden() of a citation graph gives communities, as Louvain does by modularity.
# Behaviour: its objective is the constant Potts model with resolution 1: all but cliques fall into single papers.
# Matters: topics and maps of citation networks; objective_function="modularity" is what others call Leiden.
# Source: python-igraph, documentation of Graph.community_leiden.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet "igraph==1.0.0"
venv/bin/python - <<'EOF'
import random
import sys

import igraph

print("igraph", igraph.__version__)
random.seed(0)
igraph.set_random_number_generator(random)
sizes, inside, between = [40] * 4, 0.2, 0.005  # four fields, whose papers cite within the field
chances = [[inside if i == j else between for j in range(4)] for i in range(4)]
graph = igraph.Graph.SBM(chances, sizes)
counts = [
    len(found)
    for found in (
        graph.community_leiden(),
        graph.community_leiden(objective_function="modularity"),
        graph.community_multilevel(),
    )
]
print("guess: four fields of 40 papers are about four communities")
print("seen: leiden %d, leiden by modularity %d, louvain %d" % tuple(counts))
sys.exit(0 if counts[0] > 40 and max(counts[1:]) < 12 else "the behaviour changed")
EOF
