const DEEPEST_CAUSE = 4;
const CODE = /^[A-Za-z0-9_.-]{1,60}$/;

/**
 * An error as a log may hold it. The message is written only when the error says who must act (MirrorError and its like,
 * whose messages are constant words); of any other error, a cause included, only the class, a code and the places in our
 * source, since its text may hold bodies, names or addresses.
 */
export function describeError(error: Error, redactText: (text: string) => string, depth = 0): Record<string, unknown> {
  const cause = depth < DEEPEST_CAUSE && error.cause instanceof Error ? error.cause : null;
  return {
    type: CODE.test(error.name) ? error.name : 'Error',
    ...(saysWhoMustAct(error) ? ownFields(error, redactText) : codeOf(error)),
    stack: framesOf(error),
    ...(cause === null ? {} : { cause: describeError(cause, redactText, depth + 1) }),
  };
}

/** What an error with `actor` tells beside its message; the model's MirrorError has all of it. */
interface ActorError extends Error {
  actor: string;
  code: string;
  retry: string;
  status?: unknown;
  retryAfterMs?: unknown;
  ambiguous?: unknown;
}

function saysWhoMustAct(error: Error): error is ActorError {
  return ['actor', 'code', 'retry'].every((key) => typeof Reflect.get(error, key) === 'string');
}

function ownFields(error: ActorError, redactText: (text: string) => string): Record<string, unknown> {
  return {
    message: redactText(error.message),
    actor: error.actor,
    code: error.code,
    retry: error.retry,
    ...(typeof error.status === 'number' ? { status: error.status } : {}),
    ...(typeof error.retryAfterMs === 'number' ? { retryAfterMs: error.retryAfterMs } : {}),
    ...(error.ambiguous === true ? { ambiguous: true } : {}),
  };
}

function codeOf(error: Error): Record<string, unknown> {
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' && CODE.test(code) ? { code } : {};
}

/** The stack's frames without the header, which repeats the message. */
function framesOf(error: Error): string[] {
  const stack = (error.stack ?? '').replace(error.message, '');
  return stack
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^at .+:\d+:\d+\)?$/.test(line));
}
