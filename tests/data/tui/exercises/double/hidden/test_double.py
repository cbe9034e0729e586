import torch

from quizapp.judge.testing.checks import behaviour, close


@behaviour(1)
def test_result_is_twice_the_input(observe):
    value = observe.given["value"]
    close(observe["double/call/result"], torch.full((3, 2), 2 * value), "The result is not twice the input.")


@behaviour(2)
def test_input_is_kept(observe):
    close(observe["double/call/input"], torch.full((3, 2), observe.given["value"]), "The input was modified.")
