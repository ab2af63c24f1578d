"""The papers' tables with our numbers beside the printed ones, and the papers' claims with their verdicts."""
