"""Folders that the library `adapters` wrote, and vectors that it computed with them (make_adapterhub.py)."""

import json
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

_unpacked = TemporaryDirectory(prefix="adapterhub-")
zipfile.ZipFile(Path(__file__).parents[1] / "encoders" / "adapterhub.zip").extractall(_unpacked.name)
FIXTURES = Path(_unpacked.name)
KNOWN = json.loads((FIXTURES / "vectors.json").read_text())
