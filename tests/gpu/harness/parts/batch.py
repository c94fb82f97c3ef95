"""batch - the largest batch that a model can be trained with in so much memory, and how long a step takes with it."""
import re

from .. import scripts
from ..results import FAILED, NO_TIME, OK, UNFINISHED, Result
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
        self.last = None                    # the run that was tried last
        self.unfinished = False             # there was no time to go on

    def note(self, run_, why):
        self.last = run_
        if why:
            self.high, self.why = self.next, why
        else:
            self.low, self.best = self.next, run_
        self.next = (self.low + self.high) // 2 if self.high else self.low + self.low // 2 + 1

    def done(self):
        return self.high is not None and self.high - self.low <= max(1, self.low // FINE)

    def told(self):
        text = f'{self.high} does not fit: {self.why}' if self.high else 'larger ones were not tried'
        return f'{text}; {NO_TIME} to go on' if self.unfinished else text

    def unfinished_figure(self):
        return {UNFINISHED: True} if self.unfinished else {}


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
        if found.done():
            break
        run_ = try_batch(bench, model, found.next, plain)
        if run_ is None:
            found.unfinished = True
            break
        if run_.outcome.status == scripts.MODULE_MISSING:
            bench.skip(model, scripts.missing_module(run_.outcome))
            return None
        found.note(run_, why_not(run_, plain))
    return found


def try_batch(bench, model, batch, plain):
    """One run of a search, perhaps of an earlier start; None where there's no time for it."""
    name, more = (under(model), ()) if plain else (model, ('--limit-bytes', BUDGET_BYTES))

    def measured():
        return scripts.measure(bench, arguments(model, batch, *more), BUDGET_BYTES if plain else None)

    known = bench.has_step(name, str(batch))
    run_ = bench.step(name, str(batch), measured) if known or bench.left_s() >= scripts.LEAST_S else None
    ended = bench.cut and run_ is not None and run_.outcome.timed_out
    bench.cut = False   # it is told as what it is: a search that isn't at its end
    return None if ended else run_


def under(model):
    return f'{model} under spillway'


def run(bench):
    run_models(bench, MODELS[:1])
    if bench.missing_spillway():
        bench.skip('under spillway', bench.missing_spillway())


def rest(bench):
    run_models(bench, MODELS[1:])


def run_models(bench, models):
    for model in filter(bench.wants, models):
        alone = guarded(bench, model, run_alone, model)
        if alone and not bench.missing_spillway() and not bench.earlier(under(model)):
            guarded(bench, under(model), run_under, model, alone)


def guarded(bench, name, call, *arguments_):
    """What it returns; a run that breaks it is a failure of that name."""
    try:
        return call(bench, *arguments_)
    except Broken as broken:
        why, run_ = broken.args
        return bench.add(Result(name, FAILED, why, **run_.told()))


def run_alone(bench, model):
    """The search without spillway, perhaps one of an earlier start; None where there is nothing to compare with."""
    earlier, best = bench.earlier(model), bench.recall(model)
    if earlier and (best is None or earlier.status != OK):
        return None
    if earlier:
        found = Search(earlier.figures['batch'], 0)
        found.best, found.high = best, earlier.figures['too_large']
        return found
    found = search(bench, model, 0, FIRST[model])
    if not found:
        return None
    if not found.best:
        bench.skip(model, NO_TIME if found.unfinished and not found.high else
                   f'no batch was found that fits without spillway; {found.told()}')
        return None
    bench.keep(model, found.best)
    bench.add(Result(model, OK, f'batch {found.low} in {BUDGET_BYTES >> 20} MiB, {found.best.training.step_ms:.3f} ms a step; '
                     f'{found.told()}', figures(found), **found.best.told()))
    return found


def run_under(bench, model, alone):
    name, goal = under(model), GOALS.get(model)
    found = search(bench, model, alone.low, round(alone.low * (goal or HOPED)), alone.best)
    if not found:
        return None
    if not found.best and not found.high:
        return bench.skip(name, NO_TIME)
    if not found.best:
        return bench.add(Result(name, OK, f'no batch above {alone.low} was found; {found.told()}',
                                {'batch': alone.low, 'goal_met': False} | found.unfinished_figure(), **found.last.told()))
    return bench.add(judge(name, found, alone, goal, in_plenty(bench, name, model, found.low)))


def in_plenty(bench, name, model, batch):
    """The same batch without spillway and without a limit, where the device is large enough for it and time was left."""
    if bench.left_s() <= scripts.LEAST_S:
        return None
    run_ = bench.step(name, f'{batch} in plenty', lambda: scripts.measure(bench, arguments(model, batch)))
    bench.cut = False   # the others had their time
    return run_


def figures(found):
    return {'batch': found.low, 'budget_bytes': BUDGET_BYTES, 'step_ms': found.best.training.step_ms,
            'samples_per_s': 1000 * found.low / max(found.best.training.step_ms, 1e-6), 'too_large': found.high,
            **found.unfinished_figure()}


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
