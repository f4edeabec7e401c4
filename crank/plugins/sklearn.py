"""Any scikit-learn classifier as a split learner.

Importing this module loads no scikit-learn: whoever has a classifier has loaded it already.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crank.blame import read_only
from crank.errors import DataError, OptionError
from crank.plugins import fields
from crank.plugins.base import (
    FloatArray,
    Levels,
    NotExportableError,
    SplitLearner,
    SplitRule,
    TrainingMatrix,
)
from crank.plugins.linear import LinearRule
from crank.plugins.rbf import largest_shares
from crank.plugins.sampling import systematic_counts
from crank.plugins.sklearn_arrays import as_arrays, decision_values
from crank.plugins.sklearn_trial import without_warnings
from crank.plugins.trees import TreesRule, shares

if TYPE_CHECKING:
    from crank.graphs.graph import Graph


SAVED = (
    "linear classifiers, decision trees, forests, GradientBoosting, HistGradientBoosting and "
    "AdaBoost over trees, also behind scalers and imputers"
)


@dataclass(frozen=True, eq=False)
class EstimatorRule(SplitRule):
    """A fitted classifier that has no translation into arrays: it decides, but only in memory."""

    estimator: Any
    n_columns: int

    def decision(self, X: FloatArray) -> NDArray[np.float64]:
        """Ask the classifier."""
        if not len(X):
            return np.empty(0)
        return decision_values(self.estimator, read_only(np.asarray(X, dtype=np.float64)))

    def to_dict(self) -> dict[str, Any]:
        """Refuse: crank writes no pickles."""
        raise NotExportableError(
            f"a rule made by {self._name} cannot be saved: it has no translation into plain data. "
            f"Allowed: {SAVED}. Use one of these or a built-in learner for models that are to be "
            "stored."
        )

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> SplitRule:
        """Rebuild the rule of a classifier that has a translation."""
        kind = fields.field(d, "kind")
        if kind == "linear":
            return LinearRule.from_dict(d)
        if kind == "trees":
            return TreesRule.from_dict(d)
        raise DataError(f"a stored rule is of kind {kind!r}. Allowed: 'linear', 'trees'.")

    def to_onnx(self, graph: Graph, x: str) -> str:
        """Add the classifier to an ONNX graph by way of skl2onnx."""
        from crank.plugins.onnx_sklearn import classifier

        return classifier(graph, x, self.estimator, self.n_columns)

    def describe(self, names: Sequence[str], *, levels: Levels | None = None) -> str:
        """Name the classifier and, if it says so, the columns that matter most."""
        return f"{self._call(names)} > 0"

    def describe_right(self, names: Sequence[str], *, levels: Levels | None = None) -> str:
        """Describe the other side."""
        return f"{self._call(names)} <= 0"

    def _call(self, names: Sequence[str]) -> str:
        inside = largest_shares(self.credit(), names) or f"{self.n_columns} columns"
        return f"{self._name}({inside})"

    def credit(self) -> dict[int, float]:
        """Share the gain as the classifier's own importances or coefficients do."""
        for attribute in ("feature_importances_", "coef_"):
            sizes = np.abs(np.asarray(getattr(self.estimator, attribute, ()), dtype=np.float64))
            if sizes.size == self.n_columns:
                return shares(np.arange(self.n_columns), sizes.ravel())
        return {}

    @property
    def _name(self) -> str:
        return type(self.estimator).__name__


