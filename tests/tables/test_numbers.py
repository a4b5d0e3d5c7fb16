"""Numbers in every notation come out as they were meant, or the table is refused; never as others."""

import doctest
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("pandas")
pytest.importorskip("polars")

from levelhead import load, save
from levelhead.tables import TableError, TableFormats, numbers, pieces, read_raw, training_table
from levelhead.tables.repairs import Decision, repair

Write = Callable[..., Path]


def column(written: Write, cells: list[str], **options: object) -> list[float]:
    """The cells as the only input of a table whose separator and labels say nothing about them."""
    lines = "".join(f'"{cell}"|{k % 7}\n' for k, cell in enumerate(cells))
    return training_table(written("x|y\n" + lines), "y", keep="all", **options).X["x"].tolist()


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["$1,200.00", "$950.00"], [1200, 950]),
        (["€66,690", "€1,200"], [66690, 1200]),
        (["€66,690.50", "EUR 1,200"], [66690.5, 1200]),
        (["66.7%", "3%"], [66.7, 3]),
        (["66.7 kg", "5 kg", "12"], [66.7, 5, 12]),
        (["6,66,895", "80,000"], [666895, 80000]),
        (["(34.0)", "5.5"], [-34, 5.5]),
        (["0,125", "1,250"], [0.125, 1.25]),
        (["1,5", "12,125"], [1.5, 12.125]),
        (["3,22", "9,66"], [3.22, 9.66]),
        (["1'234.50", "5"], [1234.5, 5]),
        (["1 234,5", "1\u202f234\u202f567"], [1234.5, 1234567]),
        (["Rs. 5,000.50", "Rs.500"], [5000.5, 500]),
        (["1'200.–", "20.–"], [1200, 20]),
        (["34.0-", "+2.5"], [-34, 2.5]),
        (["−3,5", "-$2"], [-3.5, -2]),
        (["1.5 GHz", "2 GHz"], [1.5, 2]),
        (["22,000 kms", "1,30,000 kms", "40"], [22000, 130000, 40]),
        (["1,5e-3", "2,25E+04", "3e2"], [0.0015, 22500, 300]),
        (["$-5.00", "-$1,200.00", "$(34.50)"], [-5, -1200, -34.5]),
        (["R$ 1.234,56", "R$ 99,00"], [1234.56, 99]),
        (["1'234,50", "999,00"], [1234.5, 999]),
        (["- 5", "-,25", "7,"], [-5, -0.25, 7]),
        (["5,5 l/100km", "6 l/100km"], [5.5, 6]),
        (["(5.5%)", "6.5%"], [-5.5, 6.5]),
        (["1,200円", "950円", "12,000円"], [1200, 950, 12000]),
        (["1.5 Mio. €", "2 Mio. €"], [1.5, 2]),
        (["US$ 1,234,567", "EUR 5"], None),
        (["12 34", "56 78"], None),
        (["52.5, 13.4", "48.1, 11.5"], None),
        (["10-20", "20-30"], None),
        (["1.5±0.1", "2.5±0.2"], None),
        (["12:34", "08:15"], None),
        (["1/2", "3/4"], None),
        (["1.234", "2,5", "3.5"], None),
        (["1,234", "5,678"], None),
        (["1.234", "5.678"], None),
    ],
)
def test_every_notation_or_a_refusal(cells: list[str], expected: list[float] | None, written: Write) -> None:
    if expected is None:
        with suppress(TableError):
            assert column(written, cells) == cells  # text
    else:
        assert column(written, cells) == expected


@pytest.mark.parametrize("mark", [".", ","])
def test_an_exponent_never_follows_groups_of_digits(mark: str, written: Write) -> None:
    cells = [f"1{mark}073e+00", f"5{mark}624e-01", *[f"1{mark}234e+02"] * 60, "1", "2", "off"]
    read = column(written, cells)
    np.testing.assert_array_equal(read, [1.073, 0.5624, *[123.4] * 60, 1, 2, np.nan])


def test_a_column_with_two_readings_is_decided_by_the_others_or_by_the_user(written: Write) -> None:
    path = written("a;b;y\n1,234;0.5;1\n5,678;0.25;2\n")
    table = training_table(path, "y")
    assert table.X["a"].tolist() == [1234, 5678]
    assert any("'1,234' is 1234" in remark and "other reading is 1.234" in remark for remark in table.remarks)
    assert training_table(path, "y", decimal={"a": ","}).X["a"].tolist() == [1.234, 5.678]
    alone = written("a;y\n1,234;1\n5,678;2\n")
    with pytest.raises(TableError, match=r"two ways.*--decimal 'a=\.' or --decimal 'a=,'"):
        training_table(alone, "y")
    assert training_table(alone, "y", decimal=".").X["a"].tolist() == [1234, 5678]
    assert training_table(alone, "y", thousands="").X["a"].tolist() == [1.234, 5.678]


