import { asMirrorError, type MirrorError } from '../model/errors.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../model/operations.ts';
import type { Clock, Instant } from '../model/time.ts';
import type { Authorizer, Connector, Subscriptions } from './connector.ts';
import { shared, type VendorErrors } from './errors.ts';
import { askedAlone, failed, type Judge, resolveOutcomes } from './outcomes.ts';
import { type Calendars, locateCalendar, prepareCalendar } from './owner.ts';
import type { WireCall, WireResponse } from './wire.ts';

/**
 * What one operation does, step by step: it gives a call, is given the answer, and so on to its result. Many flows go
 * forward together, so that the calls of one round share a batch and no batch holds two calls of one flow.
 */
export type Flow<Result> = Generator<WireCall, Result, WireResponse>;

/** How a flow ended. */
type FlowEnd<Result> = { result: Result } | { error: MirrorError };

/** Sends calls together; gives their answers in the calls' order, null where the answer lacks a part. */
export type SendCalls = (calls: readonly WireCall[]) => Promise<(WireResponse | null)[]>;

/**
 * Carries out operations by their flows.
 * @returns one outcome per operation
 * @throws MirrorError when the whole target failed; see {@link resolveOutcomes}
 */
export async function applyFlows(
  operations: readonly Operation[],
  flowOf: (operation: Operation) => Flow<Outcome>,
  send: SendCalls,
  errors: Pick<VendorErrors, 'scopeOf'>,
): Promise<Outcome[]> {
  const ends = await runFlows(operations.map(flowOf), send);
  const outcomes = ends.map((end, index) => ('error' in end ? failed(operations[index]!, end.error) : end.result));
  const [first] = ends.flatMap((end) => ('error' in end ? [end.error] : []));
  // Of one operation alone it may also be the operation that was refused, which says nothing against the target.
  const mayBeOfCall = ends.length > 1 || first?.actor === 'remote' || first?.actor === 'authorization';
  return resolveOutcomes(outcomes, errors, (error) => mayBeOfCall && error === first);
}

/** What flows found, without the nulls of those that found nothing. @throws MirrorError that of the first flow that failed */
export async function findByFlows<Found>(flows: readonly Flow<Found | null>[], send: SendCalls): Promise<Found[]> {
  return (await runFlows(flows, send)).flatMap((end) => {
    if ('error' in end) throw end.error;
    return end.result === null ? [] : [end.result];
  });
}

/** A vendor of calendars whose events are found and written by flows. */
export interface FlowVendor<Scope> {
  errors: Judge['errors'];
  /** What the flows of one calendar have in common. */
  scopeOf(container: string): Scope;
  batches(signal: AbortSignal): SendCalls;
  calendarsOf(signal: AbortSignal): Calendars;
  operationFlow(scope: Scope, operation: Operation): Flow<Outcome>;
  findFlow(scope: Scope, key: ItemKey): Flow<RemoteItem | null>;
  /** The page that the vendor gives of an event, with its id; null when it gives none. */
  pageFlow(scope: Scope, id: string): Flow<[string, string] | null>;
  read: Connector['read'];
  changes: Connector['changes'];
  subscriptions: Subscriptions;
}

/** The connector of a vendor's calendar: the configured one, or one of ours. */
export function flowConnector<Scope>(
  vendor: FlowVendor<Scope>,
  calendar: { id: string } | { create: string },
): Connector {
  const { errors, scopeOf, batches, calendarsOf, read, changes, subscriptions } = vendor;
  const connector: Connector = {
    prepare: (storedId, signal) => prepareCalendar(calendarsOf(signal), calendar, storedId),
    ...('create' in calendar ? { locate: (signal: AbortSignal) => locateCalendar(calendarsOf(signal)) } : {}),
    async apply(container, operations, signal) {
      const scope = scopeOf(container);
      return applyFlows(operations, (operation) => vendor.operationFlow(scope, operation), batches(signal), errors);
    },
    find(container, keys, signal) {
      const flows = keys.map((key) => vendor.findFlow(scopeOf(container), key));
      return findByFlows(flows, batches(signal));
    },
    async pagesOf(container, remoteIds, signal) {
      const flows = remoteIds.map((id) => vendor.pageFlow(scopeOf(container), id));
      return new Map(await findByFlows(flows, batches(signal)));
    },
    read,
    changes,
    subscriptions,
  };
  return askedAlone(connector, {
    errors,
    isThere: async (container, signal) => (await calendarsOf(signal).find(container)) !== null,
  });
}

