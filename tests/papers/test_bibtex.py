from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.papers.cleaning import decode_latex


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=r"\{}$~-`'^abEiß_% &" + '"', max_size=60))
def test_latex_never_fails_and_never_invents_letters(text: str) -> None:
    decoded = decode_latex(text)
    assert not {"\ue000", "\ue001", "\ue002"} & set(decoded)
    if "\\" not in text:
        assert [c for c in decoded if c.isalpha()] == [c for c in text if c.isalpha()]
