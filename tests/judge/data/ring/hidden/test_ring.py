from quizapp.judge.testing.checks import behaviour, close


@behaviour(1)
def test_total(observe):
    for world in (2, 3):
        want = sum(x.double() for x in observe.given["xs"][:world])
        for rank in range(world):
            close(
                observe[f"total/world{world}/rank{rank}/got"], want, "The sum is wrong.", rtol=1e-4, atol=1e-5
            )
