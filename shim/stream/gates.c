/* gates.c - keeps the operations that may complete only after something that the program does next. A wait for one of them
 * on the program's own thread may never end; so code that has a choice waits for something else. */
#include "lock.h"
#include "stream_table.h"

unsigned spw_gated_streams;
uint64_t spw_waits_in_vain;

static void note(struct spw_stream *s, uint64_t first, uint64_t last)
{
    if (!s->gate_last) {
        spw_gated_streams++;
        s->gate_first = first;
        s->gate_last = last;
        return;
    }
    s->gate_first = first < s->gate_first ? first : s->gate_first;
    s->gate_last = last > s->gate_last ? last : s->gate_last;
}

void spw_stream_gate_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    note(s, s->begun, s->begun);
}

void spw_stream_gate_of_program_locked(struct spw_stream *s)
{
    spw_stream_gate_locked(s);
    s->host_gate = s->begun;
}

void spw_stream_gate_late_locked(struct spw_stream *s, uint64_t number)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    note(s, s->done + 1, number);
    spw_waits_in_vain++;
}

bool spw_stream_is_gated_locked(const struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return s->done < s->gate_last;
}

/* If no event is recorded behind the gate yet, records one if possible. */
static void look(struct spw_stream *s)
{
    CUevent event;
    uint64_t covered;
    spw_marks_retire_locked(s);
    if (spw_stream_is_gated_locked(s))
        (void)spw_mark_for_locked(s, s->gate_last, &event, &covered);
    else
        s->gate_last = 0;
}

bool spw_streams_gated_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint32_t i = 1, left = spw_gated_streams; left && i < spw_stream_table_used; i++) {
        struct spw_stream *s = spw_stream_table[i];
        if (!s->gate_last)
            continue;
        left--;
        look(s);
        spw_gated_streams -= !s->gate_last;
    }
    return spw_gated_streams;
}

bool spw_uses_held_back_locked(struct spw_uses *u, const struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    bool is = false;
    if (!spw_gated_streams || spw_uses_only_locked(u, s) || !spw_streams_gated_locked())
        return false;
    for (uint32_t i = 1; i < spw_stream_table_used && !is; i++)
        is = spw_stream_table[i] && spw_stream_table[i]->done < spw_stream_table[i]->host_gate;
    return is;
}
