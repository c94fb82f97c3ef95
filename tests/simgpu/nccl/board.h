/* board.h - the memory that the ranks of a communicator share: what each of them has posted, and who is still there.
 *
 * It is a memfd that the ranks hand to each other (rendezvous.h), so nothing is left of it when they are gone, however they
 * went. Posts are made on channels and numbered there from 0. Each channel has one rank that posts. The bytes of a post stay
 * until each of its readers has said that it is done with them. */
#ifndef SIMGPU_NCCL_BOARD_H
#define SIMGPU_NCCL_BOARD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BOARD_RANKS = 64,  /* at most */
    BOARD_POSTS = 512, /* of a channel at a time */
    BOARD_WORDS = 192  /* bytes that a rank can tell all others at once */
};

struct post {
    double ready_ns;       /* on the clock of the rank's device */
    double scale;          /* each element is multiplied by it first */
    uint64_t what;         /* digest of what all ranks have to agree about; 0: nothing */
    uint64_t bytes, start; /* of what is offered, and where it lies */
    uint32_t readers;
};

struct board;

/* A new one for so many ranks, with the processes that they are in: its file, or -errno. */
int board_make(unsigned ranks, const int *pids);
/* Takes the file over, whatever comes of it. NULL: errno says why. */
struct board *board_open(int file, unsigned ranks, unsigned rank);
/* The rank leaves for good. */
void board_close(struct board *board);

/* Channels: of what a rank does together with all, of what it sends to another, of its readiness to receive. */
unsigned board_to_all(const struct board *board, unsigned rank);
unsigned board_sent(const struct board *board, unsigned from, unsigned to);
unsigned board_wanted(const struct board *board, unsigned from, unsigned to);

/* Posts number `number` of the channel, with post->bytes from `bytes`. Number - BOARD_POSTS has no reader any more. 0 or
 * -errno. */
int board_post(struct board *board, unsigned channel, uint64_t number, struct post post, const void *bytes);
/* NULL: it is not there yet. */
const struct post *board_look(const struct board *board, unsigned channel, uint64_t number);
/* So many of its bytes, from `at` on. 0 or -errno. */
int board_read(const struct board *board, const struct post *post, uint64_t at, void *to, size_t bytes);
/* One of the readers needs the post no more. */
void board_done(struct board *board, unsigned channel, uint64_t number);

/* False: its process has ended, or it has left. */
bool board_has(const struct board *board, unsigned rank);

struct shown {       /* how far a process is in time (../program.h) */
    double clock_ns; /* nothing is posted by it before that; infinite, as long as nobody says */
    double moved_ns;
};

/* For all boards of this process. */
void boards_show_clock(double clock_ns, double moved_ns);
/* Of the process of the rank. */
struct shown board_clock(const struct board *board, unsigned rank);
/* Whether it is this one. */
bool board_is_here(const struct board *board, unsigned rank);

/* The host tells all others `mine` (BOARD_WORDS bytes), and waits until it knows theirs, rank by rank. False: one of them is
 * gone, or *stop was set. */
bool board_tell(struct board *board, const void *mine, void *ret_all, const bool *stop);
#endif
