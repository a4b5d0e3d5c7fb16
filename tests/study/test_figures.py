"""Figures show the stored numbers."""

import numpy as np
import pytest

from levelhead.study import (
    Row,
    Store,
    cells,
    measure_against_contamination,
    measure_by_kind,
    retention_curves,
    run_study,
)
from levelhead.study.line_styles import line_styles

pytestmark = pytest.mark.compiled  # many fits


@pytest.fixture(scope="module")
def store(tmp_path_factory, make_specs):
    path = tmp_path_factory.mktemp("figures") / "study.db"
    run_study(make_specs(3, contamination=(0, 0.05, 0.1)), path, show_progress=False)
    with Store(path) as opened:
        yield opened


def test_auc_against_contamination(store):
    figure = measure_against_contamination(store.rows())
    [axes] = figure.axes
    drawn = dict(zip(axes.get_legend_handles_labels()[1], axes.containers, strict=True))
    assert list(drawn) == [r"GCP$_\mathrm{St}$", "GCP", "ridge"]
    found = cells(store.rows(), "auc")
    x, y = drawn["GCP"][0].get_xydata().T
    np.testing.assert_array_equal(x, [0, 5, 10])
    np.testing.assert_allclose(y, [found["toy", percentage / 100, "GCP"].mean for percentage in x])


def test_retention_curves_start_at_the_rmse(store):
    figure = retention_curves(store, methods=["GCP", "ridge"])
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    assert set(lines) == {"GCP", "ridge"}
    found = cells(store.rows(), "rmse")
    for method, curve in lines.items():
        assert curve[0] == pytest.approx(found["toy", 0.05, method].mean, rel=1e-6)
        assert curve.size == 32
        area = np.mean((curve[:-1] + curve[1:]) / 2)
        assert area == pytest.approx(cells(store.rows(), "auc")["toy", 0.05, method].mean, rel=1e-6)


def test_one_study_of_several_in_a_store(store, make_specs):
    specs = make_specs(3, contamination=(0.05,))[:4]
    [ridge] = [
        line for line in retention_curves(store, specs=specs).axes[0].lines if line.get_label() == "ridge"
    ]
    expected = np.mean(store.curves("toy", 0.05, "ridge", specs), axis=0)
    np.testing.assert_array_equal(ridge.get_ydata(), expected)
    assert len(store.curves("toy", 0.05, "ridge", specs)) == 2 < len(store.curves("toy", 0.05, "ridge"))


def test_a_figure_can_be_kept(store, tmp_path):
    measure_against_contamination(store.rows(), "nll").savefig(tmp_path / "nll.svg")
    assert (tmp_path / "nll.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_nothing_to_draw(store):
    with pytest.raises(ValueError, match="no stored results"):
        retention_curves(store, contamination=0.99)


def test_the_yardstick_may_leave_the_panel():
    """What is not robust must not press the others into a line."""
    rows = [
        Row("toy", contamination, "r", method, 1, rmse, rmse, 0, 0, 0, 0, None, 1.0)
        for contamination in (0.0, 0.05)
        for method, rmse in (("GCP", 1.0), ("Beta", 1.5), ("Gaussian", 50.0))
    ]
    assert measure_against_contamination(rows).axes[0].get_ylim()[1] < 2
    assert (
        measure_against_contamination([r for r in rows if r.method == "Gaussian"]).axes[0].get_ylim()[1] > 50
    )


def test_five_panels_leave_a_place_for_the_legend():
    rows = [Row(f"d{k}", 0.05, "r", "GCP", 1, 1.0, 1.0, 0, 0, 0, 0, None, 1.0) for k in range(5)]
    figure = measure_against_contamination(rows)
    assert len(figure.axes) == 5
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["GCP"]


def test_kinds_of_wrong_labels_below_one_another():
    row = lambda dataset, contamination, method, rmse: Row(
        dataset, contamination, "r", method, 1, rmse, 1.0, 0, 0, 0, 0, None, 1.0
    )
    replaced = [row(d, s, m, 2.0 + s) for d in "ab" for s in (0.0, 0.05) for m in ("GCPBoost", "EnsGCPBoost")]
    swapped = [row("b", 0.0, "GCPBoost", 3.0), row("b", 0.4, "GCPBoost", 300.0)]
    figure = measure_by_kind({"replaced": replaced, "swapped": swapped})
    assert [axes.get_title() for axes in figure.axes] == [
        "a, replaced",
        "b, replaced",
        "a, swapped",
        "b, swapped",
    ]
    assert {axes.get_yscale() for axes in figure.axes} == {"log"}
    [drawn] = figure.axes[3].containers
    np.testing.assert_array_equal(drawn[0].get_xydata(), [[0, 3], [40, 300]])
    # single trees before their ensemble, in one colour
    names = {
        text.get_text(): handle
        for text, handle in zip(figure.legends[0].texts, figure.axes[0].containers, strict=True)
    }
    assert list(names) == ["GCPBoost", "EnsGCPBoost"]
    assert len({handle[0].get_color() for handle in names.values()}) == 1
    assert len({handle[0].get_linestyle() for handle in names.values()}) == 2


def test_a_legend_of_long_names_stays_inside_the_figure():
    names = [f"A method with a long name, number {k} (tuned)" for k in range(9)]
    rows = [
        Row(dataset, wrong, "replaced", name, 1, 1.0, 1.0 + k, 0, 0, 0, 0, None, 1.0)
        for k, name in enumerate(names)
        for dataset in ("one", "two")
        for wrong in (0, 0.1)
    ]
    figure = measure_against_contamination(rows)
    figure.canvas.draw()
    [legend] = figure.legends
    box = legend.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_tuned_methods_have_the_style_of_their_family():
    tuned = line_styles(["GCP (tuned)", "Huber (tuned)"])
    assert tuned["GCP (tuned)"] == line_styles(["GCP"])["GCP"]
    both = line_styles(["GCP", "GCP (tuned)"])
    assert both["GCP"] != both["GCP (tuned)"]
