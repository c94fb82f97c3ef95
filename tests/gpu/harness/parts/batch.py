"""batch - the largest batch that a model can be trained with in so much memory, and how long a step takes with it."""
import re

from .. import scripts
from ..results import FAILED, OK, Result
from ..training import beside_context

NAME = 'batch'
ABOUT = 'the largest batch in a fixed budget, plain and under spillway'
LIMIT_S = 175
SIMULATED = False

BUDGET_BYTES = 6 << 30
STEPS = 12
TRIES = 6       # runs that one search may take
FINE = 10       # a search ends when the tenth part of the batch is all that is still open

MODELS = ('resnet50', 'bert-base', 'resnet101')     # after the first one all other parts have their turn
FIRST = {'resnet50': 52, 'bert-base': 32, 'resnet101': 36}     # the batch that is tried first without spillway
GOALS = {'resnet50': 2.5}       # how many times the plain run's batch
HOPED = 2.5                     # what is tried first under spillway, where no goal says it

NO_MEMORY = re.compile(r'out of memory|OutOfMemory|ALLOC_FAILED|MEMORY_ALLOCATION|smallest budget', re.IGNORECASE)


class Broken(Exception):
    """A run that ended for another reason than that its batch is too large."""


class Search:
    """Looks for the largest batch that fits: larger ones until one doesn't, then halfway between."""

    def __init__(self, low, first):
        self.low, self.next = low, first    # low is known to fit
        self.best = None                    # the run of the largest one that was tried and fitted
        self.high = None                    # known not to fit, for the reason `why`
        self.why = ''

    def note(self, run_, why):
        if why:
            self.high, self.why = self.next, why
        else:
            self.low, self.best = self.next, run_
        self.next = (self.low + self.high) // 2 if self.high else self.low + self.low // 2 + 1

    def done(self):
        return self.high is not None and self.high - self.low <= max(1, self.low // FINE)

    def told(self):
        return f'{self.high} does not fit: {self.why}' if self.high else 'larger ones were not tried'


def arguments(model, batch, *more):
    return [scripts.TORCH, '--model', model, '--batch', batch, '--steps', STEPS, *more]


def why_not(run_, plain):
    """Why that batch doesn't fit, '' when it does. Under spillway (`plain`: a run to know the context from), the device
    must not have had more than the budget either."""
    if run_.outcome.timed_out:
        return f'it {run_.outcome.why()}'
    if run_.problem and NO_MEMORY.search(run_.outcome.errors):
        return 'out of memory'
    if run_.problem:
        raise Broken(run_.problem, run_)
    used, over = beside_context(run_, plain) if plain else (None, 0)
    if used is not None and used > BUDGET_BYTES + over:
        raise Broken(f'{used} bytes were mapped, more than the budget of {BUDGET_BYTES}', run_)
    return ''


def search(bench, model, low, first, plain=None):
    """Tries batches, under spillway when a plain run is given. Returns the search when it ends, or when time does."""
    found = Search(low, first)
    for _ in range(TRIES):
        if found.done() or bench.left_s() < scripts.LEAST_S:
            break
        if plain:
            run_ = scripts.measure(bench, arguments(model, found.next), BUDGET_BYTES)
        else:
            run_ = scripts.measure(bench, arguments(model, found.next, '--limit-bytes', BUDGET_BYTES))
        if run_.outcome.status == scripts.MODULE_MISSING:
            bench.skip(model, scripts.missing_module(run_.outcome))
            return None
        found.note(run_, why_not(run_, plain))
    return found


def run(bench):
    run_models(bench, MODELS[:1])
    if bench.missing_spillway():
        bench.skip('under spillway', bench.missing_spillway())


def rest(bench):
    run_models(bench, MODELS[1:])


def run_models(bench, models):
    for model in filter(bench.wants, models):
        if bench.left_s() < scripts.LEAST_S:
            bench.skip(model, 'no time was left')
            continue
        try:
            run_one(bench, model)
        except Broken as broken:
            why, run_ = broken.args
            bench.add(Result(model, FAILED, why, **run_.told()))


def run_one(bench, model):
    alone = search(bench, model, 0, FIRST[model])
    if alone is None:
        return None
    if not alone.best:
        return bench.skip(model, f'no batch was found that fits without spillway; {alone.told()}')
    plain = alone.best
    bench.add(Result(model, OK, f'batch {alone.low} in {BUDGET_BYTES >> 20} MiB, {plain.training.step_ms:.3f} ms a step; '
                     f'{alone.told()}', figures(alone), **plain.told()))
    if bench.missing_spillway():
        return None
    name = f'{model} under spillway'
    with_it = search(bench, model, alone.low, round(alone.low * GOALS.get(model, HOPED)), plain)
    if not with_it.best and not with_it.high:
        return bench.skip(name, 'no time was left')
    if not with_it.best:
        return bench.add(Result(name, OK, f'no batch above {alone.low} was found; {with_it.told()}',
                                {'batch': alone.low, 'goal_met': False}))
    return bench.add(judge(name, with_it, alone, GOALS.get(model), in_plenty(bench, model, with_it.low)))


def in_plenty(bench, model, batch):
    """The same batch without spillway and without a limit, where the device is large enough for it and time was left."""
    return scripts.measure(bench, arguments(model, batch)) if bench.left_s() > scripts.LEAST_S else None


def figures(found):
    return {'batch': found.low, 'budget_bytes': BUDGET_BYTES, 'step_ms': found.best.training.step_ms,
            'samples_per_s': 1000 * found.low / max(found.best.training.step_ms, 1e-6), 'too_large': found.high}


def judge(name, found, alone, goal, plenty):
    """How many times the plain run's batch it was; a failure only if that batch without spillway gives other bits."""
    ratio = found.low / alone.low
    told = figures(found) | {'times_the_batch': ratio}
    if goal:
        told.update(goal=goal, goal_met=ratio >= goal)
    text = f'batch {found.low}, {ratio:.2f} times as large'
    text += f' (goal {goal:g} {"met" if ratio >= goal else "missed"})' if goal else ''
    text += f', {found.best.training.step_ms:.3f} ms a step'
    if plenty and plenty.training:
        differs = found.best.training.differs(plenty.training)
        if differs:
            return Result(name, FAILED, f'at batch {found.low}: {differs}', told, **found.best.told())
        told['unlimited_step_ms'] = plenty.training.step_ms
        text += f' ({plenty.training.step_ms:.3f} with memory enough, same bits)'
    return Result(name, OK, f'{text}; {found.told()}', told, **found.best.told())


def dry(bench):
    for model in MODELS:
        scripts.try_tiny(bench, model, [scripts.TORCH, '--model', model])
