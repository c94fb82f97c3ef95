"""Batches from worker processes, forked and started anew, in memory that processes share."""
import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return torch.full((4,), float(index * index))


def main():
    torch.set_num_threads(1)
    for context in ("fork", "spawn"):
        loader = DataLoader(Squares(), batch_size=3, num_workers=2, multiprocessing_context=context, persistent_workers=True)
        for epoch in range(2):
            print(context, epoch, [batch.sum().item() for batch in loader])


if __name__ == "__main__":
    main()
