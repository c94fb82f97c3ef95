/* rendezvous.c - a thread that hands the ranks their board once all have come. */
#include "rendezvous.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAGIC "simgpu-nccl"

struct id { /* what an ncclUniqueId holds */
    char magic[16];
    char name[96];
};

struct hello {
    unsigned ranks, rank;
};

struct place {
    int listening;
    unsigned ranks, come; /* 0 ranks: nobody has come */
    int sockets[BOARD_RANKS], pids[BOARD_RANKS];
};

static socklen_t address_of(const char *name, struct sockaddr_un *ret_address)
{
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX}; /* sun_path[0] stays 0: an abstract name */
    strncpy(ret_address->sun_path + 1, name, sizeof ret_address->sun_path - 2);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

/* ---- the place ---- */

static int pid_of(int socket)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 ? who.pid : -1;
}

/* False: it is not one of them. */
static bool let_in(struct place *p, int socket)
{
    struct hello hello;
    if (recv(socket, &hello, sizeof hello, MSG_WAITALL) != sizeof hello || hello.ranks == 0 || hello.ranks > BOARD_RANKS ||
        hello.rank >= hello.ranks || (p->ranks && p->ranks != hello.ranks) || p->sockets[hello.rank] >= 0)
        return false;
    p->ranks = hello.ranks;
    p->sockets[hello.rank] = socket;
    p->pids[hello.rank] = pid_of(socket);
    p->come++;
    return true;
}

/* False: one of those who came is gone. */
static bool await_ranks(struct place *p)
{
    while (p->ranks == 0 || p->come < p->ranks) {
        struct pollfd polled[1 + BOARD_RANKS] = {{.fd = p->listening, .events = POLLIN}};
        for (unsigned i = 0; i < BOARD_RANKS; i++)
            polled[1 + i] = (struct pollfd){.fd = p->sockets[i], .events = POLLIN};
        if (poll(polled, 1 + BOARD_RANKS, -1) < 0 && errno != EINTR)
            return false;
        for (unsigned i = 0; i < BOARD_RANKS; i++)
            if (polled[1 + i].revents)
                return false;
        int socket = polled[0].revents ? accept4(p->listening, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (socket >= 0 && !let_in(p, socket)) {
            close(socket);
            return false;
        }
    }
    return true;
}

static void hand_out(const struct place *p, int file)
{
    char byte = 0, control[CMSG_SPACE(sizeof file)] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(c), &file, sizeof file);
    for (unsigned i = 0; i < p->ranks; i++)
        (void)sendmsg(p->sockets[i], &message, MSG_NOSIGNAL);
}

static void *serve(void *argument)
{
    struct place *p = argument;
    int file = await_ranks(p) ? board_make(p->ranks, p->pids) : -1;
    if (file >= 0) {
        hand_out(p, file);
        close(file);
    }
    for (unsigned i = 0; i < BOARD_RANKS; i++)
        if (p->sockets[i] >= 0)
            close(p->sockets[i]);
    close(p->listening);
    free(p);
    return NULL;
}

static int start(struct place *p)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are for the program's threads */
    const int r = pthread_create(&thread, NULL, serve, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0)
        pthread_detach(thread);
    return -r;
}

int rendezvous_open(ncclUniqueId *ret_id)
{
    struct id id = {.magic = MAGIC};
    struct sockaddr_un address;
    uint64_t noise[2];
    if (getrandom(noise, sizeof noise, 0) != sizeof noise)
        return -errno;
    snprintf(id.name, sizeof id.name, MAGIC "-%d-%016llx%016llx", (int)getpid(), (unsigned long long)noise[0],
             (unsigned long long)noise[1]);
    struct place *p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    memset(p->sockets, -1, sizeof p->sockets);
    const socklen_t size = address_of(id.name, &address);
    p->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r = p->listening >= 0 && bind(p->listening, (struct sockaddr *)&address, size) == 0 &&
                    listen(p->listening, BOARD_RANKS) == 0
                ? 0
                : -errno;
    if (r == 0)
        r = start(p);
    if (r < 0) {
        if (p->listening >= 0)
            close(p->listening);
        free(p);
        return r;
    }
    memset(ret_id, 0, sizeof *ret_id);
    memcpy(ret_id, &id, sizeof id);
    return 0;
}

/* ---- who goes there ---- */

/* The file that is handed out there, or -1. */
static int receive(int socket)
{
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n;
    int file;
    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    const struct cmsghdr *c = n == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!c || c->cmsg_type != SCM_RIGHTS) {
        errno = n < 0 ? errno : ECONNRESET;
        return -1;
    }
    memcpy(&file, CMSG_DATA(c), sizeof file);
    return file;
}

struct board *rendezvous_meet(const ncclUniqueId *unique, unsigned ranks, unsigned rank)
{
    struct id id;
    struct sockaddr_un address;
    const struct hello hello = {ranks, rank};
    memcpy(&id, unique, sizeof id);
    if (strcmp(id.magic, MAGIC) != 0 || !memchr(id.name, 0, sizeof id.name)) {
        errno = EINVAL;
        return NULL;
    }
    const socklen_t size = address_of(id.name, &address);
    int there = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), file = -1;
    if (there >= 0 && connect(there, (struct sockaddr *)&address, size) == 0 &&
        send(there, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello)
        file = receive(there);
    const int error = errno;
    if (there >= 0)
        close(there);
    if (file < 0) {
        errno = error;
        return NULL;
    }
    return board_open(file, ranks, rank);
}
