"""Trains many networks at once: their weights are stacked, and one pass computes all of them."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state


class StackedModules(nn.Module):
    """Networks, or heads, of one architecture as a single module; the first axis of its outputs is the member.

    Its parameters are those of the members with a new first axis. A loss that is summed over the members trains each of
    them as if it were alone.

    Parameters
    ----------
    modules : sequence of torch.nn.Module
        The members; their weights are copied.

    Raises
    ------
    ValueError
        If there are no modules, or if they differ in class or shapes.

    Examples
    --------
    >>> members = stack_heads([nn.Linear(3, 2) for _ in range(5)])
    >>> members(torch.zeros(7, 3)).shape
    torch.Size([5, 7, 2])
    >>> len(members.unstack())
    5
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__()
        if len(modules) == 0:
            raise ValueError("no modules to stack; give at least one")
        shapes = [{name: t.shape for name, t in module.state_dict().items()} for module in modules]
        for k, shape in enumerate(shapes):
            if type(modules[k]) is not type(modules[0]) or shape != shapes[0]:
                raise ValueError(
                    f"module {k} differs from module 0 in class or shapes; all modules must have the same architecture"
                )
        self.n_members = len(modules)
        parameters, buffers = stack_module_state(list(modules))
        # In a tuple, so that the skeleton's own weights are not registered as weights of this module.
        self._skeleton = (deepcopy(modules[0]).to("meta"),)
        self._names = {name: name.replace(".", "__") for name in (*parameters, *buffers)}
        for name, stacked in parameters.items():
            self.register_parameter(self._names[name], nn.Parameter(stacked.detach().clone()))
        for name, stacked in buffers.items():
            self.register_buffer(self._names[name], stacked.detach().clone())

    def forward(self, *inputs: Tensor, each: bool = False) -> Any:
        """Outputs of every member.

        Parameters
        ----------
        *inputs : Tensor
            Inputs of the members.
        each : bool, default=False
            Whether the inputs have a first axis too, with one slice per member. By default all members get the same
            inputs.

        Returns
        -------
        Tensor or tuple of Tensor
            The outputs of one member, with a new first axis.
        """
        state = {name: getattr(self, ours) for name, ours in self._names.items()}
        skeleton = self._skeleton[0].train(self.training)

        def member(state: dict[str, Tensor], *inputs: Tensor) -> Any:
            return functional_call(skeleton, state, inputs)

        axes = (0, *(0 if each else None for _ in inputs))
        return torch.vmap(member, in_dims=axes, randomness="different")(state, *inputs)

    def unstack(self) -> list[nn.Module]:
        """Return the members as separate modules.

        Returns
        -------
        list of torch.nn.Module
            The members, with copies of the weights.
        """
        modules = []
        for k in range(self.n_members):
            state = {name: getattr(self, ours)[k].detach().clone() for name, ours in self._names.items()}
            module = deepcopy(self._skeleton[0]).to_empty(device=next(iter(state.values())).device)
            module.load_state_dict(state, strict=False)  # buffers that are not saved are set below
            for name, buffer in module.named_buffers():
                buffer.copy_(state[name])
            modules.append(module.train(self.training))
        return modules


def stack_heads(modules: Sequence[nn.Module]) -> StackedModules:
    """Join heads, or whole networks, of one architecture into a single module that trains them all at once.

    Parameters
    ----------
    modules : sequence of torch.nn.Module
        The members; their weights are copied.

    Returns
    -------
    StackedModules
        The module.

    Raises
    ------
    ValueError
        If there are no modules, or if they differ in class or shapes.
    """
    return StackedModules(modules)
