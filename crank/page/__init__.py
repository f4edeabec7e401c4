"""Pages: a model, or several side by side, as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from crank.checks import one_of
from crank.errors import OptionError
from crank.files import write_text
from crank.records.base import ModelRecord
from crank.texts import HALF, is_broken

__all__ = ["write_page"]


def write_page(
    models: ModelRecord | Mapping[str, ModelRecord],
    path: str | Path,
    *,
    data: Any = None,
    weights: Any = None,
    unknown: Literal["error", "missing"] = "error",
    title: str | None = None,
) -> Path:
    """Write a report: one HTML file of less than 2 MB that loads nothing from elsewhere.

    Parameters
    ----------
    models : RankingModel, or mapping of names to them
        Several are set side by side, and tested against each other on the data.
    path : str or Path
        The file to write.
    data : data frame, optional
        Rows that the models have not seen, with their response. Without them the page lacks what
        needs rows: figures on data, curves, calibration, partial dependence, diagnosis.
    weights : str or array-like, optional
        Case weights of these rows.
    unknown : {"error", "missing"}
        What to do with category levels that training did not have.
    title : str, optional

    Returns
    -------
    Path
        Of the file.

    Examples
    --------
    >>> import crank, tempfile
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", max_depth=2, prune=None)
    >>> path = write_page(m, f"{tempfile.mkdtemp()}/report.html")
    >>> path.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    from crank.page.content import content
    from crank.page.writing import page_text
    from crank.report.plot_curves import name_models

    one_of("unknown", unknown, ("error", "missing"))
    named = name_models(models)
    wrong = [m for m in named.values() if not isinstance(m, ModelRecord)]
    if wrong:
        raise OptionError(f"a report takes fitted models; got {type(wrong[0]).__name__}.")
    if title is not None and is_broken(title):
        raise OptionError(f"title={title!a} holds {HALF}.")
    return write_text(path, page_text(content(named, data, weights, unknown, title)))
