"""Later tables are read by what was learnt, also if they are written differently; nothing is guessed in silence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("polars")

from levelhead.tables import TableError, TableFormats, training_table  # noqa: E402

Write = Callable[..., Path]
DAYS = pd.date_range("2024-01-01", periods=3)


def learnt(cells: Any) -> TableFormats:
    return TableFormats(separator=";").fit(pd.DataFrame({"x": cells}))


def later(formats: TableFormats, cells: Any, **settings: Any) -> Any:
    return formats.rewritten(**settings).convert(pd.DataFrame({"x": cells}))


@pytest.mark.parametrize("before", [DAYS, ["13/01/2024", "01/02/2024"]], ids=["dates", "text"])
def test_iso_dates_have_one_meaning(before: Any) -> None:
    read = later(learnt(before), ["2024-05-01", "2024-05-02T10:30:00"])
    assert read.frame["x"].tolist() == [pd.Timestamp("2024-05-01"), pd.Timestamp("2024-05-02 10:30")]
    assert read.iso_dates == {"x": 2}


@pytest.mark.parametrize("cells", [["01.05.2024", "02.05.2024"], [45000, 45001], ["45000"], ["5/31/2024"]])
@pytest.mark.parametrize("before", [DAYS, ["13/01/2024", "01/02/2024"]], ids=["dates", "text"])
def test_other_dates_are_refused(before: Any, cells: list[Any]) -> None:
    with pytest.raises(TableError, match=r"column holds dates.*year-month-day, such as 2024-05-31"):
        later(learnt(before), cells)


def test_iso_dates_among_others_are_said(written: Write) -> None:
    rows = "".join(f"{'2024-02-01' if k % 10 == 0 else '13.01.2024'};{k}\n" for k in range(30))
    table = training_table(written("day;y\n" + rows), "y")
    assert not table.X["day"].isna().any()
    assert (
        "day: 3 dates read as year, month, day (%Y-%m-%d); the others are written as %d.%m.%Y"
        in table.remarks
    )


def test_a_number_without_its_unit_may_be_another_number() -> None:
    percent = learnt(["15%", "3.5%"])
    with pytest.raises(TableError, match=r"numbers without a unit.*'%'"):
        later(percent, [0.15, 0.2])
    with pytest.raises(TableError, match="Convert them to %"):
        later(percent, ["0.15", "0.2"])
    assert percent.transform(pd.DataFrame({"x": [15.0]}))["x"].tolist() == [
        15
    ]  # numbers of this meaning already
    assert later(learnt(["5 kg", "7 kg"]), ["5", "6 kg"]).frame["x"].tolist() == [5, 6]
    with pytest.raises(TableError, match=r"'1500 g'.*Convert them to kg"):
        later(learnt(["5 kg", "7 kg"]), ["1500 g", "700 g"])


def test_the_error_shows_what_the_options_would_read() -> None:
    plain = learnt(["1.25", "7"])
    with pytest.raises(
        TableError, match=r"--decimal 'x=,' reads '1,500' as 1.5, and --thousands 'x=,' .* as 1500"
    ):
        later(plain, ["1,500", "2,250"])
    assert later(plain, ["1,500"], decimal=",").frame["x"].tolist() == [1.5]
    assert later(plain, ["1,500"], thousands=",").frame["x"].tolist() == [1500]


def test_marks_that_were_never_shown_are_not_guessed() -> None:
    whole = learnt(["12", "7"])
    with pytest.raises(TableError, match=r"'1.234' is 1234.*or 1.234"):
        later(whole, ["1.234", "5.678"])
    assert later(whole, ["1.234"], decimal=".").frame["x"].tolist() == [1.234]
    assert later(whole, ["1.5", "1.234"]).frame["x"].tolist() == [1.5, 1.234]
    assert later(learnt(["12.5", "7"]), ["1.234"]).frame["x"].tolist() == [1.234]


def test_truth_values_as_text() -> None:
    read = later(learnt([True, False]), ["True", "false", None])
    np.testing.assert_array_equal(read.frame["x"], [1, 0, np.nan])
    assert read.unreadable == {}
