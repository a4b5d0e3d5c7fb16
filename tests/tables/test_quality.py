"""What is odd about a table is found, and what is not odd is not."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from levelhead.tables import training_table  # noqa: E402

Write = Callable[..., Path]


def test_every_kind_of_finding(written: Write) -> None:
    rng = np.random.default_rng(0)
    n = 60
    y = rng.normal(100, 10, n).round(2)
    frame = pd.DataFrame(
        {
            "order": [f"A{k}" for k in range(n)],
            "euro": y,
            "cent": (100 * y).round(),
            "later": np.exp(y / 50).round(4),
            "fine": rng.normal(size=n).round(3),
            "same": 7,
            "city": ["Bonn" if k % 3 else "bonn " for k in range(n)],
            "day": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d"),
            "y": y,
        }
    )
    frame.loc[30, "day"] = "2023-05-01"
    frame = pd.concat([frame, frame.iloc[[5]]], ignore_index=True)
    table = training_table(written(frame.to_csv(index=False)), "y")
    found = [(one.title, one.column) for one in table.quality]
    for expected in [
        ("gives the label away", "euro"),
        ("gives the label away", "cent"),
        ("gives the label away", "later"),
        ("copies of rows", None),
        ("dates out of order", "day"),
        ("names the rows", "order"),  # although a copied row repeats one
        ("constant column", "same"),
    ]:
        assert expected in found
    assert [name for _, name in found if name == "fine"] == []
    assert "order" not in table.X
    assert [title for title, _ in found][:3] == ["gives the label away"] * 3


def test_spellings(written: Write) -> None:
    lines = "".join(f"{'Petrol' if k % 3 else 'PETROL'},{k}\n" for k in range(30))
    table = training_table(written("fuel,y\n" + lines), "y")
    assert table.quality[0].text == "fuel: 1 category in several spellings: 'Petrol' = 'PETROL'"


def test_a_clean_table_has_no_findings(written: Write) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"x": rng.normal(size=50), "kind": rng.choice(["a", "b"], 50), "y": rng.normal(size=50)}
    )
    table = training_table(written(frame.to_csv(index=False)), "y")
    assert table.quality == ()
    assert table.remarks == ()


def labels(rng: np.random.Generator, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Clean labels, and the same with some errors."""
    clean = np.exp(rng.normal(10, 0.5, n))
    return clean, np.where(rng.random(n) < 0.05, 10 * clean, clean)


def titles(frame: pd.DataFrame, y: np.ndarray, written: Write) -> set[str]:
    table = training_table(written(frame.assign(y=y).to_csv(index=False)), "y")
    return {found.title for found in table.quality}


GIVEN_AWAY = {
    "copy": lambda y, rng: y,
    "in another unit": lambda y, rng: y / 1.95583,
    "with a fee": lambda y, rng: 0.9 * y + 500,
    "negative": lambda y, rng: -y,
    "known afterwards, with noise": lambda y, rng: 1.1 * y * (1 + rng.normal(0, 0.01, len(y))),
    "bands": lambda y, rng: pd.cut(np.log(y), [0, 9.4, 9.8, 10.2, 10.6, 99]).astype(str),
}
NOT_GIVEN_AWAY = {
    "a good predictor": lambda y, rng: y * (1 + rng.normal(0, 0.1, len(y))),
    "a rounded good predictor": lambda y, rng: np.rint(y * (1 + rng.normal(0, 0.1, len(y))) / 1000),
    "classes that overlap": lambda y, rng: pd.qcut(y * np.exp(rng.normal(0, 0.3, len(y))), 5).astype(str),
    "noise": lambda y, rng: rng.normal(size=len(y)),
    "a number that is often the label": lambda y, rng: np.where(rng.random(len(y)) < 0.5, y, 1.2 * y),
}


