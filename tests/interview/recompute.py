"""Recomputes every figure of a report from its JSON alone; written from the formula, imports no scorer."""

import random
from contextlib import suppress
from fractions import Fraction as F
from math import floor

DIMENSIONS = ("correctness", "depth", "code", "debugging", "clarity and time")


def half_up(x: F) -> int:
    return floor(x + F(1, 2))


def time_of(item: dict, good: bool) -> F:
    used, budget = F(item["used_ms"], 1000), F(item["budget"])
    if budget == 0:
        return F(0)
    if used < F(3, 10) * budget:
        return F(1) if good else F(0)
    if used <= budget:
        return F(1)
    return max(F(0), (F(3, 2) * budget - used) / (F(1, 2) * budget))


def covered(points: list, kind: str | None) -> F | None:
    rows = [p for p in points if kind is None or p["kind"] == kind]
    if not rows:
        return None
    return sum((p["weight"] * F(p["held"]) for p in rows), F(0)) / sum(p["weight"] for p in rows)


def recall(item: dict) -> list[tuple[str, F, F]]:
    marking, scenario = item["marking"], item["slot"] == "scenario"
    weights = {"core": F(50), "deep": F(20), "production": F(15)}
    core = covered(marking["points"], "core") or F(0)
    wrong = sum(1 for m in marking["misconceptions"] if m["stated"])
    core = max(F(0), core - F(wrong, 10))
    deep = []
    trade = covered(marking["points"], "trade-off")
    if trade is not None:
        deep.append(trade)
    asked = [F(p["held"]) for p in marking["probes"] if p["asked"]]
    if asked:
        deep.append(sum(asked) / len(asked))
    production = covered(marking["points"], "production")
    if not deep:
        weights["core"] += weights.pop("deep")
    if production is None:
        weights["core"] += weights.pop("production")
    notes = item.get("rules", 1) > 1 and not item.get("spoken", False)
    if notes:
        weights["core"] += 15
    beats = marking["beats"]
    clarity = F(sum(1 for b in beats if b["held"]), len(beats)) if beats else F(0)
    time = time_of(item, core >= F(4, 5))
    if marking["empty"]:
        core = clarity = time = F(0)
        deep, production = [F(0)] * len(deep), F(0)
    main, rest = ("debugging", "debugging") if scenario else ("correctness", "depth")
    rows = [(main, weights["core"], core)]
    if "deep" in weights:
        rows.append((rest, weights["deep"], sum(deep) / len(deep)))
    if "production" in weights:
        rows.append((rest, weights["production"], production))
    if notes:
        return rows
    return [*rows, ("clarity and time", F(15, 2), clarity), ("clarity and time", F(15, 2), time)]


def estimate(item: dict) -> list[tuple[str, F, F]]:
    marking = item["marking"]
    number = F(marking["number"])
    # With a unit, or without a number, the marking's word is taken.
    with suppress(TypeError, ValueError, ZeroDivisionError):
        ratio = F(item["given"]) / F(item["question"]["result"])
        slack = F(1, 10**8)
        half = F(1, 2) if ratio > 0 and max(ratio, 1 / ratio) <= F(3, 2) + slack else F(0)
        number = F(1) if abs(ratio - 1) <= F(1, 10) + slack else half
    working = covered([{**p, "held": 0} if marking["empty"] else p for p in marking["points"]], None) or F(0)
    time = F(0) if marking["empty"] else time_of(item, number >= F(4, 5))
    return [("correctness", F(50), number), ("depth", F(40), working), ("clarity and time", F(10), time)]


def machine(item: dict) -> list[tuple[str, F, F]]:
    marking = item["marking"]
    right = F(marking["right_parts"], marking["parts"])
    time = time_of(item, right >= F(4, 5))
    if marking["empty"]:
        right = time = F(0)
    main = "debugging" if item["slot"] == "scenario" else "correctness"
    return [(main, F(90), right), ("clarity and time", F(10), time)]


def coding(item: dict) -> list[tuple[str, F, F]]:
    marking = item["marking"]
    passed = F(marking["behaviours_passed"], marking["behaviours"])
    explained = covered(marking["points"], None)
    time = time_of(item, passed >= F(4, 5))
    failed = sum(1 for s in item["submissions"] if not s["verdict"]["passed"])
    costly = second_reds(item) if item.get("stages") else max(0, failed - 1)
    verified = max(F(0), F(10 if marking["checked"] else 0) - F(5, 2) * costly) / 10
    if marking["empty"]:
        time = verified = F(0)
    rows = [("code", F(60 if explained is not None else 80), passed)]
    if explained is not None:
        rows.append(("code", F(20), explained))
    return [*rows, ("clarity and time", F(10), time), ("code", F(10), verified)]


