import type { z } from 'zod';
import { LONGEST_RATE_LIMIT_WAIT_MS, UNNAMED_WAIT } from '../core/model/backoff.ts';
import { type Actor, type ErrorTexts, MirrorError, type Retry } from '../core/model/errors.ts';
import { type Code, isCode, listed, type Message, message, render, type Text } from '../messages/message.ts';
import type { WireResponse } from './wire.ts';

/** Extent of an error: one operation, or the whole target and therefore all its operations. */
export type Scope = 'item' | 'target';

type Answered = Pick<WireResponse, 'status' | 'body'>;

/**
 * One kind of error of a vendor, as data: identification and consequences. `messages/` contains the texts by vendor and kind.
 * `docs/errors.md` is generated from both.
 */
export interface ErrorKind {
  actor: Actor;
  retry: Retry;
  scope: Scope;
  /** Statuses that identify the error if none of its words is known. A single status takes precedence over a class of statuses. */
  statuses?: readonly (number | '2xx' | '4xx' | '5xx')[];
  /** Codes and reasons of the vendor that identify the error with any status. */
  words?: readonly string[];
  /** Pause if the response contains no delay, in milliseconds. */
  pauseMs?: number;
  /** Largest value of the growing pause while the error lasts and the response contains no delay, in milliseconds. */
  pauseGrowsToMs?: number;
  /** Longest accepted delay in a response, in milliseconds, according to the vendor's limit. */
  longestWaitMs?: number;
  /** Shortest pause, regardless of the response, in milliseconds. */
  leastPauseMs?: number;
  /** Whether the vendor may have carried out the call. Default: whether the status is 500 or above. */
  ambiguous?: boolean;
  /** Whether the error concerns only values: the record may be written without the properties in the response. */
  refusesValues?: true;
  /** Additional text for `docs/errors.md`, in Markdown. */
  detail?: string;
  /** Whether the error means an absent container, which a request to only the container must confirm (`outcomes.ts`). */
  provesGone?: boolean;
  /** Code, if different from the kind's name. Kinds with a common code must have a common scope. */
  code?: string;
}

/** Details of one error, in addition to its kind. */
export interface ErrorDetails {
  status?: number | undefined;
  /** Delay that the response requests, in milliseconds. */
  retryAfterMs?: number | null;
  /** Replaces the kind's value. */
  ambiguous?: boolean;
  /** End of the message: names of fields, properties or permissions, or sentences about them, but never values. */
  names?: readonly Text[];
  /** Properties with refused values, by the target's names; only for kinds that concern values. */
  refuses?: readonly string[];
  cause?: unknown;
}

/** Errors of one vendor. */
export interface VendorErrors<Kind extends string = string> {
  /** Name of the vendor in messages. */
  readonly vendor: Text;
  readonly kinds: Readonly<Record<Kind, ErrorKind>>;
  /** Returns the kind of the first known word, or null. */
  kindByWords(words: readonly string[]): Kind | null;
  /** Returns the kind of an unsuccessful response: by its words, otherwise by its status. */
  kindOf(answer: Answered): Kind;
  /** Returns the error of an unsuccessful response, without the response's texts, which may repeat sent data. */
  of(answer: WireResponse): MirrorError;
  make(kind: Kind, details?: ErrorDetails): MirrorError;
  /** Returns message and remedy. @param vendor replaces the vendor's name */
  textsOf(kind: Kind, vendor?: Text): { message: Message; remedy: Message | null };
  /** Returns the extent of an error, or null for an error without a kind, such as a failed network connection. */
  scopeOf(error: MirrorError): Scope | null;
  /** Checks whether the error means an absent container. */
  provesGone(error: MirrorError): boolean;
}

/** Returns constructors for kinds of one target or one object, with common values. */
function kindsOf(actor: Actor, retry: Retry) {
  const of =
    (scope: Scope) =>
    (more: Partial<ErrorKind> = {}): ErrorKind => ({ actor, retry, scope, ...more });
  return { item: of('item'), target: of('target') };
}

/** Kinds by actor: an operator; a user with a new connection; no one, since the vendor recovers; a developer, later or never. */
export const settings = kindsOf('settings', 'never');
export const authorization = kindsOf('authorization', 'never');
export const remote = kindsOf('remote', 'later');
export const contract = kindsOf('contract', 'later');
export const refusal = kindsOf('contract', 'never');

/** Details of kinds that several vendors share, for `docs/errors.md`. */
export const OWN_MADE_AGAIN = { detail: 'The next `sync` creates a new one' };
export const POLLED_UNTIL_THEN = {
  detail: 'Until then the daemon polls the target ([notifications](runbook.md#notifications-of-changes))',
};

