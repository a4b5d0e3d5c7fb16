"""The place of every weight and every number of the workspace in memory, and the initial weights.

A kernel sees a network as one flat float32 vector in which every row of a weight matrix is padded with zeros to whole
vectors of the processor. Hidden layers are stored as inputs × outputs, the output layer as outputs × inputs, so that
every inner loop runs along memory. The padding has zero gradients and stays zero.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from levelhead.engine import _random
from levelhead.engine._simd import BLOCK, LANES, padded, room
from levelhead.engine._types import Float32
from levelhead.engine.descriptions import ACTIVATIONS, Architecture, Recipe
from levelhead.engine.objectives import MAX_OUTPUTS

# Columns of the layer table.
N_IN, N_OUT, LD_IN, LD_OUT, W, B, ACT = range(7)


class Net(NamedTuple):
    """Sizes of a network as the kernels read them."""

    table: np.ndarray  # one row per layer of a trunk; offsets within the trunk
    n_trunks: int
    per_trunk: int  # outputs of one trunk
    trunk_size: int  # padded weights of one trunk
    act_size: int  # inputs and activations of one row of one trunk
    width: int  # of the widest layer
    activation: int


class Buffers(NamedTuple):
    """Workspace for one block of rows."""

    rows: int  # at most so many
    stride: int  # from the activations of one trunk to those of the next
    acts: Float32  # the inputs, then the activations of each trunk and layer
    slopes: Float32
    out: Float32
    grad: Float32
    delta: Float32
    labels: Float32
    values: Float32
    one: Float32


class Layout(NamedTuple):
    """The places of all weights in the padded vectors of an architecture."""

    net: Net
    place: np.ndarray  # of each weight of the flat public vector

    @property
    def size(self) -> int:
        """Padded weights of the whole network."""
        return self.net.n_trunks * self.net.trunk_size

    @property
    def n_outputs(self) -> int:
        """Outputs of the whole network."""
        return self.net.n_trunks * self.net.per_trunk

    def pack(self, flat: Float32) -> Float32:
        """Public vector → padded vector."""
        (full,) = room(self.size)
        full[self.place] = flat
        return full

    def buffers(self, batch: int = BLOCK) -> Buffers:
        """Workspace for one thread and minibatches of a size."""
        net, rows = self.net, min(batch, BLOCK)
        inputs = int(net.table[0, ACT])
        stride = (net.act_size - inputs) * rows + LANES  # a power of 2 apart, trunks would share cache lines
        outs = max(MAX_OUTPUTS, self.n_outputs) * BLOCK
        acts = inputs * rows + net.n_trunks * stride
        arrays = room(acts, acts, outs, outs, 2 * net.width * rows, BLOCK, BLOCK, 1)
        arrays[-1][0] = 1
        return Buffers(rows, stride, *arrays)


@lru_cache(maxsize=8)
def layout(architecture: Architecture) -> Layout:
    """Compute the layout of an architecture for the kernels."""
    shapes = architecture.layer_shapes
    table, places, size, act_size = [], [], 0, padded(shapes[0][0])
    for layer, (n_in, n_out) in enumerate(shapes):
        last = layer == len(shapes) - 1
        ld_in, ld_out = padded(n_in), padded(n_out)
        i, j = np.indices((n_in, n_out))
        places.append((size + (j * ld_in + i if last else i * ld_out + j)).ravel())
        w, size = size, size + (n_out * ld_in if last else n_in * ld_out)
        places.append(size + np.arange(n_out))
        table.append([n_in, n_out, ld_in, ld_out, w, size, act_size])
        size += ld_out
        act_size += 0 if last else ld_out
    trunk = np.concatenate(places)
    index = np.concatenate([trunk + t * size for t in range(architecture.n_trunks)])
    rows = np.array(table, dtype=np.int64)
    width = int(rows[:, [LD_IN, LD_OUT]].max())
    activation = ACTIVATIONS.index(architecture.activation)
    net = Net(rows, architecture.n_trunks, shapes[-1][1], size, act_size, width, activation)
    return Layout(net, index)


def initial_weights(architecture: Architecture, recipe: Recipe, key: np.uint64) -> Float32:
    """Glorot-uniform or He-normal weights and zero biases."""
    weights = np.zeros(architecture.n_weights, dtype=np.float32)
    draw = _random.uniforms if recipe.init == "glorot" else _random.normals
    drawn = draw(key, weights.size)
    place = 0
    for trunk in architecture.unpack(weights):
        for W_layer, _ in trunk:
            n_in, n_out = W_layer.shape
            own = drawn[place : place + W_layer.size].reshape(W_layer.shape)
            if recipe.init == "glorot":
                W_layer[...] = (2 * own - 1) * np.sqrt(6 / (n_in + n_out))
            else:
                W_layer[...] = own * np.sqrt(2 / n_in)
            place += W_layer.size
    return weights