interface Waiting<Result> {
  index: number;
  flow: Flow<Result>;
  call: WireCall;
}

/** Runs flows to their ends. Never throws: what `send` throws ends every flow that was waiting for an answer. */
export async function runFlows<Result>(flows: readonly Flow<Result>[], send: SendCalls): Promise<FlowEnd<Result>[]> {
  const ends: FlowEnd<Result>[] = [];
  const advance = (index: number, flow: Flow<Result>, step: () => IteratorResult<WireCall, Result>) => {
    try {
      const { done, value } = step();
      if (done) ends[index] = { result: value };
      else waiting.push({ index, flow, call: value });
    } catch (error) {
      ends[index] = { error: asMirrorError(error) };
    }
  };
  const waiting: Waiting<Result>[] = [];
  flows.forEach((flow, index) => {
    advance(index, flow, () => flow.next());
  });
  while (waiting.length > 0) {
    for (const round of intoRounds(waiting.splice(0))) {
      const answers = await sendRound(round, send);
      for (const { index, flow, call } of round) {
        const answer = answers(call);
        advance(index, flow, () => (answer instanceof Error ? flow.throw(answer) : flow.next(answer)));
      }
    }
  }
  return ends;
}

/** Calls that must go alone go alone, after those that go together. */
function intoRounds<Result>(waiting: readonly Waiting<Result>[]): Waiting<Result>[][] {
  const together = waiting.filter(({ call }) => !call.alone);
  const alone = waiting.filter(({ call }) => call.alone).map((one) => [one]);
  return together.length > 0 ? [together, ...alone] : alone;
}

/** Sends a round, equal reads only once. */
async function sendRound<Result>(round: readonly Waiting<Result>[], send: SendCalls) {
  const calls = new Map<string | WireCall, WireCall>();
  const nameOf = (call: WireCall) => (call.method === 'GET' ? call.path : call);
  for (const { call } of round) calls.set(nameOf(call), call);
  const names = [...calls.keys()];
  let answers: (WireResponse | null)[];
  try {
    answers = await send([...calls.values()]);
  } catch (error) {
    const failure = asMirrorError(error);
    return () => failure;
  }
  const byName = new Map(names.map((name, index) => [name, answers[index] ?? null]));
  return (call: WireCall) => byName.get(nameOf(call)) ?? shared.make('answer-missing');
}

/** `refused`: the batch as a whole was refused ({@link isRefusedWhole}), and nothing of it was carried out. */
export type BatchAnswer = { answers: (WireResponse | null)[] } | { refused: WireResponse };

/** A vendor's way to send batches. */
interface BatchVendor {
  authorizer: Authorizer;
  /** Most calls in one batch. */
  batchSize: number;
  sendBatch(calls: readonly WireCall[], authorization: string, signal: AbortSignal): Promise<BatchAnswer>;
  /** The error of a login that was renewed and refused again. */
  loginRefused(answer: WireResponse): MirrorError;
  /** Where parts of one batch may crowd each other out. */
  crowding?: Crowding;
}

/** How a vendor refuses a part for the others that came with it, and for how long no batch holds more than came through then. */
interface Crowding {
  clock: Clock;
  isCrowdedOut(answer: WireResponse): boolean;
  restMs: number;
}

/** Statuses that no member of a batch brings about: of the login, of limits, of a server that is busy. */
const NO_MEMBERS_FAULT: ReadonlySet<number> = new Set([403, 407, 408, 421, 423, 424, 425, 429]);

/** Whether the status of a whole batch may be the fault of a member, or of the login: then it is sent again. */
export function isRefusedWhole(status: number): boolean {
  return status >= 400 && status < 500 && !NO_MEMBERS_FAULT.has(status);
}

