"""peers - what else saves memory in PyTorch, as times of spillway's step in the same memory: one run for all of them."""
from .. import scripts
from ..results import NO_TIME, OK
from ..training import mib

NAME = 'peers'
ABOUT = 'save_on_cpu, checkpoint and compiled activation budgets beside spillway, at the same peak'
LIMIT_S = 175
SIMULATED = False

STEPS = 120
MODELS = {'gpt2': ('--batch', 4, '--precision', 'bf16'), 'resnet50': ('--batch', 64)}

# What the script calls them, and what they are.
PEERS = {'cpu': 'save_on_cpu(pin_memory=True)', 'checkpoint': 'torch.utils.checkpoint',
         'budget=0.5': 'torch.compile with activation_memory_budget = 0.5'}
COMPILED_LIMIT_S = 120


def arguments(model, *more):
    return [scripts.TORCH, '--model', model, *MODELS[model], '--steps', STEPS, *more]


def title(model, peer):
    return f'{model} {PEERS[peer]}'


def run(bench):
    if bench.missing_spillway():
        return bench.skip(NAME, bench.missing_spillway())
    for model in filter(bench.wants, MODELS):
        plain = scripts.run_plain(bench, model, arguments(model), [title(model, peer) for peer in PEERS])
        for peer in PEERS if plain else ():
            beside(bench, model, peer, plain)
    return None


def beside(bench, model, peer, plain):
    """One peer, then spillway with the peak that it was measured to have for a budget."""
    name = title(model, peer)
    if bench.earlier(name):
        return None
    if bench.left_s() < 2 * scripts.LEAST_S:
        return bench.skip(name, NO_TIME)
    theirs = bench.step(name, peer, lambda: scripts.measure(bench, arguments(model, '--saving', peer), limit_s=COMPILED_LIMIT_S))
    if theirs.problem:
        return bench.skip(name, f'it does not run here: {theirs.problem}', **theirs.told())
    budget = theirs.training.peak_bytes
    if budget >= plain.training.peak_bytes:
        return bench.skip(name, f'it saves nothing: a peak of {mib(budget)}, plain {mib(plain.training.peak_bytes)}',
                          **theirs.told())
    if bench.left_s() < scripts.LEAST_S:
        return bench.skip(name, f'{NO_TIME} for spillway beside it; {theirs.training.step_ms:.3f} ms a step')
    ours = scripts.measure(bench, arguments(model), budget)
    return bench.add(judge(name, theirs, ours, plain))


def judge(name, theirs, ours, plain):
    """How many times as long as spillway's the peer's step took; spillway's own bits and peak are judged as ever."""
    budget = theirs.training.peak_bytes
    result = scripts.judge(name, ours, plain, budget)
    if result.status != OK:
        result.summary = f'spillway at the peak of {mib(budget)} that this has: {result.summary}'
        return result
    times = theirs.training.step_ms / ours.training.step_ms if ours.training.step_ms else 0.0
    result.figures.update(peer_step_ms=theirs.training.step_ms, peer_times_ours=times,
                          percent_of_peak=100 * budget / plain.training.peak_bytes)
    result.summary = (f'{theirs.training.step_ms:.3f} ms a step in {mib(budget)} '
                      f'({100 * budget // plain.training.peak_bytes} % of the plain peak), spillway '
                      f'{ours.training.step_ms:.3f} ms: {times:.2f} times as long as spillway')
    return result


def dry(bench):
    for peer, what in PEERS.items():
        for model in MODELS if 'budget' not in peer else ('gpt2',):     # compiling takes a CPU half a minute
            scripts.try_tiny(bench, f'{model} {what}', [scripts.TORCH, '--model', model, '--saving', peer])
