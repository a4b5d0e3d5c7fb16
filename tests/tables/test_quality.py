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
