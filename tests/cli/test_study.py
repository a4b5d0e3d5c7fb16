"""The study commands: some as processes of their own, on short runs of public data, the others in this one."""

import re
from pathlib import Path

import pandas as pd
import pytest
from typer.main import get_command

from levelhead.cli.study import study_app
from levelhead.study import Spec, Store, read_csv, table1_specs
from levelhead.study.curves import read_curves, write_curves
from levelhead.study.paper import grid_search, variance_corrections
from levelhead.study.paper.published import table1
from levelhead.study.paper.table1 import SEEDS, Hyperparameters
from levelhead.study.paper.variance_corrections import READINGS, Ratio
from levelhead.study.runs import Measures, Outcome, Result
from levelhead.study.store import write_csv

pytestmark = pytest.mark.compiled  # a process of its own takes ages without the compiler


def outcome(spec: Spec, rank: int) -> Outcome:
    """Measures as a run would give them, without running."""
    methods = [spec.method, *([spec.student] if spec.student else [])]
    measures = {
        m: Measures(
            rank + k + 1.0, rank + k + 0.5 + spec.seed % 7, 1.0, 1.0, 0.9, 0.5, None, (rank + 2.0, rank + 1.0)
        )
        for k, m in enumerate(methods)
    }
    return Outcome(spec.digest, Result(measures, 0.1), None, 0.1, "here", {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two splits of Yacht and Boston at 5 %, one of whose runs failed."""
    folder = tmp_path_factory.mktemp("study")
    specs = list(table1_specs(["boston", "yacht"], [0.05], ["GCP", "EnsGCP", "Gaussian"], SEEDS[:2]))
    with Store(folder / "table1.db") as store:
        for k, spec in enumerate(specs[:-1]):
            store.record(spec, outcome(spec, k % 3))
        store.record(
            specs[-1], Outcome(specs[-1].digest, None, "Traceback\nValueError: too bad", 0.1, "here", {})
        )
    return folder


def test_status_counts(run, folder: Path) -> None:
    part = (
        "--datasets",
        "boston,yacht",
        "--contamination",
        "0.05",
        "--methods",
        "GCP,EnsGCP,Gaussian",
        "--splits",
        3,
    )
    result = run("study", "status", *part, "--json", cwd=folder)
    assert result.code == 0, result.err
    assert (result.json["done"], result.json["failed"], result.json["missing"]) == (11, 1, 6)
    read = run("study", "status", *part, "--failures", cwd=folder)
    assert "11 of 18 runs are done, 1 failed, 6 are missing." in read.out
    assert "ValueError: too bad" in read.out
    assert re.search(r"yacht +Gaussian +1 +1 +1\n", read.out)


def test_looking_makes_no_file(call, tmp_path: Path) -> None:
    for command in ("status", "table", "compare"):
        done = call("study", command, cwd=tmp_path)
        assert done.code == 1
        assert "table1.db does not exist; give --store FILE" in done.err
    assert list(tmp_path.iterdir()) == []


def test_table_and_compare(call, folder: Path, tmp_path: Path) -> None:
    store = ("--store", folder / "table1.db")
    done = call("study", "table", *store, "--measure", "auc", "--style", "markdown", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.out.startswith("λ = 5 %, mean ± std over")
    assert "| GCP\\_St |" in done.out
    result = call("study", "table", *store, "--datasets", "boston", "--json", cwd=tmp_path).json["cells"]
    assert {c["dataset"] for c in result} == {"boston"}
    assert {c["measure"] for c in result} == {"rmse", "auc"}
    assert {c["n_splits"] for c in result} == {2}
    compared = call("study", "compare", *store, "--methods", "EnsGCP", "--json", cwd=tmp_path).json
    cell = next(c for c in compared["cells"] if (c["dataset"], c["measure"]) == ("boston", "rmse"))
    assert cell["ours"] == 2.0
    assert cell["paper"] == table1()["boston", 0.05, "EnsGCP"].rmse
    assert compared["agreement"][0]["cells"] == 2
    read = call("study", "compare", *store, cwd=tmp_path)
    assert "boston, λ = 5 %, EnsGCP" in read.out
    assert "within 1 SE" in read.out


def test_export_and_figures_from_files(call, folder: Path, tmp_path: Path) -> None:
    arguments = ("study", "export", "--store", folder / "table1.db", "--out", "t.csv", "--curves", "c.csv")
    done = call(*arguments, "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.json["rows"] == len(read_csv(tmp_path / "t.csv")) == 15
    assert call(*arguments, cwd=tmp_path).code == 1  # the files are there
    assert len(pd.read_csv(tmp_path / "c.csv")) == 8
    assert call(*arguments, "--splits", 1, "--force", "--json", cwd=tmp_path).json["rows"] == 8
    assert {row.seed for row in read_csv(tmp_path / "t.csv")} == {SEEDS[0]}
    assert set(pd.read_csv(tmp_path / "c.csv")["n_splits"]) == {1}
    call(*arguments, "--force", cwd=tmp_path)
    for number, source, head in ((3, "t.csv", b"\x89PNG"), (5, "c.csv", b"%PDF"), (4, "t.csv", b"<?xml")):
        name = f"figure{number}.{ {b'%': 'pdf', b'<': 'svg'}.get(head[:1], 'png') }"
        done = call("study", "figure", number, "--from", source, "--out", name, cwd=tmp_path)
        assert done.code == 0, done.err
        assert (tmp_path / name).read_bytes().startswith(head)
    done = call("study", "figure", 3, "--from", "t.csv", "--out", "x.gif", cwd=tmp_path)
    assert done.code == 1
    assert "x.gif has an unknown file type; the name must end in one of .svg, .png, .pdf" in done.err


def test_an_export_updates_the_runs_of_the_store_and_keeps_other_rows(
    call, folder: Path, tmp_path: Path
) -> None:
    arguments = ("study", "export", "--store", folder / "table1.db", "--out", "t.csv", "--curves", "c.csv")
    call(*arguments, cwd=tmp_path)
    rows, curves = read_csv(tmp_path / "t.csv"), read_curves(tmp_path / "c.csv")
    other = rows[0]._replace(dataset="elsewhere", rmse=7.0)
    write_csv([other, rows[0]._replace(rmse=1e9)], tmp_path / "t.csv")
    write_curves(
        [curves[0]._replace(dataset="elsewhere"), curves[0]._replace(rmse=(9.0,))], tmp_path / "c.csv"
    )
    done = call(*arguments, "--update", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert read_csv(tmp_path / "t.csv") == [other, *rows]
    assert [one.dataset for one in read_curves(tmp_path / "c.csv")] == [
        "elsewhere",
        *(c.dataset for c in curves),
    ]
    assert read_curves(tmp_path / "c.csv")[1:] == curves
    assert done.json["rows"] == len(rows) + 1
    more = [
        curve._replace(n_splits=50, rmse=(9.0,)) for curve in curves
    ]  # over more splits than the store has
    write_curves(more, tmp_path / "c.csv")
    call(*arguments, "--update", cwd=tmp_path)
    assert read_curves(tmp_path / "c.csv") == more


@pytest.mark.usefixtures("public_data")
def test_rows_of_trees(call, tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    part = ("--datasets", "yacht", "--contamination", "0.05", "--methods", "GCPBoost", "--splits", 1)
    done = call("study", "run", *part, "--backend", "serial", cwd=tmp_path)
    assert done.code == 0, done.err
    assert call("study", "status", *part, "--json", cwd=tmp_path).json["done"] == 1
    (cell,) = call("study", "table", "--measure", "rmse", "--json", cwd=tmp_path).json["cells"]
    assert cell["method"] == "GCPBoost"


def test_old_options_still_work_with_a_note(call, folder: Path) -> None:
    new = call("study", "table", "--contamination", "0.05", "--kind", "replaced", cwd=folder)
    old = call("study", "table", "--shares", "5", cwd=folder)
    kind = call("study", "table", "--contamination", "replaced", cwd=folder)
    assert (new.code, old.code, kind.code) == (0, 0, 0)
    assert new.out == old.out == kind.out
    assert not new.err
    assert "note: --shares, in percent, is now --contamination, a fraction: 0.05 for 5 %" in old.err
    assert "note: the kind of wrong labels is now --kind replaced" in kind.err


def test_words_that_are_no_names(call, folder: Path) -> None:
    for option, word, hint in (
        ("--datasets", "bostn", "did you mean 'boston'?"),
        ("--methods", "GPC", "did you mean 'GCP'?"),
        ("--contamination", "many", "give fractions"),
        ("--contamination", "5", "0.05 for 5 %"),
        ("--kind", "shift2", "Choose from replaced"),
        ("--backend", "slurm", "choose one of serial"),
    ):
        done = call("study", "run", option, word, "--splits", 1, "--store", "never.db", cwd=folder)
        assert done.code == 1, (option, done.out)
        assert hint in done.err
    empty = call("study", "table", "--kind", "cluster", cwd=folder)
    assert empty.code == 1
    assert "no results match this selection (Cluster(offset=8.0, width=0.1))" in empty.err


@pytest.mark.usefixtures("public_data")
def test_run_goes_on_and_fails_with_a_code(run, tmp_path: Path) -> None:
    part = ("--datasets", "yacht", "--contamination", "0.2", "--methods", "Gaussian", "--splits", 1)
    options = ("--store", "s.db", "--backend", "serial", "--json")
    first = run("study", "run", *part, *options, cwd=tmp_path)
    assert first.code == 0, first.err
    assert (first.json["finished"], first.json["cached"]) == (1, 0)
    assert "1/1 runs" in first.err
    again = run("study", "run", *part, *options, cwd=tmp_path)
    assert (again.json["finished"], again.json["cached"]) == (0, 1)
    offline = {
        "LEVELHEAD_DATA": "nowhere",
        "XDG_CACHE_HOME": tmp_path,
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }
    hidden = run("study", "run", *part, "--kind", "swapped", *options, cwd=tmp_path, **offline)
    assert hidden.code == 1
    assert hidden.json["failures"][0]["dataset"] == "yacht"


def test_the_slice_reports_whether_its_targets_are_met(call, tmp_path: Path) -> None:
    """With every run in the store, only the comparison is left: ours at twice the paper's must miss."""
    from levelhead.study.paper.targets import slice_specs

    for name, factor, code in (("good", 1.0, 0), ("bad", 2.0, 1)):
        with Store(tmp_path / f"{name}.db") as store:
            for spec in slice_specs():
                fact = table1()["boston", 0.05, spec.method]
                m = Measures(factor * fact.rmse, fact.auc, 1, 1, 0.9, 0.5, None, (1.0,))
                store.record(spec, Outcome(spec.digest, Result({spec.method: m}, 0.1), None, 0.1, "", {}))
        done = call("study", "slice", "--store", f"{name}.db", cwd=tmp_path)
        assert done.code == code, done.err
        assert ("Nothing contradicts" if code == 0 else "The paper is not reproduced here.") in done.out
        result = call("study", "slice", "--store", f"{name}.db", "--json", cwd=tmp_path)
        assert result.json["met"] is (code == 0)
        assert len(result.json["cells"]) == 4
    assert result.json["cells"][0]["verdict"] == "worse than the paper"


OWN = (
    "--data",
    "flats.csv",
    "--target",
    "rent",
    "--splits",
    2,
    "--contamination",
    "0,0.1",
    "--store",
    "own.db",
)
HUBER = "sklearn.linear_model:HuberRegressor(epsilon=1.5, max_iter=500)"


def test_a_table_and_methods_of_ones_own(run, call, flats, tmp_path: Path) -> None:
    """A file with categories, dates and gaps; a class with a variance, one without, and one from the folder."""
    (tmp_path / "flats.csv").write_bytes(flats.path.read_bytes())
    (tmp_path / "mine.py").write_text(
        "from sklearn.linear_model import BayesianRidge\n\n\nclass Mine(BayesianRidge):\n    pass\n"
    )
    study = ("study", "run", *OWN, "--method", HUBER, "--method", "mine:Mine", "--jobs", 2)
    cost = run(*study, "--cost", "--json", cwd=tmp_path)
    assert cost.code == 0, cost.err
    assert cost.json["missing"] == 2 * (4 - 3)
    assert cost.json["seconds"] > 0
    done = run(*study, "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert (done.json["finished"], done.json["cached"]) == (2, 6)
    assert call(*study, "--json", cwd=tmp_path).json["cached"] == 8

    shown = call("study", "table", "--store", "own.db", cwd=tmp_path)
    names = [line.partition("  ")[0] for line in shown.out.splitlines()]
    assert names.count("HuberRegressor(epsilon=1.5, max_iter=500)") == names.count("Mine") == 2
    huber = [line for line in shown.out.splitlines() if line.startswith("Huber")]
    assert all(line.endswith("–") for line in huber)  # no variance, no AUC
    chosen = (
        "study",
        "table",
        "--store",
        "own.db",
        "--methods",
        HUBER,
        "--measure",
        "rmse,robust_r2",
        "--json",
    )
    cells = call(*chosen, cwd=tmp_path).json["cells"]
    assert {(c["dataset"], c["measure"]) for c in cells} == {("flats", "rmse"), ("flats", "robust_r2")}
    page = call("study", "page", "--store", "own.db", "--out", "own.html", cwd=tmp_path)
    assert page.code == 0, page.err
    assert "<title>A study</title>" in (tmp_path / "own.html").read_text()

    assert call("study", "export", "--store", "own.db", "--out", "own.csv", cwd=tmp_path).code == 0
    again = run(
        "study", "verify", "own.csv", *OWN[:4], "--methods", HUBER, "--sample", 2, "--json", cwd=tmp_path
    )
    assert again.code == 0, again.err
    assert again.json["n_same"] == 2


@pytest.mark.usefixtures("public_data")
def test_a_method_of_ones_own_beside_those_of_the_paper(call, tmp_path: Path) -> None:
    part = ("--datasets", "yacht", "--contamination", 0.1, "--splits", 1, "--backend", "serial")
    done = call("study", "run", *part, "--methods", "Gaussian,sklearn.linear_model:Ridge", cwd=tmp_path)
    assert done.code == 0, done.err
    cells = call("study", "table", "--measure", "rmse", "--json", cwd=tmp_path).json["cells"]
    assert {cell["method"] for cell in cells} == {"Gaussian", "Ridge"}


def test_what_does_not_belong_together_is_refused(call, flats, tmp_path: Path) -> None:
    (tmp_path / "flats.csv").write_bytes(flats.path.read_bytes())
    table = ("--data", "flats.csv", "--target", "rent")
    for arguments, message in (
        (("--data", "flats.csv"), "--data and --target belong together"),
        (table, "name a class, such as --method levelhead:GCPRegressor"),
        ((*table, "--methods", "GCP"), "the settings of GCP are for the data sets of the paper"),
        ((*table, "--datasets", "boston", "--method", "mine:X"), "give one of them"),
        ((*table, "--method", "no_package:X"), "no_package:X: no_package cannot be imported"),
        (("--data", "flats.csv", "--target", "rnt", "--method", HUBER), "did you mean 'rent'?"),
    ):
        done = call("study", "run", *arguments, "--store", "own.db", cwd=tmp_path)
        assert done.code == 1, done.out
        assert message in done.err
    assert not (tmp_path / "own.db").exists()


def test_search_keeps_other_lines_and_its_settings_run(call, tmp_path: Path, monkeypatch) -> None:
    """The search itself is tested in tests/study; here it stops after one candidate of each stage."""
    for name, values in (("LEARNING_RATES", (1e-3,)), ("DROPOUTS", (0.0,)), ("ROBUSTNESS", (0.5,))):
        monkeypatch.setattr(grid_search, name, values)
    before = Hyperparameters(1e-4, 0.1, 300, 0.9)
    line = grid_search.found(
        "Gamma", "yacht", grid_search.Choice(before, {before: 1.0}), held_out=True, n_splits=2
    )
    grid_search.write_choices([line], tmp_path / "grid.csv")
    monkeypatch.setattr(grid_search, "run_study", lambda *_, **__: None)
    monkeypatch.setattr(grid_search, "_score", lambda *_: 0.5)
    part = ("--methods", "Beta", "--datasets", "yacht", "--splits", 1, "--backend", "serial")
    done = call("study", "search", *part, "--epochs", 2, "--choices", "grid.csv", cwd=tmp_path)
    assert done.code == 0, done.err
    settings = grid_search.chosen(grid_search.read_choices(tmp_path / "grid.csv"))
    assert settings == {("Beta", "yacht"): Hyperparameters(1e-3, 0.0, 2, 0.5), ("Gamma", "yacht"): before}
    Store(tmp_path / "tuned.db").close()
    store = ("--store", "tuned.db", "--hyperparameters", "grid.csv", "--contamination", 0.05)
    result = call("study", "status", *part[:-2], *store, "--json", cwd=tmp_path).json
    assert result["by_method"] == [
        {"dataset": "yacht", "method": "Beta (tuned)", "done": 0, "failed": 0, "missing": 1}
    ]
    wrong = call("study", "status", *store, "--label", "tuned", cwd=tmp_path)
    assert wrong.code == 1
    assert "it must contain {method}" in wrong.err


def test_every_study_command_has_help_with_examples_and_is_in_the_manual(call, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "study.md").read_text()
    commands = get_command(study_app).commands
    assert {"run", "status", "slice", "table", "figure", "compare", "export", "search"} <= set(commands)
    for name, command in commands.items():
        assert f"levelhead study {name}" in page
        assert f"levelhead study {name}" in command.epilog
        for option in (
            o
            for parameter in command.params
            if not parameter.hidden
            for o in parameter.opts
            if o.startswith("--")
        ):
            general = ("--out", "--debug", "--help", "--json", "--force")
            assert option in page or option in general, (name, option)


def test_a_page_of_the_study(call, folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    pytest.importorskip("jinja2")
    done = call("study", "page", "--store", folder / "table1.db", "--out", "s.html", cwd=tmp_path)
    assert done.code == 0, done.err
    page = (tmp_path / "s.html").read_text()
    assert "boston, AUC" in page
    assert 'id="retention-1"' in page  # the store has the curves
    again = call("study", "page", "--store", folder / "table1.db", "--out", "s.html", cwd=tmp_path)
    assert again.code == 1
    assert "s.html exists" in again.err


def test_corrections_are_stored_and_printed(call, tmp_path: Path, monkeypatch) -> None:
    lines = [Ratio(0.05, 0, reading, 1.1, 0.0, 0.05) for reading in READINGS]
    monkeypatch.setattr(variance_corrections, "ratios", lambda draws: iter(lines * draws))
    done = call("study", "corrections", "--out", "v.csv", "--draws", 1, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "1.10 (1.10 to 1.10)" in done.out
    assert variance_corrections.read(tmp_path / "v.csv") == lines


def test_a_damaged_study_is_one_line(tmp_path: Path, call) -> None:
    with Store(tmp_path / "study.db"):
        pass
    content = (tmp_path / "study.db").read_bytes()
    (tmp_path / "study.db").write_bytes(content[:4096] + b"x" * (len(content) - 4096))
    for command in ("table", "status", "export --out out.csv", "page --out out.html"):
        done = call("study", *command.split(), "--store", "study.db", cwd=tmp_path)
        assert done.code == 1
        assert done.err.startswith(
            "levelhead: study.db is damaged (database disk image is malformed); use a backup"
        )
        assert done.err.count("\n") == 1
