"""Files of every kind are read, and damaged ones are refused in words."""

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("polars")

from levelhead import tables  # noqa: E402
from levelhead.tables import TableError, delimited, sources, training_table  # noqa: E402

Write = Callable[..., Path]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "cp1251", "koi8-r", "gb18030", "utf-16-le", "utf-16-be", "utf-32"]
)
def test_other_alphabets(encoding: str, tmp_path: Path) -> None:
    words = (
        ["北京市朝阳区", "上海市浦东新区"]
        if encoding == "gb18030"
        else ["Москва и область", "Санкт-Петербург"]
    )
    lines = ["город,цена" if encoding != "gb18030" else "城市,价格"]
    lines += [f"{words[k % 2]},{k}" for k in range(300)]
    path = tmp_path / "cities.csv"
    path.write_bytes("\n".join(lines).encode(encoding))
    assert tables.read(path).iloc[:2, 0].tolist() == words


@pytest.mark.parametrize("shift", range(4))
def test_a_letter_at_the_end_of_a_block_is_whole(
    shift: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_BLOCK", 1000)
    text = "город;y\n" + "x" * shift + "Кёльн;1\n" + "Кёльн;1\n" * 4000
    path = tmp_path / "large.csv"
    path.write_bytes(text.encode())
    assert set(tables.read(path)["город"]) <= {"Кёльн", "x" * shift + "Кёльн"}


def test_rows_of_the_wrong_length(written: Write) -> None:
    with pytest.raises(TableError, match="line 2 has 3 cells where 2 are expected"):
        training_table(written("x,y\n1,2,3\n4,5\n"), "y")
    table = training_table(written("x,z,y\n1,2,3\n4,5,6\n7\n" + "8,9,1\n" * 9), "y")
    assert any("1 row with fewer cells than the header" in r and "row 3" in r for r in table.remarks)


def test_chunks_say_what_the_whole_table_says(written: Write) -> None:
    rows = "".join("7\n" if k % 40 == 5 else f"{k},é\n" for k in range(100))
    path = written("x,z\n" + rows, encoding="cp1252")
    said: list[str] = []
    assert sum(map(len, tables.pieces(path, rows=30, remark=said.append))) == 100
    assert said == list(tables.read_raw(path).remarks)
    assert "read as cp1252" in said[0]
    assert "3 rows with fewer cells than the header" in said[1]
    assert "rows 6, 46, 86" in said[1]


def test_headers(written: Write) -> None:
    table = training_table(written("a,a ,y\n1,2,3\n4,5,6\n"), "y")
    assert list(table.X.columns) == ["a", "a (2)"]
    assert "two columns are named 'a'" in table.remarks[0]
    empty = training_table(written("a,,y\n1,,3\n4,,6\n"), "y")
    assert list(empty.X.columns) == ["a"]
    assert "Unnamed: 1: empty, and left out" in [found.text for found in empty.quality]


@pytest.mark.parametrize(
    "above",
    [
        "sep=;\n",
        "# made by a machine; in May\n#\n",
        "Report 2024\n\nStation;Berlin\n\n",
        "2024;7\n",
        "a;b;c;d\n",
    ],
)
def test_lines_above_the_header(above: str, written: Write) -> None:
    rows = "".join(f"{k},5;{k % 3}\n" for k in range(30))
    path = written(f"{above}x;y\n{rows}")
    table = training_table(path, "y")
    assert table.X["x"].tolist() == [k + 0.5 for k in range(30)]
    assert table.row.tolist() == list(range(1, 31))
    skipped = above.count("\n")
    assert any(remark.startswith(f"{skipped} line") for remark in table.remarks)
    parts = list(tables.pieces(path, 7, wanted=["x"]))
    assert [cell for part in parts for cell in part["x"]] == [f"{k},5" for k in range(30)]
    with pytest.raises(TableError, match=r"no column 'z'|no header"):
        training_table(path, "z")


def test_rows_above_the_header_of_a_workbook(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Report 2024", None])
    book.active.merge_cells("A1:B1")
    book.active.append(["x", "y"])
    for k in range(5):
        book.active.append([k + 0.5, k])
    book.save(tmp_path / "report.xlsx")
    table = training_table(tmp_path / "report.xlsx", "y")
    assert table.X["x"].tolist() == [k + 0.5 for k in range(5)]
    assert table.remarks[0].startswith("1 line")


def test_long_cells_old_line_ends_and_quotes(written: Write) -> None:
    long = "word " * 40_000
    assert training_table(written(f"text,y\n{long},1\n{long},2\n"), "y").y.tolist() == [1, 2]
    assert training_table(written("x,y\r1,2\r3,4\r"), "y").y.tolist() == [2, 4]
    table = training_table(written('size,y\na 5" tv,1\n"a, ""b""",2\n\nc,3\n'), "y")
    assert table.X["size"].tolist() == ['a 5" tv', 'a, "b"', "c"]
    assert table.y.tolist() == [1, 2, 3]


@pytest.mark.parametrize("large", [0, 1 << 40])
def test_large_files_are_read_as_small_ones(
    large: int, written: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "LARGE", large)
    lines = "".join(f"{k},{k / 8},{k % 9 + 1}.{k % 900 + 100},w{k},{k % 5}\n" for k in range(1, 2000))
    table = training_table(written("i,x,t,w,y\n" + lines + "7,?,1.234,-,3\n"), "y", keep=["w"])
    assert table.X["i"].tolist()[:3] == [1, 2, 3]
    assert table.X["x"].isna().tolist() == [False] * 1999 + [True]
    assert table.X["t"].iloc[-1] == 1.234
    assert table.X["w"].iloc[-1] is None or table.X["w"].isna().iloc[-1]
    assert table.y[-1] == 3
    plain = training_table(written("x,y\n" + "".join(f"{k / 8},{k}\n" for k in range(3000))), "y")
    assert plain.X["x"].tolist() == [k / 8 for k in range(3000)]
    assert plain.y.tolist() == list(range(3000))
    with pytest.raises(TableError, match="two ways"):
        training_table(
            written("x;y\n" + "".join(f"{k % 9 + 1}.{k % 900 + 100};{k}\n" for k in range(50))), "y"
        )
    late = training_table(written("x,y\n" + "1,2\n" * 2000 + '"1,500.5",2\n'), "y")
    assert late.X["x"].iloc[-1] == 1500.5


def test_workbooks(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    data, notes = book.active, book.create_sheet("notes")
    data.title = "data"
    data.append(["size", "sold", "mixed", "price"])
    for k in range(12):
        data.append([k + 0.5, datetime(2024, 1, k + 1), "1.234,5" if k else 1.234, f"€ {k + 1},50"])
    notes.append(["free text"])
    path = tmp_path / "book.xlsx"
    book.save(path)
    with pytest.raises(TableError, match="'data', 'notes'; choose one with --sheet"):
        tables.read(path)
    with pytest.raises(TableError, match="no sheet 'dta'; it has 'data'"):
        tables.read(path, sheet="dta")
    table = training_table(path, "price", sheet="data")
    assert table.y.tolist() == [k + 1.5 for k in range(12)]
    assert table.X["size"].tolist() == [k + 0.5 for k in range(12)]
    assert table.X["sold"].dtype.kind == "M"
    assert table.X["mixed"].tolist() == [1.234, *[1234.5] * 11]  # a number is not read as text
    assert len(list(tables.pieces(path, rows=5, sheet="data"))) == 3


def test_percent_times_and_durations_of_workbooks(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.active.append(["share", "mixed", "clock", "lasted", "y"])
    for k in range(24):
        book.active.append(
            [k / 50, f"{k}%" if k % 8 else k / 100, time(k, 30), timedelta(hours=k), k % 5 + 0.5]
        )
        book.active.cell(k + 2, 1).number_format = "0%"
    book.save(tmp_path / "book.xlsx")
    table = training_table(tmp_path / "book.xlsx", "y")
    assert table.X["share"].tolist() == [k / 50 for k in range(24)]
    assert table.X["mixed"].isna().tolist() == [k % 8 == 0 for k in range(24)]  # 0.08 is not 0.08 %
    assert ("mixed units", "mixed") in [(one.title, one.column) for one in table.quality]
    np.testing.assert_allclose(table.X["clock"], (np.arange(24) + 0.5) / 24)
    np.testing.assert_allclose(table.X["lasted"], np.arange(24) / 24)


def test_types_of_parquet_files(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    n, path = 12, tmp_path / "types.parquet"
    columns = {
        "decimal": pa.array([Decimal(k) / 4 for k in range(n)], pa.decimal128(8, 2)),
        "word": pa.array(["a", "b"] * 6).dictionary_encode(),
        "day": pa.array([date(2024, 1, k + 1) for k in range(n)]),
        "clock": pa.array([time(k, 30) for k in range(n)]),
        "y": pa.array([k % 5 + 0.5 for k in range(n)]),
    }
    pq.write_table(pa.table(columns), path)
    table = training_table(path, "y")
    assert table.X["decimal"].tolist() == [k / 4 for k in range(n)]
    assert table.X["word"].tolist() == ["a", "b"] * 6
    assert table.X["day"].dtype.kind == "M"
    np.testing.assert_allclose(table.X["clock"], (np.arange(n) + 0.5) / 24)
    with pytest.raises(TableError, match="'day' holds dates, so it cannot be the target"):
        training_table(path, "day")
    for nested in ([[1, 2]] * n, [{"a": 1}] * n, [b"ab"] * n):
        pq.write_table(pa.table({**columns, "odd": pa.array(nested)}), path)
        with pytest.raises(TableError, match=r"column 'odd' holds (lists|bytes).*--drop 'odd'"):
            training_table(path, "y")
        assert "odd" not in training_table(path, "y", drop=["odd"]).X


def test_files_of_a_folder_with_other_columns(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": [1.5, 2.5], "y": [1.0, 2.0]})
    frame[["y"]].to_parquet(tmp_path / "a.parquet")
    frame.to_parquet(tmp_path / "b.parquet")
    table = training_table(tmp_path, "y")
    assert table.X["x"].tolist()[2:] == [1.5, 2.5]
    assert any("x: 1 file of 2 without this column" in r and "'a.parquet'" in r for r in table.remarks)


def test_archives_and_arrays(written: Write, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("data/", "")
        archive.writestr("data/a.csv", "x,y\n1,2\n3,4\n")
        archive.writestr("__MACOSX/data/._a.csv", b"\0")
    assert training_table(tmp_path / "a.zip", "y").y.tolist() == [2, 4]
    array = written('[\n {"x": 1, "y": 2},\n {"x": 3, "y": 4}\n]', name="a.json")
    assert training_table(array, "y").y.tolist() == [2, 4]
    with pytest.raises(TableError, match="one JSON object; give an array"):
        tables.read(written('{\n "x": 1\n}', name="b.json"))
    with pytest.raises(TableError, match="has a header, but no rows"):
        training_table(written("x,y\n"), "y")


def test_json_lines(written: Write) -> None:
    rows = [{"x": k, "kind": "old", "y": f"{k},5"} for k in range(30)]
    path = written("\n".join(map(json.dumps, rows)) + "\n", name="rows.jsonl")
    table = training_table(path, "y")
    assert table.y.tolist() == [k + 0.5 for k in range(30)]
    assert [len(part) for part in tables.pieces(path, rows=20)] == [20, 10]
    with pytest.raises(TableError, match="line 2 is not JSON"):
        tables.read(written('{"x": 1}\n{"x": \n'))
    with pytest.raises(TableError, match="one value per cell"):
        tables.read(written('{"x": [1]}\n'))


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    for k, city in enumerate(["Bonn", "Köln"]):
        folder = tmp_path / "parts" / f"city={city}"
        folder.mkdir(parents=True)
        pd.DataFrame({"x": [k, k + 1], "y": [1.0, 2.0]}).to_parquet(folder / "part.parquet")
    frame = tables.read(tmp_path / "parts")
    assert frame["x"].tolist() == [0, 1, 1, 2]
    assert frame["city"].tolist() == ["Bonn", "Bonn", "Köln", "Köln"]


def test_standard_input(written: Write) -> None:
    code = "from levelhead import tables; print(tables.training_table('-', 'y').y.tolist())"
    done = subprocess.run(
        [sys.executable, "-c", code], input="x;y\n1;2,5\n3;4,5\n", capture_output=True, text=True, check=True
    )
    assert done.stdout == "[2.5, 4.5]\n"


def test_empty_lines_are_skipped_in_chunks_too(written: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_BLOCK", 100)
    lines = [f"{k},w{k}" for k in range(100)]
    path = written("x,w\n" + "\n".join([*lines[:70], "", *lines[70:]]) + "\n\n")
    parts = list(tables.pieces(path, rows=30))
    assert [len(part) for part in parts] == [30, 30, 30, 10]
    assert pd.concat(parts)["w"].tolist() == [f"w{k}" for k in range(100)]
    assert len(tables.read(path)) == 100


def test_an_encoding_can_be_given(written: Write) -> None:
    path = written("größe,y\n1,2\n3,4\n", encoding="cp850")
    assert "größe" in tables.read(path, encoding="cp850")
    with pytest.raises(TableError, match="not the name of an encoding"):
        tables.read(path, encoding="nonsense")
    with pytest.raises(TableError, match="not in utf_8"):
        tables.read(path, encoding="utf_8")


def test_years_of_two_digits_are_said(written: Write) -> None:
    rows = "".join(f"1{k % 9}.03.{k + 40};{k}\n" for k in range(30))
    table = training_table(written("born;y\n" + rows), "y")
    assert str(table.X["born"].max())[:4] == "2069"
    assert any(
        "years of two digits are 1970 to 2069" in remark and "2069" in remark for remark in table.remarks
    )


def test_dates_are_read_in_the_format_of_their_column(written: Write) -> None:
    lines = "".join(f"{k % 28 + 1:02d}.{k % 12 + 1:02d}.2021;{k}\n" for k in range(40))
    table = training_table(written("day;y\n" + lines), "y")
    assert table.X["day"].iloc[20] == np.datetime64("2021-09-21")
    assert table.formats.columns_["day"].date == "%d.%m.%Y"
    new = pd.read_csv(io.StringIO("day\n03.04.2022\n"), dtype=str)
    assert table.formats.transform(new)["day"].tolist() == [pd.Timestamp("2022-04-03")]


def test_a_parquet_file_is_never_held_as_a_whole(tmp_path: Path) -> None:
    """Forty groups of rows of 1.6 MB: pyarrow holds less than all of them."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(800_000, 10)), columns=[f"x{k}" for k in range(10)])
    table.to_parquet(tmp_path / "table.parquet", row_group_size=20_000)
    reads = """
import pyarrow
from levelhead import tables
rows = sum(map(len, tables.pieces("table.parquet", 20_000)))
print(rows, pyarrow.default_memory_pool().max_memory() < 50e6)
"""
    done = subprocess.run(
        [sys.executable, "-c", reads], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.split() == ["800000", "True"]
