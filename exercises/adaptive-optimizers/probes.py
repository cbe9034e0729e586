import copy

import torch

STEPS = 20
FUNCTIONS = ("adagrad_step", "rmsprop_step", "adam_step")


def gradients(draw, steps, *shape, dtype=torch.float64):
    """Of very different sizes, away from zero."""
    size = 10.0 ** draw.rand(steps, *shape, low=-2.0, high=1.0)
    return ((1.0 - 2.0 * draw.integers(0, 2, steps, *shape)) * size).to(dtype)


def options(draw):
    return {
        "adagrad_step": {"lr": draw.uniform(0.1, 0.4)},
        "rmsprop_step": {"lr": draw.uniform(0.02, 0.06), "alpha": draw.uniform(0.7, 0.9)},
        "adam_step": {
            "lr": draw.uniform(0.1, 0.3),
            "betas": (draw.uniform(0.5, 0.8), draw.uniform(0.9, 0.97)),
        },
    }


def inputs(draw):
    a, b, c = draw.sizes(3)
    cases = []
    for shape, dtype in (
        ((a, b), torch.float64),
        ((), torch.float64),
        ((c, a, b), torch.float32),
        ((c,), torch.float64),
    ):
        cases.append(
            {
                "param": draw.normal(*shape, dtype=dtype),
                "grads": gradients(draw, STEPS, *shape, dtype=dtype),
                "options": options(draw),
            }
        )
    flat = draw.normal(a, b, dtype=torch.float64)
    flat[::2, 1:] = 0.0
    gaps = gradients(draw, 10, a, b)
    gaps[[0, 4, 5, 8]] = 0.0
    gaps[1::3, 0] = 0.0
    return {
        "cases": cases,
        "eps": [draw.uniform(0.1, 0.3), draw.uniform(2.0, 5.0)],
        "flat": {"param": draw.normal(a, b, dtype=torch.float64), "grad": flat},
        "gaps": {"param": draw.normal(a, b, dtype=torch.float64), "grads": gaps, "options": options(draw)},
        "pair": {
            "params": [draw.normal(a, dtype=torch.float64), draw.normal(a, dtype=torch.float64)],
            "grads": [gradients(draw, 6, a), gradients(draw, 6, a)],
            "options": options(draw),
        },
    }


def walk(step, param, grads, state=None, **options):
    """The parameter after every step."""
    state = {} if state is None else state
    trace = []
    for grad in grads:
        param, state = step(param, grad, state, **options)
        trace.append(param.detach().clone())
    return torch.stack(trace)


def probe_formula(code, given, record):
    for name in FUNCTIONS:
        step = getattr(code, name)
        for i, case in enumerate(given["cases"]):
            with record.step(f"{name}{i}"):
                record("default", walk(step, case["param"], case["grads"]))
                record("given", walk(step, case["param"], case["grads"], **case["options"][name]))


def probe_eps(code, given, record):
    case = given["cases"][0]
    for name in FUNCTIONS:
        step = getattr(code, name)
        for i, eps in enumerate(given["eps"]):
            with record.step(f"{name}{i}"):
                record("trace", walk(step, case["param"], case["grads"], eps=eps, **case["options"][name]))
        with record.step(f"{name}flat"):
            flat = given["flat"]
            record("zero", step(flat["param"], torch.zeros_like(flat["param"]), {})[0])
            record("some", step(flat["param"], flat["grad"], {})[0])
        with record.step(f"{name}limits"):
            decays = {"adagrad_step": {}, "rmsprop_step": {"alpha": 0.0}, "adam_step": {"betas": (0.0, 0.0)}}[
                name
            ]
            record("trace", walk(step, case["param"], case["grads"][:3], lr=0.25, eps=0.0, **decays))
            record("still", walk(step, case["param"], case["grads"][:3], lr=0.0))
            param, state = case["param"], {}
            for grad, lr in zip(case["grads"], (0.25, 0.0, 0.0, 0.25), strict=False):
                param, state = step(param, grad, state, lr=lr)
            record("paused", param)


def probe_later(code, given, record):
    """Zeros among other gradients, arguments that change between calls, memory that is not contiguous."""
    gaps = given["gaps"]
    for name in FUNCTIONS:
        step, chosen = getattr(code, name), gaps["options"][name]
        with record.step(f"{name}gaps"):
            record("trace", walk(step, gaps["param"], gaps["grads"], **chosen))
        with record.step(f"{name}strided"):
            param, grads = gaps["param"].T.contiguous().T, gaps["grads"].mT.contiguous().mT
            record("trace", walk(step, param, grads, **chosen))
        with record.step(f"{name}changed"):
            case, state = given["cases"][0], {}
            param = case["param"]
            for grad in case["grads"][:3]:
                param, state = step(param, grad, state, **case["options"][name])
            forget = {"rmsprop_step": {"alpha": 0.0}, "adam_step": {"betas": (0.0, 0.0)}}.get(name, {})
            if forget:
                record("before", param.detach().clone())
                record("after", step(param, case["grads"][3], state, lr=0.25, eps=0.5, **forget)[0])
            record.raises("lr", lambda s=step, p=param, g=case["grads"][3], k=state: s(p, g, k, lr=-0.1)[0])
            record.raises("shape", lambda s=step, p=param, g=case["grads"][3], k=state: s(p, g[:1], k)[0])


