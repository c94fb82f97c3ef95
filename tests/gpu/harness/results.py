"""results - what came out, as data for programs and as a page for people, on disk after every single result."""
import json
import re
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

OK, FAILED, SKIPPED = 'ok', 'failed', 'skipped'

NO_TIME = 'no time was left'    # what a result begins with that only time was short for
NOT_RUN = 'not run: '           # and one that something is missing for, which may be there the next time
UNFINISHED = 'unfinished'       # a figure of a result that more time would make a better one


@dataclass
class Result:
    name: str
    status: str             # ok | failed | skipped
    summary: str            # one sentence
    figures: dict = field(default_factory=dict)
    seconds: float = 0.0
    question: int = 0       # the question of driver-facts section 8 that it answers; 0: none
    command: str = ''
    errors: str = ''        # the end of what it said on standard error

    def settled(self):
        """Whether it came of a run that another start need not repeat."""
        return bool(self.command and not self.figures.get(UNFINISHED)
                    and not (self.status == SKIPPED and self.summary.startswith((NO_TIME, NOT_RUN))))


class Book:
    """All results of one run, and those of earlier ones that it goes on with. Every change is written at once, into each
    of its folders, so that a run that is cut short leaves what it has."""

    def __init__(self, folder=None, say=print):
        self.folders = []
        if folder:
            self.write_into(folder)
        self.kept = None        # of harness.keep: the runs that a later start will need; None: there will be none
        self.earlier = {}       # {(part, name): result} of earlier starts
        self.device = {}
        self.about = {'date': time.strftime('%Y-%m-%d', time.gmtime())}
        self.parts = {}
        self.say = say

    def write_into(self, folder):
        """The folders that are named later come first."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.folders.insert(0, Path(folder))

    def go_on(self, parts, about):
        """Begins with the results of earlier starts; the page keeps their date."""
        self.parts = {name: parts[name] for name in (*(name for name in self.parts if name in parts), *parts)}
        self.earlier = {(part, result.name): result for part, results in parts.items() for result in results}
        self.about['date'] = about['date']

    def forget(self, part, beginnings=()):
        """Of the earlier results of a part those whose names begin so; all when no beginning is named."""
        for _, name in [key for key in self.earlier if key[0] == part]:
            if not beginnings or name.startswith(beginnings):
                self._drop(part, name)

    def open_part(self, part, which=''):
        """What earlier starts skipped for want of time, or of what may be there now, makes room."""
        self.parts.setdefault(part, [])
        for key, result in list(self.earlier.items()):
            if key[0] == part and result.status != OK and not result.settled():
                self._drop(*key)
        before = sum(key[0] == part for key in self.earlier)
        self.say(f'{part}{which}:' + (f' {before} results are there already' if before else ''))

    def add(self, part, result):
        if (part, result.name) in self.earlier:
            self._drop(part, result.name)
        self.parts.setdefault(part, []).append(result)
        if self.kept and result.settled():
            self.kept.arrived(part, result.name)
        mark = {'ok': 'ok     ', 'failed': 'FAILED ', 'skipped': 'skipped'}[result.status]
        self.write()    # what is said is on disk
        self.say(f'  {mark} {result.name}: {result.summary}')

    def _drop(self, part, name):
        old = self.earlier.pop((part, name))
        self.parts[part] = [result for result in self.parts[part] if result is not old]

    def count(self, status):
        return sum(result.status == status for results in self.parts.values() for result in results)

    def write(self):
        data = {'about': self.about, 'device': self.device,
                'parts': {part: [asdict(result) for result in results] for part, results in self.parts.items()}}
        for folder in self.folders:
            replace(folder / 'results.json', json.dumps(data, indent=1) + '\n')
            replace(folder / self.page_name(), page(data))
            if self.kept:
                self.kept.write(folder)

    def page_name(self):
        """DATE-GPU.md, as docs/measurements names its files."""
        return f'{self.about["date"]}-{slug(self.device.get("name", "no device"))}.md'


def slug(name):
    return re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')


def replace(path, text):
    """Whoever reads the file finds the old text or the new one, whenever this is killed."""
    new = path.with_name(path.name + '.new')
    new.write_text(text)
    new.replace(path)


def page(data):
    """The results as Markdown, in the form that docs/measurements/README.md describes."""
    about, device = data['about'], data['device']
    lines = [f'# {device.get("name", "No device")}, {about["date"]}', '']
    if about.get('simulated'):
        lines += ['**Simulated**: from the virtual clock of the simulated device, not measured on a GPU.', '']
    lines += ['| what | value |', '|---|---|']
    lines += [f'| {name.replace("_", " ")} | {_cell(value)} |' for name, value in {**about, **device}.items()]
    for part, results in data['parts'].items():
        lines += ['', f'## {part}', '', '| question | name | status | answer | s |', '|---|---|---|---|---|']
        for r in results:
            lines.append(f'| {r["question"] or ""} | {r["name"]} | {r["status"]} | {_cell(r["summary"])} '
                         f'| {r["seconds"]:.1f} |')
        for r in results:
            if r['figures']:
                lines += ['', f'### {part}: {r["name"]}', '', *_figures(r['figures'])]
    return '\n'.join(lines) + '\n'


def _figures(figures):
    lines = ['| figure | value |', '|---|---|']
    return lines + [f'| {_cell(name)} | {_cell(value)} |' for name, value in figures.items()]


def _cell(value):
    if isinstance(value, float):
        value = f'{value:.6g}'
    return str(value).replace('|', '\\|').replace('\n', ' ')
