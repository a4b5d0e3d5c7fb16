"""What is bold is what no other method beats; every style shows the same numbers."""

from html.parser import HTMLParser

import numpy as np
import pytest

from levelhead.study import Row, cells, compare, compared, table
from levelhead.study.paper.published import table1
from levelhead.study.tables import on_shared_splits


def row(method, seed, rmse, *, dataset="toy", contamination=0.05, auc=1.0, kind="Replaced()", alpha=None):
    return Row(dataset, contamination, kind, method, seed, rmse, auc, 1.0, 1.0, 0.9, rmse, alpha, 2.0)


@pytest.fixture
def rows():
    """Splits differ much, methods little: only a paired test can tell A from B; C differs from A by chance."""
    rng = np.random.default_rng(0)
    found = []
    for seed in range(30):
        split = 5 + rng.normal()
        found.append(row("A", seed, split, auc=split + 3, alpha=2.0))
        found.append(row("B", seed, split + 0.1 + 0.02 * rng.normal(), auc=split + 2.9, alpha=3.0))
        found.append(row("C", seed, split + 0.3 * (-1) ** seed, auc=split + 3))
    return found


def test_bold_by_paired_tests(rows):
    found = cells(rows, "rmse")
    assert [name for (_, _, name), cell in found.items() if cell.bold] == ["A", "C"]
    unpaired = found["toy", 0.05, "B"].mean - found["toy", 0.05, "A"].mean
    assert unpaired < 0.2 * found["toy", 0.05, "A"].std  # far from significant without pairs
    assert [name for (_, _, name), cell in cells(rows, "auc").items() if cell.bold] == ["B"]
    assert not any(cell.bold for cell in cells(rows, "coverage").values())
    assert [name for (_, _, name), cell in cells(rows, "robust_r2").items() if cell.bold] == ["B", "C"]


def test_mean_and_standard_deviation(rows):
    values = [r.rmse for r in rows if r.method == "A"]
    cell = cells(rows, "rmse")["toy", 0.05, "A"]
    assert cell.mean == pytest.approx(np.mean(values))
    assert cell.std == pytest.approx(np.std(values, ddof=1))
    assert cell.n_splits == 30


def test_only_shared_splits_are_compared(rows):
    few = [r for r in rows if r.method != "A" or r.seed < 10]
    kept = on_shared_splits([*few, *(r._replace(dataset="zoo") for r in rows if r.method == "B")])
    assert {r.seed for r in kept if r.dataset == "toy"} == set(range(10))
    assert len([r for r in kept if r.dataset == "zoo"]) == 30


