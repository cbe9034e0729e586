"""Trains one setup on the CPU and records everything that a reading may need."""

import copy
import math
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from tools.incident_lab.data import IGNORED, Data, Sampler, make_data
from tools.incident_lab.model import Loss, Net, loss_of
from tools.incident_lab.optimizers import Rates, make_optimizer, make_scaler
from tools.incident_lab.setups import Setup


@dataclass(slots=True)
class TrainingRecord:
    """The record of a run. Lists have one entry per optimizer step unless noted."""

    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)  # global, as the optimizer sees them before clipping
    first_norms: list[float] = field(default_factory=list)  # of the first layer's weight matrix
    ratios: list[float] = field(default_factory=list)  # ||update|| / ||weights||
    changed: list[float] = field(default_factory=list)  # share of weights that a step changed
    zeros: list[float] = field(default_factory=list)  # share of gradient entries that are exactly zero
    rates: list[float] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    clipped: list[bool] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)  # labels that count
    batches: list[tuple[int, ...]] = field(default_factory=list)
    layer_norms: dict[str, float | None] = field(default_factory=dict)  # first step; None: no gradient
    # per hidden layer, before and after training
    spread: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    active: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    peak_logit: float = 0.0  # largest absolute logit of the first batch before training
    weight_norm: tuple[float, float] = (0.0, 0.0)
    train_accuracy: float = 0.0  # training points through the evaluation code
    valid_accuracy: float = 0.0
    valid_again: float = 0.0
    valid_loss: float = 0.0
    per_class: list[float] = field(default_factory=list)
    predicted: list[int] = field(default_factory=list)  # how often each class is predicted
    below: float = 0.0  # share of validation points predicted one class above the label
    fit: tuple[float, float] = (0.0, 0.0)  # of a regression: R² in training and validation points
    scatter: tuple[float, float] = (0.0, 0.0)  # standard deviation of validation predictions, of targets
    path: tuple[float, float] = (0.0, 0.0)  # same training points: training path, evaluation path
    weights: list[tuple[float, float]] = field(default_factory=list)  # of the probe, after each step
    around_load: tuple[float, float] | None = None  # validation accuracy before saving, after loading

    @property
    def first_bad(self) -> int | None:
        """The step of the first loss that is not finite, or None."""
        return next((i for i, loss in enumerate(self.losses) if not math.isfinite(loss)), None)

    @property
    def end(self) -> float:
        """The mean of the last 16 losses."""
        tail = self.losses[-16:]
        return sum(tail) / len(tail)


