/* rendezvous.h - lets the ranks of a communicator find each other by its id: they meet at a socket of the process that
 * made the id. The socket has no name in the file system, so nothing is left of it. */
#ifndef SIMGPU_NCCL_RENDEZVOUS_H
#define SIMGPU_NCCL_RENDEZVOUS_H
#include <nccl.h>

#include "board.h"

/* Opens the socket, where a thread awaits the ranks of one communicator. Returns 0 or -errno. */
int rendezvous_open(ncclUniqueId *ret_id);
/* Connects to it, and waits for all others. Returns NULL with errno ECONNREFUSED or ECONNRESET: nobody is there, or a
 * rank died before that; EINVAL: it is no id, or the ranks do not agree on their numbers. */
struct board *rendezvous_meet(const ncclUniqueId *id, unsigned ranks, unsigned rank);
#endif
