"""Models whose parts do not fit together: refused by `load`, before they can crash, hang or fill memory."""

import copy
import io

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
    TargetEncoder,
)

from levelhead import BayesianBetaRegressor, CleanedRegressor, GCPBoostingRegressor, GCPRegressor, load, save
from levelhead.persistence import ModelFileError, _allowed, _records

pytestmark = pytest.mark.compiled
N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=N)
WORDS = pd.DataFrame({f"w{k}": RNG.choice(list("abcdef"), N) for k in range(4)})


def gcp(**settings):
    return GCPRegressor(
        **({"hidden_layer_sizes": (4,), "max_iter": 2, "random_state": 0, "n_jobs": 1} | settings)
    )


def refused(path, match):
    with pytest.raises(ModelFileError, match=match):
        load(path)


@pytest.fixture(scope="module")
def network():
    return gcp(n_members=2).fit(X, Y)


@pytest.fixture(scope="module")
def trees():
    pytest.importorskip("lightgbm")
    table = WORDS.assign(x=X[:, 0])
    return GCPBoostingRegressor(max_iter=5, random_state=0).fit(table, Y + (WORDS["w0"] == "c"))


# ------------------------------------------------------------------ encoders


@pytest.mark.parametrize(
    "changes",
    [
        {"_infrequent_indices": [[10**9]] * 4},
        {"_infrequent_indices": [{"array": 10**9}] * 4},
        {"_n_features_outs": [10**9, 2**62, 2**62, 2**63 - 10**9 + 24]},
        {"_n_features_outs": [6.0] * 4},
        {"_n_features_outs": [True] * 4},
        {"_default_to_infrequent_mappings": [None] * 4},
        {"_infrequent_enabled": False},
        {"dtype": {"dtype": "<U4000000"}},
    ],
)
def test_an_encoder_that_would_write_beyond_its_memory(forged, instances, changes):
    encoder = OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist", sparse_output=False)
    model = make_pipeline(encoder, gcp()).fit(WORDS, Y)
    forge = lambda description, _: instances(description, "OneHotEncoder")[0]["attributes"].update(changes)
    refused(forged(model, forge), "OneHotEncoder|damaged|does not occur")


def test_indices_of_rare_categories_in_an_array(forged, instances, npy):
    encoder = OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist", sparse_output=False)
    model = make_pipeline(encoder, gcp()).fit(WORDS, Y)

    def forge(description, members):
        rare = instances(description, "OneHotEncoder")[0]["attributes"]["_infrequent_indices"]
        members[f"arrays/{rare[0]['array']}.npy"] = npy(np.array([10**9]))

    refused(forged(model, forge), "OneHotEncoder contradict")


@pytest.mark.parametrize("encoder", [OrdinalEncoder(), TargetEncoder(cv=3)], ids=["ordinal", "target"])
def test_encoders_with_fewer_columns_than_the_table(encoder, forged, instances):
    model = make_pipeline(make_column_transformer((encoder, list(WORDS))), gcp()).fit(WORDS, Y)
    name = type(encoder).__name__

    def forge(description, _):
        instances(description, name)[-1]["attributes"]["categories_"].pop()

    refused(forged(model, forge), f"{name}.categories_")

    def spell(description, _):
        instances(description, name)[-1]["attributes"]["categories_"][0] = "abcdef"

    refused(forged(model, spell), f"{name} contradict")


def test_a_column_that_is_text_and_numbers(forged, instances):
    table = WORDS.assign(x=RNG.integers(0, 5, N))
    parts = make_column_transformer((StandardScaler(), ["x"]), (TargetEncoder(cv=3), ["x"]))
    model = make_pipeline(parts, gcp()).fit(table, Y)

    def forge(description, _):
        words = {"objects": [[5], list("abcde")]}
        instances(description, "TargetEncoder")[-1]["attributes"]["categories_"] = [words]

    refused(forged(model, forge), "column 4 is text to one part")


# ------------------------------------------------------------------ forests


def forest_lines(change):
    """A change of the lines of every tree."""

    def forge(description, _):
        for forest in description["attributes"]["mean_forests_"]:
            forest["fields"]["text"] = "\n".join(map(change, forest["fields"]["text"].split("\n")))

    return forge


@pytest.mark.parametrize(
    "name",
    [
        "cat_boundaries",
        "left_child",
        "right_child",
        "split_feature",
        "decision_type",
        "threshold",
        "leaf_value",
    ],
)
@pytest.mark.parametrize("digits", ["٠١٢٣٤٥٦٧٨٩", "０１２３４５６７８９"], ids=["arabic", "wide"])
def test_digits_that_only_python_reads(trees, forged, name, digits):
    other = str.maketrans("0123456789", digits)
    changed = lambda line: line.translate(other) if line.startswith(f"{name}=") else line
    refused(forged(trees, forest_lines(changed)), "a tree has the line")


