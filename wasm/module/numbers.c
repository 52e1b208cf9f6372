/*
 * Numbers and text. The C library's printf and strtod compute with 128-bit floats, which WebAssembly does in software; almost
 * every number here is a small whole one, for which there is a short way with the same result.
 */
#include "numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


int integer_to_text(char *to, long long value) {
  char digits[20];
  unsigned long long rest = value < 0 ? 0ULL - (unsigned long long)value : (unsigned long long)value;
  int count = 0, length = 0;
  do {
    digits[count++] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) to[length++] = '-';
  while (count > 0) to[length++] = digits[--count];
  return length;
}

/* Writes a number that is whole, less than `limit` and not minus zero; returns 0 when it is something else. */
static int short_integer(char *to, double value, double limit) {
  if (!(value > -limit && value < limit) || value != (double)(long long)value || (value == 0 && signbit(value))) return 0;
  int length = integer_to_text(to, (long long)value);
  to[length] = '\0';
  return length;
}

/* The sign of a NaN differs between processors, and WebAssembly leaves it open: it is always the one x86-64 gives to 0/0. */
static double with_sign(double value) {
  return value != value ? -fabs(value) : value;
}

int number_to_text(char *to, double value) {
  int length = short_integer(to, value, 1e14);
  return length ? length : snprintf(to, 32, "%.14g", with_sign(value));
}

/* Below which whole numbers these formats print every digit and nothing else; 0 for all other formats. */
static double whole_below(const char *format) {
  if (strcmp(format, "%.0f") == 0) return 1e18;
  if (strcmp(format, "%.17g") == 0) return 1e17;
  if (strcmp(format, "%.14g") == 0) return 1e14;
  return 0;
}

int number_formatted(char *to, const char *format, double value) {
  int length = short_integer(to, value, whole_below(format));
  return length ? length : sprintf(to, format, with_sign(value));
}

double number_from_text(const char *text, char **end) {
  const char *at = text;
  int negative = *at == '-';
  if (negative) at++;
  const char *first = at;
  long long value = 0;
  while (*at >= '0' && *at <= '9' && at - first < 15) value = value * 10 + (*at++ - '0');
  /* Anything that may belong to a longer number, or to another notation, goes the long way. */
  int goes_on = (*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z') || *at == '.';
  if (at == first || goes_on) return strtod(text, end);
  *end = (char *)at;
  return negative ? -(double)value : (double)value;
}
