/* Conversions of numbers, as Lua on x86-64 does them. */
#ifndef LOCKLESS_NUMBERS_H
#define LOCKLESS_NUMBERS_H

/* What does not fit becomes the smallest integer, as the processor's own conversion does. */
static inline int number_to_int(double d) {
  return d > -2147483649.0 && d < 2147483648.0 ? (int)d : -2147483647 - 1;
}

static inline long long number_to_integer(double d) {
  return d >= -0x1p63 && d < 0x1p63 ? (long long)d : -0x7fffffffffffffffLL - 1;
}

static inline unsigned long long number_to_unsigned(double d) {
  if (!(d >= 0x1p63)) return (unsigned long long)number_to_integer(d);
  return (unsigned long long)number_to_integer(d - 0x1p63) ^ (1ULL << 63);
}

/* Writes a whole number, without an end mark, and returns its length; 20 bytes are enough. */
int integer_to_text(char *to, long long value);

/* What `tostring` shows. Returns the length; 32 bytes are enough. */
int number_to_text(char *to, double value);

/* As `strtod`. */
double number_from_text(const char *text, char **end);

/* Prints like `sprintf` with one of the formats %e %f %g of `string.format`. */
int number_formatted(char *to, const char *format, double value);

#endif