def test_text_and_order(rows):
    more = [r._replace(method="GCP_St", dataset="zoo", rmse=0.0123) for r in rows if r.method == "A"]
    more += [r._replace(method="Beta", dataset="zoo", rmse=0.0456) for r in rows if r.method == "B"]
    lines = table([*rows, *more], ["rmse"]).splitlines()
    assert lines[0] == "λ = 5 %, mean ± std over 30 splits"
    assert lines[1].split() == ["toy", "RMSE", "zoo", "RMSE"]
    assert [line.split()[0] for line in lines[2:]] == ["Beta", "GCP_St", "A", "B", "C"]
    assert "0.0123 ± 0.0000*" in lines[3]
    assert lines[2].split()[1] == "–"


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.open = [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open:
            self.found.append((data, "b" in self.open))


def test_every_style_shows_the_same(rows):
    text, html = table(rows), Cells()
    html.feed(table(rows, style="html"))
    assert html.open == []
    assert len(html.found) == 6
    latex, markdown = table(rows, style="latex"), table(rows, style="markdown")
    for value, bold in html.found:
        assert (f"{value}*" in text) == bold
        assert (f"**{value}**" in markdown) == bold
        assert value in markdown
        number = value.replace("±", r"\pm")
        assert (rf"$\mathbf{{{number}}}$" if bold else f"${number}$") in latex
    assert latex.count("&") == 4 * 2
    assert all(line.count("|") == 4 for line in markdown.splitlines()[2:])


def test_names_are_escaped(rows):
    odd = [r._replace(method="a<b_c|d%") for r in rows if r.method == "A"]
    assert "a&lt;b_c|d%" in table(odd, style="html")
    assert r"a<b\_c\|d%" in table(odd, style="markdown")
    assert r"a<b$_{\rm c|d\%}$" in table(odd, style="latex")


def test_mixed_rows_are_refused(rows):
    with pytest.raises(ValueError, match="split 0 twice"):
        table([*rows, rows[0]])
    with pytest.raises(ValueError, match="several kinds of wrong labels"):
        table([*rows, rows[0]._replace(kind="Cluster()", seed=99)])
    with pytest.raises(ValueError, match="no measure 'mse'"):
        table(rows, ["mse"])
    with pytest.raises(ValueError, match="no style 'pdf'"):
        table(rows, style="pdf")


def test_only_models_with_alpha_have_its_mean(rows):
    assert {name for _, _, name in cells(rows, "mean_alpha")} == {"A", "B"}


def test_the_papers_numbers():
    facts = table1()
    assert len(facts) == 5 * (3 * 8 + 2 * 7)
    assert facts["boston", 0.05, "GCP"] == (3.57, 1.47, 2.05, 0.48)
    assert facts["concrete", 0.2, "EnsGamma"] == (8.99, 1.35, 7.94, 1.46)
    assert facts["kin8nm", 0.2, "EnsGCP"] == (0.08, 0.00, 0.06, 0.00)
    assert ("power", 0.0, "Beta_Bayes") not in facts
    better = [facts[d, s, "EnsGCP"].auc <= facts[d, s, "GCP"].auc for d, s, m in facts if m == "GCP"]
    assert all(better)


def test_differences_in_standard_errors_of_both_sides():
    noise = 1.47 * np.array([-1, 1] * 12 + [0])  # standard deviation 1.47
    ours = [
        row("GCP", seed, 3.57 + 1.47 * 0.3 + noise[seed], dataset="boston", auc=2.05) for seed in range(25)
    ]
    ours += [row("mine", seed, 1.0, dataset="boston") for seed in range(25)]
    rmse, auc = compared(ours)
    assert rmse.standard_error == pytest.approx(1.47 * (1 / 25 + 1 / 50) ** 0.5, rel=1e-3)
    assert rmse.difference == pytest.approx(0.3 / (1 / 25 + 1 / 50) ** 0.5, rel=1e-3)
    assert rmse.p_value == pytest.approx(0.221, abs=2e-3)
    assert auc.standard_error == pytest.approx(0.48 / 50**0.5, rel=2e-3)  # ours does not vary at all
    assert auc.difference == pytest.approx(0, abs=1e-9)
    printed = compare(ours)
    assert "+1.2 " in printed
    assert "mine" not in printed
    far = compare([r._replace(rmse=r.rmse + 5) for r in ours])
    assert "+15.1*" in far


def test_cells_of_the_same_quantity_agree_as_often_as_by_chance():
    """Two samples of 50 splits from one distribution: 68 % within one standard error, 95 % within two."""
    rng = np.random.default_rng(3)
    fact = table1()["boston", 0.05, "GCP"]
    found = []
    for _ in range(400):
        paper, ours = rng.normal(fact.rmse, fact.rmse_std, size=(2, 50))
        shift = fact.rmse - paper.mean()  # the published mean is the fixed side
        one = compared([row("GCP", k, v + shift, dataset="boston", auc=2.05) for k, v in enumerate(ours)])[0]
        found.append(abs(one.difference))
    assert np.mean(np.array(found) < 1) == pytest.approx(0.68, abs=0.07)
    assert np.mean(np.array(found) < 2) == pytest.approx(0.955, abs=0.04)


def test_rounded_numbers_are_not_taken_for_exact():
    """The paper prints 0.08 ± 0.00 for Kin8nm: 0.083 may be the same."""
    rmse, _ = compared([row("EnsGCP", s, 0.083, dataset="kin8nm", auc=0.06) for s in range(50)])
    assert 0.5 < rmse.difference < 1.5
