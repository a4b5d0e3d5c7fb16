"""Tables as people have them come out as the numbers and words that were meant."""

import bz2
import decimal
import doctest
import gzip
import lzma
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from levelhead import tables  # noqa: E402
from levelhead.tables import TableError, training_table  # noqa: E402

Write = Callable[..., Path]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " ", "   "])
def test_any_separator_is_found(separator: str, written: Write) -> None:
    lines = [["size", "kind", "y"], ["1.5", "old", "2"], ["-2.25", "new", "1e3"]]
    table = training_table(written("\n".join(separator.join(line) for line in lines)), "y")
    assert table.X["size"].tolist() == [1.5, -2.25]
    assert table.X["kind"].tolist() == ["old", "new"]
    assert table.y.tolist() == [2.0, 1000.0]


def test_separators_within_quotes_do_not_count(written: Write) -> None:
    text = 'name;y\n"Smith, John, Jr.";1\n"Doe, Jane, Dr.";2\n'
    assert training_table(written(text), "y").X["name"].tolist() == ["Smith, John, Jr.", "Doe, Jane, Dr."]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_encodings(encoding: str, written: Write) -> None:
    table = training_table(written("größe,art,y\n1,süß,3\n2,herb,4\n", encoding=encoding), "y")
    assert list(table.X.columns) == ["größe", "art"]
    assert table.X["art"].tolist() == ["süß", "herb"]


@pytest.mark.parametrize("kind", ["gzip", "bz2", "xz", "zip"])
def test_compressed_whatever_the_name_says(kind: str, tmp_path: Path) -> None:
    path, text = tmp_path / "table.dat", b"x,y\n1,2\n3,4\n"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("table.csv", text)
    else:
        path.write_bytes({"gzip": gzip, "bz2": bz2, "xz": lzma}[kind].compress(text))
    assert training_table(path, "y").y.tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (['"1,234"', '"12,345,678.5"', "7"], [1234, 12345678.5, 7]),
        (["1 234", "12 345.5", "-7"], [1234, 12345.5, -7]),
        (["1'234", "1'234'567", "0.5"], [1234, 1234567, 0.5]),
        (['"0,5"', '"1.234,25"', '"-3,75"'], [0.5, 1234.25, -3.75]),
        (["1.234", "0.25", "1e-3"], [1.234, 0.25, 1e-3]),
    ],
)
def test_numbers_in_every_notation(cells: list[str], expected: list[float], written: Write) -> None:
    table = training_table(written("x;y\n" + "".join(f"{cell};{cell}\n" for cell in cells)), "y")
    assert table.X["x"].tolist() == expected
    assert table.y.tolist() == expected


def test_what_only_looks_like_a_number_stays_text(written: Write) -> None:
    cells = ["1,23,456", "12.05.2021", "1,234 kg", "2 345 6"]
    table = training_table(written("x;y\n" + "".join(f"{cell};0.5\n" for cell in cells)), "y")
    assert table.X["x"].tolist() == cells


@pytest.mark.parametrize("cell", ["", "NA", "NaN", "null", "?", "-", "#DIV/0!", "inf", "-inf"])
def test_missing_values(cell: str, written: Write) -> None:
    table = training_table(written(f"x,y\n1,2\n{cell},3\n4,{cell}\n" + "5,6\n" * 9), "y")
    assert np.isnan(table.X["x"].iloc[1])
    assert table.row.tolist()[:3] == [1, 2, 4]
    assert table.remarks == ("y: left out 1 row without a label: row 3",)


def test_labels_that_are_classes_are_remarked(written: Write) -> None:
    table = training_table(written("x,y\n" + "".join(f"{k},{k % 3 == 0}\n" for k in range(40))), "y")
    (remark,) = table.remarks
    assert remark.startswith("y: only two different labels, 0 and 1; if they stand for classes")
    assert table.y.sum() == 14
    assert not training_table(written("x,y\n" + "".join(f"{k},{k % 3}\n" for k in range(40))), "y").remarks


def test_a_column_without_a_name_that_counts_the_rows_is_not_a_feature(written: Write) -> None:
    path = written("x,,y\n" + "".join(f"{k % 7},{k + 1},{k % 11}\n" for k in range(40)))
    table = training_table(path, "y")
    assert table.remarks == ("a column has no name; it is called 'Unnamed: 1' here",)
    assert list(table.X.columns) == ["x"]
    assert any("Unnamed: 1: not used as a feature" in finding.text for finding in table.quality)


def test_the_letters_of_windows_are_read(written: Write) -> None:
    table = training_table(written("preis,art,y\n1,€ – „gut“,3\n2,Œuvre,4\n", encoding="cp1252"), "y")
    assert table.X["art"].tolist() == ["€ – „gut“", "Œuvre"]


def test_a_column_may_have_a_number_for_its_name(written: Write) -> None:
    assert training_table(written("2020,2021,y\n1,2,3\n4,5,6\n"), "y").X.to_dict("list") == {
        "2020": [1, 4],
        "2021": [2, 5],
    }


