"""Turns the formulas of a page into MathML while the manual is built, so that it reads offline."""

import html
import re

from latex2mathml.converter import convert

_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[(\[])(?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
# What the converter does not know it passes on: a command as text, an alignment mark as a symbol.
_UNKNOWN = re.compile(r"<m[ion]>(\\[^<]*|&(?:amp;)?)</m[ion]>")
# As TeX sets it: capital Greek upright, no space around a slash but a thin one around ln; ~ is a relation,
# ∞ a symbol, and a minus after = a sign.
_TYPOGRAPHY = [
    (re.compile(r"<mi>(&#x003(?:9[1-9A-F]|A[0-9]);)</mi>"), r'<mi mathvariant="normal">\1</mi>'),
    (re.compile(r"<mo>(?:&#x0002F;|/)</mo>"), '<mo lspace="0" rspace="0">/</mo>'),
    (re.compile(r"<mi>&#x0007E;</mi>"), "<mo>&#x0223C;</mo>"),
    (re.compile(r"<mo>&#x0221E;</mo>"), "<mi>&#x0221E;</mi>"),
    (re.compile(r"(<mo>&#x0003D;</mo>)<mo>&#x02212;</mo>"), r'\1<mo form="prefix">&#x02212;</mo>'),
    (re.compile(r"<mi>ln</mi>(?=<m(?:i|sub))"), '<mi>ln</mi><mspace width="0.17em"/>'),
    (re.compile(r"(</m(?:i|n|style|sub|sup)>|&#x00029;</mo>)(?=<mi>ln</mi>)"), r'\1<mspace width="0.17em"/>'),
]


def on_page_content(content: str, page: object, **_: object) -> str:
    """Called by mkdocs with the HTML of every page."""
    converted = _FORMULA.sub(lambda match: _mathml(match, page), content)
    if 'class="arithmatex"' in converted:
        raise ValueError(f"{page}: a formula was not recognised and would be shown as LaTeX")
    return converted


def _mathml(match: re.Match[str], page: object) -> str:
    latex = html.unescape(match["latex"]).strip()
    block = match["open"] == "["
    markup = convert(latex, display="block" if block else "inline")
    unknown = _UNKNOWN.search(markup)
    if unknown:
        raise ValueError(f"{page}: {unknown[1]!r} in the formula {latex!r} has no MathML; write it otherwise")
    for pattern, replacement in _TYPOGRAPHY:
        markup = pattern.sub(replacement, markup)
    return f'<div class="formula">{markup}</div>' if block else markup
