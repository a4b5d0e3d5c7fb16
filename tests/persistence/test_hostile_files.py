"""Files from strangers: each must be refused with an error that says why, and none may run code."""

import copy
import io
import json
import pickle
import struct
import sys
import zipfile

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from levelhead import GCPRegressor, load, save
from levelhead.persistence import ModelFileError

pytestmark = pytest.mark.compiled
X = np.linspace(-1, 1, 40)[:, None]
RAN = []


class Bomb:
    """Unpickled, it would leave a trace."""

    def __reduce__(self):
        return RAN.append, ("executed",)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Document and arrays of a sound file."""
    model = make_pipeline(StandardScaler(), GCPRegressor((4,), max_iter=2, random_state=0)).fit(X, X[:, 0])
    return contents(save(model, tmp_path_factory.mktemp("good") / "m"))


def contents(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("levelhead.json")), members


def written(path, document, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("levelhead.json", json.dumps(document))
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def step(document, k):
    """Attributes of a step of the pipeline in a document."""
    return document["model"]["attributes"]["steps"][k]["tuple"][1]["attributes"]


def refused(path, match):
    with pytest.raises(ModelFileError, match=match) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert RAN == []


def test_the_sound_file_is_read(good, tmp_path):
    assert load(written(tmp_path / "m", *good)).predict(X).shape == (40,)


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_is_not_opened(tmp_path, protocol):
    path = tmp_path / "m"
    path.write_bytes(pickle.dumps(Bomb(), protocol))
    refused(path, "pickle" if protocol else "not a model file")


def test_a_pickle_among_the_arrays_is_not_opened(good, tmp_path):
    document, members = good
    bomb = npy(np.array([Bomb()], dtype=object), allow_pickle=True)
    refused(written(tmp_path / "m", document, members | {"arrays/0.npy": bomb}), "holds object")
    refused(written(tmp_path / "m", document, members | {"arrays/0.npy": pickle.dumps(Bomb())}), "damaged")


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "builtins.eval",
        "builtins.exec",
        "subprocess.Popen",
        "sklearn.ensemble.RandomForestRegressor",
        "sklearn.tree._tree.Tree",
        "levelhead.estimators._base.NetworkRegressor",
        "numpy.load",
        "levelhead.load",
        ["os", "system"],
        None,
    ],
)
@pytest.mark.parametrize("kind", ["instance", "record", "function"])
def test_only_what_is_listed_can_be_named(good, tmp_path, name, kind):
    document = copy.deepcopy(good[0])
    values = {
        "instance": {"instance": name, "number": 99, "attributes": {}},
        "record": {"record": name, "fields": {}},
        "function": {"function": name},
    }
    step(document, 0)["with_mean"] = values[kind]
    refused(written(tmp_path / "m", document, good[1]), "not on the list")


def test_a_module_that_is_not_listed_is_not_even_imported(good, tmp_path):
    (tmp_path / "levelhead_stranger.py").write_text("raise SystemExit('imported')")
    sys.path.insert(0, str(tmp_path))
    try:
        document = copy.deepcopy(good[0])
        step(document, 0)["with_mean"] = {"function": "levelhead_stranger.run"}
        refused(written(tmp_path / "m", document, good[1]), "not on the list")
    finally:
        sys.path.remove(str(tmp_path))
    assert "levelhead_stranger" not in sys.modules


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ({"reduce": ["os.system", "true"]}, "unknown kind"),
        ({"tuple": [], "list": []}, "unknown kind"),
        ({}, "unknown kind"),
        ({"float": "1e5"}, "damaged"),
        ({"array": 10**6}, "damaged"),
        ({"array": -1}, "instead of the number"),
        ({"array": True}, "instead of the number"),
        ({"same": 12345}, "damaged"),
        ({"dtype": "O8,f4"}, "does not occur"),
        ({"numpy type": "object"}, "does not occur"),
        ({"builtin": "eval"}, "damaged"),
        ({"scalar": ["<f8", "00"]}, "damaged"),
        ({"scalar": ["|O", "0000000000000000"]}, "does not occur"),
        ({"objects": [[10**12, 0], []]}, "declares the shape"),
        ({"objects": [[3], [1, 2]]}, "declares|damaged"),
        ({"dict": [[[], 1]]}, "damaged"),
        ({"instance": "levelhead.GCPRegressor", "number": 50, "attributes": {}}, "lacks the parameters"),
        ({"instance": "sklearn.pipeline.Pipeline", "number": 50}, "damaged"),
        (
            {"record": "polars.Datetime", "fields": {"time_unit": "us", "time_zone": "../../etc/passwd"}},
            "time zone",
        ),
        (
            {"record": "pandas.DatetimeTZDtype", "fields": {"unit": "ns", "tz": "dateutil//etc/passwd"}},
            "time zone",
        ),
        ({"record": "levelhead.theory.calibration.Calibration", "fields": {"factor": 1.0}}, "needed"),
    ],
)
def test_values_of_unknown_kinds_are_refused(good, tmp_path, value, match):
    document = copy.deepcopy(good[0])
    step(document, 0)["with_mean"] = value
    refused(written(tmp_path / "m", document, good[1]), match)


@pytest.mark.parametrize("name", ["__class__", "__dict__", "__setstate__", "a.b", "1", ""])
def test_attributes_that_no_model_has(good, tmp_path, name):
    document = copy.deepcopy(good[0])
    step(document, 0)[name] = 1
    refused(written(tmp_path / "m", document, good[1]), "which no model has")


def test_settings_that_reach_out_of_the_file(good, tmp_path):
    document = copy.deepcopy(good[0])
    document["model"]["attributes"]["memory"] = "/tmp/strangers_cache"
    refused(written(tmp_path / "m", document, good[1]), "memory")


def test_the_loaded_object_must_be_an_estimator(good, tmp_path):
    refused(written(tmp_path / "m", good[0] | {"model": [1, 2]}, good[1]), "contains no estimator")


# ------------------------------------------------------------------ sizes that compiled code would trust


def network(document):
    return step(document, 1)["networks_"][0]["fields"]


def test_a_network_with_other_sizes_than_its_weights(good, tmp_path):
    document = copy.deepcopy(good[0])
    network(document)["architecture"]["fields"]["hidden"] = {"tuple": [5_000_000]}
    refused(written(tmp_path / "m", document, good[1]), "weights: need float32")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_features", 1.0),
        ("hidden", [4]),
        ("hidden", {"tuple": [4.0]}),
        ("shared_trunk", 1),
        ("activation", "exec"),
    ],
)
def test_an_architecture_with_fields_of_other_types(good, tmp_path, field, value):
    document = copy.deepcopy(good[0])
    network(document)["architecture"]["fields"][field] = value
    refused(written(tmp_path / "m", document, good[1]), f"Architecture.{field}")


def impostor():
    attributes = StandardScaler().__getstate__()
    return {"instance": "sklearn.preprocessing.StandardScaler", "number": 77, "attributes": attributes}


def test_something_else_in_place_of_an_architecture(good, tmp_path):
    document = copy.deepcopy(good[0])
    network(document)["architecture"] = impostor()
    refused(written(tmp_path / "m", document, good[1]), "Network.architecture")


def test_an_array_that_is_copied_without_end(good, tmp_path):
    document, members = copy.deepcopy(good[0]), dict(good[1])
    members["arrays/0.npy"] = npy(np.ones(10**5))
    copied = {"mean": {"array": 0}, "var": {"array": 0}, "alpha": None, "sigma": None}
    step(document, 0)["copies"] = [{"record": "levelhead.prediction.Prediction", "fields": copied}] * 10**5
    refused(written(tmp_path / "m", document, members), "too many times")


def test_something_else_in_place_of_a_network(good, tmp_path):
    document = copy.deepcopy(good[0])
    step(document, 1)["networks_"] = [impostor()]
    refused(written(tmp_path / "m", document, good[1]), "networks_ is")


def one_hot_file(tmp_path, changes, **settings):
    words = np.array([["a"], ["b"], ["c"], ["a"]], dtype=object)
    model = make_pipeline(
        OneHotEncoder(sparse_output=False, **settings), GCPRegressor((4,), max_iter=2, random_state=0)
    )
    document, members = contents(save(model.fit(words, [1.0, 2.0, 3.0, 1.0]), tmp_path / "sound"))
    load(written(tmp_path / "same", document, members))
    step(document, 0).update(changes)
    return written(tmp_path / "m", document, members)


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        ({}, {"_n_features_outs": [1]}),
        ({}, {"_n_features_outs": [-3]}),
        ({}, {"_n_features_outs": []}),
        ({}, {"_n_features_outs": "3"}),
        ({}, {"categories_": {"tuple": []}}),
        ({}, {"categories_": [{"objects": [[4], ["a", "b", "c", "d"]]}]}),
        ({}, {"_drop_idx_after_grouping": {"objects": [[1], [-7]]}}),
        ({"drop": "first"}, {"_drop_idx_after_grouping": {"objects": [[1], [9]]}}),
        ({"max_categories": 2}, {"_default_to_infrequent_mappings": [{"objects": [[3], [0, 10**9, 1]]}]}),
    ],
)
def test_an_encoder_whose_indices_lie_outside_its_columns(tmp_path, settings, changes):
    refused(one_hot_file(tmp_path, changes, **settings), "OneHotEncoder contradict|one entry for each")


def test_numbers_as_categories_must_ascend(tmp_path):
    table = np.array([[1.0], [2.0], [3.0]])
    model = make_pipeline(make_column_transformer((OneHotEncoder(), [0])), GCPRegressor((4,), max_iter=2))
    document, members = contents(save(model.fit(table, [1.0, 2.0, 3.0]), tmp_path / "sound"))
    shuffled = {name: npy(np.array([3.0, 1.0, 2.0])) for name in members if b"(3,)" in members[name][:100]}
    refused(written(tmp_path / "m", document, members | shuffled), "OneHotEncoder contradict")


@pytest.mark.parametrize("number", [-1, 10**9, 0, "1", None])
def test_a_vocabulary_that_points_outside_its_columns(tmp_path, number):
    flat = FunctionTransformer(np.absolute, accept_sparse=True)
    model = make_pipeline(CountVectorizer(), flat)
    model.fit(["one two", "two three"])
    document, members = contents(save(model, tmp_path / "sound"))
    load(written(tmp_path / "same", document, members))
    step(document, 0)["vocabulary_"]["dict"][0][1] = number
    if number == 0:
        step(document, 0)["vocabulary_"]["dict"][1][1] = 0
    refused(written(tmp_path / "m", document, members), "CountVectorizer contradict")


# ------------------------------------------------------------------ the archive


def header(shape, dtype="<f4"):
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (header((10**12,)), "declares 4000000000000 bytes"),
        (header((2**62, 2**62)), "declares"),
        (header((-1,)) + b"1234", "shape"),
        (header((1,)) + b"12345678", "declares 4 bytes and has 8"),
        (header((1,), "|O") + b"12345678", "holds object"),
        (header((1,), [("f0", "<f4"), ("f1", "|O")]) + b"123456789012", "holds"),
        (b"\x93NUMPY\x03\x00" + header((1,))[8:] + b"1234", "version 3"),
        (b"nothing of the kind", "damaged"),
        (b"", "damaged"),
    ],
)
def test_arrays_that_are_not_what_they_declare(good, tmp_path, content, match):
    refused(written(tmp_path / "m", good[0], good[1] | {"arrays/0.npy": content}), match)


@pytest.mark.parametrize(
    "name", ["../../outside.npy", "/etc/passwd", "arrays/00.npy", "extra.py", "arrays/99.npy"]
)
def test_members_that_do_not_belong_there(good, tmp_path, name):
    refused(written(tmp_path / "m", good[0], good[1] | {name: b"x"}), "differs from its list")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_missing_members(good, tmp_path):
    members = dict(good[1])
    members.pop("arrays/1.npy")
    refused(written(tmp_path / "m", good[0], members), "differs from its list: 'arrays/1.npy'")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ["levelhead.json", "arrays/0.npy"])
def test_members_that_are_there_twice(good, tmp_path, name):
    path = written(tmp_path / "m", *good)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, b"{}")
    refused(path, "2 members|differs from its list")


def test_a_compression_bomb_is_not_unpacked(good, tmp_path):
    zeros = npy(np.zeros(10**6))
    path = written(tmp_path / "m", good[0], good[1] | {"arrays/0.npy": zeros}, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < len(zeros) / 10
    refused(path, "is compressed")


def test_members_that_lie_on_top_of_each_other(good, tmp_path):
    document, members = good
    big = npy(np.zeros(10**5, dtype=np.float32))
    path = written(tmp_path / "m", document, members | {"arrays/0.npy": big})
    raw = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        place = archive.getinfo("arrays/0.npy").header_offset
        size, crc = archive.getinfo("arrays/0.npy").file_size, archive.getinfo("arrays/0.npy").CRC
    # All arrays in the directory are pointed at the one big member.
    at = raw.find(b"PK\x01\x02")
    while at >= 0:
        length = struct.unpack_from("<H", raw, at + 28)[0]
        if raw[at + 46 : at + 46 + length].startswith(b"arrays/"):
            struct.pack_into("<III", raw, at + 16, crc, size, size)
            struct.pack_into("<I", raw, at + 42, place)
        at = raw.find(b"PK\x01\x02", at + 1)
    path.write_bytes(raw)
    refused(path, "larger than the file")


@pytest.mark.parametrize("version", [0, 2, 999, "1", None, True])
def test_versions_that_are_not_known(good, tmp_path, version):
    refused(written(tmp_path / "m", good[0] | {"version": version}, good[1]), "reads version 1")


def test_a_newer_version_is_recognised_whatever_else_it_holds(good, tmp_path):
    path = written(tmp_path / "m", good[0] | {"version": 2}, {"weights.bin": b"something new"})
    refused(path, "install the version that wrote it, or a newer one")


@pytest.mark.parametrize("document", [[], {}, {"format": "other"}, "levelhead model", None])
def test_documents_that_describe_no_model(good, tmp_path, document):
    refused(written(tmp_path / "m", document, good[1]), "does not describe a model")


def test_constants_that_are_not_json(good, tmp_path):
    refused(written(tmp_path / "m", good[0] | {"model": float("nan")}, good[1]), "NaN, which is not JSON")


@pytest.mark.parametrize("count", [-1, 10**9, "many", 1.0, None, True])
def test_counts_that_cannot_be(good, tmp_path, count):
    refused(written(tmp_path / "m", good[0] | {"arrays": count}, good[1]), "incomplete|differs from its list")


def test_nesting_without_end(good, tmp_path):
    document, members = good
    text = json.dumps(document | {"model": 0})
    text = text.replace('"model": 0', '"model": ' + "[" * 100_000 + "]" * 100_000)
    with zipfile.ZipFile(tmp_path / "m", "w") as archive:
        archive.writestr("levelhead.json", text)
        for name, content in members.items():
            archive.writestr(name, content)
    refused(tmp_path / "m", "damaged")


def test_another_version_of_scikit_learn_is_reported(good, tmp_path):
    document = copy.deepcopy(good[0])
    step(document, 0)["_sklearn_version"] = "1.6.0"
    path = written(tmp_path / "m", document, good[1])
    with pytest.warns(InconsistentVersionWarning, match=r"1\.6\.0"):
        load(path)
    with pytest.raises(InconsistentVersionWarning):  # here, warnings are errors
        load(path)


def test_files_that_are_cut_short(good, tmp_path):
    whole = written(tmp_path / "m", *good).read_bytes()
    for size in [0, 3, 4, 100, len(whole) // 2, len(whole) - 1]:
        (tmp_path / "m").write_bytes(whole[:size])
        refused(tmp_path / "m", "not a model file|damaged")


def test_single_bytes_changed_anywhere_never_give_another_model(good, tmp_path):
    whole = written(tmp_path / "m", *good).read_bytes()
    expected = load(tmp_path / "m").predict(X)
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), size=150):
        changed = bytearray(whole)
        changed[place] ^= 1 << rng.integers(8)
        (tmp_path / "m").write_bytes(changed)
        try:
            again = load(tmp_path / "m")
        except ModelFileError:
            continue
        np.testing.assert_array_equal(again.predict(X), expected)


@pytest.mark.parametrize(
    "content", [b"not a model at all", b"PK\x05\x06" + bytes(18), b"\x93NUMPY", b"<html>"]
)
def test_files_of_other_kinds(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    refused(tmp_path / "m", "not a model file")
