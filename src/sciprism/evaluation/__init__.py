"""Score systems on tasks: declarations, protocols, suites, results and reports."""
