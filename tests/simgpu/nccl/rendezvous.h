/* rendezvous.h - how the ranks of a communicator find each other by its id: they meet at a socket of the process that made
 * the id. Its name is in no file system, so nothing is left of it. */
#ifndef SIMGPU_NCCL_RENDEZVOUS_H
#define SIMGPU_NCCL_RENDEZVOUS_H
#include <nccl.h>

#include "board.h"

/* Opens the place, where a thread awaits the ranks of one communicator. 0 or -errno. */
int rendezvous_open(ncclUniqueId *ret_id);
/* Goes there, and waits for all others. NULL, errno: ECONNREFUSED, ECONNRESET: there is nobody, or one of them died first;
 * EINVAL: it is no id, or the ranks do not agree who they are. */
struct board *rendezvous_meet(const ncclUniqueId *id, unsigned ranks, unsigned rank);
#endif
