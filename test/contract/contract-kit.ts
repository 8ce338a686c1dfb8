import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Authorizer, Connector } from '../../src/connectors/connector.ts';
import { SharedState } from '../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { type Logger, silentLogger } from '../../src/core/log/logger.ts';
import { asMirrorError, MirrorError } from '../../src/core/model/errors.ts';
import type { CalendarItem, Item, MappedProperty } from '../../src/core/model/items.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../../src/core/model/operations.ts';
import { MINUTE_MS, SECOND_MS, type TimeWindow } from '../../src/core/model/time.ts';
import { paced } from '../support/pace.ts';
import type { ContractTarget, RemoteObject, ShownObject, TargetOf, Worker } from './contract-target.ts';

/** The owner tag of the target under test. */
export const MARK = 'contractmark0000';
/** Another target of the same daemon in the same calendar. */
export const OTHER_MARK = 'othertargetmark0';

export type CreateOperation<Wanted extends Item = CalendarItem> = Extract<Operation<Wanted>, { kind: 'create' }>;
export type UpdateOperation<Wanted extends Item = CalendarItem> = Extract<Operation<Wanted>, { kind: 'update' }>;
export type DeleteOperation = Extract<Operation, { kind: 'delete' }>;
export type Written<Wanted extends Item = CalendarItem> = Extract<Outcome<Wanted>, { result: 'written' }>;

/** What the suite may choose for a worker; what is absent is as usual. */
export interface WorkerChoice {
  ownerTag?: string;
  authorizer?: Authorizer;
  timeoutMs?: number;
  log?: Logger;
  createCalendar?: string;
  properties?: readonly MappedProperty[];
}

/** What a case works with: by default on a calendar. */
export interface ContractKit<Wanted extends Item = CalendarItem, Shown extends ShownObject = RemoteObject> {
  target: TargetOf<Wanted, Shown>;
  /** The usual worker. */
  connector: Connector<Wanted>;
  /** Another worker on the same container. */
  worker(choice?: WorkerChoice): Connector<Wanted>;
  /** An ordinary item with this title ("Appointment"). */
  item(title?: string): Wanted;
  /** An item whose texts, all listed in `texts`, would identify a patient, and another version of the item. */
  telling(): { item: Wanted; changed: Wanted; texts: readonly string[] };
  /** A create, of an ordinary item unless one is given. */
  toCreate(recordId: string, item?: Wanted, epoch?: number): CreateOperation<Wanted>;
  /** One `apply`; what it throws is given as the failure of each operation, as its caller would take it. */
  attempt(operations: readonly Operation<Wanted>[], connector?: Connector<Wanted>): Promise<Outcome<Wanted>[]>;
  /** Retries with the same keys until every operation is settled, at most `tries` times. */
  deliver(
    operations: readonly Operation<Wanted>[],
    connector?: Connector<Wanted>,
    tries?: number,
  ): Promise<Outcome<Wanted>[]>;
  /** Creates ordinary items and expects it to succeed. */
  create(...recordIds: string[]): Promise<Written<Wanted>[]>;
  readAll(connector?: Connector<Wanted>, window?: TimeWindow | null): Promise<RemoteItem<Wanted>[]>;
  objects(): Promise<Shown[]>;
  /** Returns the one managed object of a record. @throws Error if there is none or more than one */
  object(recordId: string): Promise<Shown>;
}

/** What a case that speaks of any object works with. */
export type AnyKit = ContractKit<Item, ShownObject>;

/** What a case of calendars works with. */
export interface CalendarKit extends ContractKit {
  target: ContractTarget;
}

/** How a family of targets makes its items. */
export type ItemMaker<Wanted extends Item> = Pick<ContractKit<Wanted, ShownObject>, 'item' | 'telling'>;

const TELLING = { title: 'TitleCanary', description: 'DescriptionCanary', location: 'LocationCanary' };

/** Items of calendars. */
const CALENDAR_ITEMS: ItemMaker<CalendarItem> = {
  item: (title = 'Appointment') => itemWith({ title }),
  telling: () => ({
    item: itemWith(TELLING),
    changed: itemWith({ ...TELLING, busy: false }),
    texts: Object.values(TELLING),
  }),
};

/** Prepares a case on a fresh calendar. */
export function createKit(target: ContractTarget): CalendarKit {
  return { ...createKitOf<CalendarItem, RemoteObject>(target, CALENDAR_ITEMS), target };
}

/** Prepares a case on a fresh target of any family. */
export function createKitOf<Wanted extends Item, Shown extends ShownObject>(
  target: TargetOf<Wanted, Shown>,
  items: ItemMaker<Wanted>,
): ContractKit<Wanted, Shown> {
  const worker = (choice?: WorkerChoice) => target.open(toWorker(target.authorizer, choice));
  const connector = worker();
  const objects = () => target.server.objects();
  const toCreate = (recordId: string, item = items.item(), epoch = 0) => createOperation(recordId, item, epoch);
  const attempt = (operations: readonly Operation<Wanted>[], by = connector) => applyAll(target, by, operations);
  return {
    target,
    connector,
    worker,
    ...items,
    toCreate,
    attempt,
    objects,
    deliver: (operations, by, tries = 5) => deliver((left) => attempt(left, by), operations, tries),
    async create(...recordIds) {
      const outcomes = await attempt(recordIds.map((recordId) => toCreate(recordId)));
      return outcomes.map((outcome) => written(outcome));
    },
    async readAll(by = connector, window = null) {
      const pages: RemoteItem<Wanted>[][] = [];
      for await (const page of by.read(target.container, window, signal())) pages.push(page);
      return pages.flat();
    },
    async object(recordId) {
      const ours = (await objects()).filter((object) => object.sealedRecordId === sealedRecordIdOf(recordId));
      expect(ours, `objects of ${recordId}`).toHaveLength(1);
      return ours[0]!;
    },
  };
}

