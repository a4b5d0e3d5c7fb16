"""Predictions in a notebook: well-formed HTML, with the numbers of the prediction."""

from xml.etree import ElementTree

import numpy as np

from levelhead import Prediction


def parsed(prediction):
    return ElementTree.fromstring(f"<div>{prediction._repr_html_()}</div>")


def cells(page):
    return [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]


def test_it_shows_mean_std_interval_and_alpha():
    prediction = Prediction.from_student([[1000.0, 2000.0]], [[3.0, 0.5]], [[300.0, 100.0]])
    page = parsed(prediction)
    names, first, second = cells(page)
    assert names[:6] == ["row", "mean", "std", "90 % from", "to", "α"]
    assert first[:2] == ["0", "1,000.0"]
    assert float(second[2]) == round(prediction.std[1], 1)
    assert float(second[4].replace(",", "")) == round(prediction.interval(0.9).upper[1], 1)
    assert len(list(page.iter("svg"))) == 2


def test_many_rows_are_cut_and_counted_and_none_is_no_error():
    page = parsed(Prediction(np.zeros((2, 1008)), np.ones((2, 1008))))
    assert len(cells(page)) == 9
    assert "… 1,000 more" in "".join(page.itertext())
    assert "α" not in cells(page)[0]
    empty = Prediction(np.zeros((1, 0)), np.ones((1, 0)))
    assert "0 rows" in "".join(parsed(empty).itertext())


def test_absurd_scales_are_shown_too():
    for scale in (1e-30, 1.0, 1e30):
        page = parsed(Prediction([[scale, 2 * scale]], [[scale**2, scale**2]]))
        assert float(cells(page)[2][1].replace(",", "")) == 2 * scale
