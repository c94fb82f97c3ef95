/* tiny.h - small graphs and timed events, written down in a test, and what the checker should say of them. */
#ifndef SPILLWAY_TESTS_UNIT_TINY_H
#define SPILLWAY_TESTS_UNIT_TINY_H
#include "plan/check.h"
#include "plan/graph.h"
#include "plan/schedule.h"

struct tiny_tensor {
    uint64_t bytes; /* as many microseconds for a copy in either direction */
    bool persistent, initial, fixed /* not evictable */;
};

struct tiny_op {
    double us;
    uint32_t reads, writes; /* sets of tensors: T(0) | T(3) */
    bool fixed;             /* not replayable */
};
#define T(index) (1u << (index))

/* A finished graph: a tensor that is not persistent lives from its first use to its last, an initial one from the start. */
struct spw_graph *tiny_graph(const struct tiny_tensor *tensors, uint32_t tensor_count, const struct tiny_op *ops,
                             uint32_t op_count);
#define TINY_GRAPH(tensors, ops) tiny_graph(tensors, sizeof(tensors) / sizeof(tensors)[0], ops, sizeof(ops) / sizeof(ops)[0])

#define OP(id, at)     ((struct spw_timed_step){SPW_STEP_OP, id, at})
#define REPLAY(id, at) ((struct spw_timed_step){SPW_STEP_REPLAY, id, at})
#define D2H(id, at)    ((struct spw_timed_step){SPW_STEP_D2H, id, at})
#define H2D(id, at)    ((struct spw_timed_step){SPW_STEP_H2D, id, at})
#define DROP(id, at)   ((struct spw_timed_step){SPW_STEP_DROP, id, at})

/* Two layers forward and back: input 0, activations 1 and 2, gradient 3; each operation takes 10 us. */
struct spw_graph *tiny_two_layers(void);
#define DROPS_OF_TWO_LAYERS DROP(0, 10), DROP(2, 30), DROP(1, 40), DROP(3, 40)

/* Everything allowed, 1000 bytes on the device, any number on the host. */
extern const struct spw_check_rules TINY_FREE;
extern const uint8_t TINY_ON_DEVICE[32]; /* all tensors start there */

struct spw_check tiny_check(const struct spw_graph *graph, const uint8_t *start, const struct spw_timed_step *events,
                            size_t count, const struct spw_check_rules *rules);
/* The test fails unless the checker finds this fault at this event (which does not matter where there is none). */
void tiny_expect(const struct spw_graph *graph, const uint8_t *start, const struct spw_timed_step *events, size_t count,
                 const struct spw_check_rules *rules, enum spw_fault fault, size_t event);

/* The events in braces, and what is expected of them: the fault and the index of its event. */
#define ACCEPTS_FROM(graph, start, rules, ...) \
    do { \
        const struct spw_timed_step listed[] = __VA_ARGS__; \
        tiny_expect(graph, start, listed, sizeof listed / sizeof listed[0], rules, SPW_FAULT_NONE, 0); \
    } while (0)
#define REFUSES_FROM(graph, start, rules, fault, event, ...) \
    do { \
        const struct spw_timed_step listed[] = __VA_ARGS__; \
        tiny_expect(graph, start, listed, sizeof listed / sizeof listed[0], rules, fault, event); \
    } while (0)
#define ACCEPTS(graph, ...)               ACCEPTS_FROM(graph, TINY_ON_DEVICE, &TINY_FREE, __VA_ARGS__)
#define REFUSES(graph, fault, event, ...) REFUSES_FROM(graph, TINY_ON_DEVICE, &TINY_FREE, fault, event, __VA_ARGS__)
#endif
