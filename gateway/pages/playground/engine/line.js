// A call as a line for redis-cli, and a reply as redis-cli would say it, in short.

/** What needs no quotes, in redis-cli and in a shell alike. */
const BARE = /^[A-Za-z0-9_./:@%+=,-]+$/;

/** The line to paste: into redis-cli, or piped into it, or after `redis-cli` in a shell. */
export function commandLine(args) {
  return args.map(quoted).join(" ");
}

function quoted(argument) {
  if (BARE.test(argument)) return argument;
  return `'${argument.replaceAll("'", "\\'")}'`;
}

/** A reply on one line: `[general-03, job-12]`, `OK`, `NO_AVAILABLE_NODE no node ...`. */
export function replyLine(reply, limit = 200) {
  const text = shown(reply);
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
}

function shown(reply) {
  if (reply === null || reply === undefined) return "(nil)";
  if (Array.isArray(reply)) return `[${reply.map(shown).join(", ")}]`;
  if (reply instanceof Error) return reply.message;
  return String(reply);
}
