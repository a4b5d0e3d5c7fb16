"""Which part of a study a command selects: from its options to specs and rows."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from levelhead.contamination import CONTAMINATIONS, Contamination, Shifted

# A shift is measured in units of the noise of each row, which is not known for real tables.
_CONTAMINATIONS: Mapping[str, Contamination] = {
    name: kind for name, kind in CONTAMINATIONS.items() if not isinstance(kind, Shifted)
}
STORE = Path("table1.db")


@dataclass(frozen=True)
class Selection:
    """Data sets, shares and methods (None selects all), and the kind of wrong labels."""

    datasets: tuple[str, ...] | None
    shares: tuple[float, ...] | None
    methods: tuple[str, ...] | None
    contamination: Contamination

    def specs(self, splits: int, **more: Any) -> list[Any]:
        """The runs of this selection: of Table 1, and of trees if they are named."""
        from levelhead.study.paper.table1 import DATASETS, SEEDS, SHARES
        from levelhead.study.paper.trees import specs_of

        return list(
            specs_of(
                self.datasets or DATASETS,
                SHARES if self.shares is None else self.shares,
                self.known_methods(),
                SEEDS[:splits],
                contamination=self.contamination,
                **more,
            )
        )

    def known_methods(self) -> tuple[str, ...]:
        """Methods of Table 1 or of trees; all of Table 1 if none is named."""
        from levelhead.study.paper import table1
        from levelhead.study.paper import trees as boosting

        return check_names("--methods", self.methods or table1.METHODS, (*table1.METHODS, *boosting.METHODS))

    def matching(self, rows: Iterable[Any]) -> list[Any]:
        """The stored rows that match this selection."""
        wanted = repr(self.contamination)
        stored = list(rows)
        found = [
            row
            for row in stored
            if row.contamination == wanted
            and (self.datasets is None or row.dataset in self.datasets)
            and (self.shares is None or row.share in self.shares)
            and (self.methods is None or row.method in self.methods)
        ]
        if not found:
            kinds = ", ".join(sorted({row.contamination for row in stored})) or "none"
            raise ValueError(
                f"no results match this selection ({wanted}); stored are {len(stored)}, of contamination {kinds}"
            )
        return found


def select(
    datasets: Sequence[str] | None,
    shares: Sequence[str] | None,
    methods: Sequence[str] | None,
    contamination: str = "replaced",
) -> Selection:
    """Check the options and build a selection from them."""
    from levelhead.study.paper.table1 import DATASETS

    names = split_names(datasets)
    return Selection(
        None if names is None else check_names("--datasets", names, DATASETS),
        None if shares is None else tuple(_percentage(word) for word in split_names(shares) or ()),
        split_names(methods),
        contamination_named(contamination),
    )


def contamination_named(name: str) -> Contamination:
    """The contamination of this name, if a study can use it."""
    return _CONTAMINATIONS[check_names("--contamination", (name,), tuple(_CONTAMINATIONS))[0]]


def settings(hyperparameters: Path | None, label: str | None) -> dict[str, Any]:
    """Hyperparameters from a file written by `study search`, and the names of the methods that use them.

    Settings that were chosen on held-out training rows take precedence over those chosen on test rows.
    """
    if hyperparameters is None:
        return {} if label is None else {"label": _label(label)}
    from levelhead.study.paper.grid_search import chosen, read_choices

    lines = read_choices(hyperparameters)
    found = {**chosen(lines, honest=False), **chosen(lines, honest=True)}
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


def _percentage(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"--shares: {word!r} is not a number; give percentages, such as 0,5,10") from None
