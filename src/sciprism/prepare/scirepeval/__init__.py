"""SciRepEval's training sources: the published ones of a config, and the same kinds from user papers."""
