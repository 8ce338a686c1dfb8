import { asMirrorError, type MirrorError } from '../model/errors.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../model/operations.ts';
import { askedAlone, type Judge } from './asked-alone.ts';
import type { Connector, Subscriptions } from './connector.ts';
import { shared, type VendorErrors } from './errors.ts';
import { type Calendars, locateCalendar, prepareCalendar } from './owner.ts';
import { failed, resolveOutcomes } from './settle.ts';
import type { WireCall, WireResponse } from './wire.ts';

/**
 * What one operation does, step by step: it gives a call, is given the answer, and so on to its result. Many flows go
 * forward together, so that the calls of one round share a batch and no batch holds two calls of one flow.
 */
export type Flow<Result> = Generator<WireCall, Result, WireResponse>;

/** How a flow ended. */
export type FlowEnd<Result> = { result: Result } | { error: MirrorError };

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