def test_a_forest_of_more_features_than_there_are(trees, forged):
    def forge(description, _):
        description["attributes"]["n_features_in_"] = 2**24
        for kind in ("mean_forests_", "scale_forests_"):
            for forest in description["attributes"][kind]:
                forest["fields"]["n_features"] = 2**24

    refused(forged(trees, forge), "at most 1048576")


def test_a_forest_for_another_table(trees, forged):
    def forge(description, _):
        description["attributes"]["mean_forests_"][0]["fields"]["n_features"] = 9

    refused(forged(trees, forge), "contradict")


@pytest.mark.parametrize("categories", [{"9": ["a"]}, {"0": "a"}, {"0": [[]]}])
def test_categories_of_columns_that_there_are_not(trees, forged, categories):
    pairs = [[int(k), known] for k, known in categories.items()]
    forge = lambda description, _: description["attributes"].update(categories_={"dict": pairs})
    refused(forged(trees, forge), "contradict")


# ------------------------------------------------------------------ work and memory that the file does not pay for


def test_parts_nested_by_reference(forged, instances):
    model = make_pipeline(FeatureUnion([("a", MinMaxScaler()), ("b", MinMaxScaler())]), gcp()).fit(X, Y)

    def forge(description, _):
        step = description["attributes"]["steps"][0]["tuple"]
        for level in range(60):
            outer = copy.deepcopy(step[1]) | {"number": 1000 + level}
            once, again = {"tuple": ["a", step[1]]}, {"tuple": ["b", {"same": step[1]["number"]}]}
            outer["attributes"]["transformer_list"] = [once, again]
            step[1] = outer

    refused(forged(model, forge), "too many times")


def test_a_part_that_contains_itself(forged, instances):
    model = FeatureUnion([("a", MinMaxScaler()), ("b", MinMaxScaler())]).fit(X)

    def forge(description, _):
        description["attributes"]["transformer_list"][1]["tuple"][1] = {"same": description["number"]}

    refused(forged(model, forge), "contains itself")


@pytest.mark.parametrize(
    "changes",
    [
        {"degree": 10**6, "_max_degree": 10**6},
        {"degree": 50, "_max_degree": 50, "n_output_features_": 23426, "_n_out_full": 23426},
        {"n_output_features_": 3},
        {"_n_out_full": 10**9},
        {"_min_degree": -1},
    ],
)
def test_polynomials_of_more_columns_than_the_file_has_bytes(forged, changes):
    forge = lambda description, _: description["attributes"].update(changes)
    refused(forged(PolynomialFeatures(2).fit(X), forge), "PolynomialFeatures contradict")


def test_more_samples_of_the_weights_than_memory_holds(forged):
    model = BayesianBetaRegressor((4,), max_iter=2, random_state=0, n_jobs=1).fit(X, Y)
    refused(
        forged(model, lambda description, _: description["attributes"].update(n_posterior=10**9)),
        "contradict",
    )


@pytest.mark.parametrize("part", [Normalizer(), FunctionTransformer(np.tanh)], ids=["normalizer", "function"])
def test_a_huge_number_of_features(part, forged):
    forge = lambda description, _: description["attributes"].update(n_features_in_=10**9)
    refused(forged(part.fit(X), forge), "n_features_in_")


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(?u)(\w|\w\w)+x", r"\w*\w*\w*x", r"a{9}{9}{9}", 5])
def test_patterns_that_take_for_ever(forged, pattern):
    model = CountVectorizer().fit(["one two", "two three"])
    forge = lambda description, _: description["attributes"].update(token_pattern=pattern)
    refused(forged(model, forge), "CountVectorizer|token_pattern")


def test_keys_of_one_hash(network, forged):
    alike = {"set": [k * (2**61 - 1) for k in range(1000)]}
    refused(
        forged(network, lambda description, _: description["attributes"].update(verbose=alike)),
        "few different",
    )


def test_a_function_that_would_start_processes(forged):
    model = FunctionTransformer(np.tanh).fit(X)
    changes = {
        "func": {"function": "sklearn.feature_selection.mutual_info_regression"},
        "kw_args": {"dict": [["y", [0.0] * N], ["n_jobs", 45]]},
    }
    refused(
        forged(model, lambda description, _: description["attributes"].update(changes)), "FunctionTransformer"
    )


