from statistics import mean, median

from quizapp.judge.testing.checks import behaviour, close, expect

EXACT = {"rtol": 1e-9, "atol": 0.0}


def attention(m):
    return 12 * m["layers"] * m["hidden"] * m["seq"]


@behaviour(1)
def test_flops_per_token(observe):
    for i, m in enumerate(observe.given["models"]):
        close(
            observe[f"flops/{i}/full"],
            6 * m["params"] + attention(m),
            "A token costs 6 FLOPs per parameter plus 12 * layers * hidden * seq_len.",
            **EXACT,
            call=f"flops_per_token({m['params']}, {m['layers']}, {m['hidden']}, {m['seq']})",
            mistakes={
                "That is the forward pass only; the backward pass costs twice the forward.": 2 * m["params"]
                + attention(m) / 3,
                "Each parameter costs 6 FLOPs: 2 forward and 4 backward.": 2 * m["params"] + attention(m),
                "4 * L * h * s is the forward part; training needs three times that.": 6 * m["params"]
                + attention(m) / 3,
                "The attention term is halved for causal=True only.": 6 * m["params"] + attention(m) / 2,
            },
        )


@behaviour(1)
def test_without_attention_only_parameters_count(observe):
    for i, m in enumerate(observe.given["models"]):
        for name in ("plain", "no_layers", "no_hidden", "no_seq", "no_seq_given"):
            close(
                observe[f"flops/{i}/{name}"],
                6 * m["params"],
                "With layers, hidden or seq_len 0 the count is 6 * params.",
                **EXACT,
                mistakes={
                    "That is the forward pass only; the backward pass costs twice the forward.": 2
                    * m["params"]
                },
            )
    close(observe["flops/one/value"], 6, "One parameter is a valid model: 6 FLOPs.", **EXACT)


@behaviour(2)
def test_causal_halves_the_attention_term(observe):
    for i, m in enumerate(observe.given["models"]):
        close(
            observe[f"causal/{i}/causal"],
            6 * m["params"] + attention(m) / 2,
            "causal=True halves the attention term.",
            **EXACT,
            mistakes={
                "The mask saves half of the attention scores; the weight matrices do the same work.": 3
                * m["params"]
                + attention(m) / 2,
                "causal=True changed nothing: the mask leaves half of the attention scores.": 6 * m["params"]
                + attention(m),
            },
        )
        close(
            observe[f"causal/{i}/odd"],
            6 * 7 + 6 * 3 * 5 * 7,
            "causal=True halves the attention term exactly.",
            **EXACT,
        )


