"""SentEval's classifier: softmax regression trained by Adam or RMSprop with early stopping. Many fits run at once.

One fit is SentEval's `MLP` with nhid 0: a linear layer from seed 1111, mean cross-entropy, coupled weight decay (l2) on
weight and bias, and a new permutation in each pass. After every `epoch_size` passes the accuracy on held-out rows is
checked. The weights of the best check are kept. The authors run hundreds of fits one after the other. Here the fits of
many splits and l2 values share each step. A split's batch is gathered once for all its l2 values, and one bmm computes
the logits of all fits. The optimizer works elementwise, so a fit's result does not depend on the other fits.

S is the number of splits, L of l2 values per split, C of classes, F of features, N of rows, and B of rows in a batch.
R = C x L is the number of rows in the stacked weight of a split. The rows of a batch are the last dimension of the
logits, so that the softmax over few classes runs on long vectors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
import torch
from annotated_types import MinLen
from torch import Tensor

from cse.device import default_device
from cse.progress import track
from cse.ranges import Count, Device, Natural, NonNegative, Positive, Seed

HELD_OUT = 0.05  # share held out for early stopping, if a refit has no dev set (SentEval's validation_split)
GATHERED = 2**19  # floats of a gathered batch that fit the CPU's cache; limits how many splits are stacked
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": partial(torch.optim.Adam, fused=True),
    "rmsprop": torch.optim.RMSprop,
}


@dataclass(frozen=True)
class Split:
    """The rows to train on, the rows for early stopping, and the random stream that draws the order of each pass."""

    train_N: np.ndarray
    held_N: np.ndarray
    passes: np.random.RandomState


@dataclass(frozen=True)
class Fitted:
    """The best weights of every fit and their accuracy (0..1) on the held-out rows."""

    weight_SLCF: Tensor
    bias_SLC: Tensor
    accuracy_SL: np.ndarray

    def predict(self, x_NF: Tensor, split: int, column: int) -> np.ndarray:
        """Return the predicted class of each row. split, column: the indices of the fit's split and l2 value."""
        logits_NC = torch.addmm(self.bias_SLC[split, column], x_NF, self.weight_SLCF[split, column].T)
        return logits_NC.argmax(-1).cpu().numpy()


