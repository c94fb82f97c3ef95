/* test-seek.c - what was stored as an address and has not been found yet is followed on the fake device: nothing is lost
 * that is made of what it leads to. */
#include "versioned-launches.h"

#include "seek.h"
#include "seek_device.h"
#include "transfers.h"

#define OTHER ((CUfunction)0x200)

static bool is_eager;

/* ---- what is dropped ---- */

static bool may_drop(const struct spw_device *d, const struct spw_block *b)
{
    return true;
}

static enum spw_due due(struct spw_device *d, const struct spw_block *b)
{
    return SPW_DUE_NOT;
}

static bool dropping(struct spw_device *d, struct spw_block *b, enum spw_due is_due)
{
    return true;
}

static void not_dropped(struct spw_block *b)
{
}

static const struct spw_rematerialiser maker = {.kept = on_kept,
                                                .rescue_unlocking = on_rescue,
                                                .may_drop = may_drop,
                                                .due = due,
                                                .dropping = dropping,
                                                .not_dropped = not_dropped};

static struct spw_block *block_at(CUdeviceptr address)
{
    return spw_block_of(spw_object_at_locked(address));
}

static void drop(CUdeviceptr address)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    assert_int_equal(spw_transfer_drop_locked(device, block_at(address)), 0);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
}

static void settle(void)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    assert_int_equal(spw_seek_settle_unlocking(true), 0);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
}

/* Operations are to be kept while this is set. */
static bool wishes;

static void on_op(struct spw_op *op, struct spw_object *const *objects, unsigned count)
{
    op->wish = wishes ? 8 : 0;
}

/* What has an answer alone. */
static void settle_done(void)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    (void)spw_seek_settle_unlocking(false);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
}

/* Something is dropped that is made of what lies at the address. */
static void need(CUdeviceptr address)
{
    needed = spw_versioned_at_locked(address, NULL);
    needed->needed = 1;
    device->dropping = 1;
}

static int begin_watched(void **state)
{
    spw_seek_reset();
    if (begin(state) < 0)
        return -1;
    static struct spw_follower follower;
    follower = idle_follower;
    follower.op = on_op;
    spw_follower = &follower;
    spw_rematerialiser = &maker;
    spw_plan_follower_any = true;
    wishes = false;
    struct spw_launch_class *set = learn_that_the_last_of_three_is_written();
    declare_the_first_constant(set);
    set->declared.constant |= 2;             /* nor does it write the second */
    assert_int_equal(launch(2, a, b, 0), 0); /* they have a content */
    spw_seek_allowed = true;
    pthread_mutex_lock(&device->slow);
    spw_lock();
    const int r = spw_seek_open_unlocking();
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    return r;
}

static int end_watched(void **state)
{
    spw_plan_follower_any = false;
    spw_seek_reset();
    return end(state);
}

/* A launch that reads the first, and leaves its address in the last. */
static void store(CUdeviceptr first, CUdeviceptr last)
{
    static CUdeviceptr word;
    struct launch l;
    word = first;
    describe(&l, 3, first, b, last);
    assert_int_equal(spw_op_begin(&l.op), 0);
    assert_int_equal(spw_driver.cuMemcpyHtoDAsync_v2(last, &word, sizeof(word), stream), CUDA_SUCCESS);
    spw_seek_launched(&l.op);
    spw_op_answered(&l.op, true);
}

/* A launch of another function that follows what lies there. */
static void follow_on(CUstream on, CUdeviceptr table)
{
    struct launch l;
    describe(&l, 1, table, 0, 0);
    l.op.handle = on;
    l.op.function = l.submission.launch.function = OTHER;
    assert_int_equal(spw_op_begin(&l.op), 0);
    spw_op_answered(&l.op, true);
}

static void follow(CUdeviceptr table)
{
    follow_on(stream, table);
}

static void upload_on(CUstream on, CUdeviceptr to, const CUdeviceptr *word)
{
    struct spw_op op = {.handle = on, .hits = &to, .count = 1, .room = 1, .name = "a copy", .follows_no_tables = true};
    assert_int_equal(spw_op_begin(&op), 0);
    assert_int_equal(spw_driver.cuMemcpyHtoDAsync_v2(to, word, sizeof(*word), on), CUDA_SUCCESS);
    spw_seek_copied(&op, sizeof(*word), false);
    spw_op_answered(&op, true);
}

/* ---- tests ---- */

static void what_is_needed_is_made_before_an_address_is_followed_that_leads_there(void **state)
{
    const CUdeviceptr kinds[] = {a, small};
    for (int i = 0; i < 2; i++) {
        const uint64_t was = version(kinds[i]);
        need(kinds[i]);
        rescues = 0;
        store(kinds[i], c);
        assert_int_equal(rescues, 0); /* it is only read there */
        assert_int_equal(version(kinds[i]), was);
        follow(c);
        assert_int_equal(rescues, 1);
        assert_true(version(kinds[i]) > was);
    }
}

