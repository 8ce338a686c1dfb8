import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Authorizer, Connector } from '../../src/connectors/connector.ts';
import { createHttpDoor } from '../../src/http/door.ts';
import { type Logger, silentLogger } from '../../src/log/logger.ts';
import { asMirrorError, MirrorError } from '../../src/model/errors.ts';
import type { CalendarItem } from '../../src/model/items.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../../src/model/operations.ts';
import { MINUTE_MS, SECOND_MS, type TimeWindow } from '../../src/model/time.ts';
import type { ContractTarget, RemoteObject } from './contract-target.ts';

/** The mark of the target under test. */
export const MARK = 'contractmark0000';
/** Another target of the same daemon in the same calendar. */
export const OTHER_MARK = 'othertargetmark0';

export type CreateOperation = Extract<Operation, { kind: 'create' }>;
export type UpdateOperation = Extract<Operation, { kind: 'update' }>;
export type DeleteOperation = Extract<Operation, { kind: 'delete' }>;
export type Written = Extract<Outcome, { result: 'written' }>;

/** What the suite may choose for a worker; what is absent is as usual. */
export interface WorkerChoice {
  mark?: string;
  authorizer?: Authorizer;
  timeoutMs?: number;
  log?: Logger;
  createCalendar?: string;
}

/** What a case works with. */
export interface ContractKit {
  target: ContractTarget;
  /** The usual worker. */
  connector: Connector;
  /** Another worker on the same calendar. */
  worker(choice?: WorkerChoice): Connector;
  /** One `apply`; what it throws is given as the failure of each operation, as its caller would take it. */
  attempt(operations: readonly Operation[], connector?: Connector): Promise<Outcome[]>;
  /** Tries again with the same keys until every operation is settled, at most `tries` times. */
  deliver(operations: readonly Operation[], connector?: Connector, tries?: number): Promise<Outcome[]>;
  /** Creates and expects it to succeed. */
  create(...recordIds: string[]): Promise<Written[]>;
  readAll(connector?: Connector, window?: TimeWindow | null): Promise<RemoteItem[]>;
  objects(): Promise<RemoteObject[]>;
  /** The one object of ours for a record; fails when there is none or more. */
  object(recordId: string): Promise<RemoteObject>;
}

/** Prepares a case on a fresh target. */
export function createKit(target: ContractTarget): ContractKit {
  function worker(choice: WorkerChoice = {}): Connector {
    return target.open({
      mark: choice.mark ?? MARK,
      authorizer: choice.authorizer ?? target.authorizer,
      http: createHttpDoor({
        userAgent: 'clinic-mirror-test',
        clock: Date.now,
        timeoutMs: choice.timeoutMs ?? 20 * SECOND_MS,
      }),
      log: choice.log ?? silentLogger,
      createCalendar: choice.createCalendar ?? null,
    });
  }
  const connector = worker();
  const objects = () => target.server.objects();
  async function attempt(operations: readonly Operation[], by: Connector = connector): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (let start = 0; start < operations.length; start += target.supports.batchSize) {
      const slice = operations.slice(start, start + target.supports.batchSize);
      outcomes.push(...(await applyOnce(by, target.container, slice)));
    }
    return operations.map(({ recordId }) => outcomes.find((outcome) => outcome.recordId === recordId)!);
  }
  return {
    target,
    connector,
    worker,
    attempt,
    objects,
    deliver: (operations, by, tries = 5) => deliver((left) => attempt(left, by), operations, tries),
    async create(...recordIds) {
      const outcomes = await attempt(recordIds.map((recordId) => createOperation(recordId)));
      return outcomes.map((outcome) => written(outcome));
    },
    async readAll(by = connector, window = null) {
      const pages: RemoteItem[][] = [];
      for await (const page of by.read(target.container, window, signal())) pages.push(page);
      return pages.flat();
    },
    async object(recordId) {
      const ours = (await objects()).filter((object) => object.locator === locatorOf(recordId));
      expect(ours, `objects of ${recordId}`).toHaveLength(1);
      return ours[0]!;
    },
  };
}