@dataclass(frozen=True)
class LogisticRegression:
    """The settings of a fit, with its device. conf/eval/classifier/senteval.yaml names the source of each setting."""

    l2: Annotated[list[NonNegative], MinLen(1)]
    optimizer: Literal["adam", "rmsprop"]
    lr: Positive
    batch_size: Count
    epoch_size: Count  # passes between two checks
    tenacity: Natural  # checks without improvement that are allowed in the whole fit
    max_epoch: Natural  # after more passes than this, no further check begins
    seed: Seed
    device: Device

    def fold(self, train_N: np.ndarray, held_N: np.ndarray) -> Split:
        """Return a split with these rows. The random streams of all splits start from the same seed."""
        return Split(train_N, held_N, np.random.RandomState(self.seed))

    def hold_out(self, rows_N: np.ndarray) -> Split:
        """Return a split with a random 5% held out. The split's stream draws these rows before the first pass."""
        stream = np.random.RandomState(self.seed)
        order_N = rows_N[stream.permutation(len(rows_N))]
        held = int(HELD_OUT * len(rows_N))
        return Split(order_N[held:], order_N[:held], stream)

    def place(self, x_NF: np.ndarray) -> Tensor:
        """Return the features (N, F) as float32 on the device of the fits."""
        device = self.device if self.device != "auto" else default_device()
        return torch.from_numpy(np.ascontiguousarray(x_NF, np.float32)).to(device)

    def fit(self, x_NF: Tensor, y_N: np.ndarray, splits: list[Split], l2_SL: np.ndarray) -> Fitted:
        """Return S x L trained fits. Only splits with the same number of batches per pass share their steps."""
        num_classes = int(y_N.max()) + 1
        batches = [-(-len(split.train_N) // self.batch_size) for split in splits]
        at_once = max(1, GATHERED // (self.batch_size * x_NF.shape[1])) if x_NF.device.type == "cpu" else len(splits)
        weight_SLCF = x_NF.new_empty(*l2_SL.shape, num_classes, x_NF.shape[1])
        bias_SLC = x_NF.new_empty(*l2_SL.shape, num_classes)
        accuracy_SL = np.empty(l2_SL.shape)
        labels_N = torch.from_numpy(y_N).to(x_NF.device)
        groups = []
        for count in sorted(set(batches)):
            alike = [index for index, number in enumerate(batches) if number == count]
            groups += [alike[start : start + at_once] for start in range(0, len(alike), at_once)]
        for rows in track(groups, "fit"):
            stack = _Stack(
                self,
                x_NF=x_NF,
                y_N=labels_N,
                splits=[splits[row] for row in rows],
                l2_SL=l2_SL[rows],
                num_classes=num_classes,
            )
            weight_SLCF[rows], bias_SLC[rows], accuracy_SL[rows] = stack.run()
        return Fitted(weight_SLCF, bias_SLC, accuracy_SL)


class _Stack:
    """Fits that take their steps together. A split leaves the stack when all its fits have stopped."""

    def __init__(
        self,
        settings: LogisticRegression,
        x_NF: Tensor,
        y_N: Tensor,
        splits: list[Split],
        l2_SL: np.ndarray,
        num_classes: int,
    ):
        self.settings, self.x_NF, self.splits = settings, x_NF, splits
        self.shape = (len(splits), num_classes, l2_SL.shape[1])
        self.one_hot_NC = torch.eye(num_classes, device=x_NF.device)[y_N]
        self.held = [(x_NF[split.held_N], y_N[split.held_N]) for split in splits]
        self.l2_SR1 = torch.tensor(l2_SL, dtype=torch.float32).repeat(1, num_classes)[..., None].to(x_NF)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            start = torch.nn.Linear(x_NF.shape[1], num_classes)
        weight_RF = start.weight.detach().repeat_interleave(self.shape[2], 0).to(x_NF)
        bias_R1 = start.bias.detach().repeat_interleave(self.shape[2])[:, None].to(x_NF)
        self.weight_SRF, self.bias_SR1 = (start.repeat(len(splits), 1, 1) for start in (weight_RF, bias_R1))
        self.optimizer = OPTIMIZERS[settings.optimizer]([self.weight_SRF, self.bias_SR1], lr=settings.lr)

    def run(self) -> tuple[Tensor, Tensor, np.ndarray]:
        """Train the fits. Return weight_SLCF, bias_SLC and accuracy_SL at each fit's best check."""
        settings = self.settings
        best_SRF, best_SR1 = self.weight_SRF.clone(), self.bias_SR1.clone()
        num_splits, num_classes, num_l2 = self.shape
        best_accuracy_SL, misses_SL = np.full((num_splits, num_l2), -1.0), np.zeros((num_splits, num_l2), int)
        running_SL = np.ones((num_splits, num_l2), bool)
        here = np.arange(num_splits)  # splits still in the stack
        for _ in track(range(0, settings.max_epoch + 1, settings.epoch_size), "check"):
            for _ in range(settings.epoch_size):
                self._one_pass()
            accuracy_SL = self._accuracy()
            better_SL = running_SL[here] & (accuracy_SL > best_accuracy_SL[here])
            best_accuracy_SL[here] = np.where(better_SL, accuracy_SL, best_accuracy_SL[here])
            rows_S, rows_R = np.nonzero(np.tile(better_SL, num_classes))
            best_SRF[here[rows_S], rows_R] = self.weight_SRF[rows_S, rows_R]
            best_SR1[here[rows_S], rows_R] = self.bias_SR1[rows_S, rows_R]
            missed_SL = running_SL[here] & ~better_SL
            running_SL[here] &= ~(missed_SL & (misses_SL[here] >= settings.tenacity))
            misses_SL[here] += missed_SL  # never reset, as in SentEval
            going_S = running_SL[here].any(1)
            if not going_S.all():
                self._keep(np.flatnonzero(going_S))
                here = here[going_S]
                if not len(here):
                    break
        return best_SRF.view(*self.shape, -1).transpose(1, 2), best_SR1.view(self.shape).mT, best_accuracy_SL

    def _one_pass(self) -> None:
        batch, lengths = self.settings.batch_size, [len(split.train_N) for split in self.splits]
        order_SN = np.zeros((len(self.splits), -(-max(lengths) // batch) * batch), np.int64)
        for row, split in enumerate(self.splits):
            order_SN[row, : lengths[row]] = split.train_N[split.passes.permutation(lengths[row])]
        order = torch.from_numpy(order_SN).to(self.x_NF.device)
        length_S1 = torch.tensor(lengths, device=self.x_NF.device)[:, None]
        for start in range(0, max(lengths), batch):
            size = min(batch, max(lengths) - start)
            # mean over the split's own rows: the last batch of one split may be shorter than another's
            own_SB = torch.arange(start, start + size, device=self.x_NF.device) < length_S1
            self._step(order[:, start : start + size], own_SB / own_SB.sum(1, keepdim=True))

    def _step(self, rows_SB: Tensor, share_SB: Tensor) -> None:
        """Do one optimizer step of every fit. d(mean cross-entropy)/d(logits) = (softmax - one-hot) / rows."""
        num_splits, size = rows_SB.shape
        x_SBF = self.x_NF.index_select(0, rows_SB.reshape(-1)).view(num_splits, size, -1)
        logits_SRB = torch.baddbmm(self.bias_SR1, self.weight_SRF, x_SBF.mT)
        residual_SCLB = logits_SRB.view(num_splits, *self.shape[1:], size).softmax(1)
        residual_SCLB -= self.one_hot_NC[rows_SB].mT[:, :, None]
        residual_SRB = (residual_SCLB * share_SB[:, None, None]).flatten(1, 2)
        # weight decay is coupled: it joins the gradient before the optimizer's moments
        self.weight_SRF.grad = torch.bmm(residual_SRB, x_SBF).addcmul_(self.weight_SRF, self.l2_SR1)
        self.bias_SR1.grad = residual_SRB.sum(2, keepdim=True).addcmul_(self.bias_SR1, self.l2_SR1)
        self.optimizer.step()

    def _accuracy(self) -> np.ndarray:
        """Return the accuracy of every fit (S, L) on its held-out rows."""
        accuracy_SL = np.empty((len(self.splits), self.shape[2]))
        for row, (x_NF, y_N) in enumerate(self.held):
            logits_RN = torch.addmm(self.bias_SR1[row], self.weight_SRF[row], x_NF.T)
            predicted_LN = logits_RN.view(*self.shape[1:], len(y_N)).argmax(0)
            accuracy_SL[row] = (predicted_LN == y_N).sum(1).cpu().numpy() / len(y_N)
        return accuracy_SL

    def _keep(self, rows: np.ndarray) -> None:
        """Keep only these splits in the parameters and the optimizer's state."""
        for parameter in (self.weight_SRF, self.bias_SR1):
            state = self.optimizer.state[parameter]
            for name, value in state.items():
                if value.shape == parameter.shape:
                    state[name] = value[rows]
            parameter.data, parameter.grad = parameter.data[rows], None
        self.l2_SR1 = self.l2_SR1[rows]
        self.splits = [self.splits[row] for row in rows]
        self.held = [self.held[row] for row in rows]
