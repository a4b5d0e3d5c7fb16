"""Finds labels of a data set that are probably wrong, according to a network."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

from levelhead.torch._batches import answer
from levelhead.torch.heads import GCPHead, NormalHead
from levelhead.torch.parameters import GCPParameters, NormalParameters, prognosis

if TYPE_CHECKING:
    from levelhead.audits import Audit
    from levelhead.audits.separation import ContaminationEstimate

_BATCH = 256
_REFRESH = 0.2  # seconds between two states of the progress bar


class _Rows(NamedTuple):
    """What the audit keeps of a batch: four numbers per row."""

    given: Tensor
    predicted: Tensor
    variance: Tensor
    alpha: Tensor | None


def label_audit(
    data: Dataset | DataLoader | Iterable[Any],
    model: nn.Module,
    *,
    output: int | None = None,
    label_key: str | None = None,
    batch_size: int = _BATCH,
    separation: "ContaminationEstimate | None" = None,
    groups: Any = None,
    false_alarm_rate: float = 0.05,
    progress: bool | None = None,
) -> "Audit":
    """Compute the probability that each label is wrong, and the share of wrong labels.

    The data are read once, in batches, and only four numbers per row are kept. Residuals of rows that the network was
    trained on are too small. Audit rows that it has not seen; with cross-validation, audit fold by fold.

    Parameters
    ----------
    data : Dataset, DataLoader or iterable of batches
        Items or batches are tuples (input, …, label), or dictionaries, as in Hugging Face's data sets: the entry
        `label_key` is the label, and the network is called with all others as keyword arguments. A loader of an
        indexed data set is read in the order of its rows, even if it shuffles or drops rows, so that row k of the
        audit is item k.
    model : torch.nn.Module
        A network that ends in a `GCPHead` or a `NormalHead`. It is called with the inputs, in evaluation mode.
    output : int, default=None
        Which output to audit, if the network has several.
    label_key : str, default=None
        The entry of each dictionary that holds the label. By default "labels" or "label".
    batch_size : int, default=256
        Rows per batch, if `data` is a data set.
    separation : ContaminationEstimate, default=None
        The fit of an audit of other rows. By default it is fitted to these rows.
    groups : array-like of shape (n_rows,), default=None
        Rows with equal entries belong together, as frames of one video or visits of one patient. If wrong labels gather
        in groups, a label is more suspect if those of its group are (`Audit.by_groups`). The network must have seen no
        row of the groups: divide folds by groups too.
    false_alarm_rate : float, default=0.05
        Largest expected share of clean labels among the flagged ones.
    progress : bool, default=None
        Whether to show a progress bar on stderr. By default it is shown on a terminal.

    Returns
    -------
    Audit
        The result, one entry per row.

    Raises
    ------
    ValueError
        If the data are empty, if labels and predictions differ in shape, if several outputs leave a choice, or if a
        dictionary has no label, or entries that the network does not take.
    TypeError
        If the network does not end in a head of this package.
    """
    from levelhead.audits import Audit

    rows = list(_stream(_bar(_in_order(data, batch_size), progress), model, output, label_key))
    if not rows:
        raise ValueError("the data have no batches; give at least one row")
    given, predicted, variance, alpha = (_joined(parts) for parts in zip(*rows, strict=True))
    audit = Audit.from_residuals(
        given, predicted, variance, alpha=alpha, separation=separation, false_alarm_rate=false_alarm_rate
    )
    return audit if groups is None else audit.by_groups(groups)


def _joined(parts: Sequence[Tensor | None]) -> Any:
    return None if parts[0] is None else torch.cat(parts).double().numpy()


def _in_order(data: Dataset | DataLoader | Iterable[Any], batch_size: int) -> Iterable[Any]:
    if isinstance(data, Dataset) or _is_indexed(data):
        ordered: Iterable[Any] = DataLoader(data, batch_size=batch_size)
        return ordered
    if not isinstance(data, DataLoader) or isinstance(data.dataset, IterableDataset):
        return data
    items_are_batches = data.batch_size is None and data.batch_sampler is None
    in_order: Iterable[Any] = DataLoader(
        data.dataset,
        batch_size=None if items_are_batches else data.batch_size or batch_size,
        collate_fn=data.collate_fn,
        num_workers=data.num_workers,
        pin_memory=data.pin_memory,
        worker_init_fn=data.worker_init_fn,
    )
    return in_order


def _is_indexed(data: Any) -> bool:
    """Whether it is a data set although it says nothing of it, as Hugging Face's; a list holds batches."""
    has_items = hasattr(data, "__getitem__") and hasattr(data, "__len__")
    return has_items and not isinstance(data, DataLoader | Sequence)


def _named(parameters: Any, model: nn.Module) -> Any:
    """Parameters by name, if they come as one tensor from a head that was made to return one."""
    if isinstance(parameters, Tensor):
        for head in model.modules():
            if isinstance(head, GCPHead | NormalHead) and head.as_tensor:
                kind = GCPParameters if isinstance(head, GCPHead) else NormalParameters
                return kind.from_tensor(parameters)
    return parameters


def _stream(
    batches: Iterable[Any], model: nn.Module, output: int | None, label_key: str | None
) -> Iterator[_Rows]:
    """Pass every batch through the model, on its device; restore the mode of every module afterwards."""
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            for batch in batches:
                label, parameters = answer(model, batch, label_key, device)
                yield _rows(label, _named(parameters, model), output)
    finally:
        for module, training in modes:
            module.training = training


def _rows(label: Tensor, parameters: Any, output: int | None) -> _Rows:
    if isinstance(parameters, GCPParameters):
        predicted, variance, _ = prognosis(parameters)
        alpha = parameters.alpha
    elif isinstance(parameters, NormalParameters):
        predicted, variance = parameters
        alpha = None
    else:
        raise TypeError(
            f"the model returns {type(parameters).__name__}; it must end in a GCPHead or a NormalHead"
        )
    if label.numel() != predicted.numel():
        raise ValueError(f"labels have shape {tuple(label.shape)}, predictions {tuple(predicted.shape)}")
    columns = [
        None if t is None else _column(t, predicted, output) for t in (label, predicted, variance, alpha)
    ]
    return _Rows(*columns)


def _column(values: Tensor, like: Tensor, output: int | None) -> Tensor:
    table = values.reshape(like.shape).reshape(len(like), -1).cpu()
    if output is None and table.shape[1] != 1:
        raise ValueError(f"the model has {table.shape[1]} outputs; choose one to audit, as in output=0")
    return table[:, output or 0]


def _bar(batches: Iterable[Any], progress: bool | None) -> Iterator[Any]:
    """Yield the batches, and show how many have been read."""
    shown = sys.stderr.isatty() if progress is None else progress
    total = _length(batches)
    last = time.monotonic()
    for done, batch in enumerate(batches, start=1):
        yield batch
        if shown and (done == total or time.monotonic() - last > _REFRESH):
            last = time.monotonic()
            sys.stderr.write(f"\r\033[K{_state(done, total)}")
            sys.stderr.flush()
    if shown:
        sys.stderr.write("\n")


def _length(batches: Iterable[Any]) -> int | None:
    """None if it is unknown; a loader of a stream has a `__len__`, but one that raises."""
    try:
        return len(batches)  # type: ignore[arg-type]
    except TypeError:
        return None


def _state(done: int, total: int | None) -> str:
    if not total:
        return f"auditing labels: {done} batches"
    filled = round(30 * done / total)
    return f"auditing labels: {'█' * filled}{'░' * (30 - filled)} {done} of {total} batches"
