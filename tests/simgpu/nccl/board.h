/* board.h - the memory that the ranks of a communicator share: what each of them has posted, and which are still there.
 *
 * It is a memfd that the ranks pass to each other (rendezvous.h), so nothing is left of it when they have ended, in
 * whatever way. Posts are made on channels and numbered there from 0. Each channel has one rank that posts. The bytes of
 * a post stay until each of its readers has said that it is done with them. */
#ifndef SIMGPU_NCCL_BOARD_H
#define SIMGPU_NCCL_BOARD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BOARD_RANKS = 64,  /* at most */
    BOARD_POSTS = 512, /* of a channel at a time */
    BOARD_WORDS = 192  /* bytes that a rank can send to all others at once */
};

struct post {
    double ready_ns;       /* on the clock of the rank's device */
    double scale;          /* each element is first multiplied by it */
    uint64_t what;         /* digest of what all ranks have to agree on; 0: nothing */
    uint64_t bytes, start; /* of the offered bytes: how many, and where they lie */
    uint32_t readers;
};

struct board;

/* Creates a board for `ranks` ranks, given the processes that they are in. Returns its file, or -errno. */
int board_make(unsigned ranks, const int *pids);
/* Opens the board; takes over the file in any case. NULL: errno says why. */
struct board *board_open(int file, unsigned ranks, unsigned rank);
/* The rank leaves for good. */
void board_close(struct board *board);

/* Channels: of what a rank does together with all others, of what it sends to another, of its readiness to receive. */
unsigned board_to_all(const struct board *board, unsigned rank);
unsigned board_sent(const struct board *board, unsigned from, unsigned to);
unsigned board_wanted(const struct board *board, unsigned from, unsigned to);

/* Posts number `number` of the channel, with post->bytes from `bytes`. Number - BOARD_POSTS may have no readers any more.
 * Returns 0 or -errno. */
int board_post(struct board *board, unsigned channel, uint64_t number, struct post post, const void *bytes);
/* Returns the post, or NULL if it is not there yet. */
const struct post *board_look(const struct board *board, unsigned channel, uint64_t number);
/* Reads `bytes` of its bytes, from `at` on. Returns 0 or -errno. */
int board_read(const struct board *board, const struct post *post, uint64_t at, void *to, size_t bytes);
/* One of the readers no longer needs the post. */
void board_done(struct board *board, unsigned channel, uint64_t number);

/* Returns false if the rank's process has ended, or the rank has left. */
bool board_has(const struct board *board, unsigned rank);

struct shown {       /* how far a process is in time (../program.h) */
    double clock_ns; /* it posts nothing before that; infinite until it reports a time */
    double moved_ns;
};

/* Sets the clock on all boards of this process. */
void boards_show_clock(double clock_ns, double moved_ns);
/* Returns the clock of the rank's process. */
struct shown board_clock(const struct board *board, unsigned rank);
/* Returns true if the rank is in this process. */
bool board_is_here(const struct board *board, unsigned rank);

/* Sends `mine` (BOARD_WORDS bytes) to all others, and waits until it has theirs, in the order of ranks. Returns false if
 * one of them has gone, or *stop was set. */
bool board_tell(struct board *board, const void *mine, void *ret_all, const bool *stop);
#endif