class SklearnLearner(SplitLearner):
    """Split by a scikit-learn classifier, fitted anew in each node.

    The decision value is the classifier's ``decision_function``, else the log-odds of its
    ``predict_proba``, else its ``predict``. A ``random_state`` that is None is seeded from the
    tree's own. Weights go to the classifier if its ``fit`` takes them (in a pipeline, its last
    step); if not, the rows are resampled in proportion to weight.

    Linear classifiers, trees, forests and scikit-learn's boosters, also behind scalers and
    imputers, become plain arrays and can be saved as JSON; models with others live in memory only,
    and `crank.fit` warns of it before it fits.

    A ValueError of the classifier ends the branch, because small nodes are too much for some;
    in nodes with more than half of the rows it is raised. Labels are 0 and 1, unless a
    ``class_weight`` names −1. Warnings that a classifier has not converged are not shown.

    Parameters
    ----------
    estimator : classifier
        A template; it is cloned and never fitted itself.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> label = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> learner = SklearnLearner(GaussianNB())
    >>> rule = learner.fit(X, label, np.ones(4), rng=np.random.default_rng(0))
    >>> (rule.decision(X) > 0).tolist()
    [False, False, True, True]
    """

    description: ClassVar[str] = "any scikit-learn classifier"
    url: ClassVar[str] = "https://scikit-learn.org"
    rule: ClassVar[type[SplitRule]] = EstimatorRule

    def __init__(self, estimator: Any) -> None:
        if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
            got = f"the class {estimator.__name__}" if isinstance(estimator, type) else estimator
            raise OptionError(
                f"estimator of SklearnLearner is {got!r}. "
                "Allowed: a scikit-learn classifier, for instance LogisticRegression()."
            )
        from sklearn.base import is_classifier

        if not is_classifier(estimator):
            raise OptionError(
                f"estimator of SklearnLearner is a {type(estimator).__name__}, which does not "
                "classify. Allowed: a scikit-learn classifier; learners see labels ±1 only."
            )
        self.estimator = estimator
        self.n_rows: int | None = None

    @property
    def exports_onnx(self) -> bool:  # type: ignore[override]  # depends on the classifier
        """Whether it may be exported: what has no translation says so."""
        return True

    @property
    def saves_json(self) -> bool:  # type: ignore[override]  # depends on the classifier
        """Whether models can be saved: the classifier is tried on a few made-up rows."""
        from crank.plugins.sklearn_trial import is_translated

        return is_translated(self.estimator)

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]  # depends on the classifier
        """Whether the classifier says that it takes NaN."""
        return takes_nan(self.estimator)

    def prepare(self, data: TrainingMatrix) -> SplitLearner:
        """Return a copy that knows how many rows there are."""
        prepared = copy.copy(self)
        prepared.n_rows = len(data.X)
        return prepared

    def fit(
        self,
        X: FloatArray,
        label: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        rng: np.random.Generator,
    ) -> SplitRule | None:
        """Fit a clone of the classifier on the rows of a node."""
        estimator = seeded_clone(self.estimator, rng)
        try:
            with without_warnings():
                fit_weighted(estimator, read_only(X), label, weight, rng)
                decision_values(estimator, X[:1])  # some classifiers refuse only when asked
        except (ArithmeticError, LookupError, ValueError) as cause:
            if self.n_rows is None or 2 * len(X) > self.n_rows:
                raise DataError(
                    f"{type(estimator).__name__} cannot be fitted to {len(X)} rows × {X.shape[1]} "
                    f"columns: {cause} Allowed: data and settings that it takes."
                ) from cause
            return None
        return as_arrays(estimator, X) or EstimatorRule(estimator, X.shape[1])


def seeded_clone(estimator: Any, rng: np.random.Generator) -> Any:
    """Clone a classifier and seed whatever in it would draw from the global generator.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> seeded_clone(DecisionTreeClassifier(), np.random.default_rng(1)).random_state is None
    False
    """
    from sklearn.base import clone

    fresh = clone(estimator)
    unseeded = [
        name
        for name, value in sorted(fresh.get_params(deep=True).items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return fresh.set_params(**{name: int(rng.integers(2**31 - 1)) for name in unseeded})


def fit_weighted(
    estimator: Any,
    X: FloatArray,
    label: NDArray[np.float64],
    weight: NDArray[np.float64],
    rng: np.random.Generator,
) -> None:
    """Fit a classifier with weights, or on rows resampled by weight if it takes none."""
    keyword = weight_keyword(estimator)
    classes = label.astype(int) if names_minus_one(estimator) else (label > 0.0).astype(int)
    if keyword is not None:
        estimator.fit(X, classes, **{keyword: weight})
    else:
        drawn = np.repeat(np.arange(len(X)), systematic_counts(label, weight, len(X), rng))
        estimator.fit(X[drawn], classes[drawn])


def names_minus_one(estimator: Any) -> bool:
    """Tell whether settings speak of a class −1; most classifiers of others want 0 and 1.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> names_minus_one(SVC(class_weight={-1: 2.0})), names_minus_one(SVC())
    (True, False)
    """
    settings = estimator.get_params(deep=True)
    weights = (v for name, v in settings.items() if name.rpartition("__")[2] == "class_weight")
    return any(isinstance(value, dict) and -1 in value for value in weights)


def weight_keyword(estimator: Any) -> str | None:
    """Return the keyword by which weights reach a classifier, or None if it takes none.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> weight_keyword(make_pipeline(StandardScaler(), LogisticRegression()))
    'logisticregression__sample_weight'
    >>> weight_keyword(KNeighborsClassifier()) is None
    True
    """
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_keyword(last) if hasattr(last, "fit") else None
        return None if inner is None else f"{name}__{inner}"
    if isinstance(estimator, (GridSearchCV, RandomizedSearchCV)):
        return weight_keyword(estimator.estimator)
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def takes_nan(estimator: Any) -> bool:
    """Tell whether a classifier, or a pipeline up to its imputer, takes missing values.

    Examples
    --------
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> takes_nan(LogisticRegression())
    False
    >>> takes_nan(make_pipeline(SimpleImputer(), LogisticRegression()))
    True
    """
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    # a pipeline's own tags do not look past its first step
    steps = (
        [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    )
    for step in steps:
        if step is None or step == "passthrough":
            continue
        if isinstance(step, Pipeline):
            if not takes_nan(step):
                return False
            continue
        try:
            if not get_tags(step).input_tags.allow_nan:
                return False
        except (AttributeError, TypeError):
            return False
        if type(step).__module__.startswith("sklearn.impute"):
            return True
    return True
