"""Which part of a study a command selects: from its options to specs and rows."""

import difflib
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelhead.cli import screen

if TYPE_CHECKING:
    from levelhead.contamination import Contamination

STORE = Path("table1.db")
_COMMAS = re.compile(r",(?![^(]*\))")  # not those between the arguments of a class


@dataclass(frozen=True)
class Selection:
    """Data sets, contamination and methods (None selects all), the kind of wrong labels, and a table of the user."""

    datasets: tuple[str, ...] | None
    contamination: tuple[float, ...] | None
    methods: tuple[str, ...] | None
    kind: "Contamination"
    data: Any = None

    def specs(self, splits: int, *, label: str = "{method}", **more: Any) -> list[Any]:
        """The runs of this selection: of Table 1, of trees if they are named, and of methods from outside."""
        from levelhead.study.own import load_method, own_specs
        from levelhead.study.paper.table1 import CONTAMINATIONS, DATASETS, SEEDS
        from levelhead.study.paper.trees import specs_of

        shares = CONTAMINATIONS if self.contamination is None else self.contamination
        names = check_names("--datasets", self.datasets or DATASETS, DATASETS)
        outside = [load_method(name) for name in self.methods or () if _is_outside(name)]
        inside = self.known_methods()
        where = names if self.data is None else (self.data,)
        more |= {} if label == "{method}" else {"label": label}
        return [
            *specs_of(names, shares, inside, SEEDS[:splits], kind=self.kind, **more),
            *own_specs(where, outside, shares, SEEDS[:splits], kind=self.kind, label=label),
        ]

    def known_methods(self) -> tuple[str, ...]:
        """Methods of Table 1, of trees, or others; all of Table 1 if none is named."""
        from levelhead.study.paper import table1
        from levelhead.study.paper import trees as boosting

        known = (*table1.METHODS, *boosting.METHODS, *table1.OTHER_METHODS)
        named = [name for name in self.methods or table1.METHODS if not _is_outside(name)]
        if named and self.data is not None:
            which = named[0] if self.methods else "the methods of Table 1"
            raise ValueError(
                f"the settings of {which} are for the data sets of the paper; with --data, name a class, such as "
                "--method levelhead:GCPRegressor or --method sklearn.linear_model:HuberRegressor"
            )
        return check_names("--methods", named, known)

    def matching(self, rows: Iterable[Any]) -> list[Any]:
        """The stored rows that match this selection."""
        wanted = repr(self.kind)
        stored = list(rows)
        if self.datasets is not None and stored:
            check_names("--datasets", self.datasets, sorted({row.dataset for row in stored}))
        methods = None if self.methods is None else {_shown(name) for name in self.methods}
        found = [
            row
            for row in stored
            if row.kind == wanted
            and (self.datasets is None or row.dataset in self.datasets)
            and (self.data is None or row.dataset == self.data.name)
            and (self.contamination is None or row.contamination in self.contamination)
            and (methods is None or row.method in methods)
        ]
        if not found:
            kinds = ", ".join(sorted({row.kind for row in stored})) or "none"
            raise ValueError(
                f"no results match this selection ({wanted}); {len(stored)} are stored, with wrong labels of the "
                f"kinds {kinds}"
            )
        return found


def _is_outside(name: str) -> bool:
    """Whether a method is given as package.module:Class."""
    return ":" in name


def _shown(name: str) -> str:
    """The name of a method in tables."""
    return name.partition(":")[2] or name


def reproducing(chosen: Selection, rows: Iterable[Any], more: Mapping[str, Any]) -> list[Any]:
    """The specs of Table 1, trees and others that may have produced rows; GCP_St is a reading of GCP."""
    from levelhead.study.paper.table1 import METHODS, OTHER_METHODS, SEEDS
    from levelhead.study.paper.trees import METHODS as TREES

    stored = list(rows)
    label = more.get("label", "{method}")
    outside = tuple(name for name in chosen.methods or () if _is_outside(name))
    known = (*METHODS, *OTHER_METHODS, *(() if more else TREES))
    here = tuple(name for name in known if label.format(method=name) in {row.method for row in stored})
    shares = tuple(sorted({row.contamination for row in stored}))
    named = replace(
        chosen,
        methods=(*here, *outside) or None,
        contamination=shares,
        datasets=None if chosen.data is not None else tuple(dict.fromkeys(row.dataset for row in stored)),
    )
    return named.specs(len(SEEDS), **more)


def select(
    datasets: Sequence[str] | None,
    contamination: Sequence[str] | None,
    methods: Sequence[str] | None,
    kind: str = "replaced",
    old_shares: Sequence[str] | None = None,
    data: Any = None,
) -> Selection:
    """Check the options and build a selection from them; `old_shares` are the percentages of the old option."""
    names = split_names(datasets)
    if names is not None and data is not None:
        raise ValueError("--data is a table of your own and --datasets are public ones; give one of them")
    fractions = split_names(contamination)
    if fractions is not None and fractions[0] in _kinds():
        [kind], fractions = renamed_kinds(fractions, None) or (), None
    return Selection(
        names,
        _from_percent(old_shares)
        if old_shares
        else None
        if fractions is None
        else tuple(_fraction(word) for word in fractions),
        split_names(methods),
        kind_named(kind),
        data,
    )


