from quizapp.judge.draw import Draw
from quizapp.judge.ranks import calls, first_and_last, together, watch
from quizapp.judge.record import Record, distributed, filled_linear, number

watch()
first_and_last()


def inputs(draw: Draw):
    return {"xs": [draw.normal(5) for _ in range(2)], "weight": draw.normal(3, 5)}


@distributed
def probe_average(code, given, record: Record):
    with together(record, "all"):
        record("got", code.average(given["xs"][record.rank]))
        record("calls", [name for name, _, _ in calls])


def probe_layer(code, given, record: Record):
    out = code.apply(filled_linear(given["weight"], None), given["xs"][0])
    record("out", out)
    record("first", number(out[0].item()))