def test_a_table_longer_than_the_sample_is_read_to_its_end(written: Write) -> None:
    line = "1;0,5;" + "word " * 8 + ";"  # ends with a separator that means nothing
    n = (1 << 18) // len(line) + 3
    table = training_table(written("x;y;z\n" + f"{line}\n" * n), "y")
    assert len(table.y) == n
    assert (table.y == 0.5).all()
    assert list(table.X.columns) == ["x", "z"]


def test_words_make_a_column_of_categories_although_half_of_it_are_numbers(written: Write) -> None:
    cells = [str(i) if i % 2 else "old" for i in range(40)]
    table = training_table(written("x,y\n" + "".join(f"{cell},1\n" for cell in cells)), "y")
    assert table.X["x"].tolist() == cells
    assert table.remarks == ()


def test_cells_are_named_by_their_row_in_the_file(written: Write) -> None:
    lines = [f"{i},{i}" for i in range(40)]
    lines[2], lines[30] = "2,", "old,30"
    table = training_table(written("\n".join(["x,y", *lines])), "y")
    assert "x: 1 cell read as missing: row 31 ('old')" in [found.text for found in table.quality]


def test_infinite_labels_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("x,y\n1,2\n2,1e999\n3,4\n")
    table = training_table(path, "y", allow_missing_labels=True)
    assert table.y.tolist() == [2.0, 4.0]
    assert table.row.tolist() == [1, 3]
    assert table.remarks == ("y: left out 1 row whose label is not a number: row 2 ('1e999')",)


def test_names_in_a_short_table_stay_inputs(written: Write) -> None:
    text = "flat,x,y\n" + "".join(f"F{i},1,{i}\n" for i in range(19))
    assert list(training_table(written(text), "y").X.columns) == ["flat", "x"]


def test_labels_that_are_no_numbers_are_named_and_left_out(written: Write) -> None:
    labels = ["1", "soon", "2", "", "=A1", *(["?"] * 6)]
    path = written("x,y\n" + "".join(f"{i},{v}\n" for i, v in enumerate(labels)))
    with pytest.raises(
        TableError, match=r"9 of 11 labels .* such as 'soon', '=A1'; .*--allow-missing-labels"
    ):
        training_table(path, "y")
    table = training_table(path, "y", allow_missing_labels=True)
    assert (table.labels_given, table.labels_judged) == (11, 2)
    assert table.y.tolist() == [1.0, 2.0]
    assert table.row.tolist() == [1, 3]
    assert table.X["x"].tolist() == [0, 2]
    assert table.remarks == (
        "y: left out 7 rows without a label: rows 4, 6, 7, 8, 9 and 2 more",
        "y: left out 2 rows whose label is not a number: rows 2 ('soon'), 5 ('=A1')",
    )


def test_a_stray_word_does_not_turn_numbers_into_categories(written: Write) -> None:
    cells = ["?"] + [str(i) for i in range(30)] + ["old"]
    table = training_table(written("x,y\n" + "".join(f"{cell},1\n" for cell in cells)), "y")
    assert table.X["x"].dtype.kind == "f"
    assert table.remarks == ()
    assert "x: 1 cell read as missing: row 32 ('old')" in [found.text for found in table.quality]


@pytest.mark.parametrize(
    "text", [",x,y\n0,5,6\n1,7,8\n", "x y\na 5 6\nb 7 8\n", "x,y,\n5,6,\n7,8,\n", "x,y\n5,6,\n7,8,\n"]
)
def test_an_index_or_an_empty_end_is_no_input(text: str, written: Write) -> None:
    table = training_table(written(text), "y")
    inputs = table.X.dropna(axis="columns", how="all")
    assert inputs.to_dict("list") == {"x": [5, 7]}
    assert table.y.tolist() == [6.0, 8.0]


def test_id_and_dropped_columns_are_no_inputs(written: Write) -> None:
    table = training_table(
        written("id,x,z,y\nA,1,5,2\nB,2,6,\nC,3,7,4\n"),
        "y",
        id_column="id",
        drop=["z"],
        allow_missing_labels=True,
    )
    assert list(table.X.columns) == ["x"]
    assert table.identity is not None
    assert table.identity.tolist() == ["A", "C"]


NAMES = {  # columns of thirty different cells, and whether they can be inputs
    "flat": ([f"F{i}" for i in range(30)], False),
    "flat_id": (list(range(100, 130)), False),
    "sold": ([f"2024-01-{i + 1:02d}" for i in range(30)], True),
    "remark": ([f"has {i} rooms" for i in range(30)], True),
    "area": (list(range(100, 130)), True),
    "street": ([f"S{i // 2}" for i in range(30)], True),
}