class LiveRun:
    """One training run. Call `train` once."""

    def __init__(self, setup: Setup, fixed_steps: int = 0) -> None:
        # With several threads, the order of sums and thus the last digits depend on the machine.
        torch.set_num_threads(1)
        self.setup = setup
        self.fixed_steps = fixed_steps
        self.data: Data = make_data(setup)
        self.loss: Loss = loss_of(setup)
        self.record = TrainingRecord()
        self.mix = torch.Generator().manual_seed(3000 + setup.seed)
        self._build()

    def _build(self) -> None:
        setup = self.setup
        torch.manual_seed(setup.seed)
        self.net = Net(setup)
        self.sampler = Sampler(setup)
        owned = list((self.net if setup.owns else copy.deepcopy(self.net)).parameters())
        if setup.precision == "bfloat16":
            self.net.to(torch.bfloat16)
            owned = list(self.net.parameters())
        self.optimizer = make_optimizer(setup, [p for p in owned if p.requires_grad])
        self.rates = Rates(setup, self.optimizer)
        self.scaler = make_scaler(setup)

    def train(self) -> TrainingRecord:
        """Train to the end and return the record. With ``fixed_steps``, train on one batch, no restart."""
        self._look(0)
        fixed = self._batch() if self.fixed_steps else None
        steps = self.fixed_steps or self.setup.steps
        each = self.setup.train // self.setup.batch
        for step in range(steps):
            if step and step == self.setup.resume_at and not self.fixed_steps:
                self._restart()
            if self.setup.train_again or not step:
                self.net.train()
            self._step(fixed or self._batch())
            last = (step + 1) % each == 0
            self.rates.after_step(epoch_over=last)
            if last and self.setup.evaluate_each_epoch and not self.fixed_steps:
                self._score(self.data.valid_x, self.data.valid_y)
        self._look(1)
        self._evaluate()
        return self.record

    def _batch(self) -> tuple[Tensor, Tensor]:
        setup = self.setup
        chosen = self.sampler.next()
        self.record.batches.append(tuple(chosen.tolist()))
        x, y = self.data.x[chosen], self.data.y[chosen]
        if setup.labels == "permuted":
            y = y[torch.randperm(len(y), generator=self.mix)]
        elif setup.labels == "permuted-reseeded":
            # The planted fault: reseeding the global generator also restarts everything else that uses it.
            torch.manual_seed(setup.seed)
            y = y[torch.randperm(len(y))]
        return x, y

    def _step(self, batch: tuple[Tensor, Tensor]) -> None:
        setup, record = self.setup, self.record
        if setup.zero_grad == "before":
            self.optimizer.zero_grad()
        parts = setup.accumulate
        total = 0.0
        for x, y in zip(batch[0].chunk(parts), batch[1].chunk(parts), strict=True):
            loss = self._forward(x, y)
            total += float(loss.detach()) / parts
            scaled = loss * setup.loss_factor / (parts if setup.divide else 1)
            (self.scaler.scale(scaled) if self.scaler else scaled).backward()
        record.losses.append(total)
        record.targets.append(int((batch[1] != IGNORED).sum()))
        before = [p.detach().clone() for p in self.net.parameters()]
        self._update()
        self._note(before)

    def _forward(self, x: Tensor, y: Tensor) -> Tensor:
        if self.setup.precision == "float16":
            with torch.autocast("cpu", dtype=torch.float16):
                z = self.net(x)
            return self.loss(z.float(), y)
        if self.setup.precision == "bfloat16":
            return self.loss(self.net(x.to(torch.bfloat16)).float(), y)
        return self.loss(self.net(x), y)

    def _update(self) -> None:
        """Unscale, clip and step in the order of the setup, and record the norms before clipping."""
        setup = self.setup
        scaler = self.scaler
        late = setup.clip_first or setup.scaler == "raw"
        if scaler and not late:
            scaler.unscale_(self.optimizer)
        self._measure()
        if setup.clip is not None:
            norm = nn.utils.clip_grad_norm_(self.net.parameters(), setup.clip)
            self.record.clipped.append(bool(norm > setup.clip))
        if setup.zero_grad == "after-backward":
            self.optimizer.zero_grad()
        self.record.rates.append(float(self.optimizer.param_groups[0]["lr"]))
        if scaler is None or setup.scaler == "raw":
            self.optimizer.step()
        else:
            scaler.step(self.optimizer)
            scaler.update()
        self.record.scales.append(float(scaler.get_scale()) if scaler else 1.0)

    def _measure(self) -> None:
        record = self.record
        grads = {n: p.grad.float() for n, p in self.net.named_parameters() if p.grad is not None}
        norms = {n: float(g.norm()) for n, g in grads.items()}
        if not record.norms:
            record.layer_norms = {n: norms.get(n) for n, _ in self.net.named_parameters()}
        record.norms.append(math.sqrt(sum(v * v for v in norms.values())) if norms else 0.0)
        record.first_norms.append(norms.get("linears.0.weight", 0.0))
        count = sum(g.numel() for g in grads.values())
        record.zeros.append(sum(int((g == 0).sum()) for g in grads.values()) / max(count, 1))

    def _note(self, before: list[Tensor]) -> None:
        now = [p.detach() for p in self.net.parameters()]
        moved = math.sqrt(sum(float((a - b).float().norm()) ** 2 for a, b in zip(now, before, strict=True)))
        size = _norm(before)
        self.record.ratios.append(moved / size if size else math.inf if moved else 0.0)
        count = sum(b.numel() for b in before)
        changed = sum(int((a != b).sum()) for a, b in zip(now, before, strict=True))
        self.record.changed.append(changed / count)

    @torch.no_grad()
    def _look(self, when: int) -> None:
        """Record the spread and active share of each hidden layer before (0) or after (1) training.

        They are taken over the first 64 training points in eval mode.
        """
        record = self.record
        record.weight_norm = (
            (_norm(list(self.net.parameters())), 0.0)
            if not when
            else (record.weight_norm[0], _norm(list(self.net.parameters())))
        )
        training = self.net.training
        self.net.eval()
        z = self._logits(self.data.x[: min(64, len(self.data.x))])
        self.net.train(training)
        record.spread[when][:] = [float(h.float().std(0).mean()) for h in self.net.hidden]
        record.active[when][:] = [float((h > 0).float().mean()) for h in self.net.hidden]
        if not when:
            record.peak_logit = float(z.abs().max())

    def _logits(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x.to(next(self.net.parameters()).dtype))
        return out.float()

    @torch.no_grad()
    def _score(self, x: Tensor, y: Tensor, size: int = 32) -> tuple[Tensor, float]:
        """Return predictions of shape (N,) and the mean cross-entropy, by the run's own evaluation code.

        Its faults are part of the run, so it may leave the model in training mode.
        """
        self.net.train(not self.setup.eval_mode)
        z = torch.cat([self._logits(part) for part in torch.split(x, size)])
        return z.argmax(1), float(nn.functional.cross_entropy(z, y))

    @torch.no_grad()
    def _evaluate(self) -> None:
        data, record = self.data, self.record
        if self.setup.task == "regression":
            self.net.eval()
            record.fit = (self._fit(data.x, data.y)[0], self._fit(data.valid_x, data.valid_y)[0])
            record.scatter = (self._fit(data.valid_x, data.valid_y)[1], float(data.valid_y.std()))
            return
        train_mode = self.net.training if not self.setup.train_again else True
        again, _ = self._score(data.again_x, data.again_y)
        record.path = (self._train_path(train_mode), _share(again, data.again_y))
        counted = data.y != IGNORED
        own, _ = self._score(data.x[counted], data.y[counted])
        record.train_accuracy = _share(own, data.y[counted])
        guess, record.valid_loss = self._score(data.valid_x, data.valid_y)
        record.valid_accuracy = _share(guess, data.valid_y)
        record.valid_again = _share(self._score(data.valid_x, data.valid_y)[0], data.valid_y)
        classes = range(10)
        of = [data.valid_y == c for c in classes]
        record.per_class = [_share(guess[own], data.valid_y[own]) for own in of]
        record.predicted = [int((guess == c).sum()) for c in classes]
        record.below = float((guess == (data.valid_y + 1) % 10).float().mean())

    def _fit(self, x: Tensor, y: Tensor) -> tuple[float, float]:
        """Return R² (1 − mean squared error / target variance) and the predictions' standard deviation."""
        guess = self._logits(x).squeeze(1)
        return 1 - float((guess - y).square().mean() / y.var(correction=0)), float(guess.std())

    def _train_path(self, training: bool) -> float:
        """Return the accuracy over one more epoch of batches as training sees them, without learning."""
        # Batch norm updates its statistics in training mode, so the state is restored below.
        keep, seen = copy.deepcopy(self.net.state_dict()), list(self.record.batches)
        self.net.train(training)
        right = total = 0
        for _ in range(self.setup.train // self.setup.batch):
            x, y = self._batch()
            parts = x.chunk(self.setup.accumulate)
            guess = torch.cat([self._logits(part) for part in parts]).argmax(1)
            right += int((guess == y).sum())
            total += int((y != IGNORED).sum())
        self.net.load_state_dict(keep)
        self.record.batches = seen
        return right / max(total, 1)

    def _restart(self) -> None:
        """Save a checkpoint, rebuild everything, and load the parts that the setup restores."""
        setup, net = self.setup, self.net
        saved = copy.deepcopy(net.state_dict())
        optimizer = copy.deepcopy(self.optimizer.state_dict())
        rates, sampler, rng = self.rates.state(), self.sampler.state(), torch.get_rng_state()
        before = _share(self._score(self.data.valid_x, self.data.valid_y)[0], self.data.valid_y)
        self._build()
        if setup.resume == "renamed":
            saved = {"module." + name: value for name, value in saved.items()}
        self.net.load_state_dict(saved, strict=setup.resume != "renamed")
        after = _share(self._score(self.data.valid_x, self.data.valid_y)[0], self.data.valid_y)
        self.record.around_load = (before, after)
        if setup.resume != "weights":
            self.optimizer.load_state_dict(optimizer)
            self.rates.restore(rates)
        if setup.resume == "no-rng":
            torch.manual_seed(setup.seed)
        else:
            self.sampler.restore(sampler)
            torch.set_rng_state(rng)


def _norm(tensors: list[Tensor]) -> float:
    return math.sqrt(sum(float(t.detach().float().norm()) ** 2 for t in tensors))


def _share(guess: Tensor, y: Tensor) -> float:
    return float((guess == y).float().mean()) if len(y) else 0.0


def train(setup: Setup) -> TrainingRecord:
    """Return the record of a run of ``setup``. It is deterministic unless the sampler is unseeded."""
    if setup.task == "noise":
        from tools.incident_lab.optimizer_probe import probe

        return probe(setup)
    return LiveRun(setup).train()


def one_batch(setup: Setup, steps: int = 200) -> TrainingRecord:
    """Return the record of ``steps`` steps on the first batch that the pipeline of ``setup`` delivers."""
    return LiveRun(setup.but(resume="none", resume_at=0), steps).train()