/**
 * Calls `send` with the login's header; after a 401 once more with a renewed one.
 * @throws MirrorError `authorization` when the renewed login is refused too
 */
export async function withLogin(
  { authorizer, loginRefused }: Pick<BatchVendor, 'authorizer' | 'loginRefused'>,
  signal: AbortSignal,
  send: (authorization: string) => Promise<WireResponse>,
): Promise<WireResponse> {
  const first = await send(await authorizer.header(signal));
  if (first.status !== 401) return first;
  const second = await send(await authorizer.renew(signal));
  if (second.status === 401) throw loginRefused(second);
  return second;
}

/**
 * Sends calls in batches, one after the other. A batch that the server refuses is halved. When it was too large, later ones are no larger than
 * what it took; when a call is refused alone too, that one was to blame, and those after it grow again; one whose parts crowded each other out lets the next ones be as small as what came through, for a while. Parts that
 * were refused for their login are sent once more with a renewed one.
 * @returns answers in the calls' order, null for a part that the answer lacks
 */
export function createBatchSender(vendor: BatchVendor): (signal: AbortSignal) => SendCalls {
  const { crowding } = vendor;
  let limit = vendor.batchSize;
  let crowded: { limit: number; until: Instant } | null = null;
  const limitNow = () =>
    crowding !== undefined && crowded !== null && crowding.clock() < crowded.until
      ? Math.min(limit, crowded.limit)
      : limit;
  const recordCrowding = (answers: readonly (WireResponse | null)[]) => {
    if (crowding === undefined) return;
    const crowdedOut = answers.filter((answer) => answer !== null && crowding.isCrowdedOut(answer)).length;
    const through = answers.length - crowdedOut;
    // Where nothing came through it is not the others that were in the way.
    if (crowdedOut > 0 && through > 0) crowded = { limit: through, until: crowding.clock() + crowding.restMs };
  };
  return (signal) => async (calls) => {
    const login = { authorization: await vendor.authorizer.header(signal), renewed: false };
    const answers: (WireResponse | null)[] = [];
    const part = { size: limit, isOneToBlame: false };
    while (answers.length < calls.length) {
      const slice = calls.slice(answers.length, answers.length + Math.min(part.size, limitNow()));
      const batch = await sendWithLogin(vendor, slice, login, signal);
      if ('refused' in batch) {
        part.size = Math.ceil(slice.length / 2);
        if (slice.length > 1) continue;
        answers.push(batch.refused);
        part.isOneToBlame = true;
        continue;
      }
      recordCrowding(batch.answers);
      answers.push(...batch.answers);
      if (part.isOneToBlame) part.size *= 2;
    }
    if (!part.isOneToBlame) limit = Math.min(limit, part.size);
    return answers;
  };
}

async function sendWithLogin(
  vendor: BatchVendor,
  calls: readonly WireCall[],
  login: { authorization: string; renewed: boolean },
  signal: AbortSignal,
): Promise<BatchAnswer> {
  const batch = await vendor.sendBatch(calls, login.authorization, signal);
  const answers = 'refused' in batch ? calls.map(() => batch.refused) : batch.answers;
  const refused = calls.filter((_, index) => answers[index]?.status === 401);
  if (refused.length === 0) return batch;
  if (login.renewed) return unlessAllRefused(vendor, answers);
  login.authorization = await vendor.authorizer.renew(signal);
  login.renewed = true;
  const again = await vendor.sendBatch(refused, login.authorization, signal);
  if ('refused' in again) return again.refused.status === 401 ? unlessAllRefused(vendor, answers) : again;
  const renewed = again.answers[Symbol.iterator]();
  const merged = answers.map((answer) => (answer?.status === 401 ? (renewed.next().value ?? null) : answer));
  return unlessAllRefused(vendor, merged);
}

/** When the login was refused for every call there is nothing to say of any. */
function unlessAllRefused({ loginRefused }: BatchVendor, answers: (WireResponse | null)[]): BatchAnswer {
  const [first] = answers;
  if (first && answers.every((answer) => answer?.status === 401)) throw loginRefused(first);
  return { answers };
}
