"""What the losses share: parameters as tensors, checks of labels and weights, and the reduction.

Nothing here waits for a device. On the host a wrong label or weight is an error with its place. On other devices, and
in compiled programs, it is an assertion that the device itself checks.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

Reduction = Literal["mean", "sum", "none"]
NanPolicy = Literal["raise", "omit"]


def known_options(reduction: Reduction, nan_policy: NanPolicy) -> None:
    """Check the names of a reduction and of a rule for NaN labels."""
    one_of("reduction", reduction, ("mean", "sum", "none"))
    one_of("nan_policy", nan_policy, ("raise", "omit"))


def one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Check that an option has one of its values."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; choose one of {', '.join(map(repr, choices))}")


def separate(
    names: tuple[str, ...], parameters: Sequence[Tensor] | Tensor, target: Tensor
) -> Sequence[Tensor]:
    """One tensor per parameter, each of the shape of the targets; one tensor for all is split along its last axis."""
    count = len(names)
    if isinstance(parameters, Tensor):
        expected = (*target.shape[:-1], count * target.shape[-1]) if target.ndim else None
        if tuple(parameters.shape) != expected:
            raise ValueError(
                f"the loss needs {', '.join(names)}, as a head returns them: {count} tensors of the target's shape, or "
                f"one tensor of shape {expected}; got one tensor of shape {tuple(parameters.shape)}"
            )
        blocks: tuple[Tensor, ...] = parameters.chunk(count, dim=-1)
        return blocks
    if len(parameters) != count:
        raise ValueError(
            f"the loss needs the tensors {', '.join(names)}, as a head returns them; got {len(parameters)} tensors"
        )
    for name, parameter in zip(names, parameters, strict=True):
        if parameter.shape != target.shape:
            raise ValueError(
                f"target has shape {tuple(target.shape)} but {name} has {tuple(parameter.shape)}; nothing is "
                "broadcast: reshape the target (for one output, target.unsqueeze(-1))"
            )
    return parameters


def presence(target: Tensor, weight: Tensor | None, nan_policy: NanPolicy) -> Tensor | None:
    """Weight of each label in the loss, 0 for a missing one; None if all weigh the same."""
    missing = target.isnan()
    if nan_policy == "raise":
        _refuse(
            missing, "target", "labels that are NaN", "fix them, or leave them out with nan_policy='omit'"
        )
    if weight is not None:
        if weight.shape != target.shape:
            raise ValueError(
                f"weight has shape {tuple(weight.shape)} but target has {tuple(target.shape)}; nothing is broadcast: "
                "reshape the weight (for weights of rows, weight.unsqueeze(-1).expand_as(target))"
            )
        _refuse(~(weight >= 0), "weight", "entries that are negative or NaN", "give weights of at least 0")
    if nan_policy == "raise":
        return weight
    return torch.where(missing, 0.0, 1.0 if weight is None else weight)


def reduce(loss: Tensor, reduction: Reduction, weight: Tensor | None) -> Tensor:
    """Combine the losses; a mean is weighted, and 0 if no label has a weight."""
    if weight is None:
        return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()
    weight = weight.to(loss.dtype)
    if reduction == "none":
        return weight * loss
    total = (weight * loss).sum()
    if reduction == "sum":
        return total
    mass = weight.sum()
    return total / torch.where(mass > 0, mass, 1.0)


def _refuse(wrong: Tensor, name: str, what: str, remedy: str) -> None:
    if torch.compiler.is_compiling() or wrong.device.type != "cpu":
        torch._assert_async(~wrong.any(), f"{name} has {what}; {remedy}")
        return
    if torch._C._functorch.is_functorch_wrapped_tensor(wrong):
        return  # under vmap no Python code may depend on a value
    if wrong.any():
        first = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"{name} has {int(wrong.sum())} {what}, the first at {first}; {remedy}")
