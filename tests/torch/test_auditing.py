"""The audit of a loader finds the labels that were made wrong, row by row, whatever the loader does."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from levelhead import torch as robust
from levelhead.audits import Audit


class Known(torch.nn.Module):
    """A model that knows the truth: y = x with standard deviation 0.1 + 0.2|x|, scaled wrongly by 1.2."""

    def __init__(self, outputs=1):
        super().__init__()
        self.outputs = outputs
        self.anchor = torch.nn.Parameter(torch.zeros(1))
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, x):
        m = self.dropout(x) + self.anchor
        spread = 1.2 * (0.1 + 0.2 * x.abs())
        alpha = torch.full_like(x, 2.0)
        sigma = spread**2 * robust.alpha_minus_A(alpha)
        columns = (m, torch.ones_like(x), alpha, sigma / 2)
        return robust.GCPParameters(*(c.expand(-1, self.outputs) for c in columns))


class Gaussian(Known):
    def forward(self, x):
        return robust.NormalParameters(x, (0.1 + 0.2 * x.abs()) ** 2)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, size=(3000, 1))
    y = x + (0.1 + 0.2 * np.abs(x)) * rng.normal(size=x.shape)
    wrong = np.zeros(3000, dtype=bool)
    wrong[rng.choice(3000, 240, replace=False)] = True
    y[wrong, 0] += rng.choice([-1, 1], 240) * rng.uniform(4, 9, 240)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32), wrong


@pytest.fixture
def dataset(rows):
    return TensorDataset(rows[0], rows[1])


def test_finds_the_wrong_labels_and_their_share(rows, dataset):
    result = robust.label_audit(dataset, Known())
    assert isinstance(result, Audit)
    assert len(result) == 3000
    assert result.contamination == pytest.approx(0.08, abs=0.015)
    assert_array_equal(result.given_label, rows[1][:, 0].double())
    assert (result.is_label_issue == rows[2]).mean() > 0.995
    assert_allclose(result.alpha, 2)
    truth = 0.1 + 0.2 * rows[0][:, 0].abs().numpy()
    assert_allclose(np.median(result.std / truth), 1, atol=0.06)  # the factor of 1.2 is found


def test_rows_keep_their_place_whatever_the_loader_does(dataset):
    expected = robust.label_audit(dataset, Known())
    shuffled = DataLoader(dataset, batch_size=77, shuffle=True, drop_last=True)
    batches = list(DataLoader(dataset, batch_size=1000))
    of_batches = DataLoader(batches, batch_size=None, shuffle=True)
    by_sampler = DataLoader(dataset, batch_sampler=[[5, 3], [1, 2]])
    for loader in (shuffled, batches, of_batches, by_sampler):
        assert_allclose(robust.label_audit(loader, Known()).p_outlier, expected.p_outlier, rtol=1e-6)


def test_streams_what_has_no_length(rows):
    class Stream(IterableDataset):
        def __iter__(self):
            yield from zip(rows[0], rows[1], strict=True)

    assert len(robust.label_audit(DataLoader(Stream(), batch_size=500), Known())) == 3000
    assert len(robust.label_audit(Stream(), Known(), batch_size=500)) == 3000
    assert len(robust.label_audit(((x, y) for x, y in [rows[:2]]), Known())) == 3000


def test_items_may_be_anything_that_the_model_takes(rows):
    class Items(Dataset):
        def __len__(self):
            return 3000

        def __getitem__(self, k):
            if k >= 3000:
                raise IndexError
            return {"x": rows[0][k]}, [rows[0][k]], float(rows[1][k])

    class Takes(Known):
        def forward(self, named, listed):
            assert torch.equal(named["x"], listed[0])
            return super().forward(named["x"])

    assert robust.label_audit(Items(), Takes()).contamination == pytest.approx(0.08, abs=0.015)


def test_the_model_is_left_as_it_was(dataset):
    model = Known().train()
    model.dropout.eval()  # frozen on purpose
    robust.label_audit(dataset, model)
    assert model.training
    assert not model.dropout.training
    robust.label_audit(dataset, model.eval())
    assert not model.training
    with pytest.raises(ValueError, match="labels have shape"):
        robust.label_audit([(torch.ones(5, 1), torch.ones(4, 1))], model.train())
    assert model.training


def test_a_normal_head_has_no_alpha(dataset):
    result = robust.label_audit(dataset, Gaussian())
    assert np.isnan(result.alpha).all()
    assert result.contamination == pytest.approx(0.08, abs=0.015)


def test_one_output_of_several(rows):
    x, y, _ = rows
    data = TensorDataset(x, torch.cat([torch.zeros_like(y), y], dim=1))
    with pytest.raises(ValueError, match="2 outputs; choose one"):
        robust.label_audit(data, Known(outputs=2))
    result = robust.label_audit(data, Known(outputs=2), output=1)
    assert_allclose(result.p_outlier, robust.label_audit(TensorDataset(x, y), Known()).p_outlier, rtol=1e-6)


def test_few_rows_are_judged_by_the_separation_of_many(rows, dataset):
    many = robust.label_audit(dataset, Known())
    few = robust.label_audit([(rows[0][:20], rows[1][:20])], Known(), separation=many.separation)
    assert_allclose(few.p_outlier, many.p_outlier[:20], rtol=1e-6)


def test_frames_of_a_spoilt_video_are_found_together(rows):
    """Labels of one video in twelve are off by three deviations: too little for one label, enough for ten."""
    x, video = rows[0][:1500], np.repeat(np.arange(150), 10)
    spread = 0.1 + 0.2 * x.abs()
    noise = torch.tensor(np.random.default_rng(0).normal(size=(1500, 1)), dtype=torch.float32)
    wrong = video % 12 == 0
    y = x + spread * (noise + 3.5 * torch.tensor(wrong)[:, None])
    alone, together = (
        robust.label_audit(TensorDataset(x, y), Known(), groups=groups) for groups in (None, video)
    )
    assert alone.is_label_issue[wrong].mean() < 0.7
    assert together.is_label_issue[wrong].mean() > 0.9
    assert wrong[together.is_label_issue].mean() > 0.9


def test_progress_is_shown_on_request_only(dataset, capsys):
    robust.label_audit(dataset, Known(), progress=True)
    shown = capsys.readouterr().err
    assert "12 of 12 batches" in shown
    assert shown.endswith("\n")
    robust.label_audit(dataset, Known())
    assert capsys.readouterr().err == ""
    robust.label_audit(iter(list(DataLoader(dataset, 1500))), Known(), progress=True)


def test_what_cannot_be_audited_is_refused(rows):
    x, y, _ = rows
    with pytest.raises(TypeError, match="returns Tensor; it must end in a GCPHead"):
        robust.label_audit(TensorDataset(x, y), torch.nn.Linear(1, 1))
    with pytest.raises(ValueError, match="no batches"):
        robust.label_audit([], Known())
    bad = y.clone()
    bad[17] = float("nan")
    with pytest.raises(ValueError, match="row 17"):
        robust.label_audit(TensorDataset(x, bad), Known())


class Encoder(Known):
    """Takes its inputs by name, as a Hugging Face model does."""

    def forward(self, input_ids, attention_mask=None):
        return super().forward(input_ids if attention_mask is None else input_ids * attention_mask)


class Columns:
    """What a Hugging Face data set is to a stranger: rows by number, as dictionaries; no class of PyTorch."""

    def __init__(self, **columns):
        self.columns = columns

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, k):
        if isinstance(k, str):
            return self.columns[k]
        return {name: column[k] for name, column in self.columns.items()}


def test_batches_may_be_dictionaries(rows, dataset):
    x, y, _ = rows
    expected = robust.label_audit(dataset, Known())
    named = Columns(input_ids=x, attention_mask=torch.ones_like(x), labels=y)
    batches = [{"input_ids": x, "label": y}]
    for data in (named, DataLoader(named, batch_size=512, shuffle=True), batches):
        assert_allclose(robust.label_audit(data, Encoder()).p_outlier, expected.p_outlier, rtol=1e-6)
    priced = robust.label_audit(Columns(input_ids=x, price=y), Encoder(), label_key="price")
    assert_allclose(priced.p_outlier, expected.p_outlier, rtol=1e-6)


def test_dictionaries_without_labels_or_with_other_entries_are_refused(rows):
    x, y, _ = rows
    with pytest.raises(
        ValueError, match=r"entries 'input_ids', 'price' but no 'labels' or 'label'; .*label_key"
    ):
        robust.label_audit(Columns(input_ids=x, price=y), Encoder())
    with pytest.raises(ValueError, match=r"forward of Encoder takes .* but the batch also has 'idx'; remove"):
        robust.label_audit(Columns(input_ids=x, labels=y, idx=x), Encoder())
    with pytest.raises(ValueError, match="label_key is 'price', but batches are list"):
        robust.label_audit(TensorDataset(x, y), Known(), label_key="price")


def test_a_head_that_returns_one_tensor_is_audited_too(dataset):
    torch.manual_seed(0)
    for head in (robust.GCPHead(1), robust.NormalHead(1)):
        expected = robust.label_audit(dataset, head)
        head.as_tensor = True
        assert_array_equal(
            robust.label_audit(dataset, torch.nn.Sequential(head)).p_outlier, expected.p_outlier
        )
