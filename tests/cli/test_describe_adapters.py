"""`sciprism describe` of a model of adapters: which adapter serves what, and where each comes from."""

import re

from adapterhub import FIXTURES
from sciprism.cli.models import describe


def test_which_adapter_serves_what(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path))
    describe(str(FIXTURES))
    text = re.sub(r"\n {2,}", " ", capsys.readouterr().out)  # long values continue on further lines
    shown = dict(line.split(maxsplit=1) for line in text.splitlines() if "  " in line)
    assert shown["method"] == "adapter-fusion"
    assert shown["formats"] == "classification, regression, proximity, search"
    assert "search: paper=proximity, query=search, label=proximity" in shown["routes"]
    assert "adapters: classification [CLF], proximity [PRX], search [QRY]" in shown["provenance"]
    assert "backbone: base" in shown["provenance"] and "search: proximity" in shown["spaces"]
