import numpy as np
import pytest

from levelhead.engine import Architecture, Network, Recipe, Schedule, Stopping, Variational, gaussian

BAD = [
    (lambda: Architecture(0, (5,), 1), "n_features is 0"),
    (lambda: Architecture(1, (5, 0), 1), "every size in hidden is 0"),
    (lambda: Architecture(1, (5,), 1, activation="gelu"), "activation is 'gelu'; choose one of 'relu'"),
    (lambda: Recipe(optimizer="sgd"), "optimizer is 'sgd'"),
    (lambda: Recipe(dropout=1.0), "dropout is 1.0"),
    (lambda: Recipe(learning_rate=float("nan")), "learning_rate is nan"),
    (lambda: Recipe(weight_decay=-1), "weight_decay is -1"),
    (lambda: Recipe(batch_size=2.5), "batch_size is 2.5"),
    (lambda: Recipe(clip=0.0), "clip is 0"),
    (lambda: Recipe(betas=(0.9, 1.0)), r"betas\[1\] is 1.0"),
    (lambda: Schedule("linear"), "kind is 'linear'"),
    (lambda: Schedule("cosine", rate=2.0), "rate is 2.0"),
    (lambda: Stopping(patience=0), "patience is 0"),
    (lambda: Variational(prior_std=0), "prior_std is 0"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[message for _, message in BAD])
def test_what_cannot_be_is_refused_with_its_name_and_value(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_sizes():
    separate, shared = Architecture(13, [50], 4), Architecture(13, [50], 4, shared_trunk=True)
    assert separate.n_weights == 4 * (13 * 50 + 50 + 50 + 1)
    assert shared.n_weights == 13 * 50 + 50 + 4 * 50 + 4
    assert hash(separate) != hash(shared)
    assert Recipe(objective=gaussian()) == Recipe(objective=gaussian())


def test_a_network_needs_weights_that_fit():
    with pytest.raises(ValueError, match=r"weights: need float32 of shape \(4,\), got float64 \(4,\)"):
        Network(Architecture(3, (), 1), np.zeros(4))
    with pytest.raises(ValueError, match="this architecture has 4"):
        Architecture(3, (), 1).unpack(np.zeros(5, dtype=np.float32))