def review(item: dict) -> list[tuple[str, F, F]]:
    """A code review; every part is rounded by itself."""
    faults, given = item["question"]["review"]["faults"], item.get("review") or {}
    judged = item["marking"]["judged"] or {"proof": {"accepted": False, "caught": []}, "fix": {}}
    proof, fix = judged["proof"], judged["fix"]
    decision = given.get("decision")
    sure = F(1, 2) + F(given.get("confidence") or 0, 200)
    right = (decision == "correct") == (not faults)
    likely = sure if right else 1 - sure
    believed = max(F(0), 1 - 4 * (1 - likely) ** 2) if decision else F(0)
    if not faults:
        killed = F(int(bool(decision and proof["accepted"] and proof["caught"])))
        return [("debugging", F(60), F(half_up(60 * believed), 60)), ("code", F(40), killed)]
    if decision != "faulty":
        believed, shares = F(0), [F(0)] * 4
    else:
        lines, names = set(given["lines"]), [fault["mutant"] for fault in faults]
        hits = sum(1 for fault in faults if lines & set(fault["lines"]))
        held = sum((F(0) if item["marking"]["empty"] else F(p["held"])) for p in item["marking"]["points"])
        caught = [name for name in names if proof["accepted"] and name in proof["caught"]]
        mended = [name for name in names if fix.get("passed") or name in fix.get("repaired", [])]
        shares = [
            F(hits, max(len(faults), len(lines))), F(held, len(faults)),
            F(len(caught), len(faults)), F(len(mended), len(faults)),
        ]  # fmt: skip
    parts = [("debugging", 25, believed)]
    parts += zip(("debugging", "depth", "code", "code"), (20, 15, 20, 20), shares, strict=True)
    return [(dimension, F(most), F(half_up(most * share), most)) for dimension, most, share in parts]


def second_reds(item: dict) -> int:
    """All red grades but the first of each stage; a grade is red unless every stage shown held."""
    names, shown, reds = [stage["name"] for stage in item["stages"]], 1, {}
    for grade in item.get("grades", ()):
        if set(names[:shown]) <= set(grade["held"]):
            shown = min(len(names), shown + 1)
        else:
            reds[shown] = reds.get(shown, 0) + 1
    return sum(number - 1 for number in reds.values())


def in_interview(item: dict) -> list[tuple[str, F, F]]:
    """An incident by the rules of version 2: hypotheses and readings 60, cause and fix 25, proof 15."""
    asked, marking, said = item["question"], item["marking"], item["given"] or {}
    silent = marking["empty"]
    healthy = asked["cause"] == "no-fault"
    rejects = {c["id"]: set(c["rejected_by"]) for c in asked["causes"]}
    targets = {"control-run"} if healthy else set(asked["decoys"])
    left, spent, until = set(targets), 0, 0
    for row in item["bought"]:
        spent += row["seconds"]
        gone = {t for t in left if row["reading"] == t or row["reading"] in rejects.get(t, set())}
        left, until = left - gone, spent if gone else until
    excluded = F(len(targets) - len(left), len(targets))
    paid = until if excluded else spent
    thrift = min(F(1), F(2 * asked["cheapest"]["seconds"] + 10, paid + 10))
    have = {row["reading"] for row in item["bought"]}
    evidence = F(int("control-run" in have)) if healthy else F(0)
    rejected = said.get("reading") in rejects.get(said.get("decoy"), set()) & have
    if not healthy and rejected and said.get("decoy") != said.get("cause"):
        evidence = F(1) if said["decoy"] in asked["decoys"] else F(1, 2)
    paying = [b for b in item["bought"] if b["seconds"] > 0] or item["bought"]
    outcomes = {r["id"]: r["outcome"] for r in asked["readings"]}
    hits = sum(1 for b in paying if b["predicted"] == outcomes[b["reading"]])
    edit = healthy and said.get("cause", "no-fault") != "no-fault"
    fix = F(0) if edit or silent else covered(marking["points"], "fix")
    proved = "control-run" in have or any(p["verify"] and p["held"] and not silent for p in marking["points"])
    prevented = not silent and any(b["held"] for b in marking["beats"] if b["name"] == "the prevention")
    guessed, shown = F(hits, len(paying)) if paying else F(0), excluded
    if item.get("incident_rules", 1) > 1:
        every = sum(b["seconds"] for b in item["bought"] if healthy or b["reading"] != "control-run")
        thrift = min(F(1), F(2 * asked["cheapest"]["seconds"] + 30, every + 10))
        shown = excluded * thrift
        kinds = {outcomes[b["reading"]] for b in paying}
        by_kind = [[b for b in paying if outcomes[b["reading"]] == kind] for kind in kinds]
        rights = [
            F(sum(b["predicted"] == outcomes[b["reading"]] for b in rows), len(rows)) for rows in by_kind
        ]
        guessed = sum(rights, F(0)) / len(rights) if rights else F(0)
    shares = [
        (20, excluded * thrift), (20, guessed), (20, (shown + evidence) / 2),
        (10, F(int(said.get("cause") == asked["cause"]))), (5, F(int(said.get("place") == asked["place"]))),
        (10, fix), (10, F(int(proved))), (5, F(int(prevented))),
    ]  # fmt: skip
    rows = [("debugging", F(weight), share) for weight, share in shares]
    words = [rows[5], rows[7]] if "control-run" in have else rows[5:]
    rows += undiagnosed(item, words, rows)
    if item["hints"]:
        rows.append(("debugging", F(-20), F(min(2, item["hints"]), 2)))
    return rows


