"""What programs ask of a device that may not be there, and what they are told."""
import torch


def ask(name, question):
    try:
        print(name, repr(question()))
    except (RuntimeError, AssertionError) as refusal:
        print(name, type(refusal).__name__, refusal)


ask("available", torch.cuda.is_available)
ask("count", torch.cuda.device_count)
ask("initialise", torch.cuda.init)
ask("memory", torch.cuda.mem_get_info)
ask("statistics", lambda: sorted(torch.cuda.memory_stats().items()))
ask("allocated", torch.cuda.memory_allocated)
ask("empty", torch.cuda.empty_cache)
ask("synchronise", torch.cuda.synchronize)
ask("tensor", lambda: torch.zeros(2, device="cuda"))
ask("pinned", lambda: torch.zeros(2).pin_memory())
ask("properties", lambda: torch.cuda.get_device_properties(0))
ask("architectures", torch.cuda.get_arch_list)
ask("nccl", torch.distributed.is_nccl_available)
ask("cudnn", torch.backends.cudnn.version)
ask("seed", lambda: torch.cuda.manual_seed_all(1))
