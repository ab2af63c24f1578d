"""Former names of classes and fields, which the hashed declarations of tasks keep.

Results compare only where the keys of their tasks are equal, so renaming code must not change a key.
"""

DECLARED_AS: dict[str, str] = {
    "IrTestCollection.exclude": "without",
    "LinkedCorpus.min_links": "least",
    "LinkedPools.min_links": "least",
    "LinkedPools.required_field": "needs",
    "PaperNumbers.min_papers": "least",
    "PaperLabels.hub": "at",
    "RankedPapers.hub": "at",
    "RankedPapers.qrels_split": "judged",
    "ReviewerPapers.hub": "at",
    "GradedPools": "JudgedPools",
    "IrTestCollection": "Collection",
    "LabelledTexts": "Texts",
    "PaperClasses": "Classes",
    "PaperNumbers": "Numbers",
    "SampleSizes": "Sizes",
    "ClusterProtocol": "Cluster",
    "ClusterSourcesProtocol": "ClusterSources",
    "LabelProtocol": "LabelRanking",
    "MatchProtocol": "Match",
    "NearestLabelProtocol": "NearestLabel",
    "PairProtocol": "Pair",
    "PinnedData.settings": "told",
    "ProbeProtocol": "Probe",
    "RecommendProtocol": "Recommend",
    "RerankProtocol": "Rerank",
    "RetrieveProtocol": "Retrieve",
    "SpanProtocol": "Span",
    "SpanProtocol.max_answer_tokens": "longest",
    "SpanProtocol.max_empty_windows": "empty",
    "TagProtocol": "Tag",
    "RankerSettings": "NetSettings",
}
"""Current class name, or "Class.field" -> the name in declarations."""

FORMER_REFERENCES: dict[str, str] = {
    f"SciMult (Zhang et al., Findings of EMNLP 2023), Table {table}": (
        f"SciMult (Zhang et al., Findings of EMNLP 2023), Table {former}"
    )
    for table, former in {"6": "8", "7": "6", "8": "7"}.items()
}
"""Reference of a task -> the one in its declaration: version 0.1 confused these numbers of tables."""

ADDED_LATER = frozenset({"ProbeProtocol.standardize_targets"})
"""Fields that stored results do not know: a declaration has them only where they are not the default."""
