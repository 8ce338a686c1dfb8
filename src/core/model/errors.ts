import { forTenant, message, render, type Text } from '../../messages/message.ts';

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

/** Messages of the Redis client when no server answers. */
const REDIS_SILENT =
  /^(Command timed out|Connection is closed\.|Cluster is ended\.|(Reached the max retries per request limit|Too many Cluster redirections|All sentinels are unreachable|None of startup nodes is available|Failed to refresh slots cache)\b.*)$/;

/**
 * Refusals of Redis, by the first words of its answer.
 * @see https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors
 * @see https://github.com/redis/redis/blob/7.4.0/src/server.c `createSharedObjects`
 */
const REDIS_REFUSALS = {
  'redis-full': { actor: 'settings', words: ['OOM'] },
  'redis-read-only': { actor: 'remote', words: ['READONLY'] },
  'redis-no-replicas': { actor: 'settings', words: ['NOREPLICAS'] },
  'redis-snapshot-failed': { actor: 'settings', words: ['MISCONF'] },
  'redis-rights': { actor: 'settings', words: ['NOPERM'] },
  'redis-login-refused': { actor: 'settings', words: ['NOAUTH', 'WRONGPASS'] },
  'redis-database-missing': { actor: 'settings', words: [] },
  'redis-loading': { actor: 'remote', words: ['LOADING'] },
  'redis-busy': { actor: 'remote', words: ['BUSY', 'UNKILLABLE'] },
  'redis-cluster-down': { actor: 'remote', words: ['CLUSTERDOWN', 'MASTERDOWN', 'TRYAGAIN'] },
} as const satisfies Record<string, { actor: Actor; words: readonly string[] }>;

type RedisRefusal = keyof typeof REDIS_REFUSALS;

const REFUSAL_OF_WORD: ReadonlyMap<string, RedisRefusal> = new Map(
  Object.entries(REDIS_REFUSALS).flatMap(([code, { words }]) => words.map((word) => [word, code as RedisRefusal])),
);
/** Errors inside a script: since Redis 7 the error itself, except for permissions; before, after the position. */
const IN_SCRIPT = /^ERR (?:Error (?:running|compiling) script .*?: -)(?=[A-Z])/;
const REFUSED_IN_SCRIPT = /^(?:ERR )?(?:ACL failure in script|The user executing the script can't )/;
/** Refused `AUTH` of a server without passwords, or before Redis 6. */
const LOGIN_UNUSABLE = /^ERR (?:invalid password|AUTH .* without any password configured|Client sent AUTH)/i;

/** Answers to `SELECT` for a number that the server does not have. */
const NO_DATABASE = /^ERR (?:DB index is out of range|invalid DB index)/;

/** Returns the code of a refusal by Redis; null for other errors. A transaction is refused for its first refused command. */
function refusalOf(error: Error): RedisRefusal | null {
  const queued: unknown = Reflect.get(error, 'previousErrors');
  const ofNode: unknown = Reflect.get(error, 'lastNodeError');
  for (const inner of [...(Array.isArray(queued) ? queued : []), ofNode]) {
    const found = inner instanceof Error ? refusalOf(inner) : null;
    if (found !== null) return found;
  }
  const said = error.message.replace(IN_SCRIPT, '');
  if (REFUSED_IN_SCRIPT.test(said)) return 'redis-rights';
  if (LOGIN_UNUSABLE.test(said)) return 'redis-login-refused';
  if (NO_DATABASE.test(said)) return 'redis-database-missing';
  return REFUSAL_OF_WORD.get(/^[A-Z]+(?= |$)/.exec(said)?.[0] ?? '') ?? null;
}

/** Code of reminders and uncertainties after a loss of decisions. */
export const STATE_WENT_BACK = 'state-went-back';

/** Codes of a Redis that does not answer, or refuses commands. */
export const REDIS_FAULTS: ReadonlySet<string> = new Set(['redis-unreachable', ...Object.keys(REDIS_REFUSALS)]);

/** Returns whether a code means that Redis does not answer, or refuses commands. */
export function isRedisFault(code: string): boolean {
  return REDIS_FAULTS.has(code);
}

/** Returns the error of the Redis client as a {@link MirrorError} of {@link isRedisFault}; null for other values. */
export function redisFaultOf(error: unknown): MirrorError | null {
  if (error instanceof MirrorError) return isRedisFault(error.code) ? error : null;
  if (!(error instanceof Error)) return null;
  const code = refusalOf(error);
  if (code === null) return REDIS_SILENT.test(error.message) ? redisUnreachable(error) : null;
  const [, command] = /'([a-z|]{1,30})' command/.exec(error.message) ?? [];
  const what =
    command === undefined
      ? message('redis-rights.some')
      : message('redis-rights.commands', { names: command.toUpperCase() });
  return new MirrorError(code === 'redis-rights' ? message(code, { what }) : message(code), {
    actor: REDIS_REFUSALS[code].actor,
    code,
    retry: 'later',
    remedy: message(`${code}.remedy`),
    cause: error,
  });
}

/** Returns the code of a fault of Redis in the data of a log line; null for other data. */
export function redisCodeIn(data: object): string | null {
  const code: unknown = Reflect.get(data, 'code');
  if (typeof code === 'string' && isRedisFault(code)) return code;
  return redisFaultOf(Reflect.get(data, 'error'))?.code ?? null;
}

/**
 * Returns any thrown value as a {@link MirrorError}. A Redis that is silent or refuses commands is retried. An unforeseen error becomes a
 * `contract` error with a later retry.
 */
export function asMirrorError(error: unknown): MirrorError {
  if (error instanceof MirrorError) return error;
  const fault = redisFaultOf(error);
  if (fault !== null) return fault;
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