/* Nobody has followed the address by then. */
static void an_address_that_is_found_loses_nothing_that_is_needed(void **state)
{
    const CUdeviceptr kinds[] = {a, small};
    for (int i = 0; i < 2; i++) {
        const uint64_t was = version(kinds[i]);
        need(kinds[i]);
        store(kinds[i], c);
        settle();
        assert_int_equal(version(kinds[i]), was);
        needed->needed = 0;
        device->dropping = 0;
        store(kinds[i], c);
        settle();
        assert_true(version(kinds[i]) > was);
    }
}

/* A tensor that can be made again of `a`. */
static CUdeviceptr make(void)
{
    struct launch l;
    const CUdeviceptr made = allocate(64 * KIB);
    spw_lock();
    spw_version_reset_locked(spw_versioned_at_locked(made, NULL));
    spw_unlock();
    describe(&l, 3, a, b, made);
    wishes = true;
    assert_int_equal(spw_op_begin(&l.op), 0);
    wishes = false;
    assert_non_null(l.op.recorded_op);
    fake_fill(stream, made, 64 * KIB, 1);
    spw_op_answered(&l.op, true);
    return made;
}

static void nothing_is_dropped_while_addresses_may_be_followed_that_are_not_known(void **state)
{
    const CUdeviceptr first = make(), made = make(), other = make();
    drop(first);
    assert_true(block_at(first)->drops);
    follow(first); /* it stays */
    store(a, c);
    drop(made);
    assert_false(block_at(made)->drops);
    follow(c);
    settle();
    drop(other);
    assert_false(block_at(other)->drops); /* that may have written `a` */
    const CUdeviceptr anew = make();
    drop(anew);
    assert_true(block_at(anew)->drops);
}

/* Another stream may be waiting for what the program does next. */
static void who_uses_an_upload_waits_for_no_other_look(void **state)
{
    const CUstream other = fake_stream();
    const CUdeviceptr uploaded = allocate(64 * KIB);
    const uint64_t was = version(a), learned = spw_seek_learned;
    settle();
    store(b, c);
    upload_on(other, uploaded, &a);
    follow_on(other, uploaded);
    assert_int_equal(spw_seek_learned, learned + 1);
    assert_true(version(a) > was);
    assert_true(is_eager || fake_left(stream));
    follow_on(other, uploaded); /* nobody waits for it any more */
    assert_true(is_eager || fake_left(stream));
    settle();
    assert_int_equal(fake_left(stream), 0);
    assert_int_equal(spw_seek_learned, learned + 2);
    assert_false(spw_seek_pending());
    assert_int_equal(spw_object_at_locked(c)->attention & (SPW_AWAITED | SPW_LOOKED), 0);
}

/* Nobody settles any more where nothing is pending. */
static void what_was_suspected_may_leave_once_whoever_uses_it_has_waited_for_the_last_look(void **state)
{
    const CUdeviceptr uploaded = allocate(64 * KIB), word = 1;
    settle();
    upload_on(stream, uploaded, &word);
    assert_true(spw_seek_pending());
    assert_true(block_at(uploaded)->suspected);
    follow(uploaded);
    assert_false(spw_seek_pending());
    assert_false(block_at(uploaded)->suspected);
    assert_int_equal(spw_object_at_locked(uploaded)->attention & (SPW_AWAITED | SPW_LOOKED), 0);
}