def test_a_time_zone_that_is_a_file(forged, instances):
    skrub = pytest.importorskip("skrub")
    frame = pd.DataFrame({"sold": pd.date_range("2020-01-01", periods=N, tz="UTC").astype(str)})
    model = skrub.TableVectorizer().fit(frame)

    def forge(description, _):
        for parser in instances(description, "ToDatetime"):
            parser["attributes"]["output_time_zone_"] = "dateutil//etc/passwd"

    refused(forged(model, forge), "time zone")


def test_names_of_columns_that_differ(forged, instances):
    skrub = pytest.importorskip("skrub")

    def forge(description, _):
        for check in instances(description, "CheckInputDataFrame"):
            check["attributes"]["feature_names_in_"][2] = 10**9

    refused(forged(skrub.TableVectorizer().fit(WORDS), forge), "names of the columns")


def test_an_entry_that_makes_all_text_long(network, forged):
    header = {"descr": "<U268435455", "fortran_order": False, "shape": (0,)}

    def forge(_, members):
        stream = io.BytesIO()
        np.lib.format.write_array_header_1_0(stream, header)
        members["arrays/0.npy"] = stream.getvalue()

    refused(forged(network, forge), "an entry may have")


# ------------------------------------------------------------------ the reader decides about threads and processes


def test_the_number_of_jobs_is_the_readers(forged, instances):
    union = FeatureUnion([("a", MinMaxScaler()), ("b", StandardScaler())], n_jobs=1)
    model = make_pipeline(union, gcp(n_jobs=1)).fit(X, Y)

    def forge(description, _):
        for name in ("FeatureUnion", "GCPRegressor"):
            instances(description, name)[0]["attributes"]["n_jobs"] = 45

    path = forged(model, forge)
    by_default, chosen = load(path), load(path, n_jobs=2)
    assert (by_default[0].n_jobs, by_default[1].n_jobs) == (None, -1)
    assert (chosen[0].n_jobs, chosen[1].n_jobs) == (2, 2)
    np.testing.assert_array_equal(chosen.predict(X), model.predict(X))
    for wrong in ("two", 0, 1.5):
        with pytest.raises(ValueError, match=r"^n_jobs is"):
            load(path, n_jobs=wrong)


# ------------------------------------------------------------------ refused, or works


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("networks_", []),
        ("networks_", None),
        ("input_scale_", None),
        ("target_scale_", {"tuple": [0.0, 1.0]}),
        ("calibration_", None),
        ("separation_", 0.1),
        ("disagreement_", 2.0),
        ("disagreement_", "0"),
        ("oof_prediction_", None),
        ("_row_keys", {"array": 0}),
        ("_stream", -1),
        ("n_features_in_", 4),
        ("n_features_in_", "3"),
        ("feature_names_in_", ["a"]),
        ("feature_names_in_", ["a", "b", "c"]),  # as many as there are features, but not an array
        ("variance", None),
        ("predict", 1),
        ("steps", []),
        ("_fitted_attribute", "separation_"),
    ],
)
def test_attributes_of_our_own_that_cannot_be(network, forged, name, value):
    refused(
        forged(network, lambda description, _: description["attributes"].update({name: value})),
        "GCPRegressor",
    )


@pytest.mark.parametrize("name", ["input_scale_", "target_scale_", "calibration_", "separation_", "_stream"])
def test_attributes_of_our_own_that_are_missing(network, forged, name):
    refused(forged(network, lambda description, _: description["attributes"].pop(name)), f"{name} is missing")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("with_mean", "yes"),
        ("mean_", None),
        ("mean_", [1, 2]),
        ("scale_", "x"),
        ("copy", 3),
        ("_parameter_constraints", {"dict": []}),
        ("transform", {"function": "numpy.tanh"}),
    ],
)
def test_attributes_of_others_that_cannot_be(forged, instances, name, value):
    model = make_pipeline(StandardScaler(), PCA(2), Ridge()).fit(X, Y)
    forge = lambda description, _: instances(description, "StandardScaler")[0]["attributes"].update(
        {name: value}
    )
    refused(forged(model, forge), "StandardScaler|does not work")


@pytest.mark.parametrize("steps", [[], [["a"]], [{"tuple": ["a", 5]}], [{"tuple": [1, None]}], "steps", None])
def test_pipelines_without_sound_steps(forged, steps):
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    refused(
        forged(model, lambda description, _: description["attributes"].update(steps=steps)),
        "Pipeline|damaged",
    )


