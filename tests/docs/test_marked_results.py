"""Numbers in README and manual that are marked as results are those of the CSV files they name.

A mark follows its number as a comment: `3.62<!-- results/table1.csv rmse boston 0.05 EnsGCP -->` is the mean of a
measure over the splits, with as many decimals as printed. `first 10`, `last 30` or `after 5` behind the method selects
splits, in the order of the study. Wrong labels are those of the paper.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from levelhead.contamination import Replaced
from levelhead.study.paper.table1 import SEEDS
from levelhead.study.store import read_csv

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
MARK = re.compile(
    r"(?P<number>[−-]?\d+(?:\.\d+)?)<!-- (?P<file>results/\S+\.csv) (?P<measure>\w+) (?P<dataset>\w+) "
    r"(?P<share>[\d.]+) (?P<method>.+?)(?: (?P<which>first|last|after) (?P<n>\d+))? -->"
)
KIND = repr(Replaced())
rows_of = cache(read_csv)


def marks() -> list[tuple[str, re.Match[str]]]:
    return [(page.name, mark) for page in PAGES for mark in MARK.finditer(page.read_text(encoding="utf-8"))]


def stored_mean(mark: re.Match[str]) -> float:
    n = int(mark["n"] or 0)
    chosen = {"first": SEEDS[:n], "last": SEEDS[-n:], "after": SEEDS[n:], None: SEEDS}[mark["which"]]
    cell = mark["dataset"], float(mark["share"]), mark["method"]
    values = [
        getattr(row, mark["measure"])
        for row in rows_of(ROOT / mark["file"])
        if (row.dataset, row.contamination, row.method) == cell and row.seed in chosen and row.kind == KIND
    ]
    assert values, f"no rows for {mark[0]}"
    return sum(values) / len(values)


def test_marked_numbers_are_those_of_the_files() -> None:
    found = marks()
    assert len(found) >= 10
    wrong = []
    for page, mark in found:
        decimals = len(mark["number"].partition(".")[2])
        printed, stored = float(mark["number"].replace("−", "-")), stored_mean(mark)
        if abs(printed - stored) > 0.5 * 10.0**-decimals + 1e-9:
            wrong.append(f"{page}: {mark[0]} is {stored:.{decimals + 1}f}")
    assert wrong == []


def test_comments_that_name_a_result_file_are_marks() -> None:
    """A mark with a typo would not be checked."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(re.findall(r"<!-- results/", text)) == len(MARK.findall(text)), page.name


def test_rows_that_name_a_table_are_its_rows() -> None:
    """The table behind a comment has the numbers of the page that the comment names; names and bold may differ."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"<!-- rows of (docs/tables/\S+\.md) -->\n\n((?:\|.*\n)+)", text)
    assert found
    for page, rows in found:
        named = [_numbers(line) for line in (ROOT / page).read_text(encoding="utf-8").splitlines()]
        shown = [_numbers(line) for line in rows.replace("**", "").splitlines()]
        assert len(shown) >= 4
        assert [row for row in shown[2:] if row not in named] == []


def _numbers(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def test_a_wrong_number_is_noticed() -> None:
    [mark] = MARK.finditer("9.99<!-- results/table1.csv rmse boston 0.05 EnsGCP -->")
    assert stored_mean(mark) == pytest.approx(3.62, abs=0.005)
