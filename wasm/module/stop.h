/* Ends a call that must not go on. */
#ifndef LOCKLESS_STOP_H
#define LOCKLESS_STOP_H

/* Leaves the reason as the result, for a host that asks, and traps. The instance is of no further use. */
_Noreturn void stop(const char *reason);

#endif