def tensors(value):
    """Every tensor in a state."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in tensors(item)] if isinstance(value, list | tuple) else []


def probe_pure(code, given, record):
    case = given["cases"][0]
    for name in FUNCTIONS:
        step, chosen = getattr(code, name), case["options"][name]
        with record.step(name):
            param, grads, empty = case["param"].clone(), case["grads"].clone(), {}
            visited, states, outs = [param], [empty], []
            for grad in grads[:6]:
                before = [t.detach().clone() for t in tensors(states[-1])]
                new, state = step(visited[-1], grad, states[-1], **chosen)
                after = [t.detach().clone() for t in tensors(states[-1])]
                record(f"states{len(outs)}", [before, after])
                visited.append(new)
                states.append(state)
                outs.append(new.detach().clone())
            record("outs", outs)
            record("visited", visited)
            record("grads", grads)
            record("empty", len(empty))
            with record.step("replay"):
                replayed = [step(visited[k], grads[k], states[k], **chosen)[0] for k in (4, 0, 2, 2, 5)]
                record("outs", replayed)
            with record.step("copied"):
                state = copy.deepcopy(states[3])
                record("out", step(visited[3].clone(), grads[3].clone(), state, **chosen)[0])


def probe_pair(code, given, record):
    pair = given["pair"]
    for name in FUNCTIONS:
        step, chosen = getattr(code, name), pair["options"][name]
        with record.step(name):
            params, states = list(pair["params"]), [{}, {}]
            traces = [[], []]
            for which, k in ((0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (1, 2), (0, 3), (1, 3), (1, 4), (0, 4)):
                grad = pair["grads"][which][k]
                params[which], states[which] = step(params[which], grad, states[which], **chosen)
                traces[which].append(params[which].detach().clone())
            record("traces", [torch.stack(trace) for trace in traces])


def probe_result(code, given, record):
    for name in FUNCTIONS:
        step = getattr(code, name)
        for kind, dtype in (
            ("double", torch.float64),
            ("single", torch.float32),
            ("bfloat16", torch.bfloat16),
        ):
            with record.step(f"{name}{kind}"):
                leaf = torch.nn.Parameter(given["cases"][0]["param"].to(dtype))
                (leaf * given["cases"][0]["grads"][0].to(dtype)).sum().backward()
                out, state = step(leaf, leaf.grad, {})
                second, later = step(out, leaf.grad, state)
                third, last = step(leaf, leaf.grad, later)
                for k, (value, kept) in enumerate(((out, state), (second, later), (third, last))):
                    record(f"out{k}", value)
                    record(f"device{k}", value.device == leaf.device)
                    record(f"graph{k}", value.grad_fn is not None)
                    record(f"state_graph{k}", any(t.grad_fn is not None for t in tensors(kept)))
                record("param", leaf)
        with record.step(f"{name}number"):
            case = given["cases"][1]
            record("out", step(case["param"], case["grads"][0], {})[0])
        with record.step(f"{name}graphed"):
            leaf = torch.nn.Parameter(given["cases"][0]["param"])
            (grad,) = torch.autograd.grad((leaf**3).sum(), leaf, create_graph=True)
            out, state = step(leaf, grad, {})
            later = step(out, grad, state)
            values = [[out, *tensors(state)], [later[0], *tensors(later[1])]]
            record("graph", any(t.grad_fn is not None for row in values for t in row))


def probe_errors(code, given, record):
    def zeros(*shape):
        return torch.zeros(shape, dtype=torch.float64, device=record.device)

    shapes = {
        "one": ((3,), (1,)),
        "scalar": ((3,), ()),
        "row": ((2, 3), (3,)),
        "column": ((3, 1), (1, 3)),
        "larger": ((3,), (2, 3)),
        "other": ((3,), (5,)),
        "flat": ((2, 3), (6,)),
    }
    for name in FUNCTIONS:
        step = getattr(code, name)
        for kind, (left, right) in shapes.items():
            record.raises(f"{name}{kind}", lambda s=step, a=left, b=right: s(zeros(*a), zeros(*b), {})[0])
        bad = {"lr": {"lr": -0.1}, "eps": {"eps": -1e-8}}
        if name == "rmsprop_step":
            bad |= {f"decay{i}": {"alpha": value} for i, value in enumerate((1.0, -0.1, 1.5))}
        if name == "adam_step":
            pairs = ((1.0, 0.9), (0.9, 1.0), (-0.1, 0.9), (0.9, -0.1), (1.2, 0.9), (0.9, 1.2))
            bad |= {f"decay{i}": {"betas": value} for i, value in enumerate(pairs)}
        for kind, chosen in bad.items():
            record.raises(f"{name}{kind}", lambda s=step, c=chosen: s(zeros(3), zeros(3) + 1.0, {}, **c)[0])
