"""What is released: a wheel and a source archive, small enough, complete without the clone."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAX_BYTES = 30 << 20


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "hatchling", "build", "-d", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_both_are_small_and_the_archive_holds_no_results(built):
    wheel, archive = *built.glob("*.whl"), *built.glob("*.tar.gz")
    assert max(wheel.stat().st_size, archive.stat().st_size) < MAX_BYTES
    with tarfile.open(archive) as file:
        tops = {name.split("/")[1] for name in file.getnames()}
    assert {"src", "recipes", "LICENSE", "pyproject.toml"} <= tops and not tops & {"results", "tests", "findings"}


@pytest.mark.slow
def test_the_installed_wheel_does_the_main_job_without_the_clone(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", tmp_path / "site", wheel]
    subprocess.run([sys.executable, *install], check=True)
    (tmp_path / "refs.bib").write_text("@misc{a, title={Dark matter}}\n@misc{b, title={Genes of mice}}\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    for words in (
        "embed refs.bib -o mine",
        "search mine galaxies",
        "evaluate random --suite open/quick --list",
        "train specter --help",
    ):
        command = [sys.executable, "-P", "-m", "sciprism", *words.split()]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{words}: {done.stderr}"
    where = [sys.executable, "-P", "-c", "import sciprism; print(sciprism.__file__)"]
    printed = subprocess.run(where, cwd=tmp_path, env=environment, capture_output=True, text=True).stdout
    assert printed.startswith(str(tmp_path / "site"))
