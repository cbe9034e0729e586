import torch.distributed as dist

from quizapp.judge.testing.probes import distributed
from quizapp.judge.testing.ranks import calls, first_and_last, together, watch

WATCHED = watch()
ENDS = first_and_last()


def inputs(draw):
    return {"xs": [draw.normal(5) for _ in range(3)]}


@distributed
def probe_total(code, given, record):
    with together(record, "all"):
        record("got", code.total(given["xs"][record.rank]))
        record("calls", [list(call) for call in calls])
    if ENDS is not None:
        with together(record, "ends", ENDS):
            if dist.get_rank(ENDS) >= 0:
                record("got", code.total(given["xs"][record.rank], ENDS))
    with together(record, "again"):
        record("got", code.total(given["xs"][record.rank]))
