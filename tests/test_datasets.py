"""Public tables from folder, cache or a (local) server, always checked; synthetic sets with a known truth."""

import doctest
import functools
import gc
import http.server
import os
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from levelhead import datasets
from levelhead.contamination import Ramp, Shifted
from levelhead.datasets import loading

VALUES = np.array([[1.5, -2.0, 10.25], [0.0, 3.125, 11.0], [-0.75, 4.0, 12.5]])
RAW = " 1.50  -2    10.25\n-0.0\t3.125\t1.1e1 \n-0.75   4.000 12.5\n\n"
CSV = "width,height,weight\n1.5,-2,10.25\n0,3.125,11\n-.75,4,12.5\n"


@pytest.fixture(autouse=True)
def toy(monkeypatch, tmp_path):
    """A small table beside the real ones, no folder set, and a cache of its own."""
    table = datasets.Table(
        "toy", "toy/data.txt", ("width", "height", "weight"), 3, 3, datasets.fingerprint(VALUES)
    )
    monkeypatch.setattr(loading, "TABLES", {**datasets.TABLES, "toy": table})
    monkeypatch.setattr(loading, "user_cache", lambda: tmp_path / "cache")
    monkeypatch.delenv(datasets.ENVIRONMENT, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class _CountingHandler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        self.server.requests += 1
        super().do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    """A server on this machine with the toy table, as the origin would have it."""
    root = tmp_path / "origin"
    (root / "toy").mkdir(parents=True)
    (root / "toy" / "data.txt").write_text(RAW)
    handler = functools.partial(_CountingHandler, directory=root)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.requests = 0
        server.root = root
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def check(data):
    assert_array_equal(data.X, VALUES[:, :2])
    assert_array_equal(data.y, VALUES[:, 2])
    assert data.feature_names == ("width", "height")
    assert data.target_name == "weight"


def test_download_is_checked_and_kept(server, tmp_path):
    check(datasets.load("toy", origin=server.url))
    assert server.requests == 1
    check(datasets.load("toy", origin=server.url))
    assert server.requests == 1
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["toy.csv"]


def test_the_default_cache_is_the_users_own(monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert datasets.user_cache().name == "levelhead" or datasets.user_cache().parent.name == "levelhead"


def test_the_folder_comes_before_the_cache(server, tmp_path, monkeypatch):
    monkeypatch.setenv(datasets.ENVIRONMENT, str(tmp_path))
    (tmp_path / "toy.csv").write_text(CSV)
    check(datasets.load("toy", origin=server.url))
    assert server.requests == 0


def test_a_folder_without_the_table_is_passed_over(server, tmp_path, monkeypatch):
    monkeypatch.setenv(datasets.ENVIRONMENT, str(tmp_path / "nowhere"))
    check(datasets.load("toy", origin=server.url))
    assert server.requests == 1


@pytest.mark.parametrize(
    "text",
    [
        CSV,
        CSV.replace("\n", "\r\n"),
        "\ufeff" + CSV,
        RAW,
        '"Weight","Height","Width"\n10.25,-2,1.5\n11,3.125,0\n12.5,4,-0.75\n',
        CSV.replace("10.25", "10.2500001"),
    ],
)
def test_formatting_and_the_order_of_named_columns_do_not_matter(tmp_path, text):
    (tmp_path / "toy.csv").write_text(text, encoding="utf-8")
    check(datasets.load("toy", cache=tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CSV.replace("3.125", "3.126"), "has the shape of toy but other numbers"),
        ("width,height,weight\n0,3.125,11\n1.5,-2,10.25\n-.75,4,12.5\n", "rows in another order"),
        (CSV + "1,2,3\n", r"has shape \(4, 3\); toy has \(3, 3\)"),
        (CSV.replace("height", "depth"), "has the columns width,depth,weight; toy needs width,height,weight"),
        (CSV.replace("3.125", "three"), "is not a table of numbers"),
        ("", "is not a table of numbers"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, message):
    (tmp_path / "toy.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        datasets.load("toy", cache=tmp_path)


def test_a_wrong_download_is_refused_and_not_kept(server, tmp_path):
    (server.root / "toy" / "data.txt").write_text(RAW.replace("12.5", "12.6"))
    with pytest.raises(ValueError, match=r"http://127.*data.txt has the shape of toy but other numbers"):
        datasets.load("toy", origin=server.url)
    assert list((tmp_path / "cache").iterdir()) == []
    (server.root / "toy" / "data.txt").write_text(RAW)
    check(datasets.load("toy", origin=server.url))


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the HTTP library leaves its socket to the collector
@pytest.mark.parametrize("fault", ["missing", "offline"])
def test_without_a_server_the_error_says_what_to_do(server, tmp_path, monkeypatch, fault):
    monkeypatch.setattr("time.sleep", lambda _: None)  # between the attempts of the download
    origin = f"{server.url}/elsewhere" if fault == "missing" else "http://127.0.0.1:9"
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load("toy", origin=origin)
    for part in (str(tmp_path / "cache" / "toy.csv"), "LEVELHEAD_DATA", "3 rows", "width,height,weight"):
        assert part in str(caught.value)
    del caught
    gc.collect()


def test_the_error_for_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="choose one of boston, concrete, power, yacht, kin8nm"):
        datasets.load("iris")


DATA = os.environ.get(datasets.ENVIRONMENT)


@pytest.mark.skipif(not DATA, reason="LEVELHEAD_DATA names no folder with the public tables")
@pytest.mark.parametrize(
    ("name", "shape", "mean_of_y"),
    [
        ("boston", (506, 13), 22.53),
        ("concrete", (1030, 8), 35.82),
        ("power", (9568, 4), 454.37),
        ("yacht", (308, 6), 10.50),
        ("kin8nm", (8192, 8), 0.714),
    ],
)
def test_the_public_tables(monkeypatch, name, shape, mean_of_y):
    monkeypatch.setenv(datasets.ENVIRONMENT, DATA)
    data = datasets.load(name)
    assert data.X.shape == shape
    assert data.X.dtype == data.y.dtype == np.float64
    assert len(data.feature_names) == shape[1]
    assert data.y.mean() == pytest.approx(mean_of_y, rel=1e-3)


def test_the_papers_synthetic_set():
    data = datasets.synthetic(20_000, contamination=0.05, random_state=1)
    x = data.X[:, 0]
    assert stats.kstest(x, stats.uniform(-1, 2).cdf).pvalue > 0.01
    assert_allclose(data.mean, np.sin(3 * x))
    assert_allclose(data.std, 0.5 * np.cos(x) ** 4)
    assert stats.kstest((data.y_clean - data.mean) / data.std, "norm").pvalue > 0.01
    assert_array_equal(data.y[~data.mask], data.y_clean[~data.mask])
    assert stats.kstest(data.y[data.mask], stats.uniform(-4, 20).cdf).pvalue > 0.01
    assert abs(data.mask.mean() - 0.05) < 0.006


def test_synthetic_defaults_are_the_papers():
    data = datasets.synthetic(random_state=0)
    assert data.X.shape == (400, 1)
    assert 5 <= data.mask.sum() <= 40


@pytest.mark.parametrize("make", [datasets.synthetic, datasets.heteroscedastic, datasets.rents])
def test_clean_labels_depend_only_on_the_seed(make):
    clean, spoilt = make(contamination=0.0, random_state=5), make(contamination=0.3, random_state=5)
    assert not clean.mask.any()
    assert_array_equal(clean.y, clean.y_clean)
    assert_array_equal(clean.y_clean, spoilt.y_clean)
    assert_array_equal(clean.X, spoilt.X)
    assert 0.2 < spoilt.mask.mean() < 0.4
    assert_array_equal(spoilt.y, make(contamination=0.3, random_state=5).y)
    assert (make(contamination=0.0, random_state=6).y != clean.y).any()


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_heteroscedastic_noise_has_the_stated_distribution(n_features):
    data = datasets.heteroscedastic(10_000, n_features, random_state=2)
    assert stats.kstest((data.y_clean - data.mean) / data.std, "norm").pvalue > 0.01
    assert data.std.max() > 3 * data.std.min()
    for feature in range(n_features):
        rank = stats.spearmanr(data.X[:, feature], data.std).statistic
        assert abs(rank) > 0.2


def test_heteroscedastic_labels_can_be_contaminated_in_any_way():
    data = datasets.heteroscedastic(contamination=Ramp(end=0.4), random_state=3, kind=Shifted(2.0))
    z = (data.y - data.y_clean) / data.std
    assert_allclose(np.abs(z[data.mask]), 2, rtol=1e-9)
    assert data.mask[data.X[:, 0] > 0.5].mean() > 2 * data.mask[data.X[:, 0] < -0.5].mean()


def test_rents_have_zeros_too_many_and_gaps():
    data = datasets.rents(5000, contamination=0.1, missing=0.2, random_state=1)
    assert_allclose(data.y[data.mask], 10 * data.y_clean[data.mask])
    assert_array_equal(data.y[~data.mask], data.y_clean[~data.mask])
    assert np.isnan(data.X).mean() == pytest.approx(0.2, abs=0.01)
    assert stats.kstest((data.y_clean - data.mean) / data.std, "norm").pvalue > 0.01


@pytest.mark.parametrize(
    "call",
    [
        lambda: datasets.synthetic(0),
        lambda: datasets.synthetic(contamination=5),
        lambda: datasets.heteroscedastic(n_features=0),
        lambda: datasets.rents(missing=1),
    ],
)
def test_bad_sizes_are_named(call):
    with pytest.raises(ValueError, match="n is"):
        call()


def test_the_examples_in_the_docstrings():
    assert doctest.testmod(datasets) == (0, datasets.__doc__.count(">>>"))
