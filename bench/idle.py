#!/usr/bin/env python3
"""Where the simulated device stands still during a step, and for whom: reads what SIMGPU_CHRONICLE has written.

A step begins with each launch of the kernel that --from names. "host": the operation behind the gap was submitted too late; "wait": it
waited for a copy, or for something on another stream. Calls are those that the host was in during the gap."""
import argparse
import collections
import json


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("--from", dest="first", required=True, metavar="KERNEL", help="the kernel, or a part of its name, that a step begins with")
    parser.add_argument("--step", type=int, default=-2, metavar="N", help="which step, from 0 on, or from the end; by default the last whole one")
    parser.add_argument("--gaps", type=int, default=20, metavar="COUNT", help="how many gaps are listed, the longest first")
    return parser.parse_args()


def read(path):
    operations, calls = {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            one = json.loads(line)
            if "operation" in one:
                operations[one["operation"]] = one
            else:
                calls.append(one)
    return operations, calls


def work_behind(operations, one):
    """The operation that takes time behind whose end it could go on; None: none is known."""
    behind = operations.get(one["behind"])
    while behind and not behind["lane"]:
        behind = operations.get(behind["behind"])
    return behind


def cause(operations, one):
    if one["submitted_us"] >= one["started_us"] - 0.01:
        return "host"
    behind = work_behind(operations, one)
    return f"wait {behind['lane']}" if behind else "wait"


def during(calls, start, end, most=3):
    took = collections.Counter()
    for call in calls:
        if call["to_us"] > start and call["from_us"] < end:
            took[call["call"]] += min(call["to_us"], end) - max(call["from_us"], start)
    return took.most_common(most)


def summed(title, pairs):
    took, count = collections.Counter(), collections.Counter()
    for name, us in pairs:
        took[name] += us
        count[name] += 1
    print(f"{title}: {sum(took.values()):.0f} us")
    for name, us in took.most_common():
        print(f"{us:11.0f} {count[name]:6} {name}")


def main():
    options = arguments()
    operations, calls = read(options.file)
    compute = sorted((one for one in operations.values() if one["lane"] == "compute"), key=lambda one: one["started_us"])
    firsts = [place for place, one in enumerate(compute) if options.first in one["name"]]
    if len(firsts) < 2 or not -len(firsts) <= options.step < len(firsts) - 1 or options.step == -1:
        raise SystemExit(f"idle.py: {len(firsts)} launches of {options.first}: there is no step {options.step}")
    place = options.step % len(firsts)
    step = compute[firsts[place]:firsts[place + 1] + 1]
    start, end = step[0]["started_us"], step[-1]["started_us"]
    print(f"step {place} of {len(firsts) - 1}: {end - start:.0f} us")
    summed("the device works", ((one["name"], one["ended_us"] - one["started_us"]) for one in step[:-1]))
    copies = (one for one in operations.values() if one["lane"] in ("h2d", "d2h") and one["started_us"] < end and one["ended_us"] > start)
    summed("copies", ((one["lane"], one["ended_us"] - one["started_us"]) for one in copies))
    gaps = [(b["started_us"] - a["ended_us"], a, b) for a, b in zip(step, step[1:]) if b["started_us"] - a["ended_us"] > 0.5]
    summed("it stands still", ((cause(operations, b), us) for us, _, b in gaps))
    summed("the host is in calls", ((call["call"], call["to_us"] - call["from_us"]) for call in calls if call["to_us"] > start and call["from_us"] < end))
    for us, before, behind in sorted(gaps, key=lambda gap: -gap[0])[:options.gaps]:
        inside = ", ".join(f"{name} {took:.0f}" for name, took in during(calls, before["ended_us"], behind["started_us"]))
        print(f"{us:9.0f} us at {before['ended_us'] - start:9.0f} {cause(operations, behind):9} before {behind['name'][:40]}: {inside}")


main()
