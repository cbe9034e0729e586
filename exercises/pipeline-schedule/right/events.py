import heapq
from collections import defaultdict


def gpipe(stages, microbatches):
    if min(stages, microbatches) < 1:
        raise ValueError("sizes")
    return [
        [*(("F", j) for j in range(microbatches)), *(("B", j) for j in range(microbatches))]
        for _ in range(stages)
    ]


def one_f_one_b(stages, microbatches):
    if min(stages, microbatches) < 1:
        raise ValueError("sizes")

    def stage(s):
        w = min(microbatches, stages - s - 1)
        for j in range(w):
            yield "F", j
        for j in range(w, microbatches):
            yield "F", j
            yield "B", j - w
        for j in range(microbatches - w, microbatches):
            yield "B", j

    return [list(stage(s)) for s in range(stages)]


def peak_in_flight(schedule):
    if all(len(ops) == 0 for ops in schedule):
        raise ValueError("nothing to do")
    return [
        max((sum(1 if k == "F" else -1 for k, _ in ops[: i + 1]) for i in range(len(ops))), default=0)
        for ops in schedule
    ]


def bubble_fraction(schedule, forward_time=1.0, backward_time=2.0):
    """Longest path through the graph of dependencies, by counting open inputs."""
    if forward_time <= 0 or backward_time <= 0:
        raise ValueError("time")
    if all(len(ops) == 0 for ops in schedule):
        raise ValueError("nothing to do")
    n = len(schedule)
    cost = {"F": forward_time, "B": backward_time}
    nodes = {(s, k, j) for s, ops in enumerate(schedule) for k, j in ops}
    follows, inputs = defaultdict(list), defaultdict(int)
    for s, ops in enumerate(schedule):
        for i, (k, j) in enumerate(ops):
            needs = [(s, *ops[i - 1])] if i else []
            if k == "F":
                needs += [(s - 1, "F", j)] if s else []
            else:
                needs += [(s, "F", j)]
                needs += [(s + 1, "B", j)] if s < n - 1 else []
            for need in needs:
                if need not in nodes:
                    raise ValueError(f"{need} never runs")
                follows[need].append((s, k, j))
                inputs[s, k, j] += 1
    heap = [(cost[k], (s, k, j)) for s, k, j in nodes if not inputs[s, k, j]]
    heapq.heapify(heap)
    finished, makespan, busy = 0, 0.0, 0.0
    while heap:
        now, node = heapq.heappop(heap)
        finished += 1
        busy += cost[node[1]]
        makespan = max(makespan, now)
        for other in follows[node]:
            inputs[other] -= 1
            if not inputs[other]:
                heapq.heappush(heap, (now + cost[other[1]], other))
    if finished < len(nodes):
        raise ValueError("deadlock")
    return 1.0 - busy / (n * makespan)
