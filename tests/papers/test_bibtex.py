import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.papers.cleaning import decode_latex


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"{\"U}ber K{\"o}rper", "Über Körper"),
        (r"\'{e}t\'e na\"{\i}ve na\"\i ve", "été naïve naïve"),
        (r"\v{S}imon \c{C}a\u{g}lar Erd\H{o}s \L{}ukasz Stra{\ss}e", "Šimon Çağlar Erdős Łukasz Straße"),
        (r"{\O}rsted, {\AA}ngstr{\"o}m, \o re", "Ørsted, Ångström, øre"),
        (r"\r{a} \k{a} \d{a} \~n \=o \.z", "å ą ạ ñ ō ż"),
        (r"{\relax Ch}omsky", "Chomsky"),
        (r"50\% of R\&D in C\# for \$5", "50% of R&D in C# for $5"),
        (r"\textit{in vivo} {\em and} \textbf{x} \mbox{AdS/CFT} \texttt{code}", "in vivo and x AdS/CFT code"),
        (r"pages 1--9 --- all~of ``them''", "pages 1–9 — all of “them”"),
        (r"$\alpha$-decay at $x \leq \frac{a}{b}$", "α-decay at x ≤ a/b"),
        (r"CO$_2$, H$_{2}$O, 10$^{-3}$", "CO2, H2O, 10^-3"),
        ("costs $5 and $6", "costs $5 and $6"),
        (r"see \cite{x} and \href{http://x.org}{there} \url{http://y.org}", "see  and there http://y.org"),
        (r"\unknown{kept} and \ourmethod wins", "kept and ourmethod wins"),
        (r"a \{set\} b", "a {set} b"),
        (r"{\textasciitilde}10{\textasciicircum}6 a~b", "~10^6 a b"),  # as Zotero spells them
        (r"first\\second", "first second"),
        ("plain", "plain"),
    ],
)
def test_latex_becomes_plain(latex: str, plain: str) -> None:
    assert decode_latex(latex) == plain


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=r"\{}$~-`'^abEiß_% &" + '"', max_size=60))
def test_latex_never_fails_and_never_invents_letters(text: str) -> None:
    decoded = decode_latex(text)
    assert not {"\ue000", "\ue001", "\ue002"} & set(decoded)
    if "\\" not in text:
        assert [c for c in decoded if c.isalpha()] == [c for c in text if c.isalpha()]
