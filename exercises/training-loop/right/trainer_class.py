import contextlib
from dataclasses import asdict, dataclass

import torch


@dataclass
class Mean:
    total: float = 0.0
    count: int = 0

    def add(self, value, n):
        self.total += value.detach().double().item() * n
        self.count += n

    @property
    def value(self):
        return self.total / self.count


@dataclass
class Entry:
    epoch: int
    train_loss: float
    val_loss: float
    val_accuracy: float


@contextlib.contextmanager
def evaluating(model):
    training = [m for m in model.modules() if m.training]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for m in training:
            m.training = True


class BadLoss(FloatingPointError):
    pass


class Trainer:
    def __init__(self, model, optimizer, loss_fn, accumulate, max_norm, scheduler):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.k, self.max_norm, self.scheduler = accumulate, max_norm, scheduler
        self.device = next(model.parameters()).device

    def epoch(self, number, batches):
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        mean, n = Mean(), len(batches)
        full = n // self.k * self.k
        for i, (x, y) in enumerate(batches, start=1):
            x, y = x.to(self.device), y.to(self.device)
            loss = self.loss_fn(self.model(x), y)
            if loss.isnan() or loss.isinf():
                raise BadLoss(f"Epoch {number}, batch {i - 1}")
            mean.add(loss, y.size(0))
            size = self.k if i <= full else n - full
            loss.div(size).backward()
            if i % self.k == 0 or i == n:
                self.update()
        return mean.value

    def update(self):
        if self.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=self.max_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.scheduler is not None:
            self.scheduler.step()


def evaluate(model, batches, loss_fn):
    device = next(model.parameters()).device
    loss, accuracy = Mean(), Mean()
    with evaluating(model):
        for x, y in batches:
            x, y = x.to(device), y.to(device)
            logits = model(x)
            loss.add(loss_fn(logits, y), len(y))
            accuracy.add((logits.argmax(-1) == y).double().mean(), len(y))
    if not loss.count:
        raise ValueError("evaluate needs at least one batch")
    return {"loss": loss.value, "accuracy": accuracy.value}


def fit(
    model,
    optimizer,
    train_batches,
    val_batches,
    loss_fn,
    *,
    epochs,
    accumulate=1,
    max_norm=None,
    scheduler=None,
):
    for name, value in (
        ("epochs", epochs),
        ("accumulate", accumulate),
        ("len(train_batches)", len(train_batches)),
    ):
        if value < 1:
            raise ValueError(f"{name} must be positive")
    trainer = Trainer(model, optimizer, loss_fn, accumulate, max_norm, scheduler)
    history = []
    for number in range(epochs):
        train_loss = trainer.epoch(number, train_batches)
        scores = evaluate(model, val_batches, loss_fn)
        history.append(asdict(Entry(number, train_loss, scores["loss"], scores["accuracy"])))
    return history
