import type { z } from 'zod';
import { type Actor, MirrorError, type Retry } from '../model/errors.ts';
import { LONGEST_RATE_LIMIT_WAIT_MS, UNNAMED_WAIT } from '../model/rate-limits.ts';
import type { WireResponse } from './wire.ts';

/** What an error concerns: one operation, or the whole target, whose other operations would meet it too. */
export type Scope = 'item' | 'target';

/** What an answer tells of itself. */
type Answered = Pick<WireResponse, 'status' | 'body'>;

/** One kind of error of a vendor, as data: how it is recognised, and what follows. `docs/errors.md` is made of these. */
export interface ErrorKind {
  /** What happened. `{vendor}` stands for the vendor's name. */
  message: string;
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
  /** What to do, for a person. */
  remedy?: string;
  /** What `docs/errors.md` says beside message and remedy, in Markdown. */
  note?: string;
  /** It says that the container is gone: believed once the container, asked alone, says so (`asked-alone.ts`). */
  tellsGone?: boolean;
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
  /** What it is about: names of fields, properties or permissions, never values. They end the message. */
  names?: readonly string[];
  /** Properties whose values were refused, as the target names them; they count for kinds that are about values. */
  refuses?: readonly string[];
  cause?: unknown;
}

/** The errors of one vendor. */
export interface VendorErrors<Kind extends string = string> {
  readonly vendor: string;
  readonly kinds: Readonly<Record<Kind, ErrorKind>>;
  /** The kind that one of the vendor's words means, the first that is known; null when none is. */
  known(words: readonly string[]): Kind | null;
  /** The kind of an answer that is not a success: by its words, else by its status. */
  kindOf(answer: Answered): Kind;
  /** An answer that is not a success, as an error. Nothing of its sentences goes into it: they may repeat what was sent. */
  of(answer: WireResponse): MirrorError;
  /** An error of a kind. */
  make(kind: Kind, details?: ErrorDetails): MirrorError;
  /** What an error concerns; null for one of no kind of the vendor's, such as a connection that failed. */
  scopeOf(error: MirrorError): Scope | null;
  /** Whether it says that the container is gone. */
  tellsGone(error: MirrorError): boolean;
}

/** Kinds of one target or one item, with what they have in common. */
function kindsOf(actor: Actor, retry: Retry) {
  const of =
    (scope: Scope) =>
    (message: string, more: Partial<ErrorKind> = {}): ErrorKind => ({ actor, retry, scope, message, ...more });
  return { item: of('item'), target: of('target') };
}

/** Kinds by who acts: an operator; a person who logs in; nobody, since the vendor recovers; a developer, later again or never. */
export const settings = kindsOf('settings', 'never');
export const authorization = kindsOf('authorization', 'never');
export const remote = kindsOf('remote', 'later');
export const contract = kindsOf('contract', 'later');
export const refusal = kindsOf('contract', 'never');

/** Kinds that vendors have in common, taken as they are by {@link common}, or with words, a pause or a remedy of the vendor's. */
export const COMMON = {
  'login-refused': authorization.target('{vendor} does not accept the login', { statuses: [401] }),
  'scope-missing': authorization.target('the login was not granted the permissions that are needed'),
  'rate-limited': remote.target('{vendor} asks for fewer requests', {
    statuses: [429],
    pauseMs: UNNAMED_WAIT.firstMs,
    pauseGrowsToMs: UNNAMED_WAIT.longestMs,
    longestWaitMs: LONGEST_RATE_LIMIT_WAIT_MS,
    ambiguous: false,
  }),
  'server-error': remote.item('{vendor} is failing', { statuses: ['5xx'] }),
  timeout: remote.item('the server gave up waiting', { statuses: [408] }),
  'changed-meanwhile': kindsOf('conflict', 'now').item('somebody else changed it at the same time', {
    statuses: [412],
  }),
  'not-found': contract.item('not found', { statuses: [404] }),
  refused: refusal.item('{vendor} refused the call', { statuses: ['4xx'] }),
  'unexpected-status': contract.item('unknown status'),
  'unexpected-answer': contract.item('{vendor} answered something else than its API would'),
  'html-answer': remote.target('an HTML page came in place of an answer of {vendor}', {
    ambiguous: true,
    note: 'A proxy, a portal or maintenance',
  }),
  'answer-missing': remote.item('the answer to a batch lacks a part', {
    ambiguous: true,
    note: 'It is sent again under the same name',
  }),
  'batch-dependency': remote.item('the call was not tried because another of its batch failed'),
  'contact-missing': remote.item("the patient's contact is not in {vendor} yet"),
  'notifications-refused': remote.target('{vendor} refused to tell of changes', {
    retry: 'never',
    note: 'Asked again each hour; the target is polled',
  }),
} as const satisfies Record<string, ErrorKind>;

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
 * @param vendor as messages name it
 * @throws TypeError when two kinds claim a status or a word, or share a code and not the scope
 */
