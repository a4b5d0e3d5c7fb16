"""Files appear whole or not at all, and hold nothing that a spreadsheet would run."""

from pathlib import Path

import pandas as pd
import pytest

from levelhead.cli import output


@pytest.mark.parametrize("cell", ["=cmd()", "+1+1", "-2+3", "@SUM(A1)", "\t=1", " =1", "|calc", "\r=1", "%x"])
def test_formulas_become_text(cell: str, tmp_path: Path) -> None:
    output.write_csv(pd.DataFrame({cell: [cell], "number": [-1.5]}), tmp_path / "out.csv")
    read = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert read.columns[0] == read.iloc[0, 0] == "'" + cell.replace("\r", "\n")
    assert read["number"].tolist() == ["-1.5"]


@pytest.mark.parametrize("cell", ["-1.5", "+3", "plain", "a=b", "1e5", "O'Hara"])
def test_harmless_text_stays_as_it_is(cell: str, tmp_path: Path) -> None:
    output.write_csv(pd.DataFrame({"text": [cell]}), tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv", dtype=str)["text"].tolist() == [cell]


def test_both_files_or_none(tmp_path: Path) -> None:
    one, two = tmp_path / "deep" / "one", tmp_path / "deep" / "two"

    def write(*texts: str) -> None:
        with output.whole(one, two, force=False) as partial:
            for path, text in zip(partial, texts, strict=True):
                path.write_text(text)
                assert not one.exists()

    with pytest.raises(ValueError, match="shorter"):
        write("half way")
    assert list((tmp_path / "deep").iterdir()) == []
    write("1", "2")
    assert (one.read_text(), two.read_text()) == ("1", "2")
    assert sorted(path.name for path in one.parent.iterdir()) == ["one", "two"]


def test_a_file_that_appears_meanwhile_is_spared(tmp_path: Path) -> None:
    path = tmp_path / "out"

    def write() -> None:
        with output.whole(path, force=False) as (partial,):
            partial.write_text("ours")
            path.write_text("theirs")

    with pytest.raises(FileExistsError, match="--force"):
        write()
    assert path.read_text() == "theirs"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.bz2", "csv.xz", "parquet"])
def test_pieces_become_one_table(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{ending}"
    parts = [
        pd.DataFrame({"id": ["a", None], "x": [1.0, 2.0]}),
        pd.DataFrame({"id": [None, None], "x": [3.0, 4.0]}),
    ]
    with output.writer(path) as write:
        for part in parts:
            write(part)
    read = pd.read_parquet(path) if ending == "parquet" else pd.read_csv(path)
    assert read["x"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert read["id"].isna().tolist() == [False, True, True, True]
