"""Contributions of inputs: exact where they are known, for arrays and frames."""

import numpy as np
import pytest

from levelhead.audits import Audit, affordable, explain, findings, investigate
from levelhead.audits.explanation import cell_text

X = np.random.default_rng(0).normal(size=(300, 4))


def linear(rows: np.ndarray) -> np.ndarray:
    return 3 * rows[:, 0] - 2 * rows[:, 2]


def test_contributions_of_a_linear_model_are_its_terms() -> None:
    trusted = np.arange(300) >= 10
    for found in explain(linear, X, [3, 5], trusted=trusted):
        moved = found.contributions
        assert list(moved)[:2] in (["column 1", "column 3"], ["column 3", "column 1"])
        assert moved["column 2"] == moved["column 4"] == 0
        assert sum(moved.values()) == pytest.approx(found.expected - found.usual)
        assert moved["column 1"] == pytest.approx(3 * X[found.row, 0], abs=2.5)  # 24 references: 3/√24 = 0.6
        assert found.expected == pytest.approx(linear(X[[found.row]])[0])
        assert f"column 1 = {X[found.row, 0]:.6g} (" in found.text


def test_neighbours_are_the_nearest_trusted_rows() -> None:
    trusted = np.arange(300) % 2 == 0
    (found,) = explain(linear, X, [7], trusted=trusted)
    distance = np.linalg.norm((X - X[7]) / X.std(axis=0), axis=1)
    distance[~trusted] = np.inf
    assert found.neighbours.tolist() == np.argsort(distance)[:6].tolist()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_columns(library) -> None:
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"area": X[:, 0], "kind": ["a", "b", "c"] * 100})

    def predict(rows):
        kind = np.asarray(rows["kind"])
        return np.asarray(rows["area"], dtype=float) + np.where(kind == "b", 10.0, 0.0)

    if library == "pandas":
        frame["kind"] = frame["kind"].astype("category")
    (found,) = explain(predict, frame, [1])
    assert next(iter(found.contributions)) == "kind"
    assert found.contributions["kind"] == pytest.approx(10 * 2 / 3, abs=3.0)
    assert "kind = b (+" in found.text
    assert len(found.neighbours) == 0


def test_cells_are_written_as_people_write_them() -> None:
    assert cell_text(np.datetime64("2004-04-01T00:00:00.000000")) == "2004-04-01"
    assert cell_text(np.datetime64("2004-04-01T13:30")) == "2004-04-01 13:30:00"
    assert cell_text(1 / 3) == "0.333333"


def test_the_same_seed_gives_the_same_explanation() -> None:
    first, second = (explain(linear, X, [2], random_state=4)[0].contributions for _ in range(2))
    assert first == second


def test_without_trusted_rows_there_is_nothing_to_compare_with() -> None:
    with pytest.raises(ValueError, match="no row is trusted"):
        explain(linear, X, [0], trusted=np.zeros(300, dtype=bool))


def test_wide_tables_get_fewer_explanations() -> None:
    assert affordable(10) > 500
    assert affordable(1000) == 8


def test_it_says_how_many_of_the_suspect_rows_are_explained(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=300)
    y[:8] += 5
    audit = Audit.from_residuals(y, X[:, 0], 0.01)
    known = {"predict": lambda rows: rows[:, 0], "X": X, "inputs": X}
    assert investigate(audit, **known).explained == ""
    monkeypatch.setattr(findings, "_MOST_EXPLAINED", 3)
    found = investigate(audit, **known)
    assert found.explained == "The 3 most suspect of 8 doubtful rows are explained."
    assert found.sentences[-1] == found.explained
