/* top_screen.c - the live screen: bars, rates and counts, drawn twice a second. */
#include <ncurses.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "shown.h"
#include "settings.h"
#include "top.h"

enum { PERIOD_MS = 500, PROCESSES = 64, LABEL = 12, REFUSALS = 5 };

static volatile sig_atomic_t left_by; /* the signal that ends it */

static void leave(int number)
{
    left_by = number;
}

/* ---- lines ---- */

static int row;

static void label(const char *text)
{
    mvaddnstr(row, 0, text, COLS);
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): a false alarm, when several files are analysed in one go */
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (COLS > LABEL)
        mvaddnstr(row, LABEL, text, COLS - LABEL);
    row++;
}

/* Draws [##### ] followed by the figures; without a whole there is no bar. */
static void bar(const char *name, uint64_t part, uint64_t whole, const char *rest)
{
    char a[32], b[32], figures[128];
    int width = COLS - LABEL - 40;
    label(name);
    if (whole)
        snprintf(figures, sizeof(figures), "%s of %s%s", shown_bytes(part, a), shown_bytes(whole, b), rest);
    else
        snprintf(figures, sizeof(figures), "%s%s", shown_bytes(part, a), rest);
    if (!whole || width < 10) {
        say("%s", figures);
        return;
    }
    width = width > 60 ? 60 : width;
    int full = part >= whole ? width : (int)((double)part / (double)whole * width);
    mvaddch(row, LABEL, '[');
    for (int i = 0; i < width; i++)
        addch(i < full ? '#' | (part > whole ? A_BOLD : 0) : ' ');
    addch(']');
    mvaddnstr(row++, LABEL + width + 3, figures, COLS - LABEL - width - 3);
}

/* ---- screens ---- */

static void draw_head(const char *what)
{
    erase();
    row = 0;
    attron(A_REVERSE);
    mvhline(0, 0, ' ', COLS);
    mvaddnstr(0, 0, what, COLS);
    if (COLS > 40)
        mvaddstr(0, COLS - 8, "q: quit ");
    attroff(A_REVERSE);
    row = 2;
}

/* Draws the iterations by plan, if a device had any. */
static void draw_planned(const struct spw_status_page *p)
{
    char a[32], b[32], line[TOP_LINE];
    for (uint32_t i = 0; i < p->device_count; i++) {
        const struct spw_status_planned *planned = &p->devices[i].planned;
        if (!planned->plan)
            continue;
        label("plan");
        say("%s", top_planned(planned, line));
        label("step");
        say("%s   predicted %s", planned->step_ns ? shown_time(planned->step_ns, a) : "not known",
            planned->predicted_ns ? shown_time(planned->predicted_ns, b) : "not known");
        label("copies");
        say("%s", top_copies(planned, line));
    }
    if (p->restored + p->left) {
        label("by plan");
        say("%" PRIu64 " went   %" PRIu64 " back   late %" PRIu64 "   kept after all %" PRIu64, p->left, p->restored,
            p->late, p->cancelled);
    }
}

/* Draws what is recomputed, and the first of the kernels that cannot be replayed. */
static void draw_recomputed(const struct spw_status_page *p)
{
    char line[TOP_LINE];
    if (top_recomputes(p)) {
        label("recomputed");
        say("%s", top_recomputed(p, line));
        label("verified");
        say("%s", top_verified(p, line));
        label("unchanged");
        say("%s", top_proven(p, line));
        label("records");
        say("%s", top_records(p, line));
    }
    for (uint32_t i = 0; i < p->refusal_count && i < REFUSALS; i++) {
        label(i ? "" : "not again");
        say("%s", top_refusal(&p->refusals[i], line));
    }
}

