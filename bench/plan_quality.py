"""How good plans are and how long they take: the default planner against the others and against lower bounds.

Everything is predicted by the time line of planner/, nothing is run. Shares are those of the graph's peak."""
import glob
import json
import os
import subprocess
import sys
import tempfile

from harness import SPILLWAY

HERE = os.path.dirname(os.path.abspath(__file__))
GRAPHS = os.path.join(HERE, "..", "tests", "graphs")
SHARES = (80, 60, 50, 40, 30)
GROWTH = ((600, 0.2, 3), (2500, 1, 3), (14000, 6, 20), (100000, 12, 120))  # operations, seconds of a first plan and of planning, at most
SECONDS_AT_MOST = 600


def plan(path, *options):
    """The figures of a plan; None where there is none within the budget."""
    child = subprocess.run([SPILLWAY, "plan", path, "--json", *options], capture_output=True, text=True, timeout=SECONDS_AT_MOST)
    if child.returncode == 3:
        return None
    if child.returncode != 0:
        raise RuntimeError(f"plan {path} {' '.join(options)}: {child.stderr}")
    return json.loads(child.stdout)


def known_bounds():
    """(graph, share in percent, with replays) -> the best lower bound known in us, from linear programs run once."""
    known = {}
    for path in (os.path.join(HERE, "..", "tests", "vectors", "graph_bounds.json"), os.path.join(GRAPHS, "bounds.json")):
        if not os.path.exists(path):
            continue
        with open(path) as file:
            cases = json.load(file)["cases"]
        for case in cases:
            for field, replays in (("lb_both_us", True), ("lb_offload_us", False)):
                if isinstance(case.get(field), (int, float)):
                    key = (case["graph"], round(case["budget_share_of_peak"] * 100), replays)
                    known[key] = max(known.get(key, 0), case[field])
    return known


def best_other(path, share, options):
    figures = plan(path, "--compare", f"--budget={share}%", *options)
    others = [one for one in figures if one["planner"] != "auto" and one["feasible"]]
    return min(others, key=lambda one: one["time_us"], default=None)


def graph_rows(path, replays, bounds):
    name = os.path.basename(path).removesuffix(".json")
    options = [] if replays else ["--no-recompute"]
    for share in SHARES:
        figures = plan(path, f"--budget={share}%", *options)
        if not figures or not figures["feasible"]:
            yield name, share, None
            continue
        bound = max(figures["lower_bound_us"], bounds.get((name, share, replays), 0))
        yield name, share, {**figures, "best_bound_us": bound, "other": best_other(path, share, options)}


def quality_table(table, replays):
    rows, gaps = [], []
    for path in sorted(glob.glob(os.path.join(GRAPHS, "*-*.json"))):
        for name, share, figures in graph_rows(path, replays, known_bounds()):
            if not figures:
                rows.append((name, f"{share} %", "no plan", "", "", "", "", ""))
                continue
            gap = figures["time_us"] / figures["best_bound_us"] - 1
            if not (name.startswith("vgg16") and share <= 40):
                gaps.append(gap)
            other = figures["other"]
            rows.append((name, f"{share} %", f"{figures['time_us'] / figures['compute_us']:.4f}",
                         f"{figures['best_bound_us'] / figures['compute_us']:.4f}", f"{gap * 100:.2f} %",
                         f"{other['time_us'] / figures['compute_us']:.4f}" if other else "-", other["planner"] if other else "-",
                         f"{figures['planning_s']:.2f}"))
    table("Predicted time over unlimited memory, " + ("copies and recomputation" if replays else "copies only"),
          ("graph", "budget", "auto", "lower bound", "above it", "best other", "which", "seconds"), rows)
    print(f"    mean above the bound, vgg16 at 40 % and less apart: {sum(gaps) / len(gaps) * 100:.2f} % (goal 5 %)")


def quality(table):
    quality_table(table, True)
    quality_table(table, False)


def growth(table):
    rows = []
    with tempfile.TemporaryDirectory(prefix="spillway-bench-") as folder:
        for operations, first_goal, goal in GROWTH:
            path = os.path.join(folder, f"{operations}.json")
            with open(path, "w") as file:
                subprocess.run([sys.executable, os.path.join(HERE, "transformer.py"), str(operations)], stdout=file, check=True)
            first = plan(path, "--budget=50%", "--time-limit=0.001")
            child = subprocess.Popen([SPILLWAY, "plan", path, "--json", "--budget=50%"], stdout=subprocess.PIPE, text=True)
            figures = json.load(child.stdout)
            _, status, used = os.wait4(child.pid, 0)
            if status != 0:
                raise RuntimeError(f"plan of {operations} operations: status {status}")
            rows.append((operations, f"{first['planning_s']:.3f}", first_goal, f"{first['time_us'] / first['compute_us']:.4f}",
                         f"{figures['planning_s']:.2f}", goal, f"{figures['time_us'] / figures['compute_us']:.4f}",
                         f"{figures['lower_bound_us'] / figures['compute_us']:.4f}", f"{used.ru_maxrss / 1024:.0f}", 1024))
    table("Planning generated transformers at half their peak (by the clock)",
          ("operations", "first plan, s", "goal", "time", "planned, s", "goal", "time", "lower bound", "MiB at most", "goal"), rows)
