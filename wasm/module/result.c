#include "result.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exports.h"
#include "numbers.h"
#include "stop.h"

/* A buffer larger than this is given back with the next call. */
#define KEPT (1u << 20)

static char *buffer;
static size_t size, capacity;
/* Where the result is: the buffer, or a text of the module's own. */
static const char *place;
static size_t length;

EXPORT("result_ptr") const char *result_bytes(void) {
  return place ? place : buffer;
}

EXPORT("result_len") size_t result_size(void) {
  return place ? length : size;
}

void result_clear(void) {
  if (capacity > KEPT) {
    free(buffer);
    buffer = NULL;
    capacity = 0;
  }
  size = 0;
  place = NULL;
}

void result_is(const char *text) {
  place = text;
  length = strlen(text);
}

static void grow_to(size_t wanted) {
  char *moved = realloc(buffer, wanted);
  if (!moved) stop("the host has no more memory");
  buffer = moved;
  capacity = wanted;
}

void result_reserve(size_t more) {
  if (more > SIZE_MAX - size) stop("the host has no more memory");
  if (size + more > capacity) grow_to(size + more);
}

void result_add(const void *bytes, size_t count) {
  if (count > capacity - size) {
    if (count > SIZE_MAX / 2 - size) stop("the host has no more memory");
    grow_to((size + count) * 2);
  }
  memcpy(buffer + size, bytes, count);
  size += count;
}

void result_add_line(char first, long long value) {
  char line[24];
  line[0] = first;
  int end = 1 + integer_to_text(line + 1, value);
  line[end] = '\r';
  line[end + 1] = '\n';
  result_add(line, (size_t)end + 2);
}

_Noreturn void stop(const char *reason) {
  result_is(reason);
  __builtin_trap();
}
