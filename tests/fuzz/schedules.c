/* schedules.c - the checker and a second judge agree about timed events, valid and damaged, the same ones at each run.
 *
 *     schedules [COUNT [FIRST]]     case number FIRST and the COUNT - 1 after it; 20000 from 0 on when not said
 *
 * A case is made from its number alone: what fails is repeated with `schedules 1 NUMBER`. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "random-schedules.h"

enum { MOST_SECONDS = 30 /* for a hundred cases, on the slowest machine with sanitizers */ };

struct tally {
    uint64_t made, refused_whole, damaged, valid, faults[SPW_FAULT_HOST + 1];
};

static void show_touched(const struct spw_graph *graph, const char *what, uint32_t first, uint32_t count)
{
    fprintf(stderr, " %s", what);
    for (uint32_t i = first; i < first + count; i++)
        fprintf(stderr, " %u", graph->touched[i].tensor);
}

static void show(const struct random_case *one)
{
    for (uint32_t i = 0; i < one->graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &one->graph->tensors[i];
        fprintf(stderr, "#  tensor %u: %llu bytes, d2h %g, h2d %g, ops %u-%u%s%s%s, starts %u\n", i,
                (unsigned long long)t->bytes, t->d2h_us, t->h2d_us, t->alloc_before, t->free_after,
                t->persistent ? ", persistent" : "", t->initial ? ", initial" : "", t->evictable ? "" : ", fixed",
                one->start[i]);
    }
    for (uint32_t i = 0; i < one->graph->op_count; i++) {
        const struct spw_graph_op *op = &one->graph->ops[i];
        fprintf(stderr, "#  op %u: %g us%s", i, op->us, op->replayable ? "" : ", fixed");
        show_touched(one->graph, "reads", op->first_read, op->read_count);
        show_touched(one->graph, "writes", op->first_write, op->write_count);
        fputc('\n', stderr);
    }
    for (size_t i = 0; i < one->count; i++)
        fprintf(stderr, "#  %3zu %-6s %u at %g\n", i, spw_step_name((enum spw_step_kind)one->events[i].kind),
                one->events[i].id, one->events[i].start_us);
}

/* Whether both judges say the same: which event is the first at fault, or what the execution comes to. */
static bool agree(const struct random_case *one, uint64_t number, struct spw_check *ret_check)
{
    if (spw_check_events(one->graph, one->start, one->events, one->count, &one->rules, ret_check) < 0)
        return false;
    const struct spw_check *check = ret_check;
    const struct verdict verdict = resimulate(one->graph, one->start, one->events, one->count, &one->rules);
    const bool valid = check->fault == SPW_FAULT_NONE;
    bool same = valid == verdict.valid && check->event == verdict.event;
    if (valid && same)
        same = check->time_us == verdict.time_us && check->peak_bytes == verdict.peak_bytes &&
               check->host_peak_bytes == verdict.host_peak_bytes;
    if (!same) {
        fprintf(stderr, "# case %llu: the checker says %s at %zu (%s), the other judge %s at %zu\n",
                (unsigned long long)number, spw_fault_name(check->fault), check->event, check->message,
                verdict.why ? verdict.why : "none", verdict.event);
        if (valid)
            fprintf(stderr, "# time %g and %g, peak %llu and %llu, host %llu and %llu\n", check->time_us, verdict.time_us,
                    (unsigned long long)check->peak_bytes, (unsigned long long)verdict.peak_bytes,
                    (unsigned long long)check->host_peak_bytes, (unsigned long long)verdict.host_peak_bytes);
        show(one);
    }
    return same;
}

/* What is built is valid, and comes to what the time line says. */
static bool is_as_built(const struct random_case *one, uint64_t number, const struct spw_check *check)
{
    if (check->fault == SPW_FAULT_NONE && check->time_us == one->time_us && check->peak_bytes == one->peak_bytes &&
        check->host_peak_bytes == one->host_peak_bytes)
        return true;
    fprintf(stderr,
            "# case %llu: what was built is refused: %s at %zu (%s); or time %g and %g, peak %llu and %llu, host %llu and "
            "%llu\n",
            (unsigned long long)number, spw_fault_name(check->fault), check->event, check->message, check->time_us,
            one->time_us, (unsigned long long)check->peak_bytes, (unsigned long long)one->peak_bytes,
            (unsigned long long)check->host_peak_bytes, (unsigned long long)one->host_peak_bytes);
    show(one);
    return false;
}

static bool pass_one(uint64_t number, struct tally *tally)
{
    uint64_t seed = number * 0x2545f4914f6cdd1d;
    struct random_case one;
    struct spw_check check;
    if (!random_case_make(&one, &seed))
        return true;
    bool well = agree(&one, number, &check);
    tally->made++;
    if (well && !one.rules.model_s)
        well = is_as_built(&one, number, &check);
    for (int i = 0; i < 8 && well; i++) {
        struct random_case damaged = one;
        for (uint64_t times = 1 + i % 3; times > 0; times--)
            random_case_damage(&damaged, &seed);
        well = agree(&damaged, number, &check);
        tally->damaged++;
        tally->faults[check.fault]++;
    }
    random_case_finish(&one);
    return well;
}

int main(int argc, char **argv)
{
    const uint64_t cases = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000,
                   first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    struct tally tally = {0};
    bool well = true;
    for (uint64_t i = 0; i < cases && well; i++) {
        if (i % 100 == 0)
            alarm(MOST_SECONDS);
        well = pass_one(first + i, &tally);
    }
    alarm(0);
    printf("1..2\n# %llu schedules, %llu damaged ones\n", (unsigned long long)tally.made, (unsigned long long)tally.damaged);
    bool all = true;
    for (int fault = 0; fault <= SPW_FAULT_HOST; fault++) {
        printf("# %-8s %llu\n", spw_fault_name((enum spw_fault)fault), (unsigned long long)tally.faults[fault]);
        all &= tally.faults[fault] > 0 || cases < 10000;
    }
    printf("%sok 1 - two judges agree about every schedule, built or damaged, and what is built is valid\n",
           well ? "" : "not ");
    printf("%sok 2 - every fault there is was met, and so were damaged schedules that are valid\n", all ? "" : "not ");
    return well && all ? 0 : 1;
}
