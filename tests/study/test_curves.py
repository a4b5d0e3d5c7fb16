"""Mean curves survive the way through a file, and mixed results are refused."""

import numpy as np
import pytest

from levelhead.contamination import Cluster
from levelhead.study import Spec, Store, run_study
from levelhead.study.curves import mean_curves, read_curves, write_curves
from levelhead.study.figures import retention

pytestmark = pytest.mark.compiled


@pytest.fixture
def store(tmp_path, make_specs):
    run_study(make_specs(2, epochs=5), tmp_path / "study.db", show_progress=False)
    with Store(tmp_path / "study.db") as opened:
        yield opened


def test_from_the_store_to_a_file_and_back(store, tmp_path):
    curves = mean_curves(store)
    assert [(c.contamination, c.method, c.n_splits) for c in curves] == [
        (wrong, method, 2) for wrong in (0, 0.1) for method in ("GCP", "GCP_St", "ridge")
    ]
    for curve in curves:
        expected = np.mean(store.curves("toy", curve.contamination, curve.method), axis=0)
        np.testing.assert_allclose(curve.rmse, expected)
    write_curves(curves, tmp_path / "curves.csv")
    again = read_curves(tmp_path / "curves.csv")
    assert [c[:5] for c in again] == [c[:5] for c in curves]
    text = (tmp_path / "curves.csv").read_text().replace("contamination,kind", "share,contamination")
    (tmp_path / "old.csv").write_text(text.replace("toy,0.1,", "toy,10.0,"))  # as version 0.1 wrote it
    assert read_curves(tmp_path / "old.csv") == again
    for one, other in zip(again, curves, strict=True):
        np.testing.assert_allclose(one.rmse, other.rmse, rtol=1e-4)


def test_kinds_are_kept_apart_and_recipes_not_mixed(store, tmp_path, make_specs, data):
    spec = make_specs(1)[1]
    other = Spec(data, 0.1, "ridge", 0, spec.estimator, kind=Cluster(), test_size=0.2)
    run_study([other], store.path, show_progress=False)
    found = mean_curves(store)
    assert {c.n_splits for c in found if "Cluster" in c.kind} == {1}
    with pytest.raises(ValueError, match="several contaminations or kinds"):
        retention([c for c in found if c.contamination == 0.1])
    run_study(make_specs(1, epochs=6), store.path, show_progress=False)
    with pytest.raises(ValueError, match="has split 0 twice"):
        mean_curves(store)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="contains no curves"):
        read_curves(tmp_path / "x.csv")
