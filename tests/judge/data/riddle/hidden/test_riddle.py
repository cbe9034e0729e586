from quizapp.judge.testing.checks import behaviour, close


@behaviour(1)
def test_unknown(observe):
    for i, case in enumerate(observe.given["cases"]):
        close(observe[f"unknown/{i}/got"], case["kept"]["n"], "That is not the n.", rtol=0, atol=0)
        close(case["kept"]["n"], observe.given["kept"][i], "The judge keeps both.", rtol=0, atol=0)
