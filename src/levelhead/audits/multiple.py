"""Audits of several targets of the same rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray
from levelhead.audits.audit import Audit
from levelhead.audits.html import multi_audit_html
from levelhead.audits.presentation import flagged_in_words, percent
from levelhead.prediction.display import make_frame
from levelhead.prediction.multiple import place_of

_SHOWN = 5
_COLUMNS = ("given_label", "predicted_label", "std", "z", "p_outlier", "is_label_issue")


@dataclass(frozen=True, eq=False, repr=False)
class MultiAudit:
    """The audits of several targets of the same rows.

    Arrays have the shape (n_samples, n_targets). Each target is judged on its own.

    Parameters
    ----------
    audits : tuple of Audit
        One for each target.
    targets : tuple of str
        Names of the targets.
    """

    audits: tuple[Audit, ...]
    targets: tuple[str, ...]

    @property
    def p_outlier(self) -> FloatArray:
        """Probability that each label is wrong."""
        return np.stack([one.p_outlier for one in self.audits], axis=1)

    @property
    def is_label_issue(self) -> NDArray[np.bool_]:
        """Whether each label is flagged."""
        return np.stack([one.is_label_issue for one in self.audits], axis=1)

    @property
    def issues(self) -> list[tuple[int, str]]:
        """Row and target of the flagged labels, the most suspect first."""
        row, target = np.nonzero(self.is_label_issue)
        order = np.lexsort((target, row, -self.p_outlier[row, target]))
        return [(int(row[k]), self.targets[int(target[k])]) for k in order]

    @property
    def rows(self) -> NDArray[np.intp]:
        """Rows with at least one flagged label; those with several first."""
        count = self.is_label_issue.sum(axis=1)
        flagged = np.flatnonzero(count)
        return flagged[np.argsort(-count[flagged], kind="stable")]

    def summary(self) -> str:
        """Return the result in words.

        Returns
        -------
        str
            One line for all targets, one for rows with several flagged labels, and one for each target.
        """
        count = self.is_label_issue.sum(axis=1)
        several = np.flatnonzero(count > 1)
        found = int((count > 0).sum())
        lines = [f"{len(self):,} rows with {len(self.targets)} targets. {found:,} rows have a flagged label."]
        if several.size:
            shown = ", ".join(map(str, several[:_SHOWN].tolist()))
            more = f", and {several.size - _SHOWN:,} more" if several.size > _SHOWN else ""
            lines.append(
                f"{several.size:,} rows have several, which suggests that the inputs or the whole row are wrong: "
                f"{shown}{more}."
            )
        for name, one in zip(self.targets, self.audits, strict=True):
            worst = ", ".join(map(str, one.issues[:_SHOWN].tolist()))
            rows = f" (rows {worst}{', …' if len(one.issues) > _SHOWN else ''})" if worst else ""
            flagged = f"{flagged_in_words(int(one.is_label_issue.sum()))}{rows}"
            lines.append(f"{name}: about {percent(one.contamination)} look wrong, {flagged}.")
        return "\n".join(lines)

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return a table with one row per label.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default="pandas"
            The library whose data frame is returned.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            The row, the target, and the columns of `Audit.to_frame`.
        """
        n = len(self)
        row = np.arange(n) if self.audits[0].index is None else self.audits[0].index
        columns = {
            "row": np.tile(row, len(self.targets)),
            "target": np.repeat(np.array(self.targets, dtype=object), n),
        }
        columns |= {name: np.concatenate([getattr(one, name) for one in self.audits]) for name in _COLUMNS}
        return make_frame(columns, backend)

    def __getitem__(self, target: int | str) -> Audit:
        """The audit of one target, by its number or name."""
        return self.audits[place_of(target, self.targets)]

    def __iter__(self) -> Iterator[Audit]:
        return iter(self.audits)

    def __len__(self) -> int:
        return len(self.audits[0])

    def _repr_html_(self) -> str:
        return multi_audit_html(self)

    def __repr__(self) -> str:
        return self.summary()
