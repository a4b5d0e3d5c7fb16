"""Networks of several targets, and the networks of their targets, which have the same hidden layers."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from levelhead.engine._types import Float32
from levelhead.engine.descriptions import Architecture, Network


def split(network: Network, n_targets: int) -> list[Network]:
    """Give every target of a network a network of its own, with a copy of the hidden layers.

    Parameters
    ----------
    network : Network
        A network with one trunk and the outputs of several targets.
    n_targets : int
        Number of targets.

    Returns
    -------
    list of Network
        One for each target, with its outputs, the history of the whole, and no state of the optimiser.

    Raises
    ------
    ValueError
        If the outputs do not share one trunk, or their number is not a multiple of the number of targets.
    """
    whole = network.architecture
    per_target, left = divmod(whole.n_outputs, n_targets)
    if left or not whole.shared_trunk:
        raise ValueError(
            f"a network with {whole.n_trunks} trunks and {whole.n_outputs} outputs is not one of {n_targets} targets "
            "that share their hidden layers"
        )
    own = replace(whole, n_outputs=per_target)
    places = [slice(k * per_target, (k + 1) * per_target) for k in range(n_targets)]
    parts = [partial(_outputs, whole, place) for place in places]
    return [
        replace(
            network,
            architecture=own,
            weights=part(network.weights),
            rho=None if network.rho is None else part(network.rho),
            state=None,
        )
        for part in parts
    ]


def join(networks: Sequence[Network]) -> Network:
    """Put the outputs of networks with the same hidden layers into one network, as `split` found them.

    Parameters
    ----------
    networks : sequence of Network
        One for each target.

    Returns
    -------
    Network
        A network with the hidden layers of the first, the outputs of all, and no state of the optimiser.

    Raises
    ------
    ValueError
        If the networks differ in architecture.
    """
    first = networks[0]
    if any(network.architecture != first.architecture for network in networks):
        raise ValueError("the networks differ in architecture; only those of one `split` can be joined")
    whole = replace(first.architecture, n_outputs=len(networks) * first.architecture.n_outputs)
    weights = _joined(first.architecture, [network.weights for network in networks])
    rho = [network.rho for network in networks if network.rho is not None]
    return replace(
        first,
        architecture=whole,
        weights=weights,
        rho=_joined(first.architecture, rho) if rho else None,
        state=None,
    )


def _outputs(whole: Architecture, place: slice, weights: Float32) -> Float32:
    """Hidden layers, and some of the outputs."""
    ((*hidden, (W, bias)),) = whole.unpack(weights)
    return _flat([*hidden, (W[:, place], bias[place])])


def _joined(own: Architecture, parts: Sequence[Float32]) -> Float32:
    layers = [own.unpack(weights)[0] for weights in parts]
    last = [trunk[-1] for trunk in layers]
    W, bias = np.hstack([W for W, _ in last]), np.concatenate([bias for _, bias in last])
    return _flat([*layers[0][:-1], (W, bias)])


def _flat(layers: Sequence[tuple[Float32, Float32]]) -> Float32:
    return np.concatenate([part.ravel() for layer in layers for part in layer])
