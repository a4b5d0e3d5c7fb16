"""`--scale`, `--group` and `--time`: what they change, and what is said about them."""

import csv

import numpy as np
import pytest

import levelhead

N = 480
QUICK = ("--estimator", "trees", "--members", "1", "--json")


@pytest.fixture(scope="module")
def prices(tmp_path_factory):
    """Log-normal prices in twelve shops, hour after hour; those of one day are wrong."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data") / "prices.csv"
    size, shop = rng.uniform(1, 5, N), rng.integers(0, 12, N)
    price = np.exp(3 + 0.5 * size + 0.1 * rng.normal(size=N))
    price[100:124] *= 1.6
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["size", "shop", "hour", "price"])
        for k in range(N):
            writer.writerow([f"{size[k]:.3f}", f"shop {shop[k]}", k, f"{price[k]:.2f}"])
    return path


@pytest.mark.parametrize(("scale", "said"), [("log", "log scale, as given"), ("linear", "linear scale")])
def test_the_scale_is_said_and_stored(call, prices, tmp_path, scale, said):
    done = call("fit", prices, "-t", "price", "-o", "m.levelhead", "--scale", scale, *QUICK, cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.json["scale"].startswith(said)
    last = levelhead.load(tmp_path / "m.levelhead")[-1]
    assert (last.target_transform_ is None) == (scale == "linear")


def test_a_shifted_day_is_named_with_the_rows_of_the_file(run, prices, tmp_path):
    done = run("audit", prices, "-t", "price", "--scale", "log", "--drop", "hour", *QUICK, cwd=tmp_path)
    assert done.code == 0, done.err
    (run_of_rows,) = [text for text in done.json["dependence"] if text.startswith("Rows ")]
    low, high = int(run_of_rows.split()[1]), int(run_of_rows.split()[3])
    assert abs(low - 101) <= 6
    assert abs(high - 124) <= 6
    assert "--time COLUMN" in run_of_rows


@pytest.mark.parametrize("options", [("--group", "shop"), ("--time", "hour")])
def test_rows_that_belong_together_are_not_divided(call, prices, tmp_path, options):
    done = call("audit", prices, "-t", "price", *options, *QUICK, cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.json["dependence"] == []
    assert done.json["labels"] == N


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--group", "shop", "--time", "hour"), "exclude each other"),
        (("--group", "house"), "house"),
        (("--scale", "square"), "--scale"),
    ],
)
def test_options_that_cannot_be_followed_are_refused(call, prices, tmp_path, options, message):
    done = call("audit", prices, "-t", "price", *options, *QUICK, cwd=tmp_path)
    assert done.code != 0
    assert message in done.err