static void draw_process(const struct top_process *t)
{
    const struct spw_status_page *p = &t->page;
    char a[32], b[32], rest[64], head[128];
    snprintf(head, sizeof(head), " spillway top   process %" PRIu32 "   mode %s   %.0f s", p->pid, top_mode_name(p->mode),
             top_seconds_running(p));
    draw_head(head);
    label("command");
    say("%s", p->command);
    row++;
    for (uint32_t i = 0; i < p->device_count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "device %" PRIu32, p->devices[i].ordinal);
        snprintf(rest, sizeof(rest), "; live %s", shown_bytes(p->devices[i].live_bytes, a));
        bar(name, p->devices[i].physical_bytes, p->devices[i].budget_bytes, rest);
    }
    if (p->host_limit_bytes)
        bar("host", p->host_used_bytes, p->host_limit_bytes, "");
    row++;
    label("to host");
    say("%s/s   %s in all", shown_bytes((uint64_t)t->out_per_s, a), shown_bytes(p->out_bytes, b));
    label("to device");
    say("%s/s   %s in all", shown_bytes((uint64_t)t->in_per_s, a), shown_bytes(p->in_bytes, b));
    row++;
    label("iteration");
    if (p->iteration_length)
        say("%" PRIu64 "   %" PRIu32 " operations   step %s", p->iterations, p->iteration_length,
            p->step_ns ? shown_time(p->step_ns, a) : "not known");
    else
        say("%s",
            p->mode == SPW_MODE_TRACE ? "none found" : "not known: it is looked for in the modes trace and swap+trace");
    draw_planned(p);
    draw_recomputed(p);
    label("operations");
    say("%" PRIu64 "   %.0f/s   slow %" PRIu64, p->operations, t->operations_per_s, p->slow_operations);
    label("stalls");
    say("%" PRIu64 "   %s waited for room", p->stalls, shown_time(p->stalled_ns, a));
    label("cache");
    say("%" PRIu64 " hits   %" PRIu64 " misses   of %" PRIu64 " allocations", p->cache_hits, p->cache_misses,
        p->allocations);
    label("refused");
    say("%" PRIu64 " operations   %" PRIu64 " allocations", p->refused_operations, p->refused_allocations);
}

static void draw_list(const struct top_process *list, unsigned count)
{
    char a[32], b[32], c[32], d[32], line[512], head[64];
    snprintf(head, sizeof(head), " spillway top   %u process%s", count, count == 1 ? "" : "es");
    draw_head(head);
    if (count == 0)
        mvaddnstr(row, 0, "nothing of yours runs under spillway", COLS);
    else
        mvaddnstr(row++, 0, "    pid mode       device      budget        host       out/s        in/s  command", COLS);
    for (unsigned i = 0; i < count && row < LINES; i++) {
        const struct top_process *t = &list[i];
        uint64_t used = 0, budget = 0;
        char e[32];
        for (uint32_t k = 0; k < t->page.device_count; k++) {
            used += t->page.devices[k].physical_bytes;
            budget += t->page.devices[k].budget_bytes;
        }
        snprintf(line, sizeof(line), "%7" PRIu32 " %-5s %11s %11s %11s %11s %11s  %s", t->page.pid,
                 top_mode_name(t->page.mode), shown_bytes(used, a), budget ? shown_bytes(budget, b) : "none",
                 shown_bytes(t->page.host_used_bytes, c), shown_bytes((uint64_t)t->out_per_s, d),
                 shown_bytes((uint64_t)t->in_per_s, e), t->page.command);
        mvaddnstr(row++, 0, line, COLS);
    }
}

/* ---- running the screen ---- */

/* Returns the exit status and, for after the screen, a message. */
static int watch_one(struct top_process *t, const char **ret_said)
{
    for (;;) {
        draw_process(t);
        refresh();
        int key = getch();
        if (key == 'q' || left_by)
            return EXIT_SUCCESS;
        if (key == ERR && !top_again(t)) {
            *ret_said = "spillway top: the process has ended";
            return EXIT_SUCCESS;
        }
    }
}

static int watch_all(void)
{
    struct top_process *list = calloc(PROCESSES, sizeof(*list));
    unsigned count = 0;
    int key = ERR;
    while (list && key != 'q' && !left_by) {
        if (key == ERR)
            count = top_list(list, count, PROCESSES);
        draw_list(list, count);
        refresh();
        key = getch();
    }
    free(list);
    return list ? EXIT_SUCCESS : EXIT_FAILURE;
}

static SCREEN *open_screen(void)
{
    static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    SCREEN *screen = newterm(NULL, stdout, stdin);
    if (!screen) {
        const char *term = getenv("TERM");
        fprintf(stderr, "spillway top: the terminal (TERM=%s) is not known; --once prints text\n", term ? term : "");
        return NULL;
    }
    const struct sigaction action = {.sa_handler = leave};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        sigaction(endings[i], &action, NULL);
    cbreak();
    noecho();
    curs_set(0);
    timeout(PERIOD_MS);
    keypad(stdscr, TRUE);
    return screen;
}

int top_screen(uint32_t pid)
{
    static struct top_process process;
    const char *said = NULL;
    if (pid && top_open(pid, &process) != 0)
        return EXIT_USAGE;
    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
        fprintf(stderr, "spillway top: no terminal to draw on; --once prints text, --once --json an object\n");
        return EXIT_USAGE;
    }
    SCREEN *screen = open_screen();
    if (!screen)
        return EXIT_USAGE;
    int status = pid ? watch_one(&process, &said) : watch_all();
    endwin();
    delscreen(screen);
    if (said)
        fprintf(stderr, "%s\n", said);
    if (left_by) { /* end by the signal, as its sender expects */
        signal(left_by, SIG_DFL);
        raise(left_by);
    }
    return status;
}
