/* fake-device.h - a device for unit tests of the shim: spw_driver filled with functions that keep memory, maps, streams and
 * events in plain arrays.
 *
 * Nothing submitted runs before somebody waits for it, so that whoever unmaps, reuses or reads too early is caught: such
 * misuse ends the test with a message. Once somebody waits, an eager device runs what nothing holds back first of all, so
 * that whoever forgot to hold something back is caught too. Bytes lie in host memory behind made-up addresses. */
#ifndef SPILLWAY_TESTS_FAKE_DEVICE_H
#define SPILLWAY_TESTS_FAKE_DEVICE_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* How long work takes, by the clock of its stream, which timed events read. */
#define FAKE_KERNEL_US        10.0
#define FAKE_OUT_BYTES_PER_US 4096.0
#define FAKE_IN_BYTES_PER_US  8192.0

struct fake_counts {
    uint64_t made_bytes, made_bytes_peak, mapped_bytes, mapped_bytes_peak;
    unsigned creates, releases, maps, unmaps, copies_out, copies_in, copies_within, mixes, hashes, samples, events, streams,
        registered;
    uint64_t out_bytes, in_bytes;
};

/* Fills spw_driver, forgets everything of an earlier test, and sets the budget and host budget of the settings in force. */
void fake_start(uint64_t granularity, uint64_t memory, uint64_t budget, uint64_t host_budget);
const struct fake_counts *fake_counts(void);

/* From now on the n-th call of `name` (1: the next) fails with `r`; every later one too when `for_good`. */
void fake_fail(const char *name, unsigned n, CUresult r, bool for_good);
void fake_fail_too(
    const char *names); /* every call of these as well (between spaces), with the same result, until fake_fail() */

/* A kernel on `stream` that fills [a, a + bytes) with `value`, and one that fails the test unless all of it is `value`. */
CUresult fake_fill(CUstream stream, CUdeviceptr a, size_t bytes, unsigned char value);
CUresult fake_expect(CUstream stream, CUdeviceptr a, size_t bytes, unsigned char value);

/* A kernel that reads some ranges, each of which has to be full of one value, and fills others with a value made of these
 * and of `salt`: written range number k with fake_mixed() + k. */
enum { FAKE_RANGES = 8 };
struct fake_range {
    CUdeviceptr a;
    size_t bytes;
};
CUresult fake_mix(CUstream stream, const struct fake_range *ranges, unsigned reads, unsigned writes, unsigned char salt);
unsigned char fake_mixed(const unsigned char *values, unsigned count, unsigned char salt);

/* Copies submitted from now on take so many times as long. */
void fake_slow_copies(double times);

void fake_eager(bool on); /* stays until changed */

/* What another thread does while the shim waits for an event: called once, within the next such wait, before it waits. */
void fake_meanwhile(void (*act)(void));

/* What was submitted before an event runs while somebody asks for that again and again: until fake_start(). */
void fake_goes_on(bool on);

/* What is submitted to the stream from here on does not run until the test has opened all gates, for which it ends where the
 * shim waits for that without end. */
void fake_gate(CUstream stream);
void fake_open_gates(void);

/* Memory that is mapped somewhere can be mapped nowhere else: until fake_start(). */
void fake_map_once(void);

CUstream fake_stream(void);
void fake_run_all(void);             /* everything submitted runs */
unsigned fake_left(CUstream stream); /* what was submitted to it and has not run */
unsigned fake_calls(void);           /* driver calls made so far */
#endif
