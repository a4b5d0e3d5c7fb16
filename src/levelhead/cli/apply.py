"""`levelhead apply`: the decisions of a review, applied to the table."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from levelhead.cli import options, output, screen


class OnConflict(StrEnum):
    """What to do where reviewers disagree."""

    stop = "stop"
    first = "first"
    last = "last"
    keep = "keep"


DecisionFiles = Annotated[
    list[Path],
    typer.Argument(metavar="DECISIONS", help="Files that the report exported; several are merged."),
]
CleanFile = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Table to write.")]
OptionalTarget = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="Column with the labels; by default the one that the decisions name.",
    ),
]
Conflict = Annotated[
    OnConflict,
    typer.Option(
        "--on-conflict",
        help="If files disagree about a row: stop, use the first or the last file, or keep the label.",
    ),
]


@screen.command
def apply(
    data: options.Data,
    decisions: DecisionFiles,
    out: CleanFile,
    target: OptionalTarget = None,
    on_conflict: Conflict = OnConflict.stop,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Apply the decisions of a review to the table that was audited.

    Rows marked drop are removed, labels marked fix are replaced. All other cells are written exactly as they are in
    DATA. Every decision is compared with the label in DATA, so that decisions about another file are refused.
    """
    from levelhead.tables import repairs  # loads scikit-learn, which `--help` does not need

    output.refuse(out, force=force)
    read = [repairs.read_decisions(path) for path in decisions]
    column = _target(target, [named for _, named in read], decisions)
    merged = repairs.merge_decisions([made for made, _ in read], on_conflict.value)
    with output.whole(out, force=force) as (partial,):
        result = repairs.repair(data, partial, column, merged.decisions, like=out)
    kept = len(merged.decisions) - len(result.fixed) - len(result.dropped)
    if as_json:
        screen.print_json(
            {
                "rows": result.rows,
                "target": column,
                "fixed_rows": result.fixed,
                "dropped_rows": result.dropped,
                "kept": kept,
                "conflicts": merged.conflicts,
                "files": [str(out)],
            }
        )
        return
    for conflict in merged.conflicts:
        screen.note(f"Conflict: {conflict}")
    screen.print_line(
        f"{column}: of {result.rows:,} labels, fixed {len(result.fixed):,}, dropped {len(result.dropped):,}; "
        f"{kept:,} were looked at and kept."
    )
    screen.print_line(f"Wrote {out}. Next: levelhead audit {out} --target {column}")


def _target(given: str | None, named: list[str | None], files: list[Path]) -> str:
    known = {name for name in named if name is not None}
    if given is not None:
        return given
    if len(known) != 1:
        found = ", ".join(sorted(known)) or "none"
        raise ValueError(
            f"the decisions in {', '.join(map(str, files))} name {found} as the column of the labels; "
            "give it with --target"
        )
    return known.pop()
