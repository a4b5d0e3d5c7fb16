"""Decisions change the cells that they are about, and not one other byte."""

import gzip
from pathlib import Path

import pytest

from levelhead.tables import TableError, read
from levelhead.tables.repairs import Decision, merge_decisions, read_decisions, repair

pd = pytest.importorskip("pandas")

HEAD = "row,id,given_label,predicted_label,std,z,p_outlier,decision,new_label,column\n"


def decision(
    row: int, kind: str, given: float, value: float | None = None, source: str = "a.csv"
) -> Decision:
    return Decision(row, kind, value, given, source)


def applied(
    folder: Path, content: bytes, *made: Decision, target: str = "rent", name: str = "in.csv"
) -> bytes:
    (folder / name).write_bytes(content)
    repair(folder / name, folder / "out.csv", target, {each.row: each for each in made})
    return (folder / "out.csv").read_bytes()


FILES = {
    "comma": (b"id,rent\na,1200\nb,9000\nc,3\n", b"id,rent\na,1200\nb,900.5\n"),
    "windows line ends, mark": (
        b"\xef\xbb\xbfid,rent\r\na, 1200\r\nb, 9000\r\nc,3",
        b"\xef\xbb\xbfid,rent\r\na, 1200\r\nb, 900.5\r\n",
    ),
    "semicolon, decimal comma": (
        b'id;rent;note\n"a;x";"1.200,00";1\nb;"9.000,00";"say ""x""\nagain"\nc;3,0;2\n',
        b'id;rent;note\n"a;x";"1.200,00";1\nb;"900,5";"say ""x""\nagain"\n',
    ),
    "comma in a comma file": (
        b'rent,id\n"1,200.0",a\n"9,000.0",b\n3,c\n',
        b'rent,id\n"1,200.0",a\n"900.5",b\n',
    ),
    "tabs, Latin letters": (
        b"M\xfcller\trent\na\t1200\nb\t9000 EUR\nc\t3\n",
        b"M\xfcller\trent\na\t1200\nb\t900.5 EUR\n",
    ),
    "blanks": (b"id   rent\na    1200\nb    9000\nc    3\n", b"id   rent\na    1200\nb    900.5\n"),
    "empty lines and a line before the header": (
        b"made in 2004\n\nid,rent\n\na,1200\nb,9000\n\nc,3\n",
        b"made in 2004\n\nid,rent\n\na,1200\nb,900.5\n\n",
    ),
    "quotation mark within a cell": (
        b'size,rent\n5" x,1200\n7" y,9000\nz,3\n',
        b'size,rent\n5" x,1200\n7" y,900.5\n',
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_other_cells_keep_their_bytes(name, tmp_path) -> None:
    before, after = FILES[name]
    made = decision(1, "keep", 1200), decision(2, "fix", 9000, 900.5), decision(3, "drop", 3)
    assert applied(tmp_path, before, *made) == after
    assert applied(tmp_path, before) == before


def test_rows_are_counted_as_the_reader_counts_them(tmp_path) -> None:
    content = b"id,rent\na,1200\n,\n\nb,9000\nc,3\n"
    (tmp_path / "in.csv").write_bytes(content)
    row = list(read(tmp_path / "in.csv")["rent"]).index("9000") + 1
    assert applied(tmp_path, content, decision(row, "drop", 9000)) == b"id,rent\na,1200\n,\n\nc,3\n"


def test_wide_letters_and_compression(tmp_path) -> None:
    text = "id,rent\nä,1200\nß,9000\n"
    for encoding in ("utf-16", "utf-16-be"):
        content = text.encode(encoding) if encoding == "utf-16" else b"\xfe\xff" + text.encode(encoding)
        changed = applied(tmp_path, content, decision(2, "fix", 9000, 900))
        assert changed.decode("utf-16") == "id,rent\nä,1200\nß,900\n"
        assert changed[:2] == content[:2]
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(text.encode()))
    repair(tmp_path / "in.csv.gz", tmp_path / "tmp", "rent", {1: decision(1, "drop", 1200)}, like="x.csv.gz")
    assert gzip.decompress((tmp_path / "tmp").read_bytes()).decode() == "id,rent\nß,9000\n"


def test_parquet_keeps_its_types(tmp_path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"rent": [1200, 9000, 3], "day": pd.to_datetime(["2004-04-01"] * 3)})
    frame.to_parquet(tmp_path / "in.parquet")
    made = {2: decision(2, "fix", 9000, 900.5), 3: decision(3, "drop", 3)}
    result = repair(tmp_path / "in.parquet", tmp_path / "out.parquet", "rent", made)
    assert (result.rows, result.fixed, result.dropped) == (3, [2], [3])
    changed = pd.read_parquet(tmp_path / "out.parquet")
    assert changed["rent"].tolist() == [1200, 900.5]
    assert changed["day"].dtype == frame["day"].dtype


def test_decisions_about_another_file_are_refused(tmp_path) -> None:
    content = b"id,rent\na,1200\nb,9000\n"
    with pytest.raises(
        TableError, match=r"row 2: the label is '9000', but the decision in a.csv was made for 12"
    ):
        applied(tmp_path, content, decision(2, "drop", 12))
    with pytest.raises(TableError, match="has 2 rows, but there is a decision about row 7"):
        applied(tmp_path, content, decision(7, "drop", 12))
    with pytest.raises(TableError, match="no column 'price'"):
        applied(tmp_path, content, target="price")
    assert not (tmp_path / "out.csv").exists()


def test_decisions_are_read_and_merged(tmp_path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text(HEAD + "2,'=x,9000,900,1,9,.99,fix,900.5,rent\n3,c,3,5,1,-2,.9,drop,,rent\n")
    second.write_text(HEAD + "2,'=x,9000,900,1,9,.99,fix,900.5,rent\n3,c,3,5,1,-2,.9,keep,,rent\n")
    (made, target), (others, _) = read_decisions(first), read_decisions(second)
    assert target == "rent"
    assert made[0][:4] == (2, "fix", 900.5, 9000.0)
    with pytest.raises(
        TableError, match=r"disagree about 1 rows \(row 3: drop in .*a.csv, keep in .*b.csv\)"
    ):
        merge_decisions([made, others])
    kinds = {
        rule: merge_decisions([made, others], rule).decisions[3].kind for rule in ("first", "last", "keep")
    }
    assert kinds == {"first": "drop", "last": "keep", "keep": "keep"}
    merged = merge_decisions([made, others], "last")
    assert len(merged.conflicts) == 1
    assert merged.decisions[2].value == 900.5


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x,c,3,5,1,-2,.9,drop,,rent", "the row is 'x'"),
        ("1,c,3,5,1,-2,.9,remove,,rent", "the decision is 'remove'; use keep, fix or drop"),
        ("1,c,3,5,1,-2,.9,fix,many,rent", "the new label is 'many'; a fix needs a number"),
    ],
)
def test_a_bad_line_is_named(line, words, tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(HEAD + line + "\n")
    with pytest.raises(TableError, match=f"a.csv, line 2: {words}"):
        read_decisions(path)


def test_other_files_are_no_decisions(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("row,x\n1,2\n")
    with pytest.raises(TableError, match="no column 'given_label'; give a file that the report exported"):
        read_decisions(path)
