"""Files appear whole or not at all, and hold nothing that a spreadsheet would run."""

import csv
import json
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from levelhead.cli import output
from levelhead.report.page import ASSETS

FORMULAS = [
    *("=cmd()", "+1+1", "-2+3", "@SUM(A1)", "\t=1", " =1", "|calc", "\r=1", "%x", "\ttext"),
    *(
        "\u200b=1+1",
        "\ufeff=1+1",
        "\uff1d1+1",
        "\ufeff\u200b\u2060 \uff1dcmd()",
        "\uff0b1+1",
        "\uff20x",
        "\x00=1",
    ),
    *("\u202e-2+3", "\u00a0@x", "\u034f=1", "\ufe66x"),
]
HARMLESS = ["-1.5", "+3", "plain", "a=b", "1e5", "O'Hara", "\u200bplain", "\uff11", "\u00e4=b"]


@pytest.mark.parametrize("cell", FORMULAS)
def test_formulas_become_text(cell: str, tmp_path: Path) -> None:
    output.write_csv(pd.DataFrame({cell: [cell], "number": [-1.5]}), tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        header, row = csv.reader(file)
    assert header[0] == row[0] == "'" + cell.replace("\r", "\n")
    assert row[1] == "-1.5"


@pytest.mark.parametrize("cell", HARMLESS)
def test_harmless_text_stays_as_it_is(cell: str, tmp_path: Path) -> None:
    output.write_csv(pd.DataFrame({"text": [cell]}), tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv", dtype=str)["text"].tolist() == [cell]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run the report's script")
def test_the_page_of_a_report_escapes_the_same_cells() -> None:
    script = (
        f"globalThis.levelhead = {{}}; {(ASSETS / 'decisions.js').read_text(encoding='utf-8')}\n"
        "const cells = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        "process.stdout.write(JSON.stringify(cells.map((cell) => levelhead.csv.line([cell]))));"
    )
    done = subprocess.run(
        ["node", "-e", script],
        input=json.dumps([*FORMULAS, *HARMLESS]),
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [next(csv.reader([line], strict=True))[0] for line in json.loads(done.stdout)]
    assert lines == [*("'" + cell.replace("\r", "\n") for cell in FORMULAS), *HARMLESS]


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
