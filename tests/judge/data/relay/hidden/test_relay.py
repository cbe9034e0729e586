from quizapp.judge.testing.checks import behaviour, close, expect


def check(observe, step, world, ranks):
    want = sum(observe.given["xs"][rank].double() for rank in ranks)
    for rank in ranks:
        got = observe[f"total/world{world}/rank{rank}/{step}/got"]
        close(got, want, f"The sum is wrong ({step}).", rtol=1e-4, atol=1e-5)


@behaviour(1)
def test_all(observe):
    for world in (2, 3):
        check(observe, "all", world, range(world))


@behaviour(1)
def test_ends(observe):
    check(observe, "ends", 3, (0, 2))


@behaviour(1)
def test_again(observe):
    for world in (2, 3):
        check(observe, "again", world, range(world))


@behaviour(1)
def test_calls(observe):
    calls = observe["total/world2/rank1/all/calls"]
    expect(calls == [["all_reduce", 5, "torch.float32"]], f"The calls were {calls}.")
