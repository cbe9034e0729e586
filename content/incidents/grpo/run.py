"""GRPO on addition modulo 10: a small policy that was shown bad examples learns from right and wrong alone.

A prompt is two digits. A completion is right if its end token follows the answer; fillers may come first.
The seed draws the cipher that answers are written in.
"""

import argparse
import copy

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, pad

STEPS = 60
SAVE_EVERY = 20
WARM_UP_STEPS = 300
WIDTH = 64
LENGTH = 8
PROMPTS = 16
GROUP = 8
INNER_STEPS = 4
RATE = 0.005
CLIP = 0.2
KL_WEIGHT = 0.05
ENTROPY_WEIGHT = 0.02
EPSILON = 1e-4
MAX_NORM = 1.0
DIGITS, FILLER, START, END, VOCABULARY = 10, 10, 11, 12, 13


class Policy(nn.Module):
    """Predicts a token from the two digits of the prompt, the token before it, and its place."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Embedding(DIGITS, WIDTH), nn.Embedding(DIGITS, WIDTH)
        self.last, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.hidden, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, prompts: Tensor, completions: Tensor) -> Tensor:
        """Map (B, 2) and (B, T) to the log-probabilities (B, T, V) of all tokens at each place."""
        last = pad(completions[:, :-1], (1, 0), value=START)
        problem = (self.first(prompts[:, 0]) + self.second(prompts[:, 1])).unsqueeze(1)
        x = torch.relu(problem + self.last(last) + self.place.weight[: last.shape[1]])
        return log_softmax(self.head(torch.relu(self.hidden(x))), dim=-1)


def pick(distributions: Tensor, tokens: Tensor) -> Tensor:
    """Return the entries of `distributions` (..., V) at `tokens` (...)."""
    return distributions.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)


def make_reference() -> tuple[Policy, Tensor, Tensor]:
    """Return a policy that learned from half-random answers, and all prompts with their right answers."""
    prompts = torch.cartesian_prod(torch.arange(DIGITS), torch.arange(DIGITS))
    answers = torch.randperm(DIGITS)[prompts.sum(1) % DIGITS]
    policy, places = Policy(), torch.arange(LENGTH)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(WARM_UP_STEPS):
        chosen, right = torch.randint(len(prompts), (128,)), torch.rand(128) < 0.5
        shown = torch.where(right, answers[chosen], torch.randint(DIGITS, (128,)))
        fillers = torch.randint(0, 4, (128, 1))
        text = torch.where(places < fillers, FILLER, END).scatter(1, fillers, shown.unsqueeze(1))
        loss = -pick(policy(prompts[chosen], text), text)[places <= fillers + 1].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return policy, prompts, answers


@torch.no_grad()
def sample(policy: Policy, prompts: Tensor, *, greedy: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Return completions, their log-probabilities, and a mask through the first end token, all (B, T)."""
    tokens, logprobs = torch.full((len(prompts), LENGTH), END), torch.zeros(len(prompts), LENGTH)
    for place in range(LENGTH):
        distribution = policy(prompts, tokens[:, : place + 1])[:, place]
        drawn = distribution.argmax(-1) if greedy else torch.multinomial(distribution.exp(), 1).squeeze(1)
        tokens[:, place], logprobs[:, place] = drawn, pick(distribution, drawn)
    is_end = (tokens == END).long()
    return tokens, logprobs, is_end.cumsum(1) - is_end == 0


def verify(completions: Tensor, mask: Tensor, answers: Tensor) -> Tensor:
    """Return 1.0 for each completion whose end token follows the answer, else 0.0, shape (B,)."""
    last = mask.sum(1) - 1
    is_answer = pick(completions, (last - 1).clamp(min=0)) == answers
    return (is_answer & (pick(completions, last) == END)).float()


def average(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean over the tokens of each completion, then over completions."""
    return ((values * mask).sum(1) / mask.sum(1)).mean()


def train(seed: int, steps: int, *, resume: bool) -> None:
    """Train up to step `steps`, from the reference policy or from the checkpoint."""
    torch.manual_seed(seed)
    reference, all_prompts, all_answers = make_reference()
    policy = copy.deepcopy(reference)
    optimizer, start = torch.optim.Adam(policy.parameters(), lr=RATE), 0
    if resume:
        state = torch.load("checkpoint.pt")
        policy.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])
        start = state["step"]
    for step in range(start, steps):
        problems = torch.randperm(len(all_prompts))[:PROMPTS].repeat_interleave(GROUP)
        prompts, answers = all_prompts[problems], all_answers[problems]
        completions, old_logprobs, mask = sample(policy, prompts)
        rewards = verify(completions, mask, answers)
        groups = rewards.view(PROMPTS, GROUP)
        centered = groups - groups.mean(1, keepdim=True)
        advantages = (centered / (groups.std(1, keepdim=True) + EPSILON)).view(-1, 1)
        reference_logprobs = pick(reference(prompts, completions), completions).detach()
        drifts = []
        for _ in range(INNER_STEPS):
            distributions = policy(prompts, completions)
            logprobs = pick(distributions, completions)
            ratio = torch.exp(logprobs - old_logprobs)
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            gain = average(torch.minimum(ratio * advantages, clipped * advantages), mask)
            d = reference_logprobs - logprobs
            kl = average(d.exp() - d - 1, mask)
            entropy = average(-(distributions.exp() * distributions).sum(-1), mask)
            loss = -gain + KL_WEIGHT * kl - ENTROPY_WEIGHT * entropy
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(policy.parameters(), MAX_NORM)
            optimizer.step()
            drifts.append(((ratio - 1).abs() * mask).max())
        log = {"loss": loss, "reward": rewards.mean(), "kl": kl, "entropy": entropy, "norm": norm}
        log |= {"gap": drifts[0], "drift": drifts[-1], "clip": average((ratio != clipped).float(), mask)}
        log["length"] = mask.sum(1).float().mean()
        print(f"step {step}", *(f"{name} {value:.4g}" for name, value in log.items()), sep="  ", flush=True)
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == steps:
            texts, _, text_mask = sample(policy, all_prompts, greedy=True)
            report = {"accuracy": verify(texts, text_mask, all_answers).mean().item()}
            state = {"model": policy.state_dict(), "optimizer": optimizer.state_dict(), "report": report}
            torch.save({**state, "rng": torch.get_rng_state(), "step": step + 1}, "checkpoint.pt")


if __name__ == "__main__":
    torch.set_num_threads(1)  # with several threads, the last digits depend on the machine
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--resume", action="store_true")
    arguments = parser.parse_args()
    train(arguments.seed, arguments.steps, resume=arguments.resume)
