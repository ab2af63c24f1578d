"""The papers' tables with our scores next to the published ones, and verdicts on the papers' claims."""