async function applyOnce(connector: Connector, container: string, operations: readonly Operation[]) {
  try {
    const outcomes = await connector.apply(container, operations, signal());
    expect(outcomes.map((one) => one.recordId).sort(), 'one outcome per operation').toEqual(
      operations.map((one) => one.recordId).sort(),
    );
    return outcomes;
  } catch (error) {
    if (!(error instanceof MirrorError)) throw error;
    return operations.map(({ recordId }): Outcome => ({ recordId, result: 'failed', error }));
  }
}

async function deliver(
  attempt: (operations: readonly Operation[]) => Promise<Outcome[]>,
  operations: readonly Operation[],
  tries: number,
): Promise<Outcome[]> {
  const settled = new Map<string, Outcome>();
  for (let left = operations, tried = 0; left.length > 0 && tried < tries; tried += 1) {
    for (const outcome of await attempt(left)) settled.set(outcome.recordId, outcome);
    left = left.filter(({ recordId }) => {
      const outcome = settled.get(recordId);
      return outcome?.result === 'failed' && outcome.error.retry !== 'never';
    });
  }
  return operations.map(({ recordId }) => settled.get(recordId)!);
}

/** A signal that ends a call which hangs. */
export function signal(): AbortSignal {
  return AbortSignal.timeout(MINUTE_MS);
}

/** The key of a record, as the daemon would derive it: 32 characters of `[0-9a-v]`. */
export function keyOf(recordId: string, epoch = 0): ItemKey {
  const bytes = createHash('sha256').update(`${recordId}/${epoch}`).digest();
  return Array.from(bytes, (byte) => (byte % 32).toString(32)).join('');
}

/** The locator of a record: opaque, as a sealed id would be. */
export function locatorOf(recordId: string): string {
  return `v1.${createHash('sha256').update(`locator/${recordId}`).digest('base64url')}`;
}

/** An ordinary item; what is given replaces its parts. */
export function itemWith(changes: Partial<CalendarItem> = {}): CalendarItem {
  return {
    title: 'Appointment',
    description: null,
    location: null,
    time: timed('2027-03-10T09:00:00+01:00', '2027-03-10T09:30:00+01:00', 'Europe/Rome'),
    busy: true,
    ...changes,
  };
}

/** A timed span. */
export function timed(start: string, end: string, zone: string): CalendarItem['time'] {
  return { kind: 'timed', start, end, zone };
}

/** A span of whole days, end exclusive. */
export function allDay(startDate: string, endDate: string): CalendarItem['time'] {
  return { kind: 'all-day', startDate, endDate };
}

export function createOperation(recordId: string, item = itemWith(), epoch = 0): CreateOperation {
  return { kind: 'create', recordId, key: keyOf(recordId, epoch), locator: locatorOf(recordId), item };
}

export function updateOperation(
  recordId: string,
  item: CalendarItem,
  versionTag: string | null,
  remoteId: string | null = null,
): UpdateOperation {
  return {
    kind: 'update',
    recordId,
    key: keyOf(recordId),
    locator: locatorOf(recordId),
    item,
    versionTag,
    remoteId,
  };
}

export function deleteOperation(
  recordId: string,
  versionTag: string | null,
  remoteId: string | null = null,
): DeleteOperation {
  return { kind: 'delete', recordId, key: keyOf(recordId), versionTag, remoteId };
}

/** Expects the outcome to be a write. */
export function written(outcome: Outcome | undefined): Written {
  expect(describeOutcome(outcome)).toMatch(/^written/);
  return outcome as Written;
}

/** Expects the outcome to be a failure and gives its error. */
export function failure(outcome: Outcome | undefined): MirrorError {
  expect(describeOutcome(outcome)).toMatch(/^failed/);
  return outcome?.result === 'failed' ? outcome.error : asMirrorError(null);
}

/** The outcome in a word or two, for expectations that read well when they fail. */
export function describeOutcome(outcome: Outcome | undefined): string {
  if (outcome === undefined) return 'nothing';
  if (outcome.result === 'failed') return `failed ${outcome.error.actor}/${outcome.error.code}`;
  return 'effect' in outcome ? `${outcome.result} ${outcome.effect}` : outcome.result;
}