export function defineErrors<const Kinds extends Readonly<Record<string, ErrorKind>>>(
  vendor: string,
  wordsOf: WordsOf,
  given: Kinds,
): VendorErrors<(keyof Kinds & string) | 'unexpected-status'> {
  type Kind = (keyof Kinds & string) | 'unexpected-status';
  const kinds = { ...common('unexpected-status'), ...given } as Readonly<Record<Kind, ErrorKind>>;
  const entries = Object.entries(kinds) as [Kind, ErrorKind][];
  const byWord = indexed(entries, ({ words = [] }) => words);
  const byStatus = indexed(entries, ({ statuses = [] }) => statuses.map(String));
  const scopes = scopesOf(entries);
  const goneCodes = new Set(
    entries.flatMap(([name, { code = name, tellsGone }]) => (tellsGone === true ? [code] : [])),
  );
  const known = (words: readonly string[]) => byWord.get(words.find((word) => byWord.has(word)) ?? '') ?? null;
  const kindOf = (answer: Answered): Kind => {
    const status = String(answer.status);
    const fallback = byStatus.get(status) ?? byStatus.get(`${status[0]}xx`) ?? 'unexpected-status';
    return known(wordsOf(answer)) ?? fallback;
  };
  const make = (kind: Kind, details: ErrorDetails = {}) => toError(vendor, kind, kinds[kind], details);
  return {
    vendor,
    kinds,
    known,
    kindOf,
    of: ({ status, body, retryAfterMs }) => make(kindOf({ status, body }), { status, retryAfterMs }),
    make,
    scopeOf: ({ code }) => scopes.get(code) ?? null,
    tellsGone: ({ code }) => goneCodes.has(code),
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
export const shared = defineErrors('the vendor', NO_WORDS, {
  ...common('answer-missing'),
  aborted: remote.target('the request was stopped', { note: 'The daemon ends, or a person gave up waiting' }),
  'entry-refused-as-gone': contract.item('the target is there, and answers for this entry as if it were not'),
  'reading-refused-as-gone': contract.target('the target is there, and can not be read as if it were not', {
    note: 'A change feed that answers so is begun anew',
  }),
  'identity-key-changed': settings.target(
    'there is a calendar of this target that was made with another identity key',
    {
      remedy:
        'configure the key of before as secrets.identityKey in clinic-mirror.yaml; or delete that calendar, if it is no longer wanted',
    },
  ),
  'calendar-of-another': settings.target(
    'a calendar with our owner tag belongs to somebody else: nothing is written to it, and none is made beside it',
    {
      remedy:
        'take that calendar out of those of the connected account; or name the one to write to in the tenant file',
      note: 'Somebody copied the tag and shared the calendar, or another account of the clinic made it',
    },
  ),
});

function toError(vendor: string, name: string, kind: ErrorKind, details: ErrorDetails): MirrorError {
  const { status, names = [], cause } = details;
  const { actor, retry, remedy, leastPauseMs = 0, longestWaitMs = Number.POSITIVE_INFINITY, code = name } = kind;
  const named = details.retryAfterMs ?? null;
  const waitMs = named === null ? (kind.pauseMs ?? kind.leastPauseMs) : Math.min(named, longestWaitMs);
  const message = kind.message.replaceAll('{vendor}', vendor);
  const about = names.length === 0 ? undefined : names.join(', ');
  return new MirrorError(about === undefined ? message : `${message}: ${about}`, {
    ...{ actor, code, retry, remedy, status, about, cause, concerns: kind.scope },
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