function toWorker(authorizer: Authorizer, choice: WorkerChoice = {}): Worker {
  return {
    ownerTag: choice.ownerTag ?? MARK,
    authorizer: choice.authorizer ?? authorizer,
    http: createHttpClient({
      userAgent: 'clinic-mirror-test',
      clock: Date.now,
      timeoutMs: choice.timeoutMs ?? paced(20 * SECOND_MS),
    }),
    shared: new SharedState(),
    log: choice.log ?? silentLogger,
    createCalendar: choice.createCalendar ?? null,
    ...(choice.properties === undefined ? {} : { properties: choice.properties }),
  };
}

/** In calls of at most the target's batch size, what is put off behind the others; outcomes in the order of the operations. */
async function applyAll<Wanted extends Item>(
  { supports, container }: TargetOf<Wanted, ShownObject>,
  by: Connector<Wanted>,
  operations: readonly Operation<Wanted>[],
): Promise<Outcome<Wanted>[]> {
  const outcomes = new Map<string, Outcome<Wanted>>();
  const waiting = [...operations];
  while (waiting.length > 0) {
    const some = waiting.splice(0, supports.batchSize);
    for (const outcome of await applyOnce(by, container, some)) outcomes.set(outcome.recordId, outcome);
    waiting.push(...some.filter(({ recordId }) => outcomes.get(recordId)?.result === 'put-off'));
  }
  return operations.map(({ recordId }) => outcomes.get(recordId)!);
}

async function applyOnce<Wanted extends Item>(
  connector: Connector<Wanted>,
  container: string,
  operations: readonly Operation<Wanted>[],
): Promise<Outcome<Wanted>[]> {
  try {
    const outcomes = await connector.apply(container, operations, signal());
    expect(outcomes.map((one) => one.recordId).sort(), 'one outcome per operation').toEqual(
      operations.map((one) => one.recordId).sort(),
    );
    return outcomes;
  } catch (error) {
    if (!(error instanceof MirrorError)) throw error;
    return operations.map(({ recordId }) => ({ recordId, result: 'failed', error }));
  }
}

async function deliver<Wanted extends Item>(
  attempt: (operations: readonly Operation<Wanted>[]) => Promise<Outcome<Wanted>[]>,
  operations: readonly Operation<Wanted>[],
  tries: number,
): Promise<Outcome<Wanted>[]> {
  const settled = new Map<string, Outcome<Wanted>>();
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
  return AbortSignal.timeout(paced(MINUTE_MS));
}

/** The key of a record, as the daemon would derive it: 32 characters of `[0-9a-v]`. */
export function keyOf(recordId: string, epoch = 0): ItemKey {
  const bytes = createHash('sha256').update(`${recordId}/${epoch}`).digest();
  return Array.from(bytes, (byte) => (byte % 32).toString(32)).join('');
}

/** Returns the sealed record id of a record: opaque, as in production. */
export function sealedRecordIdOf(recordId: string): string {
  return createHash('sha256').update(`sealedRecordId/${recordId}`).digest('base64url');
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

/** A create of a record; an ordinary event when no item is given. */
export function createOperation(recordId: string, item?: CalendarItem, epoch?: number): CreateOperation;
export function createOperation<Wanted extends Item>(
  recordId: string,
  item: Wanted,
  epoch?: number,
): CreateOperation<Wanted>;
export function createOperation(recordId: string, item: Item = itemWith(), epoch = 0): CreateOperation<Item> {
  return {
    kind: 'create',
    recordId,
    key: keyOf(recordId, epoch),
    sealedRecordId: sealedRecordIdOf(recordId),
    item,
    revision: 1,
  };
}

/** An update of a record under its first key. */
export function updateOperation<Wanted extends Item>(
  recordId: string,
  item: Wanted,
  versionTag: string | null,
  remoteId: string | null = null,
): UpdateOperation<Wanted> {
  return {
    kind: 'update',
    recordId,
    key: keyOf(recordId),
    sealedRecordId: sealedRecordIdOf(recordId),
    item,
    revision: 1,
    versionTag,
    remoteId,
  };
}

/** A delete of a record under its first key. */
export function deleteOperation(
  recordId: string,
  versionTag: string | null,
  remoteId: string | null = null,
): DeleteOperation {
  return { kind: 'delete', recordId, key: keyOf(recordId), revision: 1, versionTag, remoteId };
}

/** Expects the outcome to be a write. */
export function written<Wanted extends Item>(outcome: Outcome<Wanted> | undefined): Written<Wanted> {
  expect(describeOutcome(outcome)).toMatch(/^written/);
  return outcome as Written<Wanted>;
}

/** Expects the outcome to be a failure and gives its error. */
export function failure(outcome: Outcome<Item> | undefined): MirrorError {
  expect(describeOutcome(outcome)).toMatch(/^failed/);
  return outcome?.result === 'failed' ? outcome.error : asMirrorError(null);
}

/** Describes the outcome in one or two words, for readable failures of expectations. */
export function describeOutcome(outcome: Outcome<Item> | undefined): string {
  if (outcome === undefined) return 'nothing';
  if (outcome.result === 'failed') return `failed ${outcome.error.actor}/${outcome.error.code}`;
  return 'effect' in outcome ? `${outcome.result} ${outcome.effect}` : outcome.result;
}