@pytest.mark.parametrize("kind", GIVEN_AWAY)
def test_columns_that_give_the_label_away_although_labels_are_wrong(kind: str, written: Write) -> None:
    rng = np.random.default_rng(0)
    clean, y = labels(rng)
    frame = pd.DataFrame({"x": GIVEN_AWAY[kind](clean, rng), "z": rng.normal(size=len(y))})
    assert "gives the label away" in titles(frame, y, written)


@pytest.mark.parametrize("kind", NOT_GIVEN_AWAY)
@pytest.mark.parametrize("seed", [1, 2])
def test_good_inputs_do_not_give_the_label_away(kind: str, seed: int, written: Write) -> None:
    rng = np.random.default_rng(seed)
    clean, y = labels(rng)
    frame = pd.DataFrame({"x": NOT_GIVEN_AWAY[kind](clean, rng), "z": rng.normal(size=len(y))})
    assert "gives the label away" not in titles(frame, y, written)


def test_dates_out_of_order_and_dates_without_order(written: Write) -> None:
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=80)
    late, shuffled = days.to_numpy().copy(), rng.permutation(days)
    late[[20, 50]] = late[[3, 5]]
    y = rng.normal(size=80)
    for moments, expected in ((late, True), (shuffled, False), (days, False), (days[::-1], False)):
        found = titles(pd.DataFrame({"day": moments, "z": rng.normal(size=80)}), y, written)
        assert ("dates out of order" in found) == expected


def test_ids_and_what_only_looks_like_one(written: Write) -> None:
    rng = np.random.default_rng(0)
    n = 60
    y = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "order_id": np.arange(1000, 1000 + n),
            "area": rng.permutation(n) + 20,  # all values differ, but they measure something
            "customer_id": rng.integers(1, 9, n),  # repeated: a category
            "z": rng.normal(size=n),
        }
    )
    frame = pd.concat(
        [frame, frame.iloc[:9]], ignore_index=True
    )  # copies hide that an id differs in all rows
    path = written(frame.assign(y=np.r_[y, y[:9]]).to_csv(index=False))
    table = training_table(path, "y")
    assert [one.column for one in table.quality if one.title == "names the rows"] == ["order_id"]
    assert list(table.X.columns) == ["area", "customer_id", "z"]


def test_free_text_is_reported_and_repeated_words_are_not(written: Write) -> None:
    frame = pd.DataFrame(
        {"note": [f"flat number {k} near the park" for k in range(40)], "city": ["Bonn", "Ulm"] * 20}
    )
    table = training_table(written(frame.assign(y=range(40)).to_csv(index=False)), "y")
    assert [one.column for one in table.quality if one.title == "free text"] == ["note"]


def test_mixed_units_and_one_cell_in_another_unit(written: Write) -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    for every, expected in ((7, True), (1000, False)):
        weights = [f"{110 + k} lb" if k % every == 5 else f"{50 + k} kg" for k in range(200)]
        assert ("mixed units" in titles(pd.DataFrame({"w": weights, "z": y**2}), y, written)) == expected


def test_names_that_differ_by_more_than_case_and_blanks(written: Write) -> None:
    y = np.random.default_rng(0).normal(size=60)
    other = titles(pd.DataFrame({"city": ["Bonn", "Bonn-Süd", "Born"] * 20}), y, written)
    assert "spellings of one category" not in other
    same = titles(pd.DataFrame({"city": ["Bad  Ems", "bad ems", "Ulm"] * 20}), y, written)
    assert "spellings of one category" in same


def test_numbers_that_are_read_as_categories_are_said(written: Write) -> None:
    rows = "".join(f"{k % 9 if k % 3 else 'many'};{k}\n" for k in range(60))
    (found,) = training_table(written("rooms;y\n" + rows), "y").quality
    assert (found.title, found.column, found.count, found.examples) == (
        "numbers and words",
        "rooms",
        20,
        ("'many'",),
    )
    words = "".join(f"{k % 9 if k % 3 == 0 else 'abcdef'[k % 5]};{k}\n" for k in range(60))
    assert not training_table(written("kind;y\n" + words), "y").quality
