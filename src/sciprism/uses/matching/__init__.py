"""Match submissions with reviewers: scores by papers, conflicts, loads, fairness, reasons and an audit."""