def test_steps_that_do_not_fit_each_other(forged, instances):
    model = make_pipeline(PolynomialFeatures(2), gcp()).fit(X, Y)
    degrees = {"degree": 1, "_max_degree": 1, "n_output_features_": 4, "_n_out_full": 4}
    forge = lambda description, _: instances(description, "PolynomialFeatures")[0]["attributes"].update(
        degrees
    )
    refused(forged(model, forge), "takes 10 features and gets 4")


def test_sparse_rows_for_what_takes_dense_ones(forged, instances):
    def forge(description, _):
        instances(description, "OneHotEncoder")[0]["attributes"].update(sparse_output=True)

    encoder = OneHotEncoder(sparse_output=False)
    model = make_pipeline(encoder, PowerTransformer(), gcp()).fit(WORDS, Y)
    refused(forged(model, forge), "Sparse data was passed")
    ours = make_pipeline(encoder, gcp()).fit(WORDS, Y)  # takes both
    np.testing.assert_array_equal(load(forged(ours, forge)).predict(WORDS), ours.predict(WORDS))


def test_a_target_without_a_regressor(forged):
    model = TransformedTargetRegressor(Ridge(), func=np.arcsinh, inverse_func=np.sinh).fit(X, Y)
    refused(
        forged(model, lambda description, _: description["attributes"].update(regressor_=[])), "contradict"
    )


def test_every_field_of_every_record_is_checked():
    for name in _allowed.RECORDS:
        if name.startswith("levelhead."):
            cls = _allowed.resolve(name, _allowed.RECORDS)
            assert set(_records.FIELDS[cls]) == set(_allowed.parts(name, cls)), name


def test_what_load_would_refuse_cannot_be_saved(tmp_path):
    with pytest.raises(ModelFileError, match=r"StandardScaler cannot be saved: .*with_mean"):
        save(StandardScaler(with_mean="yes"), tmp_path / "m")
    model = gcp().fit(X, Y)
    model.networks_ = []
    with pytest.raises(ModelFileError, match=r"GCPRegressor cannot be saved: .*networks_"):
        save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_models_fitted_in_part_are_not_refused(tmp_path):
    model = make_pipeline(StandardScaler().fit(X), CleanedRegressor(Ridge()))
    with pytest.raises(NotFittedError):
        load(save(model, tmp_path / "m")).predict(X)


def test_models_that_raise_errors_about_rows_are_not_refused(tmp_path):
    positive = np.exp(X - 3)
    model = make_pipeline(FunctionTransformer(np.log), StandardScaler(), Ridge()).fit(positive, Y)
    typical = model[1].mean_[None]  # what the trial takes for a typical row has no logarithm
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="NaN"):
        model.predict(typical)
    np.testing.assert_array_equal(
        load(save(model, tmp_path / "m")).predict(positive), model.predict(positive)
    )


# ------------------------------------------------------------------ files of version 0.1


def test_networks_of_version_0_1(request):
    model = load(request.path.parent / "data" / "network-0.1.levelhead")
    prediction = model.predict_dist([[0, 0, 0], [1, 0, 0]])
    np.testing.assert_allclose(prediction.mean, [-0.18598053, 0.02748578], rtol=1e-4)
    np.testing.assert_allclose(prediction.std, [0.82337566, 0.8254712], rtol=1e-4)


def test_trees_of_version_0_1(request):
    pytest.importorskip("lightgbm")
    model = load(request.path.parent / "data" / "trees-0.1.levelhead")
    prediction = model.predict_dist(
        pd.DataFrame({"a": [0.0, 1.0], "b": [0.0, 0.0], "heating": ["gas", "oil"]})
    )
    np.testing.assert_allclose(prediction.mean, [-0.16541182, 0.09645082], rtol=1e-6)
    np.testing.assert_allclose(prediction.std, [0.68478115, 0.6917079], rtol=1e-6)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("column", np.full(48, 3)),
        ("column", np.full(48, -1)),
        ("column", np.zeros(47, dtype=np.int64)),
        ("column", np.zeros(48)),
        ("width", np.zeros(48)),
        ("start", np.full(48, np.nan)),
        ("spread", np.ones(2)),
    ],
)
def test_pieces_of_columns_that_there_are_not(forged, npy, field, value):
    model = gcp(input_scaling="piecewise").fit(X, Y)
    assert len(model.input_scale_.column) == 48

    def forge(description, members):
        stored = description["attributes"]["input_scale_"]["fields"][field]["array"]
        members[next(name for name in members if name.endswith(f"{stored}.npy"))] = npy(value)

    refused(forged(model, forge), "Embedding")
