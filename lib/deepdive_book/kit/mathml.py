"""Formulas of LaTeX as MathML, which a browser shows without a script."""

import re

from latex2mathml.converter import convert

# What the converter leaves out: the thin spaces around a function's name, as in "T log T"; that a
# bar stands close to what it encloses; and that a sign after "(", "," or "=" belongs to its number.
FUNCTION = r"<mi>(?:arc)?(?:log|ln|lg|exp|sin|cos|tan|tanh)</mi>"
RAISED = rf"<m(?:sub|sup)>{FUNCTION}<m[in]>[^<]*</m[in]></m(?:sub|sup)>"
WORD = "<mrow><mi "  # as in "log cost"
NEXT = f"<m(?:i|n|sub|sup|frac|sqrt|text)>|{WORD}"
AFTER = re.compile(rf"({RAISED}|(?<!<msub>)(?<!<msup>){FUNCTION})(?={NEXT})")
BEFORE = re.compile(rf"(</m(?:i|n|sub|sup|frac|sqrt)>)(?={RAISED}|{FUNCTION})")
THIN = '<mspace width="0.17em"></mspace>'
BAR = re.compile(r'<mo(?: (?:fence|stretchy)="false")*>(&#x0007C;|&#x02016;)</mo>')
CLOSE = r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>'
CLOSING = r"\)|]|&#x(?:00029|0007D|0007C|02016|00021|02309|0230B|02026);"
OPENING = rf"<mo[^>]*>(?!{CLOSING})[^<]*</mo>(?:<mspace[^>]*/>)?"
SIGN = re.compile(rf"({OPENING})<mo>(&#x(?:02212|0002B|000B1);)</mo>")
# What it takes for an operator and is a letter, and the other way round.
KINDS = {
    "<mo>&#x0221E;</mo>": "<mi>&#x0221E;</mi>",
    "<mi>&#x000B1;</mi>": "<mo>&#x000B1;</mo>",
    "<mi>;</mi>": "<mo>;</mo>",
}


def mathml(latex: str, display: str) -> str:
    """A formula as MathML, `display` "inline" or "block".

    Raises:
        ValueError: something in it was not understood.
    """
    # The converter aligns only where the environment is align.
    aligned = re.sub(r"(?<=\{)(?:aligned|split)(?=\})", "align*", latex.strip())
    try:
        found = convert(aligned, display=display).replace("\\_", "_")
    except Exception as error:
        raise ValueError(repr(error)) from error
    left = re.search(r">([^<]*(?:\\|&(?!#))[^<]*)<", found)
    if left:
        raise ValueError(f"{left[1]} was not understood")
    for wrong, right in KINDS.items():
        found = found.replace(wrong, right)
    found = BEFORE.sub(rf"\1{THIN}", AFTER.sub(rf"\1{THIN}", found))
    return BAR.sub(CLOSE, SIGN.sub(r'\1<mo form="prefix">\2</mo>', found))
