"""Text and tables as LaTeX that pdflatex compiles, whatever characters names and levels have."""

from __future__ import annotations

import re
import unicodedata

import pandas as pd

PACKAGES = ("booktabs", "array", "longtable")
"""What a document has to load for the tables."""
TALL = 40
"""Lines from which a table may break across pages."""
LONG = 30
"""Characters from which a column of text is wrapped."""

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "[": "{[}",  # after a line's end it would start an option
    "]": "{]}",
    "`": r"\`{}",
    '"': "{''}",
    **{char: f"\\{char}" for char in "&%#_{}"},
    "$": r"$\mathdollar$",  # of the text's own dollar not every installation has the font
    **{char: f"${char}$" for char in "<>|"},
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "−": "$-$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "…": r"\dots{}",
    "–": "--",
    "½": r"$\frac{1}{2}$",
    "²": "$^2$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "δ": r"$\delta$",
    "λ": r"$\lambda$",
    "μ": r"$\mu$",
    "µ": r"$\mu$",
    "ρ": r"$\rho$",
    "σ": r"$\sigma$",
    "τ": r"$\tau$",
    "Σ": r"$\Sigma$",
    "ß": r"{\ss}",
    "æ": r"{\ae}",
    "Æ": r"{\AE}",
    "œ": r"{\oe}",
    "ø": r"{\o}",
    "Ø": r"{\O}",
    "ł": r"{\l}",
    "Ł": r"{\L}",
    "ı": r"{\i}",
}
# accents that LaTeX sets in its oldest fonts as well, by their combining characters
_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u ",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r ",
    "\u030b": "H ",
    "\u030c": "v ",
    "\u0327": "c ",
}


def tex(text: str) -> str:
    r"""Write text so that LaTeX sets it as it is.

    Examples
    --------
    >>> print(tex("Kendall's τ of x_1 ≤ -5%"))
    Kendall's $\tau$ of x\_1 $\leq$ $-$5\%
    """
    text = re.sub(r"(?<!\w)-(?=[\d.])", "−", text)
    return "".join(map(_character, text))


def _character(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isspace():
        return " "
    if char.isascii():
        return char if char.isprintable() else "?"
    parts = unicodedata.normalize("NFKD", char)
    if len(parts) == 2 and parts[0].isascii() and parts[1] in _ACCENTS:
        return f"{{\\{_ACCENTS[parts[1]]}{parts[0]}}}"
    # what it is made of, or its number
    kept = "".join(map(tex, (part for part in parts if part.isascii())))
    return kept or f"{{[}}U+{ord(char):04X}{{]}}"


def latex_table(table: pd.DataFrame, shown: pd.DataFrame) -> str:
    """Set a table; long text is wrapped, numbers stand to the right.

    Parameters
    ----------
    table : DataFrame
        Decides which columns are numbers.
    shown : DataFrame
        The same with its cells as they are to be printed.
    """
    columns = []
    for name in table.columns:
        if pd.api.types.is_numeric_dtype(table[name]):
            columns.append("r")
        elif max((len(str(value)) for value in shown[name]), default=0) > LONG:
            columns.append(r">{\raggedright\arraybackslash}p{0.36\linewidth}")
        else:
            columns.append("l")
    tall = sum(1 + max(len(str(value)) for value in row) // LONG for row in shown.to_numpy())
    kind = "longtable" if tall > TALL else "tabular"
    lines = [
        r"{\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\begin{{{kind}}}{'[l]' * (kind == 'longtable')}{{{''.join(columns)}}}",
        r"\toprule",
        " & ".join(tex(str(name)) for name in table) + r" \\",
        r"\midrule" + r"\endhead" * (kind == "longtable"),
    ]
    for row in shown.itertuples(index=False):
        lines.append(" & ".join(tex(str(value)) for value in row) + r" \\")
    return "\n".join([*lines, r"\bottomrule", rf"\end{{{kind}}}}}"])


def document(body: str) -> str:
    """Make a whole document of a fragment."""
    loads = "\n".join(rf"\usepackage{{{name}}}" for name in PACKAGES)
    return (
        "\\documentclass{article}\n"
        f"{loads}\n\\usepackage[margin=2cm]{{geometry}}\n"
        f"\\begin{{document}}\n{body}\\end{{document}}\n"
    )
