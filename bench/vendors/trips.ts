import type { Item } from '../../src/core/model/items.ts';
import type { Operation, Outcome } from '../../src/core/model/operations.ts';
import { slices } from '../../src/core/model/pieces.ts';
import type { OpenTarget } from '../../src/tenant/tenant.ts';
import { containerOf } from '../../test/support/container-of.ts';
import { openCycleWorld } from '../cycle/world.ts';
import { atMost, type Figure } from '../figure.ts';
import { requestsOf } from '../sent.ts';
import { startVendor, type VendorProcess } from './vendor-process.ts';

const GOAL = 1.02;

type Kind = Operation['kind'];

/** The fewest HTTP requests and units of quota for n writes. */
interface Formula {
  requests(n: number): number;
  units?(n: number): number;
  /** Additional requests to verify an object's owner: docs/safety.md, decisions/2026-11-23-writes-to-crms.md. */
  looks?: Partial<Record<Kind, (n: number) => number>>;
  /** Additional units to preserve users' fields without an additional request: decisions/2026-11-23-ownership-of-event-fields.md. */
  leaving?: Partial<Record<Kind, (n: number) => number>>;
  /** Objects of one calendar. */
  calendarHolds?: number;
}

const batchesOf = (size: number) => (n: number) => Math.ceil(n / size);
const one = (n: number) => n;

const FORMULAS = {
  // Fifty calls in a batch, each charged for itself (developers.google.com/workspace/calendar/api/guides/batch).
  // A PATCH is charged three units (v3 reference, events.patch).
  'google-calendar': { requests: batchesOf(50), units: one, leaving: { update: (n) => 2 * n } },
  // Twenty requests in a batch, each counted for itself (learn.microsoft.com/graph/json-batching, graph/throttling).
  'outlook-calendar': { requests: batchesOf(20), units: one },
  // CalDAV has no batch of writes (RFC 4791, section 5.3.2). Radicale reads the complete calendar for each new event.
  caldav: { requests: one, calendarHolds: 250 },
  // A hundred inputs in a batch, of writes and of reads (developers.hubspot.com, CRM batch endpoints).
  hubspot: { requests: batchesOf(100), looks: { update: batchesOf(100), delete: batchesOf(100) } },
  // Two hundred rows in a collection (REST API Developer Guide, sObject Collections).
  salesforce: { requests: batchesOf(200) },
  // A hundred records in an upsert, a deletion and a query (zoho.com/crm/developer/docs/api/v8: upsert-records, delete-records,
  // COQL-Overview).
  'rest-crm': { requests: batchesOf(100), looks: { delete: batchesOf(100) } },
} as const satisfies Record<string, Formula>;

type VendorName = keyof typeof FORMULAS;

/** Measures the cost of creates, updates and deletes at each vendor, in requests and in units of its quota, against the minimum. */
export async function measureTrips(
  { operations }: { operations: number },
  say: (text: string) => void,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const name of Object.keys(FORMULAS) as VendorName[]) {
    say(`trips: ${operations} creates, updates and deletes at ${name} …`);
    figures.push(...(await measureVendor(name, operations)));
  }
  return figures;
}

async function measureVendor(name: VendorName, n: number): Promise<Figure[]> {
  await using vendor = await startVendor(name);
  await using world = await openCycleWorld({ appointments: 1, targets: 1 }, vendor.target);
  const [target] = world.tenant.targets.values();
  if (target === undefined) throw new Error('the target is not open');
  const formula: Formula = FORMULAS[name];
  const calendarHolds = formula.calendarHolds ?? n;
  const containers = [await containerOf(target.connector, null, NEVER)];
  while (vendor.calendarBeside && containers.length * calendarHolds < n) {
    containers.push(await vendor.calendarBeside(containers[0]!, containers.length));
  }
  const figures: Figure[] = [];
  let written: Written[] = Array.from({ length: n }, (_, index) => ({ recordId: `record-${index}`, ...NOTHING }));
  for (const kind of ['create', 'update', 'delete'] as const) {
    const operations = written.map((each) => operationOf(kind, each, target));
    const spent = await spentOn(vendor, async () => {
      written = [];
      for (const [index, some] of slices(operations, calendarHolds).entries()) {
        written.push(...(await carryOut(target, containers[index]!, some)));
      }
    });
    const against = (unit: string, ours: number, floor: number, beside = ''): Figure => ({
      ...{ name: `trips ${name} ${kind}${beside}`, ...atMost(GOAL, ours / floor), floor, ours, unit, n },
    });
    const fewest = formula.requests(n);
    const looks = formula.looks?.[kind];
    figures.push(against('requests', spent.requests, fewest));
    if (looks) figures.push(against('requests', spent.requests, fewest + looks(n), ' with its look'));
    if (spent.units === null || formula.units === undefined) continue;
    const leaving = formula.leaving?.[kind];
    figures.push(against('units', spent.units, formula.units(n)));
    if (leaving)
      figures.push(against('units', spent.units, formula.units(n) + leaving(n), " keeping the user's own changes"));
  }
  return figures;
}

const NEVER = new AbortController().signal;
const NOTHING = { versionTag: null, remoteId: null };

/** Known data of a written object. */
interface Written {
  recordId: string;
  versionTag: string | null;
  remoteId: string | null;
}

async function spentOn(vendor: VendorProcess, work: () => Promise<unknown>) {
  const before = await vendor.units();
  const { length: requests } = await requestsOf(work);
  const after = await vendor.units();
  return { requests, units: after === null ? null : after - (before ?? 0) };
}

/** Runs the batches like a lane. @throws Error for operations that were not carried out */
async function carryOut(target: OpenTarget, container: string, operations: Operation<Item>[]): Promise<Written[]> {
  const outcomes: Outcome<Item>[] = [];
  for (const batch of slices(operations, target.supports.batchSize)) {
    outcomes.push(...(await target.connector.apply(container, batch, NEVER)));
  }
  return outcomes.map((outcome) => {
    const { recordId, result } = outcome;
    if (result === 'written') return { recordId, versionTag: outcome.versionTag, remoteId: outcome.remoteId };
    if (result === 'deleted' && outcome.effect === 'deleted') return { recordId, ...NOTHING };
    throw new Error(`an operation was not carried out: ${result === 'failed' ? outcome.error.code : result}`);
  });
}

function operationOf(kind: Kind, { recordId, ...known }: Written, target: OpenTarget): Operation<Item> {
  const { identity } = target;
  const [key, sealedRecordId] = [identity.key(recordId, 0), identity.sealedRecordId(recordId)];
  if (kind === 'create')
    return { kind, recordId, key, sealedRecordId, item: itemOf(recordId, kind, target), revision: 1 };
  if (kind === 'delete') return { kind, recordId, key, revision: 3, ...known };
  return { kind, recordId, key, sealedRecordId, item: itemOf(recordId, kind, target), revision: 2, ...known };
}

/** @param text differs where an object is to change */
function itemOf(recordId: string, text: string, { crm }: OpenTarget): Item {
  if (crm !== null) {
    const properties = crm.mapping.properties.map(({ name }) => [name, `${text} ${recordId}`]);
    return { properties: Object.fromEntries(properties), contactKey: null, startAt: 0 };
  }
  const [start, end] = ['2027-03-10T09:00:00+01:00', '2027-03-10T09:30:00+01:00'];
  const time = { kind: 'timed', start, end, zone: 'Europe/Rome' } as const;
  return { title: text, description: null, location: null, time, busy: true };
}
