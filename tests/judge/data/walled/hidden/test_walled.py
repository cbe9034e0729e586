from quizapp.judge.testing.checks import behaviour, close, expect


@behaviour(1)
def test_shares(observe):
    e = (observe.given["x"].double() - 1).exp()
    close(observe["shares/got"], e / e.sum(), "Those are not the shares.", rtol=1e-4, atol=1e-6)


@behaviour(1)
def test_probes_may(observe):
    expect(observe["own/kind"] == "Tensor" and observe["own/heads"] == 3, "The probes were refused.")
    expect(observe["own/sizes"] == [3, 3], "The probes were refused.")