/** Kinds that vendors share, used unchanged by {@link common}, or with the vendor's words, pause or remedy. */
export const COMMON = {
  'login-refused': authorization.target({ statuses: [401] }),
  'scope-missing': authorization.target(),
  'rate-limited': remote.target({
    statuses: [429],
    pauseMs: UNNAMED_WAIT.firstMs,
    pauseGrowsToMs: UNNAMED_WAIT.longestMs,
    longestWaitMs: LONGEST_RATE_LIMIT_WAIT_MS,
    ambiguous: false,
  }),
  'server-error': remote.item({ statuses: ['5xx'] }),
  timeout: remote.item({ statuses: [408] }),
  'changed-meanwhile': kindsOf('conflict', 'now').item({ statuses: [412] }),
  'not-found': contract.item({ statuses: [404] }),
  refused: refusal.item({ statuses: ['4xx'] }),
  'bad-xml': contract.item(),
  'unexpected-status': contract.item(),
  'unexpected-answer': contract.item(),
  'html-answer': remote.target({ ambiguous: true, detail: 'A proxy, a portal or maintenance' }),
  'answer-missing': remote.item({ ambiguous: true, detail: 'The daemon sends the request again with the same id' }),
  'batch-dependency': remote.item(),
  'contact-missing': remote.item(),
  'notifications-refused': remote.target({
    retry: 'never',
    detail: 'Retried every hour; until then the daemon polls the target',
  }),
} as const satisfies Record<string, ErrorKind>;

/** Vendor prefixes of the codes in `messages/`. */
type Vendor = Code extends infer Each ? (Each extends `${infer Name}.name` ? Name : never) : never;
type CommonKind = keyof typeof COMMON;

/** Returns unchanged common kinds. */
export function common<const Names extends readonly CommonKind[]>(...names: Names) {
  return Object.fromEntries(names.map((name) => [name, COMMON[name]])) as Pick<typeof COMMON, Names[number]>;
}

/** Returns the vendor's codes and reasons in a response, the most specific first. */
export type WordsOf = (answer: Answered) => readonly string[];

/** For vendors whose errors are identified only by status. */
export const NO_WORDS: WordsOf = () => [];

/**
 * Defines the errors of a vendor by the names of their kinds, which are also their codes.
 * @param vendor prefix of the codes in `messages/`
 * @throws TypeError if two kinds claim one status or one word, share a code without a common scope, or have no message
 */
export function defineErrors<const Kinds extends Readonly<Record<string, ErrorKind>>>(
  vendor: Vendor,
  wordsOf: WordsOf,
  vendorKinds: Kinds,
): VendorErrors<(keyof Kinds & string) | 'unexpected-status'> {
  type Kind = (keyof Kinds & string) | 'unexpected-status';
  const kinds = { ...common('unexpected-status'), ...vendorKinds } as Readonly<Record<Kind, ErrorKind>>;
  const name = message(`${vendor}.name`);
  const errors = errorsOf(name, wordsOf, kinds, (kind) => textsOf(kind));
  const sentences = new Map(
    (Object.entries(kinds) as [Kind, ErrorKind][]).map(([kind, { code = kind }]) => [
      kind,
      sentencesOf(vendor, [kind, code]),
    ]),
  );
  const textsOf = (kind: Kind, named: Text = name) => {
    const { message: code, remedy } = sentences.get(kind)!;
    const values = { vendor: named };
    return { message: { code, values }, remedy: remedy === null ? null : { code: remedy, values } };
  };
  return { ...errors, textsOf };
}

/** A kind of error whose texts are not in `messages/`, in one language. */
type OwnKind = readonly [kind: ErrorKind, message: string, remedy?: string];

/**
 * Defines the errors of a connector outside of `src/connectors/`, by the names of their kinds.
 * @param name of the vendor in messages
 * @throws TypeError as {@link defineErrors}
 */
export function defineOwnErrors<Kind extends string>(
  name: string,
  ownKinds: Readonly<Record<Kind, OwnKind>>,
): Omit<VendorErrors<Kind>, 'textsOf'> {
  const entries = Object.entries<OwnKind>(ownKinds);
  const kinds = Object.fromEntries(entries.map(([kind, [facts]]) => [kind, facts])) as Record<Kind, ErrorKind>;
  return errorsOf(name, NO_WORDS, kinds, (kind) => {
    const [, text, remedy = null] = ownKinds[kind];
    return { message: text, remedy };
  });
}

