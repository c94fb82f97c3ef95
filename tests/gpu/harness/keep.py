"""keep - what one start leaves for the next: results, and the runs that others are compared with.

A folder of kept results belongs to one commit and one device. It holds
    results.json    the results, as ever; one that is taken out of it is run again
    kept.json       whose they are, the plain runs, and the runs towards results that are not there yet
    DATE-GPU.md     the page
Each is written as a new file and renamed, so that whoever is killed leaves whole ones."""
import hashlib
import json

from .results import Result, replace, slug
from .training import from_json, to_json

FILE = 'kept.json'


def identity(about, device):
    """What results have to have in common to stand in one table."""
    names = ('commit', 'content', 'simulated')
    return {**{name: about[name] for name in names if name in about},
            'device': {name: device.get(name) for name in ('name', 'driver', 'memory_bytes')}}


class Kept:
    """The runs that later results need. `plain`: of results that are there; `steps`: towards those that aren't."""

    def __init__(self, whose):
        self.whose, self.plain, self.steps = whose, {}, {}

    def find(self, part, name, step=None):
        """The run, or None; with a step, one of those towards that result."""
        found = self.steps.get(part, {}).get(name, {}).get(step) if step else self.plain.get(part, {}).get(name)
        return from_json(found) if found else None

    def note(self, part, name, run, step=None):
        if step:
            self.steps.setdefault(part, {}).setdefault(name, {})[step] = to_json(run)
        else:
            self.plain.setdefault(part, {})[name] = to_json(run)

    def arrived(self, part, name):
        """The result is there: its steps have done their service."""
        self.steps.get(part, {}).pop(name, None)

    def write(self, folder):
        data = {'whose': self.whose, 'plain': self.plain, 'steps': self.steps}
        replace(folder / FILE, json.dumps(data, indent=1) + '\n')

    def load(self, folder):
        """Raises OSError or ValueError where there is nothing readable."""
        data = _read(folder / FILE)
        self.plain, self.steps = data['plain'], data['steps']


def _read(path):
    data = json.loads(path.read_text())
    if not isinstance(data, dict):
        raise ValueError(f'{path} holds no object')
    return data


def folder_of(state, whose):
    """The folder itself where it holds just these results, as one that was copied back does; else one inside it."""
    try:
        if _read(state / FILE).get('whose') == whose:
            return state
    except (OSError, ValueError):
        pass
    digest = hashlib.sha256(json.dumps(whose, sort_keys=True).encode()).hexdigest()
    return state / f'{whose.get("commit", "unknown")}-{slug(whose["device"]["name"] or "unknown")}-{digest[:6]}'


def take_up(book, state):
    """Has the book go on with what earlier starts left in `state` of this commit and device, and keep there what comes."""
    whose = identity(book.about, book.device)
    folder = folder_of(state, whose)
    book.write_into(folder)
    book.kept = Kept(whose)
    try:
        book.kept.load(folder)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError) as error:
        _put_aside(book, folder / FILE, error)
    try:
        data = _read(folder / 'results.json')
        book.go_on({part: [Result(**told) for told in results] for part, results in data['parts'].items()}, data['about'])
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        _put_aside(book, folder / 'results.json', error)


def _put_aside(book, path, error):
    aside = path.with_name(path.name + '.unreadable')
    book.say(f'{path} cannot be read ({error}): it is put aside as {aside.name}, and what was in it is run again')
    path.replace(aside)
