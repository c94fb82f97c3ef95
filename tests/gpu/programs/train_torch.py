#!/usr/bin/env python3
"""train_torch.py - trains a well-known model in PyTorch on generated batches for a few steps, the same way every time.

It prints what harness/training.py reads. Weights and batches come from fixed seeds and every algorithm is a deterministic
one, so that two runs on one device print the same bits. Exit status 77: a module that it needs can't be imported, or
PyTorch finds no such device."""
import argparse
import contextlib
import ctypes
import functools
import hashlib
import os
import random
import statistics
import sys
import time

os.environ.setdefault('CUBLAS_WORKSPACE_CONFIG', ':4096:8')     # cuBLAS reads it when it starts
os.environ.setdefault('HF_HUB_OFFLINE', '1')

import turn

MODULE_MISSING = 77
BATCHES = 3         # different ones, in turn
SEED = 20

try:
    import torch
    import torch.utils.checkpoint
except ImportError as missing:
    print(f'torch cannot be imported: {missing}', file=sys.stderr)
    sys.exit(MODULE_MISSING)


# pylint: disable=import-outside-toplevel  # a model needs only its own library, and importing one takes seconds

# ------------------------------------------------------------------------------------------------------------ the models
def gpt2(options):
    """GPT-2 as OpenAI's smallest, and sequences of tokens."""
    from transformers import GPT2Config, GPT2LMHeadModel
    shape = {'vocab_size': 128, 'n_positions': 32, 'n_embd': 32, 'n_layer': 2, 'n_head': 2} if options.tiny else {}
    config = GPT2Config(**shape, use_cache=False, attn_implementation='eager')
    model = GPT2LMHeadModel(config)
    if options.saving == 'checkpoint':
        model.gradient_checkpointing_enable({'use_reentrant': False})
    return model, tokens(config.vocab_size, config.n_positions), language_loss


def bert(options):
    """BERT-base with its head for masked words; every word is to be told."""
    from transformers import BertConfig, BertForMaskedLM
    shape = {'vocab_size': 128, 'max_position_embeddings': 32, 'hidden_size': 32, 'num_hidden_layers': 2,
             'num_attention_heads': 2, 'intermediate_size': 64} if options.tiny else {}
    config = BertConfig(**shape, attn_implementation='eager')
    model = BertForMaskedLM(config)
    if options.saving == 'checkpoint':
        model.gradient_checkpointing_enable({'use_reentrant': False})
    return model, tokens(config.vocab_size, min(config.max_position_embeddings, 256)), language_loss


def resnet(blocks, options):
    """torchvision's ResNet with that many bottlenecks in its four stages, and pictures."""
    from torchvision.models.resnet import Bottleneck, ResNet
    model = ResNet(Bottleneck, [1, 1, 1, 1] if options.tiny else blocks, num_classes=10 if options.tiny else 1000)
    if options.saving == 'checkpoint':
        for stage in (model.layer1, model.layer2, model.layer3, model.layer4):
            for block in stage:
                block.forward = functools.partial(torch.utils.checkpoint.checkpoint, block.forward, use_reentrant=False)
    return model, pictures(32 if options.tiny else 224, 10 if options.tiny else 1000), picture_loss


MODELS = {
    'gpt2': gpt2,
    'bert-base': bert,
    'resnet50': functools.partial(resnet, [3, 4, 6, 3]),
    'resnet101': functools.partial(resnet, [3, 4, 23, 3]),
}


def load_library(model):
    """What the model will import: it takes seconds, and no device."""
    if model.startswith('resnet'):
        import torchvision.models.resnet  # noqa: F401
    elif model == 'bert-base':
        from transformers import BertConfig, BertForMaskedLM  # noqa: F401
    else:
        from transformers import GPT2Config, GPT2LMHeadModel  # noqa: F401


def tokens(vocabulary, length):
    def make(count, generator):
        words = torch.randint(0, vocabulary, (count, length), generator=generator)
        return words, words
    return make


def pictures(edge, classes):
    def make(count, generator):
        return (torch.randint(0, 256, (count, 3, edge, edge), dtype=torch.uint8, generator=generator),
                torch.randint(0, classes, (count,), generator=generator))
    return make


def language_loss(model, words, labels):
    return model(input_ids=words, labels=labels).loss


def picture_loss(model, points, labels):
    return torch.nn.functional.cross_entropy(model(points.float() / 255), labels)


# ---------------------------------------------------------------------------------------------------------- the training
def settle(options):
    """Everything that could make two runs differ, or the two precisions of float32 alike."""
    random.seed(SEED)
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False     # it would only add to each step
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.precision == 'tf32'
    if options.limit_bytes:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(options.limit_bytes / total, 1.0))
    if options.saving.startswith('budget='):
        from torch._functorch import config
        config.activation_memory_budget = float(options.saving.removeprefix('budget='))