def own_table(
    path: Path | None, target: str | None, drop: Sequence[str] | None, keep: Sequence[str] | None
) -> Any:
    """The table that --data and --target name, None without them."""
    if (path is None) != (target is None):
        raise ValueError("--data and --target belong together: a file, and the column with its labels")
    if path is None or target is None:
        return None
    from levelhead.study.own import load_data

    table, remarks = load_data(path, target, drop=drop or (), keep=keep or ())
    for remark in remarks:
        screen.note(remark)
    return table


def _kinds() -> Mapping[str, "Contamination"]:
    from levelhead.contamination import CONTAMINATIONS, Shifted  # loads numpy, which `--help` does not need

    # A shift is measured in units of the noise of each row, which is not known for real tables.
    return {name: kind for name, kind in CONTAMINATIONS.items() if not isinstance(kind, Shifted)}


def kind_named(name: str) -> "Contamination":
    """The kind of wrong labels of this name, if a study can use it."""
    known = _kinds()
    return known[check_names("--kind", (name,), tuple(known))[0]]


def renamed_kinds(old: Sequence[str] | None, new: Sequence[str] | None) -> Sequence[str] | None:
    """Return the kinds of wrong labels that an option names; --contamination is the old name of --kind."""
    if old is None:
        return new
    warnings.warn(
        f"the kind of wrong labels is now --kind {','.join(old)}; --contamination is the share of wrong labels",
        FutureWarning,
        stacklevel=2,
    )
    return old


def settings(hyperparameters: Path | None, label: str | None) -> dict[str, Any]:
    """Hyperparameters from a file written by `study search`, and the names of the methods that use them.

    Settings that were chosen on held-out training rows take precedence over those chosen on test rows.
    """
    if hyperparameters is None:
        return {} if label is None else {"label": _label(label)}
    from levelhead.study.paper.grid_search import chosen, read_choices

    lines = read_choices(hyperparameters)
    found = {**chosen(lines, held_out=False), **chosen(lines, held_out=True)}
    return {"hyperparameters": found, "label": _label(label or "{method} (tuned)")}


def _label(label: str) -> str:
    if "{method}" not in label:
        raise ValueError(f"--label is {label!r}; it must contain {{method}}, such as '{{method}} (tuned)'")
    return label


def split_names(given: Sequence[str] | None) -> tuple[str, ...] | None:
    """Split names at commas, in one option or in several; a class may have arguments in parentheses."""
    if given is None:
        return None
    words = (word.strip() for text in given for word in _COMMAS.split(text))
    found = tuple(dict.fromkeys(word for word in words if word))
    if not found:
        raise ValueError("an option for names is empty; leave it out to select all")
    return found


def check_names(option: str, given: Sequence[str], choices: Sequence[str]) -> tuple[str, ...]:
    """Return the given names if each of them is one of the choices."""
    for word in given:
        if word not in choices:
            near = difflib.get_close_matches(word, choices, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ValueError(f"{option}: unknown name {word!r}{hint} Choose from {', '.join(choices)}")
    return tuple(given)


def existing(store: Path) -> Path:
    """Return the path if the file exists, so that reading a store never creates one."""
    if not store.exists():
        raise FileNotFoundError(
            f"{store} does not exist; give --store FILE, or create it with levelhead study run"
        )
    return store


def stored_rows(chosen: Selection, store: Path, csv: Path | None) -> list[Any]:
    """Rows of a CSV file if one is given, otherwise of the store."""
    from levelhead.study.store import Store, read_csv

    if csv is not None:
        return chosen.matching(read_csv(csv))
    with Store(existing(store)) as opened:
        return chosen.matching(opened.rows())


def _fraction(word: str) -> float:
    try:
        fraction = float(word)
    except ValueError:
        raise ValueError(
            f"--contamination: {word!r} is not a number; give fractions, such as 0,0.05,0.1"
        ) from None
    if not 0 <= fraction < 1:
        raise ValueError(f"--contamination is {word}; give fractions from 0 to below 1, such as 0.05 for 5 %")
    return fraction


def _from_percent(shares: Sequence[str]) -> tuple[float, ...]:
    """The fractions that the old option --shares gives in percent."""
    warnings.warn(
        "--shares, in percent, is now --contamination, a fraction: 0.05 for 5 %", FutureWarning, stacklevel=2
    )
    try:
        return tuple(float(word) / 100 for word in split_names(shares) or ())
    except ValueError:
        raise ValueError(
            f"--shares: {','.join(shares)!r} are not numbers; use --contamination 0.05"
        ) from None
