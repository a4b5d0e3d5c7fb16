"""What is done, failed and missing adds up to the study, whatever else the store holds."""

import pytest

from levelhead.study import Store, run_study
from levelhead.study.runs import Outcome
from levelhead.study.status import Status, status


@pytest.mark.compiled
def test_done_failed_and_missing(tmp_path, make_specs):
    specs = make_specs(2)
    run_study([s for s in make_specs(3) if s.method == "ridge"], tmp_path / "s.db", show_progress=False)
    broken = next(spec for spec in specs if spec.method == "GCP")
    with Store(tmp_path / "s.db") as store:
        store.record(broken, Outcome(broken.digest, None, "Traceback: no", 0.1, "here", {}))
        found = status([*specs, *specs], store)
    assert found == [Status("toy", "GCP", 0, 1, 3), Status("toy", "ridge", 4, 0, 0)]
