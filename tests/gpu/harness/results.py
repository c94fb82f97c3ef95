"""results - what came out, as data for programs and as a page for people, on disk after every single result."""
import json
import re
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

OK, FAILED, SKIPPED = 'ok', 'failed', 'skipped'


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


class Book:
    """All results of one run. Every change is written at once, so that a run that is cut short leaves what it has."""

    def __init__(self, folder, say=print):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.device = {}
        self.about = {'date': time.strftime('%Y-%m-%d', time.gmtime())}
        self.parts = {}
        self._say = say

    def open_part(self, part, which=''):
        self.parts.setdefault(part, [])
        self._say(f'{part}{which}:')

    def add(self, part, result):
        self.parts.setdefault(part, []).append(result)
        mark = {'ok': 'ok     ', 'failed': 'FAILED ', 'skipped': 'skipped'}[result.status]
        self._say(f'  {mark} {result.name}: {result.summary}')
        self.write()

    def count(self, status):
        return sum(result.status == status for results in self.parts.values() for result in results)

    def write(self):
        data = {'about': self.about, 'device': self.device,
                'parts': {part: [asdict(result) for result in results] for part, results in self.parts.items()}}
        _replace(self.folder / 'results.json', json.dumps(data, indent=1) + '\n')
        _replace(self.folder / self.page_name(), page(data))

    def page_name(self):
        """DATE-GPU.md, as docs/measurements names its files."""
        device = re.sub(r'[^a-z0-9]+', '-', self.device.get('name', 'no device').lower()).strip('-')
        return f'{self.about["date"]}-{device}.md'


def _replace(path, text):
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
