"""Methods of bench/eleven.py: what people use on tables, our models, and a simple filter of labels.

A method is a function that fits rows and labels and returns a function that predicts. The libraries come with the extra
`bench`. The filter is what a careful person would do: labels are dropped whose residual from LightGBM L1, out of five
folds, exceeds four robust standard deviations.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import KFold, cross_val_predict, train_test_split

from levelhead import AutoRegressor, GaussianRegressor, GCPBoostingRegressor, GCPRegressor

CUT = 4.0  # robust standard deviations of a residual that the filter still accepts
CLEANED = " cleaned"
Fit = Callable[[np.ndarray, np.ndarray, int], Any]


class Answer(NamedTuple):
    """What a fitted peer says of new rows; no variance if it knows none."""

    mean: np.ndarray
    var: np.ndarray | None = None


def plain(make: Callable[[int], Any]) -> Fit:
    """A peer that predicts means only."""

    def fit(X, y, seed):
        model = make(seed).fit(X, y)
        return lambda X: Answer(np.asarray(model.predict(X), dtype=np.float64))

    return fit


def catboost(loss: str) -> Callable[[int], Any]:
    def make(seed):
        from catboost import CatBoostRegressor

        return CatBoostRegressor(
            loss_function=loss, verbose=0, random_state=seed, allow_writing_files=False, thread_count=1
        )

    return make


def catboost_with_variance(X, y, seed):
    model = catboost("RMSEWithUncertainty")(seed).fit(X, y)

    def answer(X):
        mean, var = model.predict(X).T
        return Answer(mean, np.maximum(var, 1e-300))

    return answer


def lightgbm(**settings: Any) -> Callable[[int], Any]:
    def make(seed):
        from lightgbm import LGBMRegressor

        return LGBMRegressor(verbose=-1, random_state=seed, n_jobs=1, **settings)

    return make


def lightgbm_quantiles(X, y, seed):
    """Median, and half the distance of the quantiles one standard deviation out as the standard deviation."""
    low, middle, high = (
        lightgbm(objective="quantile", alpha=q)(seed).fit(X, y) for q in (0.1587, 0.5, 0.8413)
    )
    return lambda X: Answer(middle.predict(X), _squared(0.5 * (high.predict(X) - low.predict(X))))


def quantile_forest(X, y, seed):
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(random_state=seed, n_jobs=1).fit(X, y)

    def answer(X):
        low, middle, high = model.predict(X, quantiles=[0.1587, 0.5, 0.8413]).T
        return Answer(middle, _squared(0.5 * (high - low)))

    answer.quantiles = lambda X, levels: np.asarray(model.predict(X, quantiles=list(levels))).T
    return answer


def catboost_conformal(X, y, seed):
    """CatBoost with its own variance; 90 % intervals by normalized split conformal prediction on 20 % of the rows."""
    X, X_held, y, y_held = train_test_split(X, y, test_size=0.2, random_state=seed)
    answer = catboost_with_variance(X, y, seed)
    said = answer(X_held)
    score = np.sort(np.abs(y_held - said.mean) / np.sqrt(said.var))
    rank = int(np.ceil(0.9 * (len(score) + 1)))
    half = score[min(rank, len(score)) - 1]

    def interval(X):
        said = answer(X)
        return said.mean - half * np.sqrt(said.var), said.mean + half * np.sqrt(said.var)

    answer.interval = interval
    return answer


def mapie(X, y, seed):
    """LightGBM with 90 % intervals by MAPIE's CV+."""
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(lightgbm()(seed), confidence_level=0.9, cv=5, random_state=seed)
    model.fit_conformalize(X, y)
    answer = lambda X: Answer(np.asarray(model.predict(X)))
    answer.interval = lambda X: model.predict_interval(X)[1][:, :, 0].T
    return answer


def ngboost(distribution: str) -> Fit:
    def fit(X, y, seed):
        from ngboost import NGBRegressor, distns

        model = NGBRegressor(
            Dist=getattr(distns, distribution),
            verbose=False,
            random_state=np.random.RandomState(seed % 2**31),
        ).fit(X, y)

        def answer(X):
            said = model.pred_dist(X)
            return Answer(np.asarray(said.loc), _squared(np.asarray(said.scale)))

        return answer

    return fit


def tabular_network(name: str) -> Callable[[int], Any]:
    """A network of pytabkit with its tuned defaults."""

    def make(seed):
        from pytabkit.models.sklearn import sklearn_interfaces

        kind = getattr(sklearn_interfaces, f"{name}_Regressor")
        return kind(device="cpu", random_state=seed % 2**31, n_threads=1)

    return make


def cleanlab(X, y, seed):
    from cleanlab.regression.learn import CleanLearning

    model = CleanLearning(lightgbm()(seed), seed=seed % 2**31).fit(X, y)
    return lambda X: Answer(np.asarray(model.predict(X)))


def ours(make: Callable[[int], Any]) -> Fit:
    def fit(X, y, seed):
        model = make(seed).fit(X, y)

        def answer(X):
            said = model.predict_dist(X)
            return Answer(said.mean, said.var)

        answer.model = model
        answer.interval = lambda X: model.predict_interval(X, 0.9)
        return answer

    return fit


OURS: dict[str, Fit] = {
    "GCPBoost": ours(lambda seed: GCPBoostingRegressor(random_state=seed, n_jobs=1)),
    "EnsGCPBoost": ours(lambda seed: GCPBoostingRegressor(n_members=5, random_state=seed, n_jobs=1)),
    "EnsGCP": ours(lambda seed: GCPRegressor(n_members=5, random_state=seed, n_jobs=1)),
    "auto": ours(lambda seed: AutoRegressor(random_state=seed, n_jobs=1)),
}
PEERS: dict[str, Fit] = {
    "CatBoost": plain(catboost("RMSE")),
    "CatBoost MAE": plain(catboost("MAE")),
    "CatBoost RMSEWithUncertainty": catboost_with_variance,
    "LightGBM L1": plain(lightgbm(objective="l1")),
    "LightGBM Huber": plain(lightgbm(objective="huber")),
    "LightGBM quantiles": lightgbm_quantiles,
    "HistGradientBoosting L1": plain(
        lambda seed: HistGradientBoostingRegressor(loss="absolute_error", random_state=seed)
    ),
    "random forest": plain(lambda seed: RandomForestRegressor(random_state=seed, n_jobs=1)),
    "quantile forest": quantile_forest,
    "NGBoost Normal": ngboost("Normal"),
    "NGBoost Student": ngboost("TFixedDf"),
    "RealMLP-TD": plain(tabular_network("RealMLP_TD")),
    "TabM-D": plain(tabular_network("TabM_D")),
    "CatBoost conformal": catboost_conformal,
    "MAPIE CV+ LightGBM": mapie,
    "cleanlab + LightGBM": cleanlab,
    "deep ensemble": ours(lambda seed: GaussianRegressor(n_members=5, random_state=seed, n_jobs=1)),
}


def without_suspects(X, y, seed) -> np.ndarray:
    """Rows whose label is near what LightGBM L1 expects that has not seen it."""
    folds = KFold(5, shuffle=True, random_state=seed)
    residual = y - cross_val_predict(lightgbm(objective="l1")(seed), X, y, cv=folds)
    residual = np.abs(residual - np.median(residual))
    return residual <= CUT * np.median(residual) / 0.6745


def behind(mine: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """How much larger a measure is on the same splits, relative to the other's mean, and the standard error of that."""
    gaps = (mine - other) / other.mean()
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else np.nan


def _squared(std: np.ndarray) -> np.ndarray:
    return np.maximum(std, 1e-9) ** 2
