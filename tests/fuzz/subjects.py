"""The models whose files are mutated: small, and together of every kind of part that a file may hold."""

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import HuberRegressor, Ridge
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)

from levelhead import (
    AutoRegressor,
    BayesianBetaRegressor,
    CleanedRegressor,
    GCPBoostingRegressor,
    GCPRegressor,
    MultiTargetRegressor,
    tabular_pipeline,
)
from levelhead.estimators.repeats import Repeats
from levelhead.prediction.lattice import Lattice
from levelhead.tables import TableFormats

N = 60
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(N, 3))
LABELS = NUMBERS[:, 0] + 0.1 * RNG.normal(size=N)
TARGETS = np.column_stack([LABELS, NUMBERS[:, 1]])
FRAME = pd.DataFrame(
    {
        "area": np.where(np.arange(N) % 7 == 0, np.nan, NUMBERS[:, 0]),
        "rooms": RNG.integers(1, 6, N),
        "heating": RNG.choice(["gas", "oil", "wood", "coal"], N, p=[0.4, 0.3, 0.2, 0.1]),
        "city": [f"city number {k}" for k in range(N)],
        "built": pd.date_range("1950-01-01", periods=N, freq="90D"),
        "sold": pd.date_range("2020-01-01", periods=N, tz="UTC").astype(str),
    }
)
RAW = pd.DataFrame(
    {
        "price": [f"€ {1000 * abs(a):.2f}".replace(".", ",") for a in NUMBERS[:, 1]],
        "share": [f"{k % 9}%" if k % 5 else "n/a" for k in range(N)],
        "code": [-999 if k % 11 == 0 else k % 13 for k in range(N)],
        "sold": [f"{k % 28 + 1}.{k % 12 + 1}.2023" for k in range(N)],
        "street": [f"street {k % 17}" for k in range(N)],
        "near": [f"about {round(2 * y)}" for y in LABELS],
        "note": [f"free text number {k}" for k in range(N)],
    }
)
TEXTS = [f"{'good' if y > 0 else 'bad'} flat number {k % 7} near the park" for k, y in enumerate(LABELS)]


def network():
    return GCPRegressor((4,), max_iter=2, n_members=2, random_state=0, n_jobs=1)


def trees():
    return GCPBoostingRegressor(max_iter=4, random_state=0, n_jobs=1)


def auto(X, scale=None):
    """Both kinds, put together by hand: those of `fit` take long and leave nothing else in the file."""
    model = AutoRegressor(n_members=1, target_transform=scale)
    model.reason_ = "both"
    model.estimators_ = [
        each.set_params(target_transform=scale).fit(X, LABELS) for each in (trees(), network())
    ]
    first = model.estimators_[0]
    model.target_transform_, model.target_transform_reason_ = first.target_transform_, "given"
    model._combine(X, LABELS, None)
    model.n_features_in_ = first.n_features_in_
    if hasattr(first, "feature_names_in_"):
        model.feature_names_in_ = first.feature_names_in_
    return model


def repeated():
    """Both kinds, with labels of known inputs that are multiples of a half."""
    model = auto(NUMBERS)
    key = np.unique(model._keys(NUMBERS))
    model.repeats_ = Repeats(key, np.linspace(-1, 1, len(key)), np.full(len(key), 0.1), 0.6)
    model.lattice_ = Lattice(-3.0, 0.5, 13)
    return model


def judged():
    """Trees of a large table, with the trees that judge its labels."""
    model = trees().fit(NUMBERS, LABELS)
    model.judge_ = trees().fit(NUMBERS, LABELS)
    return model


def raw():
    """What the command line saves: formats of raw columns, then both kinds on another scale of the labels."""
    formats = TableFormats(separator=";").fit(RAW)
    return Pipeline([("formats", formats), ("regressor", auto(formats.transform(RAW), "yeo-johnson"))])


def encoders():
    return make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["area", "rooms"]),
        (OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist"), ["heating"]),
        (make_pipeline(OrdinalEncoder(), OneHotEncoder(drop="first")), ["heating"]),
        (TargetEncoder(cv=3), ["heating", "rooms"]),
        (FunctionTransformer(np.arctan), ["rooms"]),
        remainder="drop",
    )


def derived():
    bins = KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform")
    both = FeatureUnion([("scaled", MinMaxScaler()), ("bins", bins)])
    return make_pipeline(
        KNNImputer(n_neighbors=2),
        QuantileTransformer(n_quantiles=10),
        PowerTransformer(),
        both,
        PolynomialFeatures(2, interaction_only=True),
        SelectKBest(f_regression, k=9),
        PCA(4),
        Nystroem(n_components=8, random_state=0),
    )


def fitted():
    """For each name a model, rows that it answers, and their labels."""
    words = make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0), Ridge())
    target = TransformedTargetRegressor(make_pipeline(StandardScaler(), HuberRegressor()), func=np.arcsinh,
        inverse_func=np.sinh)  # fmt: skip
    bayes = BayesianBetaRegressor((3,), max_iter=2, n_posterior=5, out_of_fold=True, random_state=0, n_jobs=1)
    models = {
        "network": (network(), NUMBERS),
        "bayes": (bayes, NUMBERS),
        "trees": (trees(), FRAME[["area", "rooms", "heating"]]),
        "frame": (network().set_params(target_transform=MinMaxScaler()), FRAME),
        "cleaned": (CleanedRegressor(Ridge(), auditor=network(), random_state=0), NUMBERS),
        "encoders": (make_pipeline(encoders(), network()), FRAME),
        "derived": (make_pipeline(derived(), network()), NUMBERS),
        "words": (words, TEXTS),
        "target": (target, NUMBERS),
        "table": (tabular_pipeline(trees()), FRAME),
    }
    ready = {name: (model.fit(X, LABELS), X) for name, (model, X) in models.items()}
    composed = {
        "auto": (auto(NUMBERS), NUMBERS),
        "raw": (raw(), RAW),
        "repeated": (repeated(), NUMBERS),
        "judged": (judged(), NUMBERS),
    }
    one_target = {name: (model, X, LABELS) for name, (model, X) in (ready | composed).items()}
    columns = FRAME[["rooms", "heating", "built"]]
    several = MultiTargetRegressor(network()).fit(columns, TARGETS)
    return one_target | {"several": (several, columns, TARGETS)}