function errorsOf<Kind extends string>(
  vendor: Text,
  wordsOf: WordsOf,
  kinds: Readonly<Record<Kind, ErrorKind>>,
  textsOf: (kind: Kind) => ErrorTexts,
): Omit<VendorErrors<Kind>, 'textsOf'> {
  const entries = Object.entries(kinds) as [Kind, ErrorKind][];
  const byWord = indexed(entries, ({ words = [] }) => words);
  const byStatus = indexed(entries, ({ statuses = [] }) => statuses.map(String));
  const scopes = scopesOf(entries);
  const goneCodes = new Set(
    entries.flatMap(([name, { code = name, provesGone }]) => (provesGone === true ? [code] : [])),
  );
  const kindByWord = (words: readonly string[]) => byWord.get(words.find((word) => byWord.has(word)) ?? '') ?? null;
  const kindOf = (answer: Answered): Kind => {
    const status = String(answer.status);
    const fallback = byStatus.get(status) ?? byStatus.get(`${status[0]}xx`) ?? ('unexpected-status' as Kind);
    return kindByWord(wordsOf(answer)) ?? fallback;
  };
  const make = (kind: Kind, details: ErrorDetails = {}) => toError(kind, kinds[kind], textsOf(kind), details);
  return {
    vendor,
    kinds,
    kindByWords: kindByWord,
    kindOf,
    of: ({ status, body, retryAfterMs }) => make(kindOf({ status, body }), { status, retryAfterMs }),
    make,
    scopeOf: ({ code }) => scopes.get(code) ?? null,
    provesGone: ({ code }) => goneCodes.has(code),
  };
}

/** Parses a response by its schema. @throws MirrorError `unexpected-answer` */
export function parsedBy<Parsed>(
  { make }: Pick<VendorErrors<'unexpected-answer'>, 'make'>,
  schema: z.ZodType<Parsed>,
  body: unknown,
  details: ErrorDetails = {},
): Parsed {
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw make('unexpected-answer', details);
  return parsed.data;
}

/** Errors of connectors of any vendor. */
export const shared = defineErrors('any', NO_WORDS, {
  ...common('answer-missing', 'bad-xml'),
  aborted: remote.target({ detail: 'The daemon stopped, or a user cancelled the command' }),
  'record-refused-as-gone': contract.item(),
  'reading-refused-as-gone': contract.target({
    detail: 'The daemon restarts the change feed; if the error remains, report the code',
  }),
  'identity-key-changed': settings.target({}),
  'calendar-of-another': settings.target({
    detail: 'A user copied the tag and shared the calendar, or another account of the clinic created the calendar',
  }),
});

/** Returns the message codes of kinds: the vendor's message, otherwise the common message. */
function sentencesOf(vendor: Vendor, kinds: readonly string[]): { message: Code; remedy: Code | null } {
  for (const kind of kinds) {
    const codes = [`${vendor}.${kind}`, `vendor.${kind}`];
    const code = codes.find(isCode);
    if (code !== undefined)
      return { message: code, remedy: codes.map((each) => `${each}.remedy`).find(isCode) ?? null };
  }
  throw new TypeError(`messages/ has no sentence for ${kinds[0]} of ${vendor}`);
}

function toError(name: string, kind: ErrorKind, texts: ErrorTexts, details: ErrorDetails): MirrorError {
  const { status, names = [], cause } = details;
  const { actor, retry, leastPauseMs = 0, longestWaitMs = Number.POSITIVE_INFINITY, code = name } = kind;
  const named = details.retryAfterMs ?? null;
  const waitMs = named === null ? (kind.pauseMs ?? kind.leastPauseMs) : Math.min(named, longestWaitMs);
  const about = names.length === 0 ? undefined : listed(names);
  const text = about === undefined ? texts.message : message('about', { cause: texts.message, names: about });
  return new MirrorError(text, {
    ...{ actor, code, retry, remedy: texts.remedy ?? undefined, status, cause, concerns: kind.scope },
    about: about === undefined ? undefined : render(about),
    refuses: kind.refusesValues === true ? details.refuses : undefined,
    retryAfterMs: waitMs === undefined ? undefined : Math.max(waitMs, leastPauseMs),
    growsToMs: named === null ? kind.pauseGrowsToMs : undefined,
    ambiguous: details.ambiguous ?? kind.ambiguous ?? (status ?? 0) >= 500,
  });
}

function indexed<Kind extends string>(
  entries: readonly [Kind, ErrorKind][],
  marksOf: (kind: ErrorKind) => readonly string[],
): Map<string, Kind> {
  const index = new Map<string, Kind>();
  for (const [name, kind] of entries) {
    for (const ownerTag of marksOf(kind)) {
      if (index.has(ownerTag)) throw new TypeError(`both ${index.get(ownerTag)} and ${name} claim ${ownerTag}`);
      index.set(ownerTag, name);
    }
  }
  return index;
}

function scopesOf(entries: readonly [string, ErrorKind][]): Map<string, Scope> {
  const scopes = new Map<string, Scope>();
  for (const [name, { code = name, scope }] of entries) {
    if ((scopes.get(code) ?? scope) !== scope) throw new TypeError(`${code} concerns both a record and the target`);
    scopes.set(code, scope);
  }
  return scopes;
}
