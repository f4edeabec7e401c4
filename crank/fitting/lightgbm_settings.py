"""LightGBM's settings for a booster: those of crank, the user's, and those that none may have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from crank.errors import OptionError, did_you_mean, listed, require
from crank.rankers.booster import BoosterOptions

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "small": {
        "learning_rate": 0.04,
        "num_leaves": 10,
        "min_data_in_leaf": 8,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "feature_fraction": 0.6,
        "lambda_l2": 1.0,
    },
    "large": {"learning_rate": 0.05, "num_leaves": 31, "min_data_in_leaf": 20},
}
OWN = {
    "objective": "loss=",
    "metric": "metric=",
    "num_iterations": "rounds= or max_rounds=",
    "early_stopping_round": "patience=",
    "num_threads": "n_jobs=",
    "seed": "random_state=",
    "monotone_constraints": "monotone=",
    "interaction_constraints": "interaction=",
    "categorical_feature": "C(...) in the formula",
    "verbosity": "progress=",
    "boosting": "",
    "linear_tree": "",
    "num_class": "",
    "deterministic": "",
    "force_row_wise": "",
    "force_col_wise": "",
    "device_type": "",
    "tree_learner": "",
    "machines": "",
    "init_score": "",
    "boost_from_average": "",
    "feature_pre_filter": "",
    "stochastic_rounding": "",
}
"""Settings of LightGBM that crank makes itself, and where they are asked for."""
FOREIGN: Mapping[str, Sequence[str]] = {
    "would transform the labels, which crank makes": ("reg_sqrt",),
    "wants groups of rows, which a booster does not have": ("bagging_by_query", "group_column"),
    "sends zeros where missing values go, which crank's scores do not": ("zero_as_missing",),
    "belongs to losses or figures that crank does not use": (
        "alpha",
        "auc_mu_weights",
        "early_stopping_min_delta",
        "eval_at",
        "fair_c",
        "first_metric_only",
        "is_provide_training_metric",
        "is_unbalance",
        "label_gain",
        "lambdarank_norm",
        "lambdarank_position_bias_regularization",
        "lambdarank_truncation_level",
        "metric_freq",
        "multi_error_top_k",
        "neg_bagging_fraction",
        "objective_seed",
        "poisson_max_delta_step",
        "pos_bagging_fraction",
        "scale_pos_weight",
        "sigmoid",
        "tweedie_variance_power",
    ),
    "belongs to kinds of boosting that crank does not use": (
        "drop_rate",
        "drop_seed",
        "linear_lambda",
        "max_drop",
        "refit_decay_rate",
        "skip_drop",
        "uniform_drop",
        "xgboost_dart_mode",
    ),
    "belongs to LightGBM's files, commands, predictions, clusters or devices": (
        "config",
        "convert_model",
        "convert_model_language",
        "data",
        "gpu_device_id",
        "gpu_device_id_list",
        "gpu_platform_id",
        "gpu_use_dp",
        "header",
        "ignore_column",
        "input_model",
        "label_column",
        "local_listen_port",
        "machine_list_filename",
        "num_gpu",
        "num_iteration_predict",
        "num_machines",
        "output_model",
        "output_result",
        "parser_config_file",
        "pre_partition",
        "precise_float_parser",
        "pred_early_stop",
        "pred_early_stop_freq",
        "pred_early_stop_margin",
        "predict_contrib",
        "predict_disable_shape_check",
        "predict_leaf_index",
        "predict_raw_score",
        "save_binary",
        "saved_feature_importance_type",
        "snapshot_freq",
        "start_iteration_predict",
        "task",
        "time_out",
        "top_k",
        "two_round",
        "valid",
        "weight_column",
    ),
}
"""Settings of LightGBM that would change nothing, or what must not be changed; and why."""
TURNING = ("monotone_constraints_method", "path_smooth", "quant_train_renew_leaf")
"""Settings by which LightGBM's trees may turn in columns in which they must not (counted)."""
HARMLESS = ("basic", "intermediate", "0", "0.0", "false")
"""Their values by which they do not."""
SIDE_BY_SIDE = 20_000
"""Rows below which folds run side by side, each in one thread; above, each fold in all threads."""


