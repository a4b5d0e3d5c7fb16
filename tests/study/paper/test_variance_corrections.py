"""Corrections are compared on data whose variance is known; the table says what the file says."""

import numpy as np
import pytest

from levelhead.study.paper.variance_corrections import READINGS, Ratio, ratios, read, summary, write


@pytest.mark.compiled
def test_without_wrong_labels_there_is_nothing_to_correct_and_with_many_there_is():
    found = {(r.contamination, r.reading): r for r in ratios(contamination=(0, 0.2), draws=1)}
    assert set(found) == {(wrong, reading) for wrong in (0, 0.2) for reading in READINGS}
    clean = {found[0, reading].ratio for reading in ("V_p", "first_order", "far", "known")}
    assert max(clean) - min(clean) < 1e-9
    spoilt = {reading: found[0.2, reading].ratio for reading in READINGS}
    assert spoilt["V_p"] > 1.3
    assert abs(np.log(spoilt["known"])) < abs(np.log(spoilt["V_p"]))
    assert abs(np.log(spoilt["estimated"])) < abs(np.log(spoilt["V_p"]))
    assert spoilt["first_order"] < spoilt["far"] < spoilt["V_p"]
    assert 0.1 < found[0.2, "estimated"].used_contamination < 0.3


def test_the_table_shows_quartiles_and_marks_the_nearest_to_one(tmp_path):
    lines = [
        Ratio(0.05, draw, reading, ratio + 0.1 * draw, 0.25 if reading == "first_order" else 0.0, 0.05)
        for draw in range(3)
        for reading, ratio in zip(READINGS, (1.2, 0.5, 0.89, 1.4, 1.5), strict=True)
    ]
    write(lines, tmp_path / "r.csv")
    again = read(tmp_path / "r.csv")
    assert [line[:3] for line in again] == [line[:3] for line in lines]
    text = (
        (tmp_path / "r.csv")
        .read_text()
        .replace("used_contamination", "epsilon")
        .replace("contamination", "share", 1)
    )
    (tmp_path / "old.csv").write_text(text.replace("\n0.05,", "\n5,"))  # as version 0.1 wrote it
    assert read(tmp_path / "old.csv") == again
    drawn = summary(again)
    assert "over 3 draws" in drawn
    assert "| ε known: V\\_far | **0.99 (0.94 to 1.04)** |" in drawn
    assert "0.60 (0.55 to 0.65; no solution for 25% of the rows)" in drawn
    (tmp_path / "x.csv").write_text("a\n")
    with pytest.raises(ValueError, match="contains no ratios"):
        read(tmp_path / "x.csv")
