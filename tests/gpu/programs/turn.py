"""turn - lets a program import what it needs while another one has the device: it says that it is ready, and waits for its turn.

TURN names a file: FILE.ready is made by the program, FILE.go by whoever started it. Without TURN it is always the program's turn."""
import os
import time


def wait():
    name = os.environ.get('TURN')
    if not name:
        return
    with open(name + '.ready', 'w', encoding='utf-8'):
        pass
    while not os.path.exists(name + '.go'):
        time.sleep(0.002)
