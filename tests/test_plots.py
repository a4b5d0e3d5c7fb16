"""Pictures: what they show, and that both libraries draw them."""

import doctest

import numpy as np
import pandas as pd
import polars as pl
import pytest

import levelhead
from levelhead import GCPRegressor, Prediction, plots

plt = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("plotly")
pytestmark = pytest.mark.compiled
RNG = np.random.default_rng(0)
N = 300
X = pd.DataFrame(
    {"a": RNG.uniform(size=N), "b": RNG.uniform(size=N), "city": RNG.choice(["Rome", "Oslo"], N)}
)
Y = 2 * X["a"].to_numpy() + (X["city"] == "Rome") + 0.1 * RNG.normal(size=N)
Y[::30] += 5


@pytest.fixture(scope="module")
def model():
    return GCPRegressor((16,), max_iter=60, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def every(model):
    prediction, verdict = model.predict_dist(X), model.audit(X, Y)
    return {
        "calibration": plots.calibration(Y, prediction),
        "retention": plots.retention(Y, prediction),
        "intervals": plots.intervals(prediction, X["a"], Y, name="a"),
        "dependence": plots.partial_dependence(model, X, "a"),
        "levels": plots.partial_dependence(model, X, "city"),
        "suspects": plots.suspects(verdict),
        "suspects along a column": plots.suspects(verdict, X["city"], name="city"),
        "importance": plots.importance(model.contributions(X.head(20), X)),
    }


def test_the_example_in_the_docstring():
    assert doctest.testmod(plots).failed == 0


def test_both_libraries_draw_every_picture(every):
    for plot in every.values():
        figure = plot.matplotlib()
        assert [axes.get_title() for axes in figure.axes] == [panel.title for panel in plot.panels]
        assert all(axes.has_data() for axes in figure.axes)
        plt.close(figure)
        drawn = plot.plotly()
        n_marks = sum(1 + (mark.kind == "band") for panel in plot.panels for mark in panel.marks)
        assert len(drawn.data) == n_marks
        assert [drawn.layout.annotations[k].text for k in range(len(plot.panels))] == [
            panel.title for panel in plot.panels
        ]


def test_both_libraries_draw_the_same_numbers(every):
    plot = every["retention"]
    figure, drawn = plot.matplotlib(), plot.plotly()
    for line, trace in zip(figure.axes[0].lines, drawn.data, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), trace.y)
        assert line.get_label() == trace.name
    plt.close(figure)


def test_a_notebook_gets_one_picture(every):
    open_before = plt.get_fignums()
    content = every["dependence"]._repr_png_()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 10_000
    assert plt.get_fignums() == open_before
    assert (
        repr(every["dependence"]) == "Plot of Mean by a, Spread by a; draw it with .matplotlib() or .plotly()"
    )


def test_given_axes_are_used(every):
    figure, axes = plt.subplots(1, 2)
    assert every["dependence"].matplotlib(axes) is figure
    with pytest.raises(ValueError, match="2 panels, but 1 axes"):
        every["dependence"].matplotlib(axes[0])
    plt.close(figure)


def test_a_dependence_is_that_of_the_model(model, every):
    band, line = every["dependence"].panels[0].marks
    slope = (line.y[-1] - line.y[0]) / (line.x[-1] - line.x[0])
    assert slope == pytest.approx(2, abs=0.5)
    assert (band.y <= line.y).all()
    assert (line.y <= band.upper).all()
    levels = every["levels"].panels[0].marks[1]
    assert levels.x.tolist() == ["Oslo", "Rome"]
    assert levels.y[1] - levels.y[0] == pytest.approx(1, abs=0.4)
    by_hand = plots.partial_dependence(model, X.head(50), "a", grid=[0.5])
    expected = model.predict_dist(X.head(50).assign(a=0.5))
    assert by_hand.panels[0].marks[1].y[0] == expected.mean.mean()
    assert by_hand.panels[1].marks[0].y[0] == expected.std.mean()


def test_a_dependence_on_arrays_and_polars_frames(model):
    numbers = X[["a", "b"]].to_numpy()
    plain = GCPRegressor((8,), max_iter=5, random_state=0).fit(numbers, Y)
    plot = plots.partial_dependence(plain, numbers, 1, grid=[0.25, 0.75])
    assert plot.panels[0].x_label == "column 2"
    assert numbers[0, 1] == X["b"].iloc[0]
    there = plots.partial_dependence(model, pl.from_pandas(X), "city")
    here = plots.partial_dependence(model, X, "city")
    np.testing.assert_allclose(there.panels[0].marks[1].y, here.panels[0].marks[1].y)


def test_dates_have_a_dependence():
    frame = X.assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N) % 20, unit="D"))
    fitted = GCPRegressor((8,), max_iter=5, random_state=0).fit(frame, Y)
    plot = plots.partial_dependence(fitted, frame, "day")
    assert len(plot.panels[0].marks[1].x) == 20
    plt.close(plot.matplotlib())
    plot.plotly()


def test_suspects_are_marked(model, every):
    flagged = model.audit(X, Y).is_label_issue
    kept, marked = every["suspects"].panels[0].marks[:2]
    assert len(marked.x) == flagged.sum() > 5
    assert len(kept.x) == N - flagged.sum()
    np.testing.assert_array_equal(marked.y, Y[flagged])


def test_few_rows_are_shown_one_by_one():
    plot = plots.intervals(Prediction([3.0, 1.0, 2.0], [1.0, 1.0, 1.0]), [3.0, 1.0, 2.0], coverage=0.5)
    band, line = plot.panels[0].marks
    assert line.x.tolist() == line.y.tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(band.upper - band.y, 2 * 0.6744897, rtol=1e-6)


def test_wrong_arguments_are_explained(model):
    with pytest.raises(ValueError, match="there is no column 'price'; X has a, b, city"):
        plots.partial_dependence(model, X, "price")
    with pytest.raises(ValueError, match="X has no names; give a number"):
        plots.partial_dependence(model, np.ones((3, 2)), "a")
    with pytest.raises(ValueError, match="x has 2 entries, but there are 1 predictions"):
        plots.intervals(Prediction([0.0], [1.0]), [1.0, 2.0])
    with pytest.raises(ValueError, match="x has 3 entries, but the audit has 300 labels"):
        plots.suspects(model.audit(X, Y), [1, 2, 3])


def test_they_are_reachable():
    assert levelhead.plots is plots