def test_a_column_that_only_names_the_rows_is_no_input(written: Write) -> None:
    lines = [",".join([*NAMES, "y"])]
    lines += [
        ",".join(map(str, row))
        for row in zip(*(cells for cells, _ in NAMES.values()), range(30), strict=True)
    ]
    path = written("\n".join(lines) + "\n")
    table = training_table(path, "y")
    assert list(table.X.columns) == [name for name, (_, used) in NAMES.items() if used]
    named = [found for found in table.quality if found.title == "names the rows"]
    assert [found.column for found in named] == ["flat", "flat_id"]
    assert "--keep 'flat_id' uses it" in named[1].text
    assert "flat_id" in training_table(path, "y", keep=["flat_id"]).X
    assert list(training_table(path, "y", keep="all").X.columns) == list(NAMES)
    with pytest.raises(TableError, match="did you mean 'flat_id'"):
        training_table(path, "y", keep=["flatid"])


def test_a_name_is_better_than_no_input(written: Write) -> None:
    table = training_table(written("id,y\n" + "".join(f"{i},{i}\n" for i in range(30))), "y")
    assert list(table.X.columns) == ["id"]
    assert table.remarks == ()


@pytest.mark.parametrize(
    ("asked", "hint"),
    [("Rent", "did you mean 'rent'?"), ("rnet", "did you mean 'rent'?"), ("zzz", "it has area, rent")],
)
def test_a_missing_column_suggests_the_nearest(asked: str, hint: str, written: Write) -> None:
    with pytest.raises(TableError, match=f"has no column '{asked}'; ") as caught:
        training_table(written("area,rent\n1,2\n"), asked)
    assert str(caught.value).endswith(hint)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ('"', "is empty"),
        ("1,2\n3,4\n", "no header"),
        ("x,y\n1,2\n1,2,3\n", "line 3 has 3 cells where 2 are expected"),
        ("x,y\n1,a\n2,b\n", "'y' contains no numbers"),
        ("y\n1\n2\n", "no column besides 'y'"),
        ('x,y\n1,"' + "2\n" * 70_000, "closing quotation mark missing"),
        ("x\0y,y\n1,2\n", "zero bytes"),
    ],
)
def test_what_is_no_table_is_refused_in_words(text: str, message: str, written: Write) -> None:
    with pytest.raises(TableError, match=message):
        training_table(written(text), "y")


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    head=st.sampled_from(["", "x,y\n", "x;y\n1;2\n"]),
    rest=st.lists(st.sampled_from([*"ab120,;|\t\n\r\"' .-=é%", "NA", "x,y\n1,2\n"]), max_size=60).map(
        "".join
    ),
    encoding=st.sampled_from(["utf-8", "cp1252", "utf-16"]),
)
def test_whatever_a_file_holds_it_is_a_table_or_a_table_error(
    head: str, rest: str, encoding: str, tmp_path: Path
) -> None:
    path = tmp_path / "any.csv"
    path.write_bytes((head + rest).encode(encoding))
    with suppress(TableError):
        table = training_table(path, "y")
        assert len(table.X) == len(table.y) == len(table.row)
        assert np.isfinite(table.y).all()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="does not exist"):
        tables.read(tmp_path / "nothing.csv")
    with pytest.raises(TableError, match="is a folder without Parquet files"):
        tables.read(tmp_path)
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 1000)[:-12])
    with pytest.raises(TableError, match="damaged or truncated"):
        tables.read(cut)
    workbook = tmp_path / "book.xlsx"
    with zipfile.ZipFile(workbook, "w") as archive:
        archive.writestr("[Content_Types].xml", "")
        archive.writestr("xl/workbook.xml", "")
    with pytest.raises(TableError, match="damaged workbook"):
        tables.read(workbook)
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises(TableError, match="damaged Parquet"):
        tables.read(damaged)


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "x": [1.5, np.inf, 3.0],
            "price": [decimal.Decimal("1.5"), None, decimal.Decimal("2.5")],
            "day": pd.to_datetime(["2021-01-01", "2021-01-02", None]),
            "y": [1, 2, 3],
        },
        index=[7, 8, 9],
    )
    frame.to_parquet(tmp_path / "table.parquet")
    table = training_table(tmp_path / "table.parquet", "y")
    assert table.row.tolist() == [1, 2, 3]
    assert np.isnan(table.X["x"].iloc[1])
    assert table.X["price"].dtype.kind == "f"
    assert table.X["day"].dtype.kind == "M"


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_pieces_make_up_the_whole(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{ending}"
    frame = pd.DataFrame({"x": np.arange(1000), "word": [f"w{i}" for i in range(1000)]})
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    shares: list[float] = []
    parts = list(tables.pieces(path, rows=300, progress=shares.append))
    assert [len(part) for part in parts] == [300, 300, 300, 100]
    assert all((part.index == np.arange(len(part))).all() for part in parts)
    joined = pd.concat(parts, ignore_index=True)
    assert joined["x"].astype(int).tolist() == list(range(1000))
    assert joined["word"].tolist() == frame["word"].tolist()
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_the_example_in_the_docstring() -> None:
    assert doctest.testmod(tables.training) == (0, 4)