def incident(item: dict) -> list[tuple[str, F, F]]:
    """From what was asked, bought and committed; only points, misconceptions and beats are the marking's."""
    asked, marking, said = item["question"], item["marking"], item["given"] or {}
    main, silent = "debugging", marking["empty"]

    def section(name: str) -> F:
        return F(0) if silent else covered(marking["points"], name)

    rights = {s["id"] for s in asked["states"] if s["right"]}
    named = set(said.get("states", []))
    states = max(0, len(named & rights) - len(named - rights))
    rows = [(main, F(30), section("reproduce")), (main, F(5), F(states, len(rights)))]

    healthy = asked["cause"] == "no-fault"
    edit = healthy and said.get("cause", "no-fault") != "no-fault"
    paid = [b for b in item["bought"] if b["seconds"] > 0] or item["bought"]
    outcomes = {r["id"]: r["outcome"] for r in asked["readings"]}
    hits = sum(1 for b in paid if b["predicted"] == outcomes[b["reading"]])
    have = {b["reading"] for b in item["bought"]}
    evidence = F(0)
    if healthy:
        evidence = F(int("control-run" in have))
    elif said.get("reading") in have and said.get("decoy") != said.get("cause"):
        for cause in asked["causes"]:
            if cause["id"] == said.get("decoy") and said["reading"] in cause["rejected_by"]:
                evidence = F(1) if cause["id"] in asked["decoys"] else F(1, 2)
    diagnosis = [
        (main, F(12), F(int(said.get("cause") == asked["cause"]))),
        (main, F(6), F(int(said.get("place") == asked["place"]))),
        (main, F(6), F(hits, len(paid)) if paid else F(0)),
        (main, F(6), evidence),
    ]
    earned = sum(w * s for _, w, s in diagnosis)
    over = sum(b["seconds"] for b in item["bought"]) - 2 * asked["cheapest"]["seconds"]
    price = min(F(6), F(max(0, over), 10), earned)
    if price:
        diagnosis.append((main, F(-6), price / 6))
    if (edit or not evidence) and earned - price > 10:
        diagnosis.append((main, 10 - (earned - price), F(1)))
    rows += diagnosis

    fix = F(0) if edit else section("fix")
    rows.append((main, F(20), fix))
    proved = any(p["verify"] and p["held"] and not silent for p in marking["points"])
    if not proved and 20 * fix > 13:
        rows.append((main, 13 - 20 * fix, F(1)))

    wrong = sum(1 for m in marking["misconceptions"] if m["stated"])
    rows.append(("clarity and time", F(10), max(F(0), section("explain") - F(wrong, 10))))
    told = sum(1 for b in marking["beats"] if b["held"] and not silent)
    rows.append(("clarity and time", F(5), F(told, len(marking["beats"]))))
    words = [rows[0], *rows[2 + len(diagnosis) :]]
    rows += undiagnosed(item, words, rows)
    if item["hints"]:
        rows.append((main, F(-20), F(min(2, item["hints"]), 2)))
    return rows


def undiagnosed(item: dict, words: list, rows: list) -> list[tuple[str, F, F]]:
    """The caps without a named cause or a reading, and on a broken run that was called healthy."""
    if item.get("incident_rules", 1) < 2:
        return []
    cause = (item["given"] or {}).get("cause", "")
    caps = [] if cause and item["bought"] else cut(words, 10)
    healthy = item["question"]["cause"] == "no-fault"
    missed = cause == "no-fault" and not healthy
    have = {b["reading"] for b in item["bought"]}
    excluded = any(
        row["id"] == cause and have & set(row["rejected_by"]) for row in item["question"]["causes"]
    )
    contradicted = cause != item["question"]["cause"] and (healthy or excluded)
    most = 15 if missed or not cause else 30 if contradicted else 100
    return caps + cut([*rows, *caps], most)


