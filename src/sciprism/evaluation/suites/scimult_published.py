"""The published rows of SciMult's tables, times 100; "?" where the paper has a number that our sources lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sciprism.evaluation.suites.published import parse_published
from sciprism.evaluation.task import Published, Task

WITH_NAMES = """
SPECTER: 47.38/53.18/58.43 34.26/39.35/43.41 59.12/65.33/70.75 47.07/51.30/56.17 52.15
SciNCL: 47.92/53.57/58.29 34.99/40.50/44.64 59.00/65.49/71.41 48.74/54.21/59.84 53.22
SPECTER 2.0: 48.63/55.09/60.68 36.17/43.06/48.26 62.87/70.30/76.37 50.60/58.27/65.66 56.33
Vanilla: 53.40/64.70/74.09 39.78/51.31/59.75 62.08/70.65/77.79 50.42/56.58/63.17 60.31
MHAExpert: 54.02/65.49/75.07 39.41/50.92/59.59 65.94/75.01/81.93 51.77/59.55/67.86 62.21
FFNExpert: 53.73/63.79/72.46 38.01/48.76/57.43 61.90/70.69/78.81 50.09/56.94/64.28 59.74
Prefix: 53.68/63.62/72.07 37.97/48.95/57.56 62.86/71.65/79.71 50.10/57.25/64.53 60.00
Instruction: 53.78/63.99/72.72 38.81/50.12/58.96 63.26/71.74/79.52 50.86/58.47/66.46 60.72
SciBERT: ? ? ? ? ? ? ? ? ? ? ? ? 43.32
SentBERT: ? ? ? ? ? ? ? ? ? ? ? ? 44.52
PubMedBERT: ? ? ? ? ? ? ? ? ? ? ? ? 43.74
LinkBERT: ? ? ? ? ? ? ? ? ? ? ? ? 42.16
BioLinkBERT: ? ? ? ? ? ? ? ? ? ? ? ? 41.74
OAG-BERT: ? ? ? ? ? ? ? ? ? ? ? ? 42.68
"""
WITHOUT_NAMES = """
BM25: 17.41/23.73/29.12 7.78/10.75/13.41 15.81/24.15/35.99 13.00/18.45/24.90 19.54
SPECTER: 16.28/24.50/32.60 11.80/17.94/23.88 18.12/28.02/37.36 15.18/23.46/32.24 23.45
SciNCL: 17.42/25.32/32.82 13.96/20.33/26.22 21.80/32.96/43.02 22.76/32.85/42.30 27.65
SPECTER 2.0: 20.90/30.21/38.87 18.72/27.08/34.41 31.61/45.26/56.85 26.27/38.85/50.21 34.94
Vanilla: 31.52/46.04/58.61 26.96/39.63/50.37 32.20/46.96/59.12 30.02/40.48/50.31 42.69
MHAExpert: 35.63/51.00/64.02 26.11/38.85/49.89 37.70/52.44/63.99 32.69/44.80/56.28 46.12
FFNExpert: 38.43/52.66/64.89 22.83/34.93/46.05 26.35/41.37/55.03 27.95/40.05/51.23 41.81
Prefix: 38.42/52.58/64.51 22.67/34.88/45.95 28.25/43.00/56.55 26.09/38.48/49.71 41.76
Instruction: 38.47/52.88/65.10 24.36/36.91/48.19 29.55/43.91/57.40 28.80/41.71/53.66 43.41
SciBERT: ?
SentBERT: ?
PubMedBERT: ?
LinkBERT: ?
BioLinkBERT: ?
OAG-BERT: ?
"""
COARSE = """
SPECTER: 82.0/55.49/86.4/57.70/70.40
SciNCL: 81.4/60.02/88.7/58.67/72.20
SPECTER 2.0: 82.66/60.00/89.40/66.03/74.52
Vanilla: 81.31/65.63/88.92/66.29/75.54
MHAExpert: 81.76/67.38/89.37/66.72/76.31
FFNExpert: 82.25/69.26/88.07/63.57/75.79
Prefix: 82.48/69.02/88.62/66.55/76.67
Instruction: 82.63/69.79/88.71/63.82/76.24
BM25: ?
SciBERT: ?
SentBERT: ?
PubMedBERT: ?
LinkBERT: ?
BioLinkBERT: ?
OAG-BERT: ?
"""
RETRIEVAL = """
BM25: 17.81/24.76/30.49 24.19/31.98/38.03 42.20/48.68/53.75 34.65
SPECTER: 21.59/31.58/40.02 31.51/43.41/52.90 27.72/34.52/40.43 35.96
SciNCL: 24.91/36.57/46.25 34.84/48.50/58.77 31.65/39.30/45.84 40.74
SPECTER 2.0: 23.53/34.47/43.54 33.75/46.46/56.23 30.36/36.10/40.96 38.38
Vanilla: 32.61/46.33/56.40 38.23/52.08/62.02 41.61/50.20/56.94 48.49
MHAExpert: 34.81/49.31/59.71 39.82/54.16/64.50 42.33/51.25/58.25 50.46
FFNExpert: 36.34/51.31/61.97 38.12/52.49/62.91 43.36/52.31/59.05 50.87
Prefix: 34.18/49.27/60.52 37.70/52.21/62.85 43.54/52.28/59.00 50.17
Instruction: 33.58/47.94/58.37 36.22/49.98/60.26 43.37/52.10/58.72 48.95
SciBERT: ?
SentBERT: ?
PubMedBERT: ?
LinkBERT: ?
BioLinkBERT: ?
OAG-BERT: ?
"""
RERANKING = """
SPECTER: 83.6/91.5 84.5/92.4 88.3/94.9 88.1/94.8 83.38/87.39/93.64 89.32
SciNCL: 85.3/92.3 87.5/93.9 93.6/97.3 91.6/96.4 85.33/88.38/94.34 91.45
SPECTER 2.0: 85.18/92.27 86.95/93.53 92.23/96.84 91.13/96.28 86.03/89.12/94.59 91.29
Kanakia et al.: - - - - - - - - 83.88/87.71/93.59 -
Vanilla: 83.99/91.68 86.66/93.67 91.37/96.26 91.50/96.45 87.32/89.32/94.88 91.19
MHAExpert: 83.92/91.60 86.45/93.55 92.58/96.92 91.47/96.36 86.68/89.45/94.77 91.25
FFNExpert: 83.23/91.26 85.61/93.20 93.77/97.42 90.39/95.94 85.75/88.45/94.29 90.85
Prefix: 83.43/91.48 85.89/93.27 94.28/97.60 90.73/96.09 86.05/88.85/94.66 91.12
Instruction: 82.13/90.88 84.14/92.36 92.63/96.91 89.27/95.43 86.49/88.81/94.51 90.32
Citeomatic: ?
SciBERT: ?
SentBERT: ?
PubMedBERT: ?
LinkBERT: ?
BioLinkBERT: ?
OAG-BERT: ?
"""
SEARCH = """
BM25: 73.47/55.86/57.79/65.63/30.00/56.55
SPECTER: 73.42/66.45/29.91/49.74/15.83/47.07
SciNCL: 73.78/73.50/34.69/56.51/22.34/52.16
SPECTER 2.0: 78.22/79.43/58.48/67.16/22.84/61.23
PubMedBERT: 70.77/45.28/7.56/0.30/1.09/25.00
Vanilla: 76.44/86.76/67.22/70.76/31.20/66.48
MHAExpert: 76.33/86.29/71.18/70.67/30.79/67.05
FFNExpert: 76.02/82.32/52.15/63.57/27.48/60.31
Prefix: 76.55/82.83/68.15/70.70/30.02/65.65
Instruction: 75.86/83.59/61.05/70.62/30.25/64.27
SciBERT: ?
SentBERT: ?
LinkBERT: ?
BioLinkBERT: ?
OAG-BERT: ?
"""
PATIENTS = """
DPR(MHAExpert): 64.44/22.12/28.62/69.09 25.35/6.65/22.39/83.78
BM25: 48.22/9.97/15.28/30.64 22.86/4.67/18.29/69.66
DPR(SPECTER): 46.41/15.59/19.70/57.98 15.08/3.79/12.27/73.01
DPR(PubMedBERT): 42.96/16.08/19.51/63.40 19.37/5.05/16.30/79.35
DPR(BioLinkBERT): 40.89/15.33/18.47/62.44 21.20/5.59/18.06/80.49
Contriever: 15.03/3.41/4.62/16.74 10.50/2.24/8.01/52.64
SentBERT: ?
"""
TABLES = {
    "fine": ("Table 3", WITH_NAMES),
    "fine without names": ("Table A3", WITHOUT_NAMES),
    "coarse": ("Table 4", COARSE),
    "retrieval": ("Table 5", RETRIEVAL),
    "reranking": ("Table 7", RERANKING),
    "search": ("Table 8", SEARCH),
    "patients": ("Table 6", PATIENTS),
}
"""Group of tasks -> its table, the columns in the order of the tasks, the average last."""


def published_rows(paper: str, groups: Mapping[str, Sequence[Task]], averaged: Sequence[str]) -> tuple[Published, ...]:
    """Return the rows of all tables; groups: the tasks of each. averaged: groups whose average is printed."""
    rows: list[Published] = []
    for group, (table, text) in TABLES.items():
        columns = [
            f"{task.name} {metric}" if len(task.protocol.metrics) > 1 else task.name
            for task in groups[group]
            for metric in task.protocol.metrics
        ]
        columns += [f"Average, {group}"] if group in averaged else []
        rows += parse_published(f"{paper}, {table}", columns, text)
    return tuple(rows)