def test_the_decimal_mark_is_one_of_the_column(written: Write) -> None:
    table = training_table(written("lat;price\n52.520;199,99\n48.137;12,50\n"), "price")
    assert table.X["lat"].tolist() == [52.52, 48.137]
    assert table.y.tolist() == [199.99, 12.5]
    beside = training_table(written("x;z;y\n1,5;0.5;1\n12,125;0.25;2\n"), "y")
    assert beside.X["x"].tolist() == [1.5, 12.125]
    with pytest.raises(TableError, match="two ways"):  # a point may be a machine's, or group thousands
        training_table(written("n;price\n52.520;199,99\n48.137;12,50\n"), "price")


def test_one_column_of_decimal_commas(written: Write) -> None:
    frame = read_raw(written("gewicht\n3,22\n9,66\n")).frame
    assert TableFormats().fit_transform(frame)["gewicht"].tolist() == [3.22, 9.66]


def test_what_was_learnt_is_used_for_ever(written: Write) -> None:
    table = training_table(written("x;y\n3,22;1\n9,66;2\n"), "y")
    other = read_raw(written("x;z\n3,221;1\n3.221;1\n", name="new.csv")).frame
    read = table.formats.convert(other.iloc[:1])
    assert read.frame["x"].tolist() == [3.221]
    with pytest.raises(TableError, match=r"1 cell of 2 cannot be read \('3\.221'\).*decimal mark ','"):
        table.formats.transform(other)


def test_mixed_units_are_a_finding_and_not_a_guess(written: Write) -> None:
    cells = ["5 kg"] * 30 + ["300 g"] * 3
    lines = "".join(f"{cell};{k % 7}\n" for k, cell in enumerate(cells))
    table = training_table(written("x;y\n" + lines), "y")
    assert np.isnan(table.X["x"].to_numpy()[30:]).all()
    assert "different units, kg (30 cells), g (3 cells)" in table.quality[0].text
    with pytest.raises(
        TableError, match=r"cannot be used.* are not numbers in kg, .*convert labels to one unit"
    ):
        training_table(written("y;x\n" + "".join(f"{c};{k % 7}\n" for k, c in enumerate(cells[20:]))), "y")


def test_words_for_thousands_are_not_dropped(written: Write) -> None:
    cells = ["950", "1.2k", "3.5k", "800", "700"]
    assert column(written, cells) == cells  # a fifth more would be read as 1.2


@pytest.mark.parametrize("unit", ["万", "k€", "Mio. €", "млн", "$ M"])
def test_a_number_without_the_word_for_thousands_is_not_in_thousands(unit: str, written: Write) -> None:
    cells = [f"{k}.5 {unit}" for k in range(9)] + ["950"]
    if unit == "$ M":
        cells = [f"${k}.5 M" for k in range(9)] + ["950"]
    values = column(written, cells)
    assert values[:9] == [k + 0.5 for k in range(9)]
    assert np.isnan(values[9])


def test_a_few_short_decimals_do_not_turn_thousands_into_decimals(written: Write) -> None:
    cells = [f"{k},{k}00" for k in range(1, 10)] + ["12,5"]
    with pytest.raises(TableError, match=r"two ways.*'1,100' is 1100.*or 1\.1"):
        column(written, cells)
    read = column(written, cells, decimal=".")
    assert read[:9] == [k * 1100 for k in range(1, 10)]
    assert np.isnan(read[9])
    assert column(written, cells, decimal=",")[8:] == [9.9, 12.5]
    beside = "".join(f"{cell}|0.{k}5|{k % 7}\n" for k, cell in enumerate(cells))
    assert training_table(written("x|z|y\n" + beside), "y").X["x"].tolist()[0] == 1100
    # Zeros at the end are left out here, so that these are decimals.
    assert column(written, ["1,234", "2,341", "3,412", "4,123", "1,5"])[-2:] == [4.123, 1.5]


def test_numbers_with_leading_zeros_are_said(written: Write) -> None:
    rows = "".join(f"0{k}067;{k}\n" for k in range(1, 9))
    remarks = training_table(written("code;y\n" + rows), "y").remarks
    assert any("code '01067' = 1067" in remark for remark in remarks)


LOCALES = [  # decimal mark, grouping, separators of cells
    (".", "", ",;\t|"), (".", ",", ",;\t|"), (",", ".", ";\t|"), (",", "", ";\t|"), (",", "\u202f", ";\t|"),
    (".", "'", ",;\t"), (",", "\u00a0", ";\t"), (".", "indian", ",;\t|"), (",", " ", ";\t"),
]  # fmt: skip
AROUND = ["{}", "${}", "€ {}", "{} €", "{} kg", "{}%", "USD {}", "{} kms"]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"]


def grouped(digits: str, mark: str) -> str:
    if mark == "indian":
        head, tail = digits[:-3], digits[-3:]
        pairs = [head[max(k - 2, 0) : k] for k in range(len(head), 0, -2)][::-1]
        return ",".join([*pairs, tail])
    return mark.join([digits[max(k - 3, 0) : k] for k in range(len(digits), 0, -3)][::-1])


