# H200 on PCIe 5: what the simulated device can do and what it costs. The fields are explained in driver/profile.h.
# Each figure stands with its source; what nobody has measured is called an assumption.

name = NVIDIA H200 (simulated)
compute_major = 9                           # H200 data sheet
compute_minor = 0                           # H200 data sheet
multiprocessors = 132                       # H200 data sheet
clock_khz = 1980000                         # H200 data sheet
memory_clock_khz = 3201000                  # H200 data sheet
bus_bits = 6144                             # H200 data sheet
l2_bytes = 62914560                         # H200 data sheet
shared_per_sm_bytes = 233472                # H200 data sheet
shared_per_block_optin_bytes = 232448       # H200 data sheet
threads_per_sm = 2048                       # H200 data sheet
memory_bytes = 151397597184                 # H200 data sheet
flops = 495e12                              # half of the 989 TFLOPS of the data sheet (BF16)
memory_gbps = 4300                          # 4.8 TB/s of the data sheet, less what is lost in practice
h2d_gbps = 55.2                             # measured on an H200, driver 580 (docs/measurements)
d2h_gbps = 55.2                             # measured on an H200, driver 580 (docs/measurements)
pageable_gbps = 14                          # assumption: about half of the pinned rate
link_gbps = 370                             # 900 GB/s of NVLink 4 in both directions (data sheet), less what is lost in practice; assumption
link_ns = 15000                             # an all-reduce of a few bytes takes 10 to 20 us; assumption

call_ns = 200                               # measured order of a cheap driver call; assumption
launch_ns = 4000                            # measured on an H200, driver 580 (docs/measurements)
copy_ns = 3500                              # about 3.5 us for a queued asynchronous copy on H100 (driver-facts, section 5)
event_ns = 900                              # recording or waiting for an event; assumption
kernel_min_ns = 2500                        # shortest kernel on recent devices; assumption
copy_latency_ns = 7000                      # 10 to 14 us for an isolated copy including completion (driver-facts, section 5), less the call
host_function_ns = 8000                     # assumption
alloc_ns = 30000                            # cuMemAlloc of a fresh block; assumption
free_ns = 20000                             # cuMemFree; assumption
pool_ns = 1000                              # a stream-ordered allocation served by the pool; assumption
reserve_ns = 3000                           # measured on an H200, driver 580 (docs/measurements)
create_ns = 13000                           # measured on an H200, driver 580 (docs/measurements)
create_gbps = 20000                         # 512 MiB take 14 to 47 us more than 2 MiB: measured on an H200, driver 580 (docs/measurements)
release_ns = 13000                          # measured on an H200, driver 580 (docs/measurements)
release_gbps = 1850                         # measured on an H200, driver 580 (docs/measurements)
map_ns = 1000                               # measured on an H200, driver 580 (docs/measurements)
unmap_ns = 18600                            # measured on an H200, driver 580 (docs/measurements)
set_access_ns = 28000                       # measured on an H200, driver 580 (docs/measurements)
access_wait_ns = 975000                     # measured on an H200, driver 580 (docs/measurements)
pin_gbps = 4.6                              # huge pages touched and registered, 4 GiB in 0.94 s; cuMemHostAlloc makes 2.2 GB/s: measured on an H200, driver 580 (docs/measurements)
duplex = 0.91                               # measured on an H200, driver 580 (docs/measurements)
