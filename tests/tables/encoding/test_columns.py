"""What the columns of frames hold: the same for pandas, polars and pyarrow, and the same for ever."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from levelhead.tables.encoding import frames
from levelhead.tables.encoding.columns import UNKNOWN, Columns

N = 6
CELLS = {
    "number": [1.5, 2, None, 4, 5, 6],
    "whole": [1, 2, 3, None, 5, 6],
    "flag": [True, None, False, True, True, False],
    "word": ["x", "y", "x", None, "y", "x"],
    "text": [f"main street {k}" for k in range(N)],
    "digits": ["1.5", "-2", None, "3e2", "4", "5"],
    "iso": ["2020-01-02", "2020-01-03T12:00:00", None, "2020-01-02", "2020-01-02", "2020-01-02"],
    "day": [dt.date(1970, 1, 1 + k) for k in range(N)],
    "moment": [dt.datetime(1970, 1, 2, 12) for _ in range(N)],
    "zone": [dt.datetime(2020, 7, 1, 12, tzinfo=dt.UTC)] * N,
    "span": [dt.timedelta(hours=12 * k) for k in range(N)],
    "empty": [None] * N,
}
KINDS = {
    **dict.fromkeys(("number", "whole", "flag", "digits", "span", "empty"), "number"),
    **dict.fromkeys(("iso", "day", "moment", "zone"), "date"),
    "word": "category",
    "text": "text",
}


def arrow():
    table = pa.table(CELLS)
    local = table["zone"].cast(pa.timestamp("us", tz="Europe/Berlin"))
    return table.set_column(table.schema.get_field_index("zone"), "zone", local)


MAKERS = {
    "pyarrow": arrow,
    "polars": lambda: pl.from_arrow(arrow()),
    "lazy polars": lambda: pl.from_arrow(arrow()).lazy(),
    "pandas": lambda: arrow().to_pandas(),
    "pandas with arrow types": lambda: arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "pandas with nullable types": lambda: arrow().to_pandas().convert_dtypes(),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_library_gives_the_same_numbers(make):
    frame = make()
    columns = Columns.learn(frame)
    assert {column.name: column.kind for column in columns.columns} == KINDS
    table = columns.table(frame)
    place = {column.name: k for k, column in enumerate(columns.columns)}
    expected = {
        "number": [1.5, 2, np.nan, 4, 5, 6],
        "whole": [1, 2, 3, np.nan, 5, 6],
        "flag": [1, np.nan, 0, 1, 1, 0],
        "word": [0, 1, 0, np.nan, 1, 0],
        "digits": [1.5, -2, np.nan, 300, 4, 5],
        "iso": [18263, 18264.5, np.nan, 18263, 18263, 18263],
        "day": [0, 1, 2, 3, 4, 5],
        "moment": [1.5] * N,
        "zone": [18444 + 14 / 24] * N,  # noon in Greenwich is two o'clock in Berlin in summer
        "span": [0, 0.5, 1, 1.5, 2, 2.5],
        "empty": [np.nan] * N,
    }
    for name, values in expected.items():
        np.testing.assert_allclose(table[:, place[name]], values, err_msg=name)
    assert len(set(table[:, place["text"]])) == N
    np.testing.assert_array_equal(table, Columns.learn(arrow()).table(arrow()))
    np.testing.assert_array_equal(frames.missing_cells(frame), np.isnan(table))


def test_a_level_keeps_its_code_and_an_unknown_one_is_not_a_missing_cell():
    columns = Columns.learn(pd.DataFrame({"a": ["u", "v", "u", "v"]}))
    codes = columns.table(pl.DataFrame({"a": ["v", "w", None, "u"]}))[:, 0]
    np.testing.assert_array_equal(codes, [1, UNKNOWN, np.nan, 0])


def test_categories_of_numbers_and_of_intervals():
    frame = pd.DataFrame({"n": pd.Categorical([10, 2, 10]), "i": pd.cut([1, 5, 1], [0, 3, 6])})
    columns = Columns.learn(frame)
    assert columns.columns[0].levels == (2, 10)
    np.testing.assert_array_equal(columns.table(frame), [[1, 0], [0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ([1.0, 2.0], ["1", "two"], "column 'a' holds numbers, but 'two' in row 1"),
        ([1.0, 2.0], pd.to_datetime(["2020-01-01"] * 2), "held numbers in fit, but holds dates"),
        (["2020-01-01"] * 2, ["2020-01-01", "soon"], "column 'a' holds dates, but 'soon' in row 1"),
        (pd.to_datetime(["2020-01-01"] * 2), [1.0, 2.0], "held dates in fit, but holds numbers"),
        (
            pd.to_datetime(["2020-01-01"] * 2, utc=True),
            pd.to_datetime(["2020-01-01"] * 2),
            "times of the zone None, but UTC in fit",
        ),
        ([1.0, 2.0], [1.0, (1, 2)], "'a' holds numbers"),
    ],
)
def test_cells_that_do_not_fit_their_column_are_named(before, after, message):
    columns = Columns.learn(pd.DataFrame({"a": before}))
    with pytest.raises(ValueError, match=message):
        columns.table(pd.DataFrame({"a": after}))


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}, (1, 2), 1j, b"abc"])
def test_cells_that_cannot_be_features_are_refused(cell):
    with pytest.raises(ValueError, match=r"column 'a' holds .* values"):
        Columns.learn(pd.DataFrame({"a": [cell] * 3}))


def test_what_was_assumed_is_said():
    remarks = Columns.learn(arrow()).remarks
    assert "word: 2 categories" in remarks
    assert "zone: dates in the time zone Europe/Berlin" in remarks
    assert any(remark.startswith("text: ") and "not used as a feature" in remark for remark in remarks)
