class EarlyStopping:
    best = None

    def __init__(self, patience=5, min_delta=0.0, mode="min"):
        if int(patience) < 1:
            raise ValueError("patience")
        if min_delta < 0:
            raise ValueError("min_delta")
        self.higher_is_better = {"min": False, "max": True}.get(mode)
        if self.higher_is_better is None:
            raise ValueError("mode")
        self.patience, self.min_delta = patience, min_delta
        self.waited = 0
        self.params, self.buffers = {}, {}

    def better(self, metric):
        if self.best is None:
            return metric == metric
        gain = metric - self.best if self.higher_is_better else self.best - metric
        return gain > self.min_delta

    def step(self, metric, model):
        metric = float(metric)
        if not self.better(metric):
            self.waited += 1
            return self.waited >= self.patience
        self.best, self.waited = metric, 0
        self.params = {n: p.data.clone() for n, p in model.named_parameters()}
        self.buffers = {n: b.clone() for n, b in model.named_buffers()}
        return False

    def restore(self, model):
        if self.best is None:
            raise RuntimeError("no best weights")
        for n, p in model.named_parameters():
            p.data = self.params[n].clone()
        for n, b in model.named_buffers():
            b.copy_(self.buffers[n])
