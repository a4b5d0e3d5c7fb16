"""The list of study commands."""

import typer

from levelhead.cli import flags
from levelhead.cli.study.experiments import beyond, corrections, floors, search
from levelhead.cli.study.results import compare, export, figure, page, table, verify
from levelhead.cli.study.running import run, slice_, status

study_app = typer.Typer(
    cls=flags.Group,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Run the experiments of the paper (Table 1 and others) or your own, and write their tables and figures.",
)

_EXAMPLES = {
    "run": (
        run,
        [
            "levelhead study run --jobs 2",
            "levelhead study run --datasets boston,yacht --contamination 0.05 --methods GCP,EnsGCP --splits 10",
            "levelhead study run --kind cluster --contamination 0.1,0.2 --store cluster.db",
            "levelhead study run --dask tcp://host:8786",
            "levelhead study run --data flats.csv --target rent --method sklearn.linear_model:BayesianRidge --cost",
        ],
    ),
    "status": (status, ["levelhead study status", "levelhead study status --failures"]),
    "slice": (slice_, ["levelhead study slice --jobs 2"]),
    "table": (
        table,
        [
            "levelhead study table",
            "levelhead study table --from results/table1.csv --measure auc --style latex",
        ],
    ),
    "compare": (compare, ["levelhead study compare --from results/table1.csv --datasets boston"]),
    "figure": (
        figure,
        [
            "levelhead study figure 1 --out dynamics.pdf",
            "levelhead study figure 3 --from results/table1.csv --out auc.svg",
            "levelhead study figure 5 --from results/retention_curves.csv --out retention.png",
        ],
    ),
    "export": (
        export,
        ["levelhead study export --out results/table1.csv --curves results/retention_curves.csv"],
    ),
    "page": (
        page,
        [
            "levelhead study page --from results/table1.csv --curves results/retention_curves.csv --out study.html"
        ],
    ),
    "verify": (
        verify,
        [
            "levelhead study verify results/table1.csv --sample 20",
            "levelhead study verify results/tuned.csv --hyperparameters results/grid_search.csv --datasets yacht",
        ],
    ),
    "beyond": (beyond, ["levelhead study beyond --datasets boston,concrete,yacht --splits 10 --jobs 2"]),
    "floors": (floors, ["levelhead study floors --datasets yacht --splits 15 --jobs 2"]),
    "corrections": (corrections, ["levelhead study corrections --out results/variance_corrections.csv"]),
    "search": (
        search,
        [
            "levelhead study search --methods Beta,Gamma --datasets yacht --splits 5",
            "levelhead study search --on-test-rows --choices results/grid_search.csv",
            "levelhead study run --hyperparameters results/grid_search.csv --methods Beta,EnsBeta --store tuned.db",
        ],
    ),
}

for name, (command, examples) in _EXAMPLES.items():
    epilog = "\n\n".join(["Examples:", *(f"`{line}`" for line in examples)])
    study_app.command(name, cls=flags.Command, epilog=epilog)(command)
