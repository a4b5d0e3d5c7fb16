"""What a model file leaves out, and compressed text."""

import zlib

import numpy as np
import pytest

from levelhead import AutoRegressor, GCPRegressor, load, persistence, save
from levelhead.persistence import ModelFileError

pytestmark = pytest.mark.compiled
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=120)


@pytest.fixture(scope="module")
def network():
    return GCPRegressor(max_iter=2, hidden_layer_sizes=(4,), random_state=0).fit(X, Y)


def test_a_file_holds_out_of_fold_predictions_of_few_rows_only(network, tmp_path, monkeypatch):
    np.testing.assert_array_equal(load(save(network, tmp_path / "few")).audit(X, Y).p_outlier,
                                  network.audit(X, Y).p_outlier)  # fmt: skip
    monkeypatch.setattr(persistence, "_MOST_ROWS", len(X) - 1)
    without = load(save(network, tmp_path / "many"))
    assert (tmp_path / "many").stat().st_size < (tmp_path / "few").stat().st_size - 30 * len(X)
    np.testing.assert_array_equal(without.predict(X), network.predict(X))
    with pytest.raises(ValueError, match=r"of its 120 training rows.*out_of_fold=True.*--keep-out-of-fold"):
        without.audit(X, Y)
    with pytest.raises(ValueError, match="of its 120 training rows"):
        load(save(without, tmp_path / "again")).audit(X, Y)
    assert load(save(network, tmp_path / "all", out_of_fold=True)).audit(X, Y).p_outlier.shape == (120,)
    assert network.audit(X, Y).p_outlier.shape == (120,)  # the fitted model keeps them
    assert without.fit(X, Y).audit(X, Y).p_outlier.shape == (120,)


def test_out_of_fold_is_checked(network, tmp_path):
    with pytest.raises(ValueError, match="out_of_fold is 'no'"):
        save(network, tmp_path / "model", out_of_fold="no")
    assert not (tmp_path / "model").exists()


def test_networks_of_an_automatic_model_keep_no_optimizer(tmp_path):
    pytest.importorskip("lightgbm")
    model = AutoRegressor(n_members=1, random_state=0).fit(X, Y)
    networks = [part for part in model.estimators_ if hasattr(part, "networks_")]
    assert all(network.state is None for part in networks for network in part.networks_)
    np.testing.assert_array_equal(load(save(model, tmp_path / "model")).predict(X), model.predict(X))


# ------------------------------------------------------------------ compressed text


def with_text(description, members, content):
    """Put other compressed text into the place of a reason, which may be any text."""
    description["attributes"]["target_transform_reason_"] = {"deflated": content}


@pytest.fixture
def long_reason(network):
    text = "".join(map(chr, RNG.integers(32, 127, 100_000)))
    network.target_transform_reason_ = text
    yield text
    network.target_transform_reason_ = ""


def test_long_text_is_compressed_and_read_again(network, long_reason, tmp_path):
    path = save(network, tmp_path / "model")
    assert path.read_bytes().find(long_reason[:1000].encode()) < 0
    assert load(path).target_transform_reason_ == long_reason


@pytest.mark.parametrize("change", ["longer", "shorter", "huge", "negative", "cut", "other"])
def test_damaged_text_is_refused(network, long_reason, forged, npy, change):
    def changed(description, members):
        k, length = description["attributes"]["target_transform_reason_"]["deflated"]
        name = f"arrays/{k}.npy"
        small = np.frombuffer(zlib.compress(long_reason.encode()), dtype=np.uint8)
        lengths = {"longer": length + 1, "shorter": length - 1, "huge": 2**40, "negative": -1}
        if change == "cut":
            members[name] = npy(small[:-20])
        if change == "other":
            members[name] = npy(small.astype(np.int16))
        with_text(description, members, [k, lengths.get(change, length)])

    with pytest.raises(ModelFileError):
        load(forged(network, changed))


def test_text_that_grows_without_measure_is_refused(network, long_reason, forged, npy):
    def bomb(description, members):
        k, _ = description["attributes"]["target_transform_reason_"]["deflated"]
        members[f"arrays/{k}.npy"] = npy(np.frombuffer(zlib.compress(b"a" * 10**7), dtype=np.uint8))
        with_text(description, members, [k, 10**7])

    with pytest.raises(ModelFileError, match="is compressed to"):
        load(forged(network, bomb))
