"""SciRepEval's training sources: the published ones of a config."""
