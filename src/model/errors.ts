import { forTenant, message, render, type Text } from '../messages/message.ts';

/**
 * Errors by who must act. Set where the error is born, read by one function that decides now, later or never.
 * A message holds constant words, ids and codes only: no bodies, no names, no secrets, no addresses with credentials.
 */

/**
 * Who must act:
 * - `settings`: the operator, by changing the configuration;
 * - `authorization`: a person, by connecting again;
 * - `remote`: nobody, wait for the other side;
 * - `contract`: a developer, the other side answered what we do not understand;
 * - `conflict`: the daemon itself, by reading again and planning again;
 * - `guard`: a person, by approving or rejecting a hold.
 */
export type Actor = 'settings' | 'authorization' | 'remote' | 'contract' | 'conflict' | 'guard';

/** When the same call may be tried again: at once, after a wait, or never without a change. */
export type Retry = 'now' | 'later' | 'never';

/** What a {@link MirrorError} carries beside its message. */
export interface MirrorErrorOptions {
  actor: Actor;
  /** Stable kebab-case code, bounded in number: it becomes a metric label. */
  code: string;
  retry: Retry;
  /** What the other side asked us to wait, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** The wait is our own, since the other side named none: it grows up to this while the error lasts, in milliseconds. */
  growsToMs?: number | undefined;
  /** The call may have been carried out although no answer came. */
  ambiguous?: boolean;
  /** It is known that nothing of the call was written, since it failed before: nothing of it can come late. */
  unsent?: boolean;
  /** What it concerns, where that is known: one entry, or the whole target that it belongs to. */
  concerns?: 'item' | 'target' | undefined;
  /** HTTP status, when one was received. */
  status?: number | undefined;
  /** What to do, for a person. */
  remedy?: Text | undefined;
  /** The other side's own words, see {@link MirrorError.vendorMessages}. */
  said?: readonly string[];
  /** What it is about, as the message ends: names of fields, rules and permissions, never values. */
  about?: string | undefined;
  /** Names of properties whose values the other side refused: without them it may take the record. */
  refuses?: readonly string[] | undefined;
  cause?: unknown;
}

/** What an error says, for any language. */
export interface ErrorTexts {
  message: Text;
  remedy: Text | null;
}

/** What is stored of an error: in English for programs, and as data for readers of other languages. */
export interface StoredError {
  code: string;
  actor: Actor;
  message: string;
  remedy: string | null;
  texts: ErrorTexts;
}

/** The one error class of the daemon. `cause` is kept for stack traces and is never logged with its content. */
export class MirrorError extends Error {
  override readonly name = 'MirrorError';
  readonly actor: Actor;
  readonly code: string;
  readonly retry: Retry;
  readonly retryAfterMs: number | undefined;
  readonly growsToMs: number | undefined;
  readonly ambiguous: boolean;
  readonly unsent: boolean;
  readonly concerns: 'item' | 'target' | undefined;
  readonly status: number | undefined;
  /** In English. */
  readonly remedy: string | undefined;
  /** Message and remedy for any language. */
  readonly texts: ErrorTexts;
  readonly #said: readonly string[];
  readonly about: string | undefined;
  readonly refuses: readonly string[] | undefined;

  constructor(text: Text, options: MirrorErrorOptions) {
    super(render(text), options.cause === undefined ? undefined : { cause: options.cause });
    this.actor = options.actor;
    this.code = options.code;
    this.retry = options.retry;
    this.retryAfterMs = options.retryAfterMs;
    this.growsToMs = options.growsToMs;
    this.ambiguous = options.ambiguous ?? false;
    this.unsent = options.unsent ?? false;
    this.concerns = options.concerns;
    this.status = options.status;
    this.remedy = options.remedy === undefined ? undefined : render(options.remedy);
    this.texts = { message: text, remedy: options.remedy ?? null };
    this.about = options.about;
    this.refuses = options.refuses;
    this.#said = options.said ?? [];
  }

  /**
   * What the other side said of it in its own words: for the person who asked, and nobody else, since it may name patients. No
   * property holds it, so that neither JSON nor a log line can.
   */
  vendorMessages(): readonly string[] {
    return this.#said;
  }

  /** The same error in other words. */
  reworded(text: Text, remedy: Text | undefined = this.texts.remedy ?? undefined): MirrorError {
    return this.#changed(text, remedy, this.retryAfterMs);
  }

  /** The same error when so much of its wait is left. */
  waiting(retryAfterMs: number): MirrorError {
    return this.#changed(this.texts.message, this.texts.remedy ?? undefined, retryAfterMs);
  }

  #changed(text: Text, remedy: Text | undefined, retryAfterMs: number | undefined): MirrorError {
    const { actor, code, retry, growsToMs, ambiguous, unsent, concerns, status, cause = this } = this;
    return new MirrorError(text, {
      actor,
      code,
      retry,
      retryAfterMs,
      growsToMs,
      ambiguous,
      unsent,
      concerns,
      status,
      remedy,
      about: this.about,
      refuses: this.refuses,
      said: this.#said,
      cause,
    });
  }
}

/** What the Redis client throws when no answer came, or none of a server that may be written to: a replica is just taking over. */
const REDIS_SILENT =
  /^(Command timed out|Connection is closed\.|Cluster is ended\.|(Reached the max retries per request limit|Too many Cluster redirections|All sentinels are unreachable|None of startup nodes is available|Failed to refresh slots cache|CLUSTERDOWN|READONLY|MASTERDOWN|LOADING)\b.*)$/;

/**
 * Any thrown value as a {@link MirrorError}: a Redis that gave no answer is waited for; what we did not foresee becomes a `contract` error
 * that is tried later.
 */
export function asMirrorError(error: unknown): MirrorError {
  if (error instanceof MirrorError) return error;
  if (error instanceof Error && REDIS_SILENT.test(error.message)) return redisUnreachable(error);
  return new MirrorError(message('unexpected'), {
    actor: 'contract',
    code: 'unexpected',
    retry: 'later',
    cause: error,
  });
}

/** What is stored of an error. @param tenant that its remedy names; else it names `<tenant>` */
export function storedError({ code, actor, message, remedy, texts }: MirrorError, tenant = '<tenant>'): StoredError {
  return {
    code,
    actor,
    message,
    remedy: forTenant(remedy, tenant),
    texts: { message: texts.message, remedy: forTenant(texts.remedy, tenant) },
  };
}

/** Redis gave no answer: code `redis-unreachable`. @param address host and port, where one server was asked */
export function redisUnreachable(cause: unknown, address: string | null = null): MirrorError {
  return new MirrorError(
    address === null ? message('redis-unreachable') : message('redis-unreachable.at', { address }),
    {
      actor: 'remote',
      code: 'redis-unreachable',
      retry: 'later',
      remedy: message('redis-unreachable.remedy'),
      cause,
    },
  );
}

/**
 * Runs a parser whose every complaint is an Error: a text that is no YAML may have one in each of its characters, and recording
 * the stack of each takes most of the time.
 */
export function withoutStacks<T>(parse: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return parse();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