def cut(rows: list, most: int) -> list[tuple[str, F, F]]:
    by_dimension: dict[str, F] = {}
    for dimension, weight, share in rows:
        by_dimension[dimension] = by_dimension.get(dimension, F(0)) + weight * share
    earned = sum(by_dimension.values())
    if earned <= most:
        return []
    parts = sorted(by_dimension.items(), key=lambda row: DIMENSIONS.index(row[0]))
    return [(name, part * (most / earned - 1), F(1)) for name, part in parts if part]


def terms(item: dict) -> list[tuple[str, F, F]]:
    live = in_interview if item.get("rules", 1) > 1 else incident
    kinds = {"recall": recall, "coding": coding, "incident": live, "estimate": estimate, "review": review}
    rows = kinds.get(item["kind"], machine)(item)
    seen = item["state"] != "unreached" and (item["state"] != "lost" or said(item))
    return rows if seen else [(dimension, weight, F(0)) for dimension, weight, _ in rows]


def said(item: dict) -> bool:
    decided = (item.get("review") or {}).get("decision")
    return bool(
        item["typed"].strip() or item["given"] not in (None, "", []) or item["submissions"] or decided
    )


def differences(report: dict) -> list[str]:
    """What the report says otherwise than the formula."""
    found, rows, dims = [], [], {name: [F(0), F(0)] for name in DIMENSIONS}
    for item in report["items"]:
        own = terms(item)
        mark = half_up(max(F(0), sum((w * s for _, w, s in own), F(0))))
        rows.append((item["planned"], mark))
        if mark != item["marks"]["total"]:
            found.append(f"item {item['number']}: {mark}, not {item['marks']['total']}")
        for (_, weight, share), told in zip(own, item["marks"]["terms"], strict=True):
            if abs(float(weight * share) - told["points"]) > 1e-3 or float(weight) != told["weight"]:
                found.append(f"item {item['number']}: term {told['term']}")
        for dimension, weight, share in own:
            dims[dimension][0] += item["planned"] * weight * share
            dims[dimension][1] += item["planned"] * max(F(0), weight)
    return found + _whole(report, rows, dims)


def _whole(report: dict, rows: list, dims: dict) -> list[str]:
    found, totals, total = [], report["totals"], mean(rows)
    if total != totals["raw"]:
        found.append(f"total {total}, not {totals['raw']}")
    reached = [r for r, i in zip(rows, report["items"], strict=True) if i["marks"]["reached"]]
    if mean(reached) != totals["reached"]:
        found.append("total over the reached items")
    levels = {n: half_up(100 * max(F(0), e) / p) for n, (e, p) in dims.items() if p}
    if levels != {n: row["percent"] for n, row in report["dimensions"].items()}:
        found.append("dimensions")
    if any(
        row["level"] != 1 + sum(levels[n] >= x for x in (40, 60, 80))
        for n, row in report["dimensions"].items()
    ):
        found.append("levels")
    if adjusted(report, total) != totals["adjusted"]:
        found.append(f"adjusted {adjusted(report, total)}, not {totals['adjusted']}")
    weak = any(row["level"] == 1 for row in report["dimensions"].values())
    name = "below" if total < report["pass_mark"] or weak else "pass"
    name = "strong" if name == "pass" and total >= report["pass_mark"] + 15 else name
    if name != report["band"]["name"]:
        found.append("band")
    if interval(rows, report["interval"]) != (report["interval"]["low"], report["interval"]["high"]):
        found.append("interval")
    return found


def mean(rows: list) -> int:
    seconds = sum(a for a, _ in rows)
    return half_up(F(sum(a * m for a, m in rows), seconds)) if seconds else 0


def adjusted(report: dict, total: int) -> int:
    off, seconds = F(0), sum(item["planned"] for item in report["items"])
    for item in report["items"]:
        row = report["inflation"].get(item["topic"])
        if item["kind"] not in ("recall", "incident") or not item["marks"]["reached"] or row is None:
            continue
        n = min(row["self_n"], row["machine_n"])
        if n:
            gap = F(row["self_sum"], row["self_n"]) - F(row["machine_sum"], row["machine_n"])
            off += item["planned"] * gap * F(n, n + 10)
    off = max(F(-15), min(F(15), off / seconds))
    return max(0, min(100, half_up(total - off)))


def interval(rows: list, told: dict) -> tuple[int, int]:
    rng, totals = random.Random(told["seed"]), []
    for _ in range(told["draws"]):
        drawn = rng.choices(rows, k=len(rows))
        totals.append(half_up(F(sum(a * m for a, m in drawn), sum(a for a, _ in drawn))))
    totals.sort()
    return totals[told["draws"] // 10], totals[told["draws"] * 9 // 10]
