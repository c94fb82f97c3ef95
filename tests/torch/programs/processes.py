"""Processes of torch.multiprocessing that hand tensors to each other."""
import torch
import torch.multiprocessing as processes


def work(rank, shared, queue, is_taken):
    shared[rank] += rank + 1
    queue.put((rank, torch.arange(4) * rank))
    is_taken.wait(60)  # the tensor's memory is this process's


def main():
    torch.set_num_threads(1)
    for method in ("fork", "spawn"):
        context = processes.get_context(method)
        shared, queue, is_taken = torch.zeros(2).share_memory_(), context.Queue(), context.Event()
        children = [context.Process(target=work, args=(rank, shared, queue, is_taken)) for rank in range(2)]
        for child in children:
            child.start()
        answers = sorted((rank, tensor.tolist()) for rank, tensor in (queue.get(timeout=60) for _ in children))
        is_taken.set()
        for child in children:
            child.join(60)
        print(method, answers, shared.tolist(), [child.exitcode for child in children])


if __name__ == "__main__":
    main()
