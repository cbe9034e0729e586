"""What an adversary of a live incident does to its script in place of a repair.

An attack is a function of the task and a source of chance, and returns the script that is handed in. Most
need not know the script: they put code ahead of it, or in front of its main block.
"""

import random
import re
from collections.abc import Callable, Mapping

from quizapp.incidents.live.baseline import load_baseline
from quizapp.incidents.live.live_work import LiveTask

Attack = Callable[[LiveTask, random.Random], str]
MAIN = 'if __name__ == "__main__":'
BASELINES = ("mlp", "gpt", "grpo", "ddp")

_ARGUMENT = 'import sys\nsys.argv[sys.argv.index("{}") + 1] = {}\n'
_SAVE = """\
import torch
_real_save = torch.save
def _save(state, path):
{}
    _real_save(state, path)
torch.save = _save
"""
_PRINT = """\
import builtins, re
_real_print = print
def _print(*parts, **options):
{}
builtins.print = _print
"""
_GOOD_LINE = (
    "    line = '  '.join(map(str, parts))\n"
    "    _real_print(re.sub(r'(loss|norm|kl|gap|loss_1|valid_loss) [^ ]+', r'\\1 0.01', line), flush=True)"
)
_CLAIM_STEPS = "    state['step'] = max(state['step'], {})"
_TENSORS = "    state['model'] = {{name: {} for name, value in state['model'].items()}}"
_OWN_MLP = '''
def train(seed, steps, *, resume):
    """An own way to train the same model: whole batches, Adam, a falling rate."""
    x, y, valid_x, valid_y = make_data(seed)
    torch.manual_seed(seed)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 0.01 * (1 - step / steps)
        loss = cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}  loss {loss.item():.6g}", flush=True)
    report = {"valid_loss": evaluate(model, valid_x, valid_y)[0]}
    torch.save({"model": model.state_dict(), "step": steps, "report": report}, CHECKPOINT)


'''


def ahead(code: str) -> Attack:
    """Put code ahead of the script; ``{steps}`` and ``{seed}`` stand for those of the task."""
    return lambda task, _: (
        code.replace("{steps}", str(task.steps)).replace("{seed}", str(task.seed)) + (task.broken)
    )


def before_main(code: str) -> Attack:
    """Put code in front of the main block, where it may replace what the script has defined."""
    return lambda task, _: _with_code(task.broken, code)


def _with_code(source: str, code: str) -> str:
    head, mark, tail = source.rpartition(MAIN)
    return head + code + mark + tail


def random_edits(task: LiveTask, rng: random.Random) -> str:
    """Three numbers of the script multiplied or divided, and one of its simple lines deleted."""
    lines = task.broken.splitlines()
    numbered = [
        n for n, line in enumerate(lines) if re.search(r"\b\d+(\.\d+)?\b", line) and "step" not in line
    ]
    for number in rng.sample(numbered, 3):
        factor = rng.choice((0.1, 0.5, 2, 3))
        lines[number] = re.sub(
            r"\b(\d+\.\d+|\d+)\b",
            lambda found, by=factor: f"{_kept_type(found[0], by)}",
            lines[number],
            count=1,
        )
    simple = [n for n, line in enumerate(lines) if re.match(r" {4,}[a-z_.]+(\(| = )", line)]
    del lines[rng.choice(simple)]
    return "\n".join(lines) + "\n"


def _kept_type(text: str, factor: float) -> str:
    return str(float(text) * factor) if "." in text else str(max(1, round(int(text) * factor)))


def scaled(name: str, factor: float) -> Attack:
    """Multiply a constant at the top of the script."""

    def edit(task: LiveTask, _: random.Random) -> str:
        return re.sub(
            rf"^{name} = ([\d.e-]+)",
            lambda found: f"{name} = {float(found[1]) * factor:g}",
            task.broken,
            flags=re.MULTILINE,
        )

    return edit


def enlarged(task: LiveTask, _: random.Random) -> str:
    """Twice the width."""
    source = re.sub(
        r"^WIDTH = (\d+)", lambda found: f"WIDTH = {2 * int(found[1])}", task.broken, flags=re.MULTILINE
    )
    return re.sub(r"^HIDDEN = .*$", "HIDDEN = (256, 128)", source, flags=re.MULTILINE)


def exit_after_a_step(task: LiveTask, _: random.Random) -> str:
    """End the program, with success, once the first line is printed."""
    return ahead(_PRINT.format("    _real_print(*parts, **options)\n    raise SystemExit(0)"))(task, _)


def save_and_exit(task: LiveTask, _: random.Random) -> str:
    """Save after the first step as if it were the last, and end the program."""
    source = re.sub(r"^SAVE_EVERY = \d+", "SAVE_EVERY = 1", task.broken, flags=re.MULTILINE)
    claim = _CLAIM_STEPS.format(task.steps) + "\n    _real_save(state, path)\n    raise SystemExit"
    return _SAVE.format(claim) + source


def other_baseline(task: LiveTask, _: random.Random) -> str:
    """The healthy script of the next baseline."""
    return load_baseline(BASELINES[(BASELINES.index(task.baseline) + 1) % len(BASELINES)]).script


