"""A collection small enough to know by heart."""

from sciprism.papers.records import Paper

PAPERS = [
    Paper(
        id="halo",
        title="A universal density profile",
        abstract="We simulate it. Dark matter halos share one density profile, cf. Fig. 2. It is steep.",
        authors=("A. Berg",),
        venue="ApJ",
        year=1997,
        fields=("Astronomy",),
    ),
    Paper(id="rotation", title="Rotation of the Andromeda nebula", abstract="", venue="ApJ", year=1970),
    Paper(
        id="crispr",
        title="Programmable DNA cutting",
        abstract="Bacteria defend themselves. A guide RNA directs the enzyme to cut DNA.",
        venue="Science",
        year=2012,
        fields=("Biology",),
    ),
    Paper(
        id="editing",
        title="Genome engineering",
        abstract="Human cells are edited. A guide RNA directs the enzyme. The cut is repaired.",
        authors=("B. Lund", "Ann Berg"),
        venue="Science",
        year=2013,
        fields=("Biology",),
    ),
    Paper(
        id="attention", title="Attention", abstract="Sequences are translated. Attention alone is enough.", year=2017
    ),
]
