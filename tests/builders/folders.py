"""Compare folders."""

from pathlib import Path


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return every file's bytes by its place in the folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
