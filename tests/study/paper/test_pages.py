"""The pages say what the results say, with fewer splits and without the optional files too, and always the same."""

import re

import numpy as np
import pytest

from levelhead.contamination import Cluster, Replaced
from levelhead.study import Row, write_csv
from levelhead.study.curves import Curve, write_curves
from levelhead.study.paper import synthetic_fits
from levelhead.study.paper.grid_search import Choice, chosen, found, read_choices, write_choices
from levelhead.study.paper.pages import with_table1, write_pages
from levelhead.study.paper.published import table1
from levelhead.study.paper.synthetic_fits import Point
from levelhead.study.paper.table1 import SEEDS, BayesHyperparameters, Hyperparameters, table1_specs


def rows_at_the_papers_numbers(n_splits: int = 5) -> list[Row]:
    """Every cell of the paper; EnsGCP of Power on two splits only, and GCP on Boston far off at λ = 5."""
    kind, found, rng = repr(Replaced()), [], np.random.default_rng(0)
    for (dataset, share, method), fact in table1().items():
        off = 3.0 if (dataset, share, method) == ("boston", 5.0, "GCP") else 0.0
        few = 2 if (dataset, method) == ("power", "EnsGCP") else n_splits
        for seed in SEEDS[:few]:
            spread = 1e-3 * rng.normal()
            rmse = fact.rmse + off + spread
            found.append(
                Row(dataset, share, kind, method, seed, rmse, fact.auc + spread, 1, 1, 0.9, 0.5, None, 1.0)
            )
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    write_csv(rows_at_the_papers_numbers(), folder / "table1.csv")
    return folder


def test_tables_of_an_unfinished_study(folder, tmp_path):
    written = write_pages(folder, tmp_path)
    assert {p.name for p in written} >= {"table1.md", "table1_compared.md", "auc-against-share.svg"}
    tables = tmp_path / "tables"
    table = (tables / "table1.md").read_text()
    assert table.count("| EnsGCP |") == 2 * 5  # RMSE and AUC, five shares
    assert "power AUC (2 to 5 splits)" in table
    assert "boston AUC |" in table  # as many as most: nothing is said
    boston = (tables / "table1_compared.md").read_text().split("###")[1]
    assert re.search(
        r"boston, λ = 5, GCP \| 6\.5[67]\d \| 3\.57 \| \*\*\+\d+\.\d\*\* \| 2\.0[45]\d \| 2\.05 \| .0\.0 \|",
        boston,
    )
    summary = (tables / "table1_summary.md").read_text()
    assert "Some cells have fewer than 50 splits: boston (5), concrete (5)" in summary
    assert "power (2 to 5)" in summary
    assert "| GCP, RMSE | 25 | 24 | 24 | 0 | 1 |" in summary
    assert "| all | 380 | 379 | 379 | 0 | 1 |" in summary
    assert re.search(r"EnsGCP has the lowest mean AUC in \d+ of 25 columns", summary)
    assert "Not run yet: `levelhead study beyond" in (tables / "beyond.md").read_text()
    assert "Not run yet: `levelhead study search" in (tables / "tuned.md").read_text()


@pytest.mark.slow
def test_everything_that_was_run_is_shown_and_again_the_same(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    rows = rows_at_the_papers_numbers(2)
    write_csv(
        [r._replace(contamination=repr(Cluster()), share=30.0) for r in rows if r.share == 5],
        tmp_path / "beyond.csv",
    )
    tuned = [r._replace(method="Beta (tuned)", auc=0.01 * r.auc) for r in rows if r.method == "Beta"]
    write_csv(tuned, tmp_path / "tuned.csv")
    best = Hyperparameters(1e-3, 0.1, 2500, 0.3)
    line = found("Beta", "yacht", Choice(best, {best: 0.5}), honest=True, n_splits=4)
    write_choices([line], tmp_path / "grid_search.csv")
    write_curves(
        [Curve("boston", 5.0, repr(Replaced()), "GCP", 2, (2.0, 1.0))], tmp_path / "retention_curves.csv"
    )
    points = [Point("clean", 0.0, 1.0, None), Point("truth", 0.0, 0.0, 0.5), Point("EnsGCP", 0.0, 0.0, 0.5)]
    synthetic_fits.write(points, tmp_path / "synthetic_fits.csv")
    once = {path: path.read_bytes() for path in write_pages(tmp_path, tmp_path / "docs")}
    again = {path: path.read_bytes() for path in write_pages(tmp_path, tmp_path / "docs")}
    assert once == again
    names = {path.name: content.decode() for path, content in once.items()}
    assert "A one-sided cluster" in names["beyond.md"]
    assert "λ = 30 %" in names["beyond.md"]
    assert "| Beta, yacht | held-out training rows | 4 | 0.001 | 0.1 | 2500 | 0.3 | – |" in names["tuned.md"]
    assert re.search(r"\| Beta \(tuned\) \|.*\*\*", names["tuned.md"])
    assert "| EnsGCP |" in names["tuned.md"]
    assert {"retention-curves.svg", "synthetic-fits.svg", "beyond.svg"} <= set(names)


def test_other_wrong_labels_start_from_the_clean_cells_of_the_same_splits():
    table1 = rows_at_the_papers_numbers(5)
    mine = [r for r in table1 if (r.dataset, r.method) == ("boston", "GCP")]
    kind = repr(Cluster())
    beyond = [
        r._replace(contamination=kind, share=30.0) for r in mine if r.share == 5 and r.seed in SEEDS[:2]
    ]
    [(name, rows)] = with_table1(beyond, table1).items()
    assert name == "one-sided cluster"
    assert {(r.share, r.contamination) for r in rows} == {
        (0.0, kind),
        (30.0, kind),
    }  # other λ hold other labels
    assert {r.seed for r in rows} == set(SEEDS[:2])
    more = [r._replace(share=30.0) for r in mine if r.share == 5]
    assert {r.share for r in with_table1(more, table1)["replaced"]} == {0, 5, 10, 15, 20, 30}


def test_choices_survive_the_file_and_make_specs(tmp_path):
    networks, bayes = Hyperparameters(2e-4, 0.0, 400, 0.7), BayesHyperparameters(0.2, 2.0)
    lines = [
        found("Gamma", "power", Choice(networks, {networks: 0.1}), honest=True, n_splits=3),
        found("Beta_Bayes", "power", Choice(bayes, {bayes: 0.1}), honest=True, n_splits=3),
        found("Gamma", "kin8nm", Choice(networks, {networks: 0.1}), honest=False, n_splits=3),
    ]
    write_choices(lines, tmp_path / "c.csv")
    again = read_choices(tmp_path / "c.csv")
    assert sorted(again) == sorted(lines)
    settings = chosen(again)
    assert settings == {("Gamma", "power"): networks, ("Beta_Bayes", "power"): bayes}
    assert chosen(again, honest=False) == {("Gamma", "kin8nm"): networks}
    # with settings found, Beta_Bayes can run where the paper had none
    [spec] = table1_specs(["power"], [5], ["Beta_Bayes"], [1], hyperparameters=settings)
    assert (spec.estimator.beta, spec.estimator.noise_std) == (0.2, 2.0)
    (tmp_path / "x.csv").write_text("a\n")
    with pytest.raises(ValueError, match="contains no choices"):
        read_choices(tmp_path / "x.csv")
