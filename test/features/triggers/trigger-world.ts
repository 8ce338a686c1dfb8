import { afterEach, beforeEach, expect } from 'vitest';
import { ON_THIS_MACHINE } from '../../../sandbox/kit/outbound.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import type { Logger } from '../../../src/core/log/logger.ts';
import type { MirrorError } from '../../../src/core/model/errors.ts';
import type { Appointment, InvalidRow, Invoice } from '../../../src/core/model/records.ts';
import type { Lookup, Snapshot } from '../../../src/core/model/snapshots.ts';
import { HOUR_MS, overlaps } from '../../../src/core/model/time.ts';
import type { Report } from '../../../src/core/model/triggers.ts';
import { runTriggers } from '../../../src/features/triggers/job.ts';
import { withStatus } from '../../../src/features/triggers/open.ts';
import { createTriggerNames, type TriggerSource } from '../../../src/features/triggers/ports.ts';
import { createTriggerStore, type TriggerStore } from '../../../src/features/triggers/store.ts';
import type { Outages } from '../../../src/jobs/outages.ts';
import { reachOf } from '../../../src/settings/outbound-schema.ts';
import { secretSchemas } from '../../../src/settings/secret-reference.ts';
import { triggerSchema } from '../../../src/settings/tenant-schema.ts';
import type { RedisClient } from '../../../src/state/redis.ts';
import { createSealer } from '../../../src/state/sealing.ts';
import type { OpenTenant } from '../../../src/tenant/tenant.ts';
import { wakeOther } from '../../../src/tenant/wake-others.ts';
import { paced } from '../../support/pace.ts';
import type { TestRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { openOutages, openTenant } from '../../tenant/open-tenant.ts';
import { signingSecret } from '../reminders/channels/bed.ts';
import { type Receiver, startReceiver } from '../reminders/channels/receiver.ts';

const IDENTITY_KEY = Buffer.alloc(32, 7);
const SEALING_KEY = Buffer.alloc(32, 9);
/** The secret that a world's endpoints sign with. */
export const SECRET = signingSecret('a');

/** A clinic's documents in memory. */
export interface ModelDocuments extends TriggerSource {
  reports: Map<string, Report>;
  invoices: Map<string, Invoice>;
  appointments: Map<string, Appointment>;
  /** The next lists are not whole. */
  partial: boolean;
  /** Existing documents that lists omit. */
  unlisted: Set<string>;
  /** Reports whose rows can't be used. */
  unusable: Set<string>;
  /** Ids of rows that say no more than that their record is cancelled. */
  tombstones: Set<string>;
  /** Thrown by all that reads reports, invoices or appointments. */
  errors: { reports: MirrorError | null; invoices: MirrorError | null; appointments: MirrorError | null };
}

/** A tenant with receivers, a clock that tests move, and the requested turns. */
export interface TriggerWorld {
  documents: ModelDocuments;
  now: number;
  wakes: { at: number; read: boolean }[];
  outages: Outages;
  /** The same tenant in a new process, or over another connection. */
  open(options?: { redis?: RedisClient; log?: Logger; leaseTtlMs?: number; sealingKey?: string }): OpenTenant;
  /** Runs one turn that reads the lists. */
  turn(tenant?: OpenTenant): Promise<boolean>;
  /** Runs one turn that handles only waiting messages. */
  retry(tenant?: OpenTenant): Promise<boolean>;
  /** Advances the time; requested turns run when they are due. */
  advance(durationMs: number): Promise<void>;
}

/** @param endpoints of the tenant file by name, without secrets, which are added */
export function createTriggerWorld(
  redis: RedisClient,
  endpoints: Record<string, { url: string; events: string[] }>,
  file: object = {},
): TriggerWorld {
  const documents = createDocuments();
  const own = { secrets: [{ env: 'SECRET' }] };
  const named = Object.fromEntries(Object.entries(endpoints).map(([name, each]) => [name, { ...own, ...each }]));
  const schema = triggerSchema(secretSchemas({ env: { SECRET }, dir: '.' }));
  const world: TriggerWorld = {
    documents,
    now: Date.parse('2026-11-30T10:00:00Z'),
    wakes: [],
    outages: openOutages(redis, () => world.now, {
      wake: async ({ other }, _, delayMs) => void (other && (await wakeOther(world.open(), other, delayMs))),
    }),
    open({ redis: connection = redis, sealingKey = 'k1', ...rest } = {}) {
      const triggers = withStatus({
        file: schema.parse({ ...file, endpoints: named }),
        source: documents,
        store: createTriggerStore(
          connection,
          'studio-rossi',
          createSealer([{ id: sealingKey, key: SEALING_KEY }], 'studio-rossi'),
        ),
        name: createTriggerNames(IDENTITY_KEY, 'studio-rossi'),
        http: createHttpClient({
          ...{ userAgent: 'clinic-mirror-test', clock: () => world.now, timeoutMs: paced(2_000) },
          reach: reachOf(ON_THIS_MACHINE, 'webhooks'),
          observeHost: world.outages.heard,
        }),
        wake: async (delayMs: number, { read }: { read: boolean }) => {
          world.wakes.push({ at: world.now + delayMs, read });
        },
      });
      const clinic = createModelClinic();
      const { outages } = world;
      return openTenant({ redis: connection, clinic, targets: [], clock: () => world.now, triggers, outages, ...rest });
    },
    turn: (tenant = world.open()) => runTriggers(tenant, { read: true }, { stop: NEVER, abort: NEVER }),
    retry: (tenant = world.open()) => runTriggers(tenant, { read: false }, { stop: NEVER, abort: NEVER }),
    async advance(durationMs) {
      const untilAt = world.now + durationMs;
      for (;;) {
        const next = world.wakes.filter(({ at }) => at <= untilAt).sort((one, other) => one.at - other.at)[0];
        if (next === undefined) break;
        world.wakes = world.wakes.filter((wake) => wake !== next);
        world.now = Math.max(world.now, next.at);
        await (next.read ? world.turn() : world.retry());
      }
      world.now = untilAt;
    },
  };
  return world;
}

/** Returns a report that may be read, unless `own` changes it. */
export function report(id: string, own: Partial<Report> = {}): Report {
  return { id, patientId: `patient-of-${id}`, episodeId: 'episode-1', status: 'Final', fileSizeBytes: 12, ...own };
}

/** Returns an issued invoice, unless `own` changes it. */
export function invoice(id: string, own: Partial<Invoice> = {}): Invoice {
  return {
    id,
    patientId: `patient-of-${id}`,
    number: '7/A',
    documentType: 'Invoice',
    status: 'Issued',
    issueDate: '2026-11-29',
    currency: 'EUR',
    totalAmount: '80.50',
    paidAmount: '0.00',
    doctors: [],
    ...own,
  };
}

/** Returns a booked appointment of an hour, unless `own` changes it. */
export function booking(id: string, startAt: number, own: Partial<Appointment> = {}): Appointment {
  return {
    id,
    agendaId: 'a1',
    locationId: null,
    patientId: `patient-of-${id}`,
    patient: null,
    treatmentId: null,
    time: { kind: 'timed', startAt, endAt: startAt + HOUR_MS },
    status: 'booked',
    rawStatus: null,
    updatedAt: null,
    ...own,
  };
}

/** A receiver, `portal`, of reports and invoices, and the world that sends to it: both new for each test. */
export interface Portal {
  receiver: Receiver;
  world: TriggerWorld;
  worldWith(file?: object, events?: string[]): TriggerWorld;
  /** Runs a first turn: existing documents are treated as reported. */
  begin(): Promise<void>;
  add(id: string, own?: Parameters<typeof report>[1]): void;
  bill(id: string, own?: Parameters<typeof invoice>[1]): void;
  /** Ids of the documents that the receiver got. */
  ids(): unknown[];
  /** The receiver's next answers. */
  answer(status: number, headers?: Record<string, string>, times?: number): void;
  endpoint(): ReturnType<TriggerStore['endpoint']>;
  /** Reports that wait. */
  waiting(): ReturnType<TriggerStore['waiting']>;
}

/** To be called at the top of a test file. @param file of the world that each test begins with */
export function usePortal(redis: TestRedis, file: object = {}): Portal {
  const store = () => {
    const { triggers } = portal.world.open();
    if (triggers === null) throw new Error('the tenant has no triggers');
    return triggers.store;
  };
  const worldWith: Portal['worldWith'] = (own = file, events = ['report.available', 'invoice.issued']) =>
    createTriggerWorld(redis.connect(), { portal: { url: `${portal.receiver.url}/in`, events } }, own);
  const methods: Omit<Portal, 'receiver' | 'world'> = {
    worldWith,
    async begin() {
      portal.world.documents.reports.set('old', report('old'));
      portal.world.documents.invoices.set('old', invoice('old'));
      await portal.world.turn();
      expect(portal.receiver.taken).toEqual([]);
    },
    add: (id, own) => void portal.world.documents.reports.set(id, report(id, own)),
    bill: (id, own) => void portal.world.documents.invoices.set(id, invoice(id, own)),
    ids: () => told(portal.receiver).map(({ data }) => data.reportId ?? data.invoiceId),
    answer: (status, headers = {}, times = 1) =>
      void portal.receiver.kit.faults.add({ times, fault: { kind: 'status', status, headers } }),
    endpoint: () => store().endpoint('portal'),
    waiting: () => store().waiting({ endpoint: 'portal', event: 'report.available' }),
  };
  // Both exist from the first hook on.
  const portal = methods as Portal;
  beforeEach(async () => {
    portal.receiver = await startReceiver();
    portal.world = worldWith();
  });
  afterEach(() => portal.receiver.close());
  return portal;
}

/** What a receiver took, as JSON. */
export function told(receiver: Receiver): { type: string; timestamp: string; data: Record<string, unknown> }[] {
  return receiver.taken.map(({ body }) => JSON.parse(body) as ReturnType<typeof told>[number]);
}

function createDocuments(): ModelDocuments {
  const documents: ModelDocuments = {
    reports: new Map(),
    invoices: new Map(),
    appointments: new Map(),
    partial: false,
    unlisted: new Set(),
    unusable: new Set(),
    tombstones: new Set(),
    errors: { reports: null, invoices: null, appointments: null },
    readReports: async () => list(rows('reports', documents.reports)),
    readReport: async (id) => one(rows('reports', documents.reports), id),
    readInvoices: async () => list(rows('invoices', documents.invoices)),
    readInvoice: async (id) => one(rows('invoices', documents.invoices), id),
    readAppointments: async ({ window, agendaIds }) => {
      const all = [...rows('appointments', documents.appointments)].filter(([, { time }]) => overlaps(time, window));
      return {
        ...list(new Map(all)),
        window,
        agendaIds: agendaIds && [...agendaIds],
        pages: 1,
        requests: 1,
        repeated: 0,
      };
    },
    readAppointment: async (id) => one(rows('appointments', documents.appointments), id),
  };
  function rows<Row>(name: keyof ModelDocuments['errors'], own: Map<string, Row>): Map<string, Row> {
    const error = documents.errors[name];
    if (error !== null) throw error;
    return own;
  }
  function list<Row>(all: Map<string, Row>): Snapshot<Row> {
    const records = new Map([...all].filter(([id]) => !documents.unlisted.has(id) && !documents.unusable.has(id)));
    const tombstones = [...documents.tombstones].map((id) => ({
      ...asideOf(id),
      code: 'tombstone',
      isTombstone: true as const,
    }));
    const unusable = [...[...all.keys()].filter((id) => documents.unusable.has(id)).map(asideOf), ...tombstones];
    const content = { records, unusable, unidentified: 0 };
    if (documents.partial) return { ...content, completeness: 'partial', reason: 'end-unproved' };
    return { ...content, completeness: 'complete' };
  }
  function one<Row>(all: Map<string, Row>, id: string): Lookup<Row> {
    const found = all.get(id);
    if (found === undefined) return { absent: true };
    return documents.unusable.has(id) ? { unusable: asideOf(id) } : { found };
  }
  return documents;
}

function asideOf(recordId: string): InvalidRow {
  return { recordId, code: 'wrong-type', field: 'status' };
}
