"""Batches as data sets give them, tuples or dictionaries, and how a network is called with them."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

_LABEL_KEYS = ("labels", "label")  # the names that Hugging Face's data sets and collators use


def answer(model: nn.Module, batch: Any, label_key: str | None, device: torch.device) -> tuple[Tensor, Any]:
    """Label and output of the model for one batch, on the device of the model."""
    if isinstance(batch, Mapping):
        key = _label_key(batch, label_key)
        inputs = {name: to_device(part, device) for name, part in batch.items() if name != key}
        _refuse_strangers(model, inputs)
        return to_device(batch[key], device), model(**inputs)
    if label_key is not None:
        raise ValueError(
            f"label_key is {label_key!r}, but batches are {type(batch).__name__}, not dictionaries"
        )
    *parts, label = (to_device(part, device) for part in batch)
    return label, model(*parts)


def to_device(part: Any, device: torch.device) -> Any:
    """The same structure with every tensor on the device."""
    if isinstance(part, Tensor):
        return part.to(device)
    if isinstance(part, Mapping):
        return {key: to_device(value, device) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [to_device(value, device) for value in part]
    return part


def _label_key(batch: Mapping[str, Any], label_key: str | None) -> str:
    wanted = _LABEL_KEYS if label_key is None else (label_key,)
    found = [key for key in wanted if key in batch]
    if not found:
        raise ValueError(
            f"the batch has the entries {', '.join(map(repr, batch))} but no {' or '.join(map(repr, wanted))}; "
            "name the one that holds the labels, as in label_key='price'"
        )
    return found[0]


def _refuse_strangers(model: nn.Module, inputs: Mapping[str, Any]) -> None:
    """Name the entries that `forward` does not take; to drop them silently could drop an input by a typo."""
    parameters = inspect.signature(model.forward).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    strangers = [name for name in inputs if name not in parameters]
    if strangers:
        raise ValueError(
            f"forward of {type(model).__name__} takes {', '.join(map(repr, parameters))} but the batch also has "
            f"{', '.join(map(repr, strangers))}; remove these columns from the data set"
        )
