# GeForce RTX 4090 on PCIe 4: what the simulated device can do and what it costs. The fields are explained in driver/profile.h.
# Each figure stands with its source; what nobody has measured is called an assumption.

name = NVIDIA GeForce RTX 4090 (simulated)
compute_major = 8                           # Ada architecture paper
compute_minor = 9                           # Ada architecture paper
multiprocessors = 128                       # Ada architecture paper
clock_khz = 2520000                         # Ada architecture paper
memory_clock_khz = 10501000                 # Ada architecture paper
bus_bits = 384                              # Ada architecture paper
l2_bytes = 75497472                         # Ada architecture paper
shared_per_sm_bytes = 102400                # Ada architecture paper
shared_per_block_optin_bytes = 101376       # Ada architecture paper
threads_per_sm = 1536                       # Ada architecture paper
memory_bytes = 25757220864                  # Ada architecture paper
flops = 100e12                              # 0.6 of the 165 TFLOPS of the architecture paper (FP16 with FP32 sums)
memory_gbps = 920                           # 1008 GB/s of the data sheet, less what is lost in practice
h2d_gbps = 25.1                             # 25 to 26 GB/s, nvbandwidth (driver-facts, section 5)
d2h_gbps = 25.9                             # the same
pageable_gbps = 10                          # assumption: about half of the pinned rate
link_gbps = 18                              # over PCIe 4 and the host, since the device has no other link; assumption
link_ns = 15000                             # an all-reduce of a few bytes takes 10 to 20 us; assumption

call_ns = 200                               # measured order of a cheap driver call; assumption
launch_ns = 3500                            # host cost of a launch, 3 to 5 us
copy_ns = 3500                              # about 3.5 us for a queued asynchronous copy on H100 (driver-facts, section 5)
event_ns = 900                              # recording or waiting for an event; assumption
kernel_min_ns = 2500                        # shortest kernel on recent devices; assumption
copy_latency_ns = 7000                      # 10 to 14 us for an isolated copy including completion (driver-facts, section 5), less the call
host_function_ns = 8000                     # assumption
alloc_ns = 30000                            # cuMemAlloc of a fresh block; assumption
free_ns = 20000                             # cuMemFree; assumption
pool_ns = 1000                              # a stream-ordered allocation served by the pool; assumption
reserve_ns = 19000                          # reserve of 8 GiB, kvcached bench_vmm on A100 (driver-facts, section 3.3)
create_ns = 29000                           # cuMemCreate, vAttention paper (driver-facts, section 3.3)
create_gbps = 20000                         # as on an H200, where size hardly matters (docs/measurements); assumption
release_ns = 23000                          # vAttention paper (driver-facts, section 3.3)
release_gbps = 1850                         # as on an H200; assumption
map_ns = 1450                               # kvcached bench_vmm on A100 (driver-facts, section 3.3)
unmap_ns = 25600                            # kvcached bench_vmm on A100 (driver-facts, section 3.3)
set_access_ns = 36000                       # kvcached bench_vmm on A100 (driver-facts, section 3.3)
access_wait_ns = 975000                     # assumption: as measured on an H200
pin_gbps = 20                               # 120 GB in 5 to 6 s (driver-facts, section 5)
duplex = 0.72                               # 18.5 of 25.5 GB/s in each direction, nvbandwidth on PCIe 4 (driver-facts, section 5)