def compiled(model, options):
    if options.saving.startswith('budget='):
        return torch.compile(model)
    return torch.compile(model, mode=options.compile) if options.compile else model


def saved(options):
    """Where what the backward pass needs is kept meanwhile."""
    if options.saving == 'cpu':
        return torch.autograd.graph.save_on_cpu(pin_memory=options.device == 'cuda')
    return contextlib.nullcontext()


class Clock:
    """Notes when the device has come to the beginning and to the end of a step, without holding up the host."""

    def __init__(self, device):
        self.device = device
        self.marks = []

    def mark(self):
        if self.device == 'cuda':
            event = torch.cuda.Event(enable_timing=True)
            event.record()
        else:
            event = time.monotonic()
        self.marks.append(event)

    def steps_ms(self):
        pairs = list(zip(self.marks[:-1], self.marks[1:]))
        if self.device == 'cuda':
            torch.cuda.synchronize()
            return [before.elapsed_time(after) for before, after in pairs]
        return [(after - before) * 1000 for before, after in pairs]


def optimizer_of(model, options):
    if options.model.startswith('resnet'):
        return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return torch.optim.AdamW(model.parameters(), lr=1e-4)


def train(options):
    settle(options)
    model, make_batch, loss_of = MODELS[options.model](options)
    model.to(options.device).train()
    optimizer = optimizer_of(model, options)
    generator = torch.Generator().manual_seed(SEED)
    batches = [make_batch(options.batch, generator) for _ in range(BATCHES)]
    if options.device == 'cuda':
        batches = [tuple(part.pin_memory() for part in batch) for batch in batches]
    forward = compiled(model, options)
    clock, losses = Clock(options.device), []
    clock.mark()
    for step in range(options.steps):
        parts = [part.to(options.device, non_blocking=True) for part in batches[step % BATCHES]]
        with saved(options), torch.autocast(options.device, torch.bfloat16, enabled=options.precision == 'bf16'):
            loss = loss_of(forward, *parts)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach().clone())     # a clone: under CUDA graphs the next step writes over it
        del loss, parts
        clock.mark()
    tell(model, [loss.item() for loss in losses], clock.steps_ms(), options.device)


def tell(model, losses, steps_ms, device):
    for step, loss in enumerate(losses, 1):
        print(f'step {step} loss {loss:.6g} {loss.hex()}')
    print('steps took', *(f'{ms:.3f}' for ms in steps_ms))
    settled = steps_ms[-max(len(steps_ms) // 3, 1):]        # the first ones warm up
    print(f'step_ms {statistics.median(settled):.4f}')
    print('peak_bytes', torch.cuda.max_memory_reserved() if device == 'cuda' else 1)
    print('allocated_bytes', torch.cuda.max_memory_allocated() if device == 'cuda' else 1)
    print(f'parameters 0x{digest(model.parameters())}')


def digest(parameters):
    """Of all their bytes; through their addresses, since PyTorch may be there without NumPy."""
    state = hashlib.sha256()
    for parameter in parameters:
        held = parameter.detach().cpu().contiguous()
        state.update((ctypes.c_char * (held.numel() * held.element_size())).from_address(held.data_ptr()))
    return state.hexdigest()


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--model', choices=MODELS, default='gpt2')
    parser.add_argument('--batch', type=int, default=8)
    parser.add_argument('--steps', type=int, default=24)
    parser.add_argument('--device', choices=('cuda', 'cpu'), default='cuda')
    parser.add_argument('--precision', choices=('fp32', 'tf32', 'bf16'), default='fp32')
    parser.add_argument('--saving', default='', metavar='HOW',
                        help='what becomes of what the backward pass needs: cpu, checkpoint, or budget=SHARE (compiled)')
    parser.add_argument('--compile', choices=('default', 'reduce-overhead'), default='')
    parser.add_argument('--limit-bytes', type=int, default=0, help='the allocator is to get along with that much')
    parser.add_argument('--tiny', action='store_true', help='a model of the same kind that a CPU trains in a moment')
    return parser.parse_args(arguments)


def main(options):
    load_library(options.model)
    turn.wait()
    if options.device == 'cuda' and not torch.cuda.is_available():
        print('PyTorch finds no CUDA device', file=sys.stderr)
        sys.exit(MODULE_MISSING)
    train(options)


if __name__ == '__main__':
    try:
        main(parse(sys.argv[1:]))
    except ImportError as missing:
        print(f'a module cannot be imported: {missing}', file=sys.stderr)
        sys.exit(MODULE_MISSING)
