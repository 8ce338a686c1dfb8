import type { z } from 'zod';
import { type Code, isCode, listed, type Message, message, render, type Text } from '../messages/message.ts';
import { LONGEST_RATE_LIMIT_WAIT_MS, UNNAMED_WAIT } from '../model/backoff.ts';
import { type Actor, type ErrorTexts, MirrorError, type Retry } from '../model/errors.ts';
import type { WireResponse } from './wire.ts';

/** What an error concerns: one operation, or the whole target, whose other operations would meet it too. */
export type Scope = 'item' | 'target';

/** What an answer tells of itself. */
type Answered = Pick<WireResponse, 'status' | 'body'>;

/**
 * One kind of error of a vendor, as data: how it is recognised, and what follows. What it says stands in `messages/`, by vendor and kind.
 * `docs/errors.md` is made of both.
 */
export interface ErrorKind {
  actor: Actor;
  retry: Retry;
  scope: Scope;
  /** Statuses by which an answer is recognised when none of its words is known; a whole class yields to a status. */
  statuses?: readonly (number | '2xx' | '4xx' | '5xx')[];
  /** The vendor's own codes and reasons, by which an answer is recognised whatever its status. */
  words?: readonly string[];
  /** Wait when the answer names none, in milliseconds. */
  pauseMs?: number;
  /** While the error lasts, a wait that the answer does not name grows up to this, in milliseconds. */
  pauseGrowsToMs?: number;
  /** No wait that an answer names is longer: what such a limit may ask for, in milliseconds. */
  longestWaitMs?: number;
  /** Wait at least this long, whatever the answer says, in milliseconds. */
  leastPauseMs?: number;
  /** Whether the call may have been carried out. Unless given: when the status is 500 or above. */
  ambiguous?: boolean;
  /** It is about values alone: the record may be written without the properties that the answer names. */
  refusesValues?: true;
  /** What `docs/errors.md` says beside message and remedy, in Markdown. */
  detail?: string;
  /** It says that the container is gone: believed once the container, asked alone, says so (`asked-alone.ts`). */
  provesGone?: boolean;
  /** The code where it is not the kind's name: kinds may share one, and then share their scope too. */
  code?: string;
}

/** What is known of one error beside its kind. */
export interface ErrorDetails {
  status?: number | undefined;
  /** What the answer asks us to wait, in milliseconds. */
  retryAfterMs?: number | null;
  /** In place of what the kind says. */
  ambiguous?: boolean;
  /** What it is about: names of fields, properties or permissions, never values, or sentences about them. They end the message. */
  names?: readonly Text[];
  /** Properties whose values were refused, as the target names them; they count for kinds that are about values. */
  refuses?: readonly string[];
  cause?: unknown;
}

/** The errors of one vendor. */
export interface VendorErrors<Kind extends string = string> {
  /** As messages name it. */
  readonly vendor: Text;
  readonly kinds: Readonly<Record<Kind, ErrorKind>>;
  /** The kind that one of the vendor's words means, the first that is known; null when none is. */
  kindByWords(words: readonly string[]): Kind | null;
  /** The kind of an answer that is not a success: by its words, else by its status. */
  kindOf(answer: Answered): Kind;
  /** An answer that is not a success, as an error. Nothing of its sentences goes into it: they may repeat what was sent. */
  of(answer: WireResponse): MirrorError;
  /** An error of a kind. */
  make(kind: Kind, details?: ErrorDetails): MirrorError;
  /** What happened and what to do. @param vendor in place of the vendor's name */
  textsOf(kind: Kind, vendor?: Text): { message: Message; remedy: Message | null };
  /** What an error concerns; null for one of no kind of the vendor's, such as a connection that failed. */
  scopeOf(error: MirrorError): Scope | null;
  /** Whether it says that the container is gone. */
  provesGone(error: MirrorError): boolean;
}

/** Kinds of one target or one item, with what they have in common. */
function kindsOf(actor: Actor, retry: Retry) {
  const of =
    (scope: Scope) =>
    (more: Partial<ErrorKind> = {}): ErrorKind => ({ actor, retry, scope, ...more });
  return { item: of('item'), target: of('target') };
}

/** Kinds by who acts: an operator; a person who logs in; nobody, since the vendor recovers; a developer, later again or never. */
export const settings = kindsOf('settings', 'never');
export const authorization = kindsOf('authorization', 'never');
export const remote = kindsOf('remote', 'later');
export const contract = kindsOf('contract', 'later');
export const refusal = kindsOf('contract', 'never');

