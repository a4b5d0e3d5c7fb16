"""`levelhead apply` as a user runs it."""

from pathlib import Path

import pytest

HEAD = "row,given_label,decision,new_label,column\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "flats.csv").write_text("id;rent\na;1.200,50\nb;9000\nc;3\n")
    (tmp_path / "anna.csv").write_text(HEAD + "2,9000,fix,900.5,rent\n")
    (tmp_path / "ben.csv").write_text(HEAD + "3,3,drop,,rent\n1,1200.5,keep,,rent\n")
    (tmp_path / "eve.csv").write_text(HEAD + "3,3,keep,,rent\n")
    return tmp_path


@pytest.mark.compiled
def test_decisions_of_two_reviewers_are_applied(files, run) -> None:
    done = run("apply", "flats.csv", "anna.csv", "ben.csv", "--out", "clean/flats.csv", cwd=files)
    assert done.code == 0, done.err
    assert (files / "clean/flats.csv").read_text() == "id;rent\na;1.200,50\nb;900,5\n"
    assert "rent: of 3 labels, fixed 1, dropped 1; 1 were looked at and kept." in done.out
    again = run("apply", "flats.csv", "anna.csv", "--out", "clean/flats.csv", cwd=files)
    assert again.code == 1
    assert "exists; give another path, or --force" in again.err


def test_conflicts_stop_or_are_listed(files, call) -> None:
    names = ("flats.csv", "ben.csv", "eve.csv", "--out", "clean.csv")
    stopped = call("apply", *names, cwd=files)
    assert stopped.code == 1
    assert "row 3: drop in ben.csv, keep in eve.csv" in stopped.err
    assert not (files / "clean.csv").exists()
    done = call("apply", *names, "--on-conflict", "keep", "--json", cwd=files)
    assert done.code == 0, done.err
    assert done.json["conflicts"] == ["row 3: drop in ben.csv, keep in eve.csv"]
    assert (done.json["fixed_rows"], done.json["dropped_rows"], done.json["kept"]) == ([], [], 2)
    assert (files / "clean.csv").read_text() == (files / "flats.csv").read_text()


def test_the_column_must_be_known(files, call) -> None:
    (files / "old.csv").write_text("row,given_label,decision,new_label\n2,9000,drop,\n")
    asked = call("apply", "flats.csv", "old.csv", "--out", "clean.csv", cwd=files)
    assert asked.code == 1
    assert "give it with --target" in asked.err
    done = call("apply", "flats.csv", "old.csv", "--out", "clean.csv", "--target", "rent", cwd=files)
    assert done.code == 0, done.err
    assert (files / "clean.csv").read_text() == "id;rent\na;1.200,50\nc;3\n"