@behaviour(3)
def test_throughput_uses_the_median_after_warmup(observe):
    for i, run in enumerate(observe.given["runs"]):
        kept, tokens = run["times"][run["warmup"] :], run["tokens"]
        ordered = sorted(kept)
        skewed = "One slow compilation step moved your figure: drop the warm-up and take the median."
        for name in ("list", "tuple"):
            close(
                observe[f"throughput/{i}/{name}"],
                tokens / median(kept),
                "Divide tokens_per_step by the median time of the steps after the warm-up.",
                **EXACT,
                call=f"tokens_per_second of {len(run['times'])} step times, warmup={run['warmup']}",
                mistakes=[
                    (skewed, tokens / mean(kept)),
                    (skewed, tokens / median(run["times"])),
                    (skewed, tokens / mean(run["times"])),
                    (skewed, mean(tokens / time for time in kept)),
                    (
                        "Drop the first warmup entries, not the slowest ones.",
                        tokens / median(sorted(run["times"])[: len(kept)]),
                    ),
                    (
                        "With an even number of steps the median is the mean of the middle two.",
                        tokens / ordered[len(kept) // 2],
                    ),
                    (
                        "With an even number of steps the median is the mean of the middle two.",
                        tokens / ordered[(len(kept) - 1) // 2],
                    ),
                ],
            )
    run = observe.given["runs"][3]
    close(
        observe["throughput/default/value"],
        run["tokens"] / median(run["times"]),
        "warmup is 0 by default.",
        **EXACT,
    )


@behaviour(3)
def test_step_times_are_left_alone(observe):
    for i, run in enumerate(observe.given["runs"]):
        expect(
            observe[f"throughput/{i}/after"] == run["times"],
            "The caller's list of step times came back in another order.",
        )


@behaviour(4)
def test_mfu(observe):
    for i, f in enumerate(observe.given["fleets"]):
        mfu = f["rate"] * f["flops"] / (f["devices"] * f["peak"])
        advice = "Divide by the peak of all devices, and return 0.375 for 37.5%."
        close(
            observe[f"utilization/{i}/default"][0],
            mfu,
            "MFU is the FLOP/s that the model needs over the peak FLOP/s of all devices.",
            **EXACT,
            mistakes=[(advice, mfu * f["devices"]), (advice, 100 * mfu), (advice, 100 * mfu * f["devices"])],
        )
    close(observe["utilization/idle/pair"], [0.0, 0.0], "Without throughput both figures are 0.", **EXACT)


@behaviour(5)
def test_recompute_leaves_mfu_alone(observe):
    for i, f in enumerate(observe.given["fleets"]):
        close(
            observe[f"utilization/{i}/pair"][0],
            f["rate"] * f["flops"] / (f["devices"] * f["peak"]),
            "Recomputation is work that the model does not need: it raises HFU, never MFU.",
            **EXACT,
        )


@behaviour(5)
def test_recompute_raises_hfu(observe):
    for i, f in enumerate(observe.given["fleets"]):
        mfu = f["rate"] * f["flops"] / (f["devices"] * f["peak"])
        close(
            observe[f"utilization/{i}/pair"][1],
            mfu * (1 + f["recompute"] / 3),
            "HFU counts the repeated share of the forward pass: MFU * (1 + recompute / 3).",
            **EXACT,
            mistakes={
                "Only the forward third is repeated: at most 4/3.": mfu * (1 + f["recompute"]),
                "HFU must count the recomputed forward.": mfu,
            },
        )
        close(observe[f"utilization/{i}/default"][1], mfu, "Without recomputation HFU equals MFU.", **EXACT)


@behaviour(6)
def test_days(observe):
    for i, f in enumerate(observe.given["fleets"]):
        days = f["tokens"] * f["flops"] / (f["devices"] * f["peak"] * f["mfu"]) / 86400
        close(
            observe[f"days/{i}/default"],
            days,
            "Days are total FLOPs over the FLOP/s achieved, over 86,400 seconds.",
            **EXACT,
            mistakes={
                "The result is in seconds; days are asked.": days * 86400,
                "The result is in hours; days are asked.": days * 24,
                "All devices work at the same time: divide by their number.": days * f["devices"],
                "The MFU that was given is not used.": days * f["mfu"],
                "The result is in minutes; days are asked.": days * 1440,
                "A lower MFU makes the run longer: divide by it.": days * f["mfu"] ** 2,
            },
        )
    f = observe.given["fleets"][0]
    whole = f["tokens"] * f["flops"] / (f["devices"] * f["peak"]) / 86400
    close(observe["days/limits/whole"], whole, "mfu=1 and goodput=1 are valid.", **EXACT)
    close(observe["days/limits/none"], 0.0, "Zero tokens take zero days.", **EXACT)


@behaviour(6)
def test_goodput(observe):
    for i, f in enumerate(observe.given["fleets"]):
        days = f["tokens"] * f["flops"] / (f["devices"] * f["peak"] * f["mfu"]) / 86400
        close(
            observe[f"days/{i}/goodput"],
            days / f["goodput"],
            "Only the share goodput of the wall clock is spent training.",
            **EXACT,
            mistakes={
                "Lost time makes a run longer, not shorter.": days * f["goodput"],
                "goodput has no effect.": days,
            },
        )


@behaviour(7)
def test_results_are_floats(observe):
    values = [
        ("flops_per_token", observe["flops/0/full"]),
        ("flops_per_token", observe["flops/0/plain"]),
        ("flops_per_token", observe["causal/0/causal"]),
        ("tokens_per_second", observe["throughput/0/list"]),
        ("utilization", observe["utilization/0/pair"][0]),
        ("utilization", observe["utilization/0/pair"][1]),
        ("days_to_train", observe["days/0/default"]),
        ("days_to_train", observe["days/limits/none"]),
    ]
    for name, value in values:
        expect(type(value) is float, f"{name} must return a Python float.", f"got {type(value).__name__}")


@behaviour(7, on_error="An impossible MFU is a useful alarm: return it.")
def test_impossible_figure_is_reported(observe):
    excess, busy = observe.given["kept"]["excess"], observe.given["kept"]["busy"]
    close(
        observe["utilization/excess/pair"],
        [excess, excess * 4 / 3],
        "An impossible MFU is a useful alarm; do not hide it.",
        **EXACT,
    )
    close(
        observe["utilization/busy/pair"],
        [busy, busy * 4 / 3],
        "An HFU above 1 is a useful alarm too, also where the MFU is below 1.",
        **EXACT,
    )


@behaviour(8)
def test_impossible_arguments_are_refused(observe):
    sentences = {
        "params": "params=0 is no model.",
        "layers": "A negative number of layers must be refused.",
        "hidden": "A negative hidden size must be refused.",
        "seq_len": "A negative sequence length must be refused.",
        "layers_alone": "A negative number of layers must be refused, whatever the other sizes are.",
        "hidden_alone": "A negative hidden size must be refused, whatever the other sizes are.",
        "seq_len_alone": "A negative sequence length must be refused, whatever the other sizes are.",
        "two_negative": "Two negative sizes must be refused like one: check each, not their product.",
        "params_negative": "A negative number of parameters must be refused.",
        "warmup": "A negative warmup must be refused.",
        "no_steps": "Without a step there is no throughput.",
        "none_left": "No step is left after the warm-up.",
        "fewer_than_warmup": "No step is left after the warm-up.",
        "step_time": "A step cannot take no time.",
        "negative_time": "A step cannot take negative time.",
        "warmup_time": "A negative step time must be refused among the warm-up steps too.",
        "tokens_per_step": "tokens_per_step must be positive.",
        "tokens_per_step_negative": "tokens_per_step must be positive.",
        "throughput": "A negative throughput must be refused.",
        "flops": "flops_per_token must be positive.",
        "devices": "There must be at least one device.",
        "devices_negative": "A negative number of devices must be refused.",
        "days_devices_negative": "A negative number of devices must be refused in days_to_train too.",
        "peak": "peak_flops must be positive.",
        "recompute_low": "recompute is a share from 0 to 1.",
        "recompute_high": "recompute is a share from 0 to 1.",
        "total_tokens": "A negative number of tokens must be refused.",
        "days_flops": "flops_per_token must be positive in days_to_train too.",
        "days_devices": "There must be at least one device in days_to_train too.",
        "days_peak": "peak_flops must be positive in days_to_train too.",
        "days_peak_zero": "peak_flops must be positive in days_to_train too.",
        "days_flops_negative": "flops_per_token must be positive in days_to_train too.",
        "flops_negative": "flops_per_token must be positive.",
        "peak_negative": "peak_flops must be positive.",
        "mfu_negative": "An MFU below 0 cannot be planned with.",
        "goodput_negative": "A goodput below 0 is impossible.",
        "mfu_zero": "At an MFU of 0 the run never ends.",
        "mfu_high": "An MFU above 1 cannot be planned with.",
        "goodput_zero": "At a goodput of 0 the run never ends.",
        "goodput_high": "A goodput above 1 is impossible.",
    }
    for name, says in sentences.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(8, on_error="One device, no tokens and a throughput of 0 are valid.")
def test_the_smallest_arguments_are_valid(observe):
    close(observe["errors/valid/use"], [1e-4, 1e-4], "One device is valid.", **EXACT)
    close(observe["errors/valid/days"], 1e18 / (1e14 * 0.4) / 86400, "One device is valid.", **EXACT)
    close(observe["errors/valid/idle"], [0.0] * 3, "No tokens and a throughput of 0 are valid.", **EXACT)
