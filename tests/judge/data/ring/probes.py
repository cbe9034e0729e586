from quizapp.judge.testing.probes import distributed


def inputs(draw):
    return {"xs": [draw.normal(5) for _ in range(3)]}


@distributed
def probe_total(code, given, record):
    record("got", code.total(given["xs"][record.rank]))