def settings(
    options: BoosterOptions,
    n: int,
    monotone: Sequence[int] = (),
    interaction: Sequence[Sequence[int]] = (),
) -> dict[str, Any]:
    """Return LightGBM's parameters for a training sample of n rows."""
    scaled = max(2, n // 25)  # its own limits would keep a small sample from being cut at all
    preset = dict(PRESETS[options.trees])
    preset["min_data_in_leaf"] = min(preset["min_data_in_leaf"], scaled)
    given = checked(options.params)
    if given.get("data_sample_strategy") == "goss":  # draws rows in a way of its own
        preset |= {"bagging_fraction": 1.0, "bagging_freq": 0}
    chosen = {
        **preset,
        "min_data_in_bin": min(3, max(1, n // 100)),
        "min_data_per_group": min(100, max(5, n // 50)),
        "cat_smooth": 10.0,
        **given,
        "objective": "regression",
        "metric": "None",
        "boost_from_average": False,
        "seed": options.random_state % 2**31,
        "deterministic": True,
        "force_col_wise": True,  # one thread sums one column: no sum depends on their number
        "feature_pre_filter": False,
        "stochastic_rounding": False,  # draws by thread
        "num_threads": 1 if n < SIDE_BY_SIDE else options.threads,
        "verbosity": -1,
    }
    if any(monotone):
        for name in TURNING:
            if str(given.get(name, 0)).lower() not in HARMLESS:
                raise OptionError(
                    f"params gives {name!r} the value {given[name]!r}, by which LightGBM's trees "
                    "do not keep to monotone=. Leave one of them out."
                )
        chosen["monotone_constraints"] = list(monotone)
    else:  # LightGBM's "advanced" ends the process where categories are split without any
        chosen.pop("monotone_constraints_method", None)
    if len(interaction):
        chosen["interaction_constraints"] = [list(one) for one in interaction]
    return chosen


def checked(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by LightGBM's own names; refuse unknown ones and those that none may have.

    Examples
    --------
    >>> checked({"max_leaves": 7})
    {'num_leaves': 7}
    """
    name_of, known = {}, []
    for name, aliases in _names().items():
        known.append(name)
        name_of.update(dict.fromkeys((name, *aliases), name))
    found = {}
    for given, value in params.items():
        name = name_of.get(given, "")
        if not name:
            raise OptionError(
                f"params names {given!r}, which is no setting of LightGBM."
                f"{did_you_mean(given, name_of) or f' Allowed, for instance: {listed(known)}.'}"
            )
        if name in OWN:
            instead = f" Use {OWN[name]}." if OWN[name] else " Leave it out."
            raise OptionError(f"params names {given!r}, which crank sets itself.{instead}")
        for reason, names in FOREIGN.items():
            if name in names:
                raise OptionError(f"params names {given!r}, which {reason}. Leave it out.")
        if value is None:
            raise OptionError(f"params gives {given!r} no value. Leave it out.")
        if name in found:
            raise OptionError(f"params names {name!r} twice, also as {given!r}. Leave one out.")
        found[name] = value
    return found


@contextmanager
def as_options(params: Mapping[str, Any]) -> Iterator[None]:
    """Say that settings of the user's are at fault where LightGBM refuses them."""
    from lightgbm.basic import LightGBMError

    try:
        yield
    except LightGBMError as error:
        if not params:
            raise
        text = str(error).split(" at /")[0].strip().rstrip(".")
        raise OptionError(f"LightGBM refuses params={dict(params)!r}: {text}.") from error


def _names() -> Mapping[str, Sequence[str]]:
    """Ask LightGBM which settings it has, each with its other names."""
    require("lightgbm", "lightgbm")
    from lightgbm.basic import _ConfigAliases

    names: Mapping[str, Sequence[str]] = _ConfigAliases._get_all_param_aliases()
    return names
