"""SciRepEval's training sources: the published ones by their config, the same kinds from own papers."""
