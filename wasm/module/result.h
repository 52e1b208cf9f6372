/* What a call gives its host: bytes that stay in place until the next call. */
#ifndef LOCKLESS_RESULT_H
#define LOCKLESS_RESULT_H

#include <stddef.h>

/* Empties the result. */
void result_clear(void);

/* Makes room for so many bytes more at once. */
void result_reserve(size_t size);

void result_add(const void *bytes, size_t size);

/* Adds an integer as text, with a byte before it and a line end after it, as RESP wants it. */
void result_add_line(char first, long long value);

const char *result_bytes(void);
size_t result_size(void);

/* A result that need not be copied: it must stay where it is. */
void result_is(const char *text);

#endif
