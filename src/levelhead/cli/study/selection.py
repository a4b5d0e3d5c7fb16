"""Which part of a study a command selects: from its options to specs and rows."""

import difflib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from levelhead.contamination import CONTAMINATIONS, Contamination, Shifted

# A shift is measured in units of the noise of each row, which is not known for real tables.
_KINDS: Mapping[str, Contamination] = {
    name: kind for name, kind in CONTAMINATIONS.items() if not isinstance(kind, Shifted)
}
STORE = Path("table1.db")


@dataclass(frozen=True)
class Selection:
    """Data sets, contamination and methods (None selects all), and the kind of wrong labels."""

    datasets: tuple[str, ...] | None
    contamination: tuple[float, ...] | None
    methods: tuple[str, ...] | None
    kind: Contamination

    def specs(self, splits: int, **more: Any) -> list[Any]:
        """The runs of this selection: of Table 1, and of trees if they are named."""
        from levelhead.study.paper.table1 import CONTAMINATIONS, DATASETS, SEEDS
        from levelhead.study.paper.trees import specs_of

        return list(
            specs_of(
                self.datasets or DATASETS,
                CONTAMINATIONS if self.contamination is None else self.contamination,
                self.known_methods(),
                SEEDS[:splits],
                kind=self.kind,
                **more,
            )
        )

    def known_methods(self) -> tuple[str, ...]:
        """Methods of Table 1, of trees, or others; all of Table 1 if none is named."""
        from levelhead.study.paper import table1
        from levelhead.study.paper import trees as boosting

        known = (*table1.METHODS, *boosting.METHODS, *table1.OTHER_METHODS)
        return check_names("--methods", self.methods or table1.METHODS, known)

    def matching(self, rows: Iterable[Any]) -> list[Any]:
        """The stored rows that match this selection."""
        wanted = repr(self.kind)
        stored = list(rows)
        found = [
            row
            for row in stored
            if row.kind == wanted
            and (self.datasets is None or row.dataset in self.datasets)
            and (self.contamination is None or row.contamination in self.contamination)
            and (self.methods is None or row.method in self.methods)
        ]
        if not found:
            kinds = ", ".join(sorted({row.kind for row in stored})) or "none"
            raise ValueError(
                f"no results match this selection ({wanted}); {len(stored)} are stored, with wrong labels of the "
                f"kinds {kinds}"
            )
        return found


def reproducing(chosen: Selection, rows: Iterable[Any], more: Mapping[str, Any]) -> list[Any]:
    """The specs of Table 1, trees and others that may have produced rows; GCP_St is a reading of GCP."""
    from levelhead.study.paper.table1 import METHODS, OTHER_METHODS, SEEDS
    from levelhead.study.paper.trees import METHODS as TREES

    stored = list(rows)
    label = more.get("label", "{method}")
    known = (*METHODS, *OTHER_METHODS, *(() if more else TREES))
    here = tuple(name for name in known if label.format(method=name) in {row.method for row in stored})
    shares = tuple(sorted({row.contamination for row in stored}))
    named = replace(
        chosen,
        methods=here or None,
        contamination=shares,
        datasets=tuple(dict.fromkeys(row.dataset for row in stored)),
    )
    return named.specs(len(SEEDS), **more)


def select(
    datasets: Sequence[str] | None,
    contamination: Sequence[str] | None,
    methods: Sequence[str] | None,
    kind: str = "replaced",
    old_shares: Sequence[str] | None = None,
) -> Selection:
    """Check the options and build a selection from them; `old_shares` are the percentages of the old option."""
    from levelhead.study.paper.table1 import DATASETS

    names = split_names(datasets)
    fractions = split_names(contamination)
    if fractions is not None and fractions[0] in _KINDS:
        [kind], fractions = renamed_kinds(fractions, None) or (), None
    return Selection(
        None if names is None else check_names("--datasets", names, DATASETS),
        _from_percent(old_shares)
        if old_shares
        else None
        if fractions is None
        else tuple(_fraction(word) for word in fractions),
        split_names(methods),
        kind_named(kind),
    )


def kind_named(name: str) -> Contamination:
    """The kind of wrong labels of this name, if a study can use it."""
    return _KINDS[check_names("--kind", (name,), tuple(_KINDS))[0]]


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
    """Split names at commas, in one option or in several."""
    if given is None:
        return None
    found = tuple(dict.fromkeys(word.strip() for text in given for word in text.split(",") if word.strip()))
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