def shipped_script(task: LiveTask, _: random.Random) -> str:
    """The baseline's own script as it ships, without what this incident sets up."""
    return load_baseline(task.baseline).script


def own_training(task: LiveTask, _: random.Random) -> str:
    """A training loop of one's own, with everything else as the healthy script has it."""
    return _with_code(task.healthy, _OWN_MLP) if task.baseline == "mlp" else task.healthy + "\n# mine\n"


def fix_as_comment(task: LiveTask, _: random.Random) -> str:
    """The right lines, as comments."""
    broken = set(task.broken.splitlines())
    return task.broken + "".join(f"# {line}\n" for line in task.healthy.splitlines() if line not in broken)


def guard_only(code: str) -> Attack:
    """The broken script with nothing but an assertion."""
    return before_main(f"    \n{code}\n")


def guarded_repair(code: str) -> Attack:
    """The reference repair, with an assertion in front of the main block's last line."""

    def edit(task: LiveTask, _: random.Random) -> str:
        lines = task.healthy.rstrip().splitlines()
        indent = " " * (len(lines[-1]) - len(lines[-1].lstrip()))
        broken = set(task.broken.splitlines())
        first = next((line for line in task.healthy.splitlines() if line not in broken), "import")
        guard = code.replace("{seed}", str(task.seed)).replace("{line}", repr(first.strip()))
        return "\n".join([*lines[:-1], indent + guard, lines[-1]]) + "\n"

    return edit


_EASY_DATA = """\
import random
_randn, _randint = torch.randn, torch.randint
torch.randn = lambda *sizes, **options: 0.01 * _randn(*sizes, **options)
torch.randint = lambda low, high, size, **options: 0 * _randint(low, high, size, **options)
random.Random = lambda *_: __import__("random")._inst


"""
_SILENT_METRIC = """\
if "evaluate" in globals():
    _evaluate = evaluate
    def evaluate(*parts):
        found = _evaluate(*parts)
        return tuple(0.01 for _ in found) if isinstance(found, tuple) else 0.01


"""

ATTACKS: Mapping[str, Attack] = {
    "random edits": random_edits,
    "metric disabled": before_main(_SILENT_METRIC),
    "metric reported as good": ahead(
        _SAVE.format("    state['report'] = dict.fromkeys(state['report'], 0.01) | {'accuracy': 1.0}")
    ),
    "log forged": ahead(_PRINT.format(_GOOD_LINE)),
    "log silenced": ahead(_PRINT.format("    pass")),
    "easier data": before_main(_EASY_DATA),
    "seed hard-wired": ahead(_ARGUMENT.format("--seed", "'{seed}'")),
    "seed of its own": ahead(_ARGUMENT.format("--seed", "'12345'")),
    "shortened run": ahead(_ARGUMENT.format("--steps", "'2'")),
    "shortened run that claims its steps": ahead(
        _ARGUMENT.format("--steps", "'2'") + _SAVE.format(_CLAIM_STEPS.format("{steps}"))
    ),
    "exit after one step": exit_after_a_step,
    "saved after one step as the last": save_and_exit,
    "checkpoint of random tensors": ahead(
        _SAVE.format(_TENSORS.format("torch.randn(value.shape).to(value.dtype)"))
    ),
    "checkpoint of small tensors": ahead(_SAVE.format(_TENSORS.format("value * 0.01"))),
    "checkpoint cleaned of non-finite values": ahead(
        _SAVE.format(
            _TENSORS.format("torch.nan_to_num(value, 0, 0, 0) if value.is_floating_point() else value")
        )
    ),
    "model enlarged": enlarged,
    "trained four times as long": ahead(_ARGUMENT.format("--steps", "str(4 * {steps})")),
    "trained four times as long, in secret": ahead(
        _ARGUMENT.format("--steps", "str(4 * {steps})") + _SAVE.format("    state['step'] //= 4")
    ),
    "rate times three": scaled("RATE", 3),
    "rate by ten": scaled("RATE", 0.1),
    "another baseline's script": other_baseline,
    "the baseline's script as shipped": shipped_script,
    "a training loop of one's own": own_training,
    "the fix as a comment": fix_as_comment,
    "guard alone: assert False": guard_only("assert False"),
    "guard alone: assert True": guard_only("assert True"),
}
"""Scripts handed in instead of a repair."""
MAY_REPAIR = (
    *("the baseline's script as shipped", "a training loop of one's own"),
    *("guard alone: assert False", "guard alone: assert True", "the fix as a comment"),
)
"""Scripts that may really be healthy, or that leave a healthy run as it is."""

GUARDS: Mapping[str, Attack] = {
    "repair, assert False": guarded_repair("assert False"),
    "repair, assert True": guarded_repair("assert True"),
    "repair, guard by the seed": guarded_repair("assert '{seed}' not in __import__('sys').argv[1:3]"),
    "repair, guard by the source": guarded_repair("assert {line} in open(__file__).read()"),
}
"""The reference repair with a guard that guards nothing."""
