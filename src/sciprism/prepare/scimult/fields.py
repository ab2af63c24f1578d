"""MAPLE's fields and folders, and SciDocs' classes, as the papers name them."""

from __future__ import annotations

FOLDERS = """
Art Philosophy Geography Business Sociology History Political_Science Environmental_Science Economics
Engineering Psychology Geology Mathematics Materials_Science Physics Biology Chemistry Medicine
"""
FIELDS = {folder: folder.replace("_", " ").lower() for folder in FOLDERS.split()}
"""Folder -> label of the 18 fields that are not computer science."""

MAG_CLASSES = tuple(sorted(("computer science", *FIELDS.values())))
MESH_CLASSES = (
    *("cardiovascular diseases", "chronic kidney disease", "chronic respiratory diseases", "diabetes mellitus"),
    *("digestive diseases", "hiv/aids", "hepatitis a/b/c/e", "mental disorders", "musculoskeletal disorders"),
    *("neoplasms", "neurological disorders"),
)
"""The index of a name is SciDocs' number of the class."""