/* Which may come behind work that waits for what the program does next. */
static void what_is_read_back_waits_for_no_copy_out(void **state)
{
    const CUstream other = fake_stream();
    const CUdeviceptr leaving = allocate(64 * KIB);
    const uint64_t learned = spw_seek_learned;
    follow_on(other, leaving);
    fake_fill(other, leaving, 64 * KIB, 1);
    pthread_mutex_lock(&device->slow);
    spw_lock();
    assert_int_equal(spw_transfer_evict_locked(device, block_at(leaving)), 0);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    assert_true(block_at(leaving)->object.attention & SPW_EVICTING);
    store(a, c);
    settle_done();
    assert_int_equal(spw_seek_learned, learned);
    assert_int_equal(spw_driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    settle_done();
    assert_int_equal(spw_seek_learned, learned + 1);
    assert_true(fake_left(other));
}

static CUstream second;
static CUdeviceptr uploaded_there;

static void follow_there(void)
{
    follow_on(second, uploaded_there);
}

/* Nor for another thread, which waits for one. */
static void who_uses_an_upload_waits_for_no_other_thread(void **state)
{
    second = fake_stream();
    uploaded_there = allocate(64 * KIB);
    const uint64_t learned = spw_seek_learned;
    store(b, c);
    upload_on(second, uploaded_there, &a);
    fake_meanwhile(follow_there);
    spw_lock();
    assert_int_equal(spw_seek_settle_unlocking(true), 0);
    spw_unlock();
    assert_int_equal(spw_seek_learned, learned + 2);
    assert_false(spw_seek_pending());
}

/* Of what is trusted and looked at again, nobody waits for the answer: what it has stored after all may have been followed.
 */
static void what_is_needed_is_given_up_where_trust_was_a_mistake(void **state)
{
    struct spw_seek_kind *kind = spw_seek_kind_of((uint64_t)(uintptr_t)FUNCTION);
    const CUdeviceptr made = make();
    settle();
    kind->looks[0] = SPW_SEEK_ENOUGH - 1;
    kind->is_audited[0] = true;
    need(a);
    const uint64_t was = version(a);
    store(a, c);
    drop(made);
    assert_true(block_at(made)->drops);
    settle();
    assert_true(version(a) > was);
    needed->needed = 0;
}

/* A launch that writes `a`, and that a look comes behind. */
static void write_a(void)
{
    struct launch l;
    describe(&l, 3, c, b, a);
    assert_int_equal(spw_op_begin(&l.op), 0);
    fake_fill(stream, a, 64 * KIB, 1);
    spw_seek_launched(&l.op);
    spw_op_answered(&l.op, true);
    assert_true(spw_seek_pending());
}

/* Else a whole iteration could drop nothing each time that a function's turn comes. */
static void what_is_made_of_what_a_trusted_function_wrote_is_kept_while_that_is_looked_at_again(void **state)
{
    struct spw_seek_kind *kind = spw_seek_kind_of((uint64_t)(uintptr_t)FUNCTION);
    settle();
    write_a();
    assert_true(spw_object_at_locked(a)->attention & SPW_LOOKED); /* it may hold addresses: nothing made of it is kept */
    settle();
    kind->looks[0] = SPW_SEEK_ENOUGH - 1;
    kind->is_audited[0] = true;
    write_a();
    const CUdeviceptr made = make();
    drop(made);
    assert_true(block_at(made)->drops);
    settle();
}

/* A launch of the other function that is given a table of two words, and leaves `second` in the second of them. The table is
 * gone before anybody can read it. */
static void use_a_table(CUdeviceptr second)
{
    const CUdeviceptr table = allocate(256), words[] = {a, b};
    struct launch l;
    spw_pointer_tables_learn(table, words, sizeof(words), &spw_pinning);
    assert_int_equal(spw_driver.cuMemcpyHtoDAsync_v2(table, words, sizeof(words), stream), CUDA_SUCCESS);
    describe(&l, 1, table, 0, 0);
    l.op.function = l.submission.launch.function = OTHER;
    assert_int_equal(spw_op_begin(&l.op), 0);
    assert_int_equal(l.op.reached, 3);
    assert_int_equal(spw_driver.cuMemcpyHtoDAsync_v2(table + sizeof(second), &second, sizeof(second), stream), CUDA_SUCCESS);
    spw_seek_launched(&l.op);
    spw_op_answered(&l.op, true);
    assert_int_equal(spw_free(table, NULL), 0);
    settle();
}

/* Loaders and collectives are given tables that live for one launch. */
static void who_leaves_a_table_as_it_was_is_trusted_though_nobody_could_read_it(void **state)
{
    const struct spw_seek_kind *kind = spw_seek_kind_of((uint64_t)(uintptr_t)OTHER);
    for (int i = 0; i < SPW_SEEK_ENOUGH; i++) {
        assert_false(spw_seek_is_trusted(kind, true));
        use_a_table(b);
    }
    assert_true(spw_seek_is_trusted(kind, true));
}

static void who_puts_another_address_into_a_table_is_not_trusted_though_nobody_could_read_it(void **state)
{
    const struct spw_seek_kind *kind = spw_seek_kind_of((uint64_t)(uintptr_t)OTHER);
    for (int i = 0; i < 2 * SPW_SEEK_ENOUGH; i++)
        use_a_table(c);
    assert_false(spw_seek_is_trusted(kind, true));
}

/* What it has stored where nobody looked is found by looking through all memory, which does not tell who stored it. */
static void who_is_given_more_than_can_be_looked_at_is_not_trusted_for_it(void **state)
{
    enum { MANY = SPW_SEEK_ANSWERS };
    static CUdeviceptr table[MANY];
    const struct spw_seek_kind *kind = spw_seek_kind_of((uint64_t)(uintptr_t)OTHER);
    for (int i = 0; i < MANY; i++)
        table[i] = allocate(256);
    spw_pointer_tables_learn(c, table, sizeof(table), &spw_pinning);
    assert_int_equal(spw_driver.cuMemcpyHtoDAsync_v2(c, table, sizeof(table), stream), CUDA_SUCCESS);
    for (int i = 0; i < SPW_SEEK_ENOUGH; i++) {
        struct launch l;
        describe(&l, 1, c, 0, 0);
        l.op.function = l.submission.launch.function = OTHER;
        assert_int_equal(spw_op_begin(&l.op), 0);
        assert_int_equal(l.op.reached, 1 + MANY);
        spw_seek_launched(&l.op);
        spw_op_answered(&l.op, true);
        free(l.op.long_hits);
        settle();
    }
    assert_false(spw_seek_is_trusted(kind, true));
    assert_false(spw_seek_pending());
    spw_pointer_tables_reset();
}

/* ---- once there are graphs, which may follow any table ---- */

static const char why[] = "a test says so";

static bool stays(CUdeviceptr address)
{
    const struct spw_object *o = spw_object_at_locked(address);
    return spw_object_pinned(o) && !(o->attention & (SPW_ABSENT | SPW_EVICTING));
}

/* That a trusted function has stored its address is found when it is away. */
static void what_an_address_leads_to_is_brought_in_before_a_graph_follows_it(void **state)
{
    struct spw_seek_kind *kind = spw_seek_kind_of((uint64_t)(uintptr_t)FUNCTION);
    spw_pointer_tables_pin(why, &spw_pinning);
    settle();
    kind->looks[0] = SPW_SEEK_ENOUGH - 1;
    kind->is_audited[0] = true;
    fake_fill(stream, a, 64 * KIB, 7);
    store(a, c);
    pthread_mutex_lock(&device->slow);
    spw_lock();
    assert_int_equal(spw_transfer_evict_locked(device, block_at(a)), 0);
    fake_run_all();
    spw_transfer_pump_locked(device);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    assert_true(block_at(a)->object.attention & SPW_ABSENT);
    settle();
    assert_true(block_at(a)->object.attention & SPW_ABSENT);
    spw_pin_failure = 0;
    spw_pin_before_graph();
    assert_int_equal(spw_pin_failure, 0);
    assert_true(stays(a));
    fake_expect(stream, a, 64 * KIB, 7);
    fake_run_all();
    spw_pointer_tables_reset();
}

/* The graph may write there. */
static void what_is_dropped_is_made_before_a_graph_follows_an_address(void **state)
{
    const CUdeviceptr kinds[] = {a, small};
    spw_pointer_tables_pin(why, &spw_pinning);
    for (int i = 0; i < 2; i++) {
        need(kinds[i]);
        rescues = 0;
        store(kinds[i], c);
        settle();
        pins = true;
        rescue_answer = -ENOMEM;
        spw_pin_failure = 0;
        spw_pin_before_graph();
        assert_int_equal(spw_pin_failure, -ENOMEM); /* it is not launched */
        assert_int_equal(rescues, 1);
        rescue_answer = 0;
        spw_pin_failure = 0;
        spw_pin_before_graph();
        assert_int_equal(spw_pin_failure, 0);
        assert_int_equal(rescues, 2);
        assert_true(stays(kinds[i]));
        spw_pin_before_graph();
        assert_int_equal(rescues, 2);
        pins = false;
    }
    spw_pointer_tables_reset();
}

int main(int argc, char **argv)
{
#define WATCHED(name) cmocka_unit_test_setup_teardown(name, begin_watched, end_watched)
    const struct CMUnitTest tests[] = {
        WATCHED(what_is_needed_is_made_before_an_address_is_followed_that_leads_there),
        WATCHED(an_address_that_is_found_loses_nothing_that_is_needed),
        WATCHED(nothing_is_dropped_while_addresses_may_be_followed_that_are_not_known),
        WATCHED(who_uses_an_upload_waits_for_no_other_look),
        WATCHED(what_was_suspected_may_leave_once_whoever_uses_it_has_waited_for_the_last_look),
        WATCHED(what_is_read_back_waits_for_no_copy_out),
        WATCHED(who_uses_an_upload_waits_for_no_other_thread),
        WATCHED(what_is_needed_is_given_up_where_trust_was_a_mistake),
        WATCHED(what_is_made_of_what_a_trusted_function_wrote_is_kept_while_that_is_looked_at_again),
        WATCHED(who_leaves_a_table_as_it_was_is_trusted_though_nobody_could_read_it),
        WATCHED(who_puts_another_address_into_a_table_is_not_trusted_though_nobody_could_read_it),
        WATCHED(who_is_given_more_than_can_be_looked_at_is_not_trusted_for_it),
        WATCHED(what_an_address_leads_to_is_brought_in_before_a_graph_follows_it),
        WATCHED(what_is_dropped_is_made_before_a_graph_follows_an_address),
    };
    is_eager = argc > 1 && strcmp(argv[1], "eager") == 0;
    fake_eager(is_eager);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
