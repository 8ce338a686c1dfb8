import { forTenant, message, render, type Text } from '../messages/message.ts';

/**
 * Errors classified by who must act. The code that detects an error sets the actor, and one function decides when to retry. A message holds
 * only constant words, ids and codes: no bodies, names, secrets, or URLs with credentials.
 */

/**
 * Who must act:
 * - `settings`: the operator changes the configuration;
 * - `authorization`: a user connects again;
 * - `remote`: no one, the daemon waits for the vendor;
 * - `contract`: a developer, because the vendor's answer is unknown;
 * - `conflict`: the daemon fetches and plans again;
 * - `guard`: an operator approves or rejects a hold.
 */
export type Actor = 'settings' | 'authorization' | 'remote' | 'contract' | 'conflict' | 'guard';

/** When a call may be repeated: at once, after a wait, or never without a change. */
export type Retry = 'now' | 'later' | 'never';

/** Facts of a {@link MirrorError} other than its message. */
export interface MirrorErrorOptions {
  actor: Actor;
  /** Stable kebab-case code. The number of codes is bounded, because each becomes a metric label. */
  code: string;
  retry: Retry;
  /** Wait requested by the vendor, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** Upper limit of a wait that the vendor did not name, in milliseconds. The wait grows while the error lasts. */
  growsToMs?: number | undefined;
  /** The call may have taken effect although no answer arrived. */
  ambiguous?: boolean;
  /** The call failed before anything was written, so no late effect is possible. */
  unsent?: boolean;
  /** Scope of the error, if known: one object or its whole target. */
  concerns?: 'item' | 'target' | undefined;
  /** HTTP status, if received. */
  status?: number | undefined;
  /** Next step for the operator. */
  remedy?: Text | undefined;
  /** The vendor's own words, see {@link MirrorError.vendorMessages}. */
  said?: readonly string[];
  /** End of the message: names of fields, rules and permissions, never values. */
  about?: string | undefined;
  /** Properties with refused values: the vendor possibly accepts the record without them. */
  refuses?: readonly string[] | undefined;
  cause?: unknown;
}

/** Texts of an error for any language. */
export interface ErrorTexts {
  message: Text;
  remedy: Text | null;
}

/** Stored form of an error: English for programs, data for other languages. */
export interface StoredError {
  code: string;
  actor: Actor;
  message: string;
  remedy: string | null;
  texts: ErrorTexts;
}

/** The only error class of the daemon. `cause` is kept for stack traces, and its content is never logged. */
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
   * Returns the vendor's own words. Show them only to the user who ran the call, because they can identify patients. No property holds the
   * words, so JSON and log lines cannot contain them.
   */
  vendorMessages(): readonly string[] {
    return this.#said;
  }

  /** Returns a copy with other words. */
  reworded(text: Text, remedy: Text | undefined = this.texts.remedy ?? undefined): MirrorError {
    return this.#changed(text, remedy, this.retryAfterMs);
  }

  /** Returns a copy with the remaining wait. */
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

/** Messages of the Redis client when no server answers, or no writable one because a replica takes over. */
const REDIS_SILENT =
  /^(Command timed out|Connection is closed\.|Cluster is ended\.|(Reached the max retries per request limit|Too many Cluster redirections|All sentinels are unreachable|None of startup nodes is available|Failed to refresh slots cache|CLUSTERDOWN|READONLY|MASTERDOWN|LOADING)\b.*)$/;

/**
 * Returns any thrown value as a {@link MirrorError}. A silent Redis is retried. An unforeseen error becomes a `contract` error with a later
 * retry.
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

/** Returns the stored form of an error. @param tenant name for the remedy; default `<tenant>` */
export function storedError({ code, actor, message, remedy, texts }: MirrorError, tenant = '<tenant>'): StoredError {
  return {
    code,
    actor,
    message,
    remedy: forTenant(remedy, tenant),
    texts: { message: texts.message, remedy: forTenant(texts.remedy, tenant) },
  };
}

/** Returns the error for a silent Redis, code `redis-unreachable`. @param address host and port of a single server */
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
 * Runs a parser without recording stacks. A malformed YAML text can cause one Error per character, and the stacks would take most of the
 * time.
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