/** Details of kinds that several vendors have, for `docs/errors.md`. */
export const OWN_MADE_AGAIN = { detail: 'One of our own is made again by the next `sync`' };
export const POLLED_UNTIL_THEN = {
  detail: 'Until then the target is polled ([notifications](runbook.md#notifications-of-changes))',
};

/** Kinds that vendors have in common, taken as they are by {@link common}, or with words, a pause or a remedy of the vendor's. */
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
  'unexpected-status': contract.item(),
  'unexpected-answer': contract.item(),
  'html-answer': remote.target({ ambiguous: true, detail: 'A proxy, a portal or maintenance' }),
  'answer-missing': remote.item({ ambiguous: true, detail: 'It is sent again under the same name' }),
  'batch-dependency': remote.item(),
  'contact-missing': remote.item(),
  'notifications-refused': remote.target({ retry: 'never', detail: 'Asked again each hour; the target is polled' }),
} as const satisfies Record<string, ErrorKind>;

/** Vendors as codes of `messages/` begin. */
type Vendor = Code extends infer Each ? (Each extends `${infer Name}.name` ? Name : never) : never;
type CommonKind = keyof typeof COMMON;

/** Common kinds as they are. */
export function common<const Names extends readonly CommonKind[]>(...names: Names) {
  return Object.fromEntries(names.map((name) => [name, COMMON[name]])) as Pick<typeof COMMON, Names[number]>;
}

/** What an answer says in the vendor's own words, the most telling first. */
export type WordsOf = (answer: Answered) => readonly string[];

/** For vendors whose answers say all by their status. */
export const NO_WORDS: WordsOf = () => [];

/**
 * The errors of a vendor by the names of their kinds, which are their codes.
 * @param vendor as codes of `messages/` begin
 * @throws TypeError when two kinds claim a status or a word, share a code and not the scope, or have no sentence
 */
export function defineErrors<const Kinds extends Readonly<Record<string, ErrorKind>>>(
  vendor: Vendor,
  wordsOf: WordsOf,
  vendorKinds: Kinds,
): VendorErrors<(keyof Kinds & string) | 'unexpected-status'> {
  type Kind = (keyof Kinds & string) | 'unexpected-status';
  const kinds = { ...common('unexpected-status'), ...vendorKinds } as Readonly<Record<Kind, ErrorKind>>;
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
    const fallback = byStatus.get(status) ?? byStatus.get(`${status[0]}xx`) ?? 'unexpected-status';
    return kindByWord(wordsOf(answer)) ?? fallback;
  };
  const name = message(`${vendor}.name`);
  const sentences = new Map(entries.map(([kind, { code = kind }]) => [kind, sentencesOf(vendor, [kind, code])]));
  const textsOf = (kind: Kind, named: Text = name) => {
    const { message: code, remedy } = sentences.get(kind)!;
    const values = { vendor: named };
    return { message: { code, values }, remedy: remedy === null ? null : { code: remedy, values } };
  };
  const make = (kind: Kind, details: ErrorDetails = {}) => toError(kind, kinds[kind], textsOf(kind), details);
  return {
    vendor: name,
    textsOf,
    kinds,
    kindByWords: kindByWord,
    kindOf,
    of: ({ status, body, retryAfterMs }) => make(kindOf({ status, body }), { status, retryAfterMs }),
    make,
    scopeOf: ({ code }) => scopes.get(code) ?? null,
    provesGone: ({ code }) => goneCodes.has(code),
  };
}

/** What an answer holds, by its schema. @throws MirrorError `unexpected-answer` */
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

/** What any vendor's connector may meet. */
export const shared = defineErrors('any', NO_WORDS, {
  ...common('answer-missing'),
  aborted: remote.target({ detail: 'The daemon ends, or a person gave up waiting' }),
  'entry-refused-as-gone': contract.item(),
  'reading-refused-as-gone': contract.target({ detail: 'A change feed that answers so is begun anew' }),
  'identity-key-changed': settings.target({}),
  'calendar-of-another': settings.target({
    detail: 'Somebody copied the tag and shared the calendar, or another account of the clinic made it',
  }),
});

/** Codes of what kinds say: the vendor's own sentence, else the one that vendors share. */
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
    if ((scopes.get(code) ?? scope) !== scope) throw new TypeError(`${code} concerns both an item and the target`);
    scopes.set(code, scope);
  }
  return scopes;
}