def spelt(value: float, decimals: int, decimal: str, mark: str, around: str, accounting: bool) -> str:
    whole, _, fraction = f"{abs(value):.{decimals}f}".partition(".")
    body = grouped(whole, mark) + (decimal + fraction if fraction else "")
    text = around.format(body)
    if value >= 0 or not float(f"{value:.{decimals}f}"):
        return text
    return f"({text})" if accounting else f"-{text}"


class Meant(NamedTuple):
    """A table of numbers in the notation of one locale: its cells, and the numbers."""

    cells: dict[str, list[str]]
    numbers: dict[str, list[float]]
    separator: str
    encoding: str
    line_end: str

    def content(self, rows: slice = slice(None)) -> bytes:
        text = zip(*(column[rows] for column in self.cells.values()), strict=True)
        lines = [self.separator.join(self.cells), *map(self.separator.join, text), ""]
        joined = self.line_end.join(lines)
        try:
            return joined.encode(self.encoding)
        except UnicodeEncodeError:  # cp1252 has no thin blanks
            return joined.encode()


def random_table(rng: random.Random, least_rows: int = 1) -> Meant:
    decimal, mark, separators = rng.choice(LOCALES)
    separator, encoding = rng.choice(separators), rng.choice(ENCODINGS)
    rows, meant, text = rng.randint(least_rows, 60), {}, {}
    for name in [*(f"c{k}" for k in range(rng.randint(1, 3))), "y"]:
        around, accounting, shift = rng.choice(AROUND), rng.random() < 0.3, rng.choice([0, 0, 1, 1000])
        money = any(sign in around for sign in ("$", "€", "USD"))
        decimals, scale = (
            rng.choice([0, 2] if money else [0, 1, 2, 3, 3, 4]),
            rng.choice([1, 10, 1e3, 1e5, 1e7]),
        )
        values = [shift + rng.gauss(0, scale) for _ in range(rows)]
        if rng.random() < 0.5:
            values = [abs(value) + 1 for value in values]
        cells = [spelt(value, decimals, decimal, mark, around, accounting) for value in values]
        meant[name] = [float(f"{value:.{decimals}f}") for value in values]
        text[name] = [f'"{cell}"' if separator in cell else cell for cell in cells]
    return Meant(text, meant, separator, encoding, rng.choice(["\n", "\r\n", "\r"]))


@settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_tables_in_any_locale_are_read_back_or_refused(seed: int, tmp_path: Path) -> None:
    table = random_table(random.Random(seed))
    path = tmp_path / "any.csv"
    path.write_bytes(table.content())
    with suppress(Ambiguous):
        with translated():
            read = training_table(path, "y", keep="all", missing=[])
        assert {"y": read.y.tolist(), **read.X.to_dict("list")} == table.numbers


@pytest.mark.slow
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_later_tables_in_the_same_locale_are_read_back_or_refused(seed: int, tmp_path: Path) -> None:
    table = random_table(random.Random(seed), least_rows=4)
    first, later = tmp_path / "first.csv", tmp_path / "later.csv"
    half = len(table.numbers["y"]) // 2
    first.write_bytes(table.content(slice(half)))
    later.write_bytes(table.content(slice(half, None)))
    with suppress(TableError):
        formats = training_table(first, "y", keep="all", missing=[]).formats
        learnt = load(save(formats, tmp_path / "formats", overwrite=True))
        (piece,) = pieces(later)
        read = learnt.convert(piece)
        assert read.frame.equals(formats.convert(piece).frame)
        for name, values in read.frame.items():
            meant = np.array(table.numbers[name][half:])
            meant[read.unreadable.get(name, [])] = np.nan  # reported
            np.testing.assert_array_equal(values, meant, err_msg=f"{name}: {table.cells[name]}")


@pytest.mark.slow
@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_repaired_labels_are_read_back(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    table = random_table(rng, least_rows=4)
    path, out = tmp_path / "any.csv", tmp_path / "clean.csv"
    path.write_bytes(table.content())
    labels = table.numbers["y"]
    row = rng.randint(1, len(labels))
    new = rng.choice([labels[row - 1] / 10, -labels[row - 1], 0.0, 5.0, 1234.5, 2000.0, 1e-9, 1e6, 0.125])
    with suppress(Ambiguous):
        with translated():
            repair(path, out, "y", {row: Decision(row, "fix", new, labels[row - 1], "a.csv")})
            before = training_table(path, "y", keep="all", missing=[])
            after = training_table(out, "y", keep="all", missing=[])
        assert before.y.tolist() == labels
        labels[row - 1] = new
        assert after.y.tolist() == labels
        assert after.X.equals(before.X)


class Ambiguous(Exception):
    """A refusal because of two readings."""


@contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except TableError as error:
        if "can be read in two ways" in str(error) or "nothing tells whether" in str(error):
            raise Ambiguous from error
        raise


def test_the_examples_in_the_docstrings() -> None:
    assert doctest.testmod(numbers).failed == 0
