"""Memory does not grow with the corpus."""

import subprocess
import sys
from pathlib import Path

BUILDERS = Path(__file__).parents[1] / "builders"
WRITER = """
import resource, sys
import numpy as np
from sciprism.papers.records import Paper
from sciprism.store import embed
from fake_encoder import FakeEncoder

class Quick(FakeEncoder):
    def encode(self, items, **_):
        return np.ones((len(items), self.dim), np.float32)

papers = (Paper(id=f"p{i}", title="T", abstract=f"{i} " * 500) for i in range(int(sys.argv[2])))
assert embed(papers, Quick(), sys.argv[1]).new == int(sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_megabytes(folder: Path, count: int) -> float:
    command = [sys.executable, "-c", WRITER, str(folder), str(count)]
    done = subprocess.run(command, cwd=BUILDERS, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def test_nine_times_the_papers_take_the_same_memory(tmp_path: Path) -> None:
    """Sixteen thousand such papers are 48 MB of text; their keys are half of one."""
    small, large = peak_megabytes(tmp_path / "a", 2_000), peak_megabytes(tmp_path / "b", 18_000)
    assert large - small < 20
