/* Functions that the host calls, under the names of docs/wasm.md. */
#ifndef LOCKLESS_EXPORTS_H
#define LOCKLESS_EXPORTS_H

#define EXPORT(name) __attribute__((export_name(name)))

#endif
