"""MAPLE's fields and folders, and SciDocs' classes, as the papers name them."""

from __future__ import annotations

FIELDS = {
    "Art": "art",
    "Philosophy": "philosophy",
    "Geography": "geography",
    "Business": "business",
    "Sociology": "sociology",
    "History": "history",
    "Political_Science": "political science",
    "Environmental_Science": "environmental science",
    "Economics": "economics",
    "Engineering": "engineering",
    "Psychology": "psychology",
    "Geology": "geology",
    "Mathematics": "mathematics",
    "Materials_Science": "materials science",
    "Physics": "physics",
    "Biology": "biology",
    "Chemistry": "chemistry",
    "Medicine": "medicine",
}
"""Folder -> label of the 18 fields that are not computer science."""

MAG_CLASSES = (
    "art",
    "biology",
    "business",
    "chemistry",
    "computer science",
    "economics",
    "engineering",
    "environmental science",
    "geography",
    "geology",
    "history",
    "materials science",
    "mathematics",
    "medicine",
    "philosophy",
    "physics",
    "political science",
    "psychology",
    "sociology",
)
MESH_CLASSES = (
    "cardiovascular diseases",
    "chronic kidney disease",
    "chronic respiratory diseases",
    "diabetes mellitus",
    "digestive diseases",
    "hiv/aids",
    "hepatitis a/b/c/e",
    "mental disorders",
    "musculoskeletal disorders",
    "neoplasms",
    "neurological disorders",
)
"""The index of a name is SciDocs' number of the class."""
