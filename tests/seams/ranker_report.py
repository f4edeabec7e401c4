"""What people read of a signed sum."""

from __future__ import annotations

import pandas as pd

from crank.report.summary import Section, Summary, data_text, figure_rows, fit_section
from tests.seams.ranker import SignedSumModel


def text(model: SignedSumModel) -> str:
    terms = zip(model.ranker.signs, model.design.names, strict=True)
    return " ".join(f"{'+' if sign > 0 else '-'} {name}" for sign, name in terms)


def headline(model: SignedSumModel) -> str:
    return f"{len(model.ranker.signs)} signs"


def short_name(model: SignedSumModel) -> str:
    return "signed sum"


def tidy(model: SignedSumModel) -> pd.DataFrame:
    return pd.DataFrame({"term": model.design.names, "sign": model.ranker.signs})


def glance(model: SignedSumModel) -> pd.DataFrame:
    return pd.DataFrame([{"formula": model.formula, "n": model.training.n}])


def importance(model: SignedSumModel, metric: object = None) -> pd.DataFrame:
    share = 1.0 / len(model.ranker.signs)
    return pd.DataFrame({"term": model.design.names, "importance": share, "share": share})


def achieved(model: SignedSumModel, metric: object = None) -> str:
    return "the signs"


def summary(model: SignedSumModel) -> Summary:
    return Summary(
        (
            Section("Data", (data_text(model),)),
            Section("Signs", table=tidy(model)),
            fit_section(figure_rows(model)),
        )
    )
