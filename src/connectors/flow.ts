import { asMirrorError, type MirrorError } from '../core/model/errors.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../core/model/operations.ts';
import type { Clock, Instant } from '../core/model/time.ts';
import { pause } from '../core/pieces/in-pieces.ts';
import type { Authorizer, Connector, Subscriptions } from './connector.ts';
import { shared, type VendorErrors } from './errors.ts';
import { askedAlone, failed, type Judge, resolveOutcomes } from './outcomes.ts';
import { type Calendars, prepareCalendar } from './owner.ts';
import type { WireCall, WireResponse } from './wire.ts';

/**
 * Steps of one operation: a flow yields a call, receives the response, and so on until its result. Many flows run together, so that the
 * calls of one round share a batch and no batch contains two calls of one flow.
 */
export type Flow<Result> = Generator<WireCall, Result, WireResponse>;

/** End of a flow. */
type FlowEnd<Result> = { result: Result } | { error: MirrorError };

/** Sends calls together. Returns responses in the calls' order, null for a missing part. */
export type SendCalls = (calls: readonly WireCall[]) => Promise<(WireResponse | null)[]>;

/**
 * Carries out operations by their flows.
 * @returns one outcome per operation
 * @throws MirrorError if the whole target failed; see {@link resolveOutcomes}
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
  // The error of a single operation may concern only the operation, and then shows nothing about the target.
  const mayBeOfCall = ends.length > 1 || first?.actor === 'remote' || first?.actor === 'authorization';
  return resolveOutcomes(outcomes, errors, (error) => mayBeOfCall && error === first);
}

/** Returns the results of flows without nulls. @throws MirrorError of the first failed flow */
export async function findByFlows<Found>(flows: readonly Flow<Found | null>[], send: SendCalls): Promise<Found[]> {
  return (await runFlows(flows, send)).flatMap((end) => {
    if ('error' in end) throw end.error;
    return end.result === null ? [] : [end.result];
  });
}

/** Calendar vendor whose events are found and written by flows. */
export interface FlowVendor<Scope> {
  errors: Judge['errors'];
  /** Returns the data that the flows of one calendar share. */
  scopeOf(container: string): Scope;
  batches(signal: AbortSignal): SendCalls;
  calendarsOf(signal: AbortSignal): Calendars;
  operationFlow(scope: Scope, operation: Operation): Flow<Outcome>;
  /** @param remoteId stored id of the event; null if unknown */
  findFlow(scope: Scope, key: ItemKey, remoteId: string | null): Flow<RemoteItem | null>;
  /** Fetches the web page of an event, with the event's id; null if the vendor provides no page. */
  pageFlow(scope: Scope, id: string): Flow<[string, string] | null>;
  read: Connector['read'];
  changes: Connector['changes'];
  subscriptions: Subscriptions;
}

/** Creates the connector of a vendor's calendar, configured or dedicated. */
export function flowConnector<Scope>(
  vendor: FlowVendor<Scope>,
  calendar: { id: string } | { create: string },
): Connector {
  const { errors, scopeOf, batches, calendarsOf, read, changes, subscriptions } = vendor;
  const connector: Connector = {
    prepare: (storedId, choice, signal) => prepareCalendar(calendarsOf(signal), calendar, storedId, choice),
    async apply(container, operations, signal) {
      const scope = scopeOf(container);
      return applyFlows(operations, (operation) => vendor.operationFlow(scope, operation), batches(signal), errors);
    },
    find(container, keys, signal, remoteIds) {
      const scope = scopeOf(container);
      const flows = keys.map((key) => vendor.findFlow(scope, key, remoteIds?.get(key) ?? null));
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

/** Runs flows to their ends. Never throws: an error of `send` ends all flows that await a response. */
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
        await pause();
      }
    }
  }
  return ends;
}

/** Returns the rounds of calls: first the calls that may share a batch, then each single call. */
function intoRounds<Result>(waiting: readonly Waiting<Result>[]): Waiting<Result>[][] {
  const together = waiting.filter(({ call }) => !call.alone);
  const alone = waiting.filter(({ call }) => call.alone).map((one) => [one]);
  return together.length > 0 ? [together, ...alone] : alone;
}

/** Sends a round, with equal reads only once. */
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

/** `refused`: the vendor refused the whole batch ({@link isRefusedWhole}) and carried out nothing. */
export type BatchAnswer = { answers: (WireResponse | null)[] } | { refused: WireResponse };

/** Batch transport of a vendor. */
interface BatchVendor {
  authorizer: Authorizer;
  /** Largest number of calls in one batch. */
  batchSize: number;
  sendBatch(calls: readonly WireCall[], authorization: string, signal: AbortSignal): Promise<BatchAnswer>;
  /** Returns the error of credentials that were refused again after renewal. */
  loginRefused(answer: WireResponse): MirrorError;
  /** Set if parts of one batch can exceed the vendor's limit for concurrent calls. */
  crowding?: Crowding;
}

/** How a vendor refuses a part because of the other parts, and how long batches then stay at the accepted size. */
interface Crowding {
  clock: Clock;
  isCrowdedOut(answer: WireResponse): boolean;
  restMs: number;
}

/** Statuses that no part of a batch causes: credentials, limits, busy servers. */
const NO_MEMBERS_FAULT: ReadonlySet<number> = new Set([403, 407, 408, 421, 423, 424, 425, 429]);

/** Checks whether a part, or the credentials, may have caused the status of a whole batch, which is then sent again. */
export function isRefusedWhole(status: number): boolean {
  return status >= 400 && status < 500 && !NO_MEMBERS_FAULT.has(status);
}

/**
 * Calls `send` with the connection's header, and again after a 401 with a renewed header.
 * @throws MirrorError `authorization` if the renewed header is refused too
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
 * Creates a sender of batches in sequence.
 * - A refused batch is halved. After a batch that was too large, later batches stay at the accepted size.
 * - If a single call is refused too, that call was the cause, and batches grow again.
 * - After a batch whose parts exceeded the limit for concurrent calls, batches stay for a while at the number of accepted parts.
 * - Parts with refused credentials are sent again with a renewed header.
 *
 * @returns responses in the calls' order, null for a missing part
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
    // If no part was accepted, the number of parts was not the cause.
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

/** If the credentials were refused for all calls, no call has a usable response. */
function unlessAllRefused({ loginRefused }: BatchVendor, answers: (WireResponse | null)[]): BatchAnswer {
  const [first] = answers;
  if (first && answers.every((answer) => answer?.status === 401)) throw loginRefused(first);
  return { answers };
}
