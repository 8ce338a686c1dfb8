import type { Connector } from '../../src/connectors/connector.ts';
import type { Logger } from '../../src/core/log/logger.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { CalendarItem, CrmItem, Item } from '../../src/core/model/items.ts';
import type { RemoteItem } from '../../src/core/model/operations.ts';
import type { Patient } from '../../src/core/model/records.ts';
import type { DriftReport } from '../../src/core/model/run-schemas.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { project } from '../../src/domain/project.ts';
import { auditTarget } from '../../src/engine/audit-target.ts';
import { endWait } from '../../src/engine/lane.ts';
import { pushTarget } from '../../src/engine/push.ts';
import type { Outages } from '../../src/jobs/outages.ts';
import { targetStatus } from '../../src/operator/control/status.ts';
import type { TargetConfiguration } from '../../src/settings/configuration.ts';
import { crmSchema } from '../../src/settings/crm-schema.ts';
import type { WaitingWork } from '../../src/state/outages.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { pullTenant } from '../../src/tenant/pull.ts';
import type { OpenTarget, OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, EMPTY_DIRECTORY, NOW } from '../domain/arbitraries.ts';
import { NEVER, targetOf } from './cycle.ts';
import { createModelClinic, type ModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelObject, type ModelTarget } from './model-target.ts';
import { openOutages, openTenant, type TargetChoice, type TenantChoice } from './open-tenant.ts';

export const POLICIES = ['repair', 'keep', 'report'] as const;
export type Policy = (typeof POLICIES)[number];

/** A tenant over a clinic and targets in memory, and its clock. */
interface TenantWorld {
  clinic: ModelClinic;
  clock: { now: number };
  tenant: OpenTenant;
  /** Another process with the same state. @param more targets after the usual ones */
  again(changes?: Partial<TenantChoice>, more?: readonly TargetChoice[]): OpenTenant;
}

/** Opens a tenant over a clinic and targets, with a clock that tests move. */
export function openTenantWorld(
  redis: { connect(): RedisClient },
  clinic: ModelClinic,
  targets: readonly TargetChoice[],
  choice: Partial<TenantChoice> = {},
): TenantWorld {
  const clock = { now: NOW };
  const again = (changes: Partial<TenantChoice> = {}, more: readonly TargetChoice[] = []) =>
    openTenant({
      redis: redis.connect(),
      clinic,
      targets: [...targets, ...more],
      clock: () => clock.now,
      ...changes,
    });
  return { clinic, clock, again, tenant: again(choice) };
}

export interface CalendarWorld extends TenantWorld {
  model: ModelTarget;
}

/** A clinic with some appointments, one an hour from tomorrow on, and a target. Nothing is written yet. */
export function openCalendarWorld(
  redis: { connect(): RedisClient },
  booked: number,
  choice: Partial<TargetChoice> = {},
): CalendarWorld {
  const model = choice.model ?? createModelTarget();
  return { model, ...openTenantWorld(redis, createModelClinic(booked), [{ model, ...choice }]) };
}

/** The same world with a foreign event and a policy for user edits. */
export function openDriftWorld(
  redis: RedisClient,
  booked: number,
  drift: Policy,
  changes: Partial<TargetConfiguration> = {},
): CalendarWorld {
  const configuration = { audit: { drift, rewritesPerDay: 3, changesEverySeconds: 300 }, ...changes };
  const world = openCalendarWorld({ connect: () => redis }, booked, { configuration });
  world.model.addForeign('Dentist');
  return world;
}

/** What the status says of a target. */
export async function stateOf(tenant: OpenTenant, id = 'doctor') {
  return targetStatus(tenant, targetOf(tenant, id), await tenant.holds.list());
}

export function auditOf(tenant: OpenTenant, options: { whole?: boolean } = {}): Promise<DriftReport | null> {
  return auditTarget(tenant, targetOf(tenant), NEVER, options);
}

/** Returns the object of a record, if the calendar contains it. */
export function objectIn(
  { model, tenant }: Pick<CalendarWorld, 'model' | 'tenant'>,
  recordId: string,
): ModelObject | undefined {
  const key = targetOf(tenant).identity.key(recordId, 0);
  return model.objects().find((object) => object.key === key);
}

export function objectOf(world: Pick<CalendarWorld, 'model' | 'tenant'>, recordId: string): ModelObject {
  const found = objectIn(world, recordId);
  if (found === undefined) throw new Error(`record ${recordId} has no object`);
  return found;
}

export function editByHand(
  world: Pick<CalendarWorld, 'model' | 'tenant'>,
  recordId: string,
  changes: Partial<CalendarItem>,
): void {
  const object = objectOf(world, recordId);
  object.item = { ...object.item, ...changes };
  object.version += 1;
}

/** @returns the object, to be taken back from the trash */
export function removeByHand(world: Pick<CalendarWorld, 'model' | 'tenant'>, recordId: string): ModelObject {
  const object = objectOf(world, recordId);
  object.deleted = true;
  return object;
}

/** Items that carry our owner tag, as texts in order. */
export function shownBy({ model }: CalendarWorld): string[] {
  return model
    .objects()
    .filter(({ ownerTag }) => ownerTag !== null)
    .map(({ item }) => JSON.stringify(item))
    .sort();
}

/** What the target should show of a record now; null when nothing. */
export function wantedOf({ clinic, tenant }: CalendarWorld, recordId: string): string | null {
  const appointment = clinic.appointments.get(recordId);
  if (appointment === undefined) return null;
  const { configuration, identity } = targetOf(tenant);
  const policy = { ...configuration, presets: [], language: 'en', zone: 'Europe/Rome' } as const;
  const item = project(appointment, policy, EMPTY_DIRECTORY, () => identity.key(recordId, 0));
  return item === null ? null : JSON.stringify(item);
}

/** How a provider differs from a plain one. */
export interface Habits {
  /** What it makes of an item that it is given. */
  spell?: (item: CalendarItem) => CalendarItem;
  /** It gives no version tags. */
  withoutTags?: boolean;
}

/** Makes the target store another spelling than it received, and return this spelling in its answers. */
export function giveHabits(tenant: OpenTenant, { spell = (item) => item, withoutTags = false }: Habits): void {
  const target = targetOf(tenant);
  const { connector } = target;
  const tag = (versionTag: string | null) => (withoutTags ? null : versionTag);
  target.connector = {
    ...connector,
    async apply(container, operations, signal) {
      const spelt = operations.map((each) =>
        each.kind === 'delete' ? each : { ...each, item: spell(each.item as CalendarItem) },
      );
      const items = new Map(spelt.map((each) => [each.recordId, each.kind === 'delete' ? null : each.item]));
      return (await connector.apply(container, spelt, signal)).map((outcome) => {
        const stored = items.get(outcome.recordId);
        if (outcome.result !== 'written' || stored == null) return outcome;
        return { ...outcome, versionTag: tag(outcome.versionTag), stored };
      });
    },
    async *read(...given) {
      for await (const page of connector.read(...given)) yield page.map(untagged(tag));
    },
    async changes(...given) {
      const changes = await connector.changes(...given);
      return { ...changes, items: changes.items.map(untagged(tag)) };
    },
  };
}

function untagged(tag: (versionTag: string | null) => string | null) {
  return (remote: RemoteItem<Item>): RemoteItem<Item> => ({ ...remote, versionTag: tag(remote.versionTag) });
}

/** A clinic, the CRM with its patients, and another CRM with their activities. */
export interface CrmWorld extends TenantWorld {
  contacts: ModelTarget;
  activities: ModelTarget;
  /** Calendar of a doctor; only on request. */
  calendar: ModelTarget;
}

/** What a test chooses of the part for a CRM, as in the tenant file. */
export type CrmChoice = Partial<Parameters<typeof crmSchema.parse>[0] & object>;

const CONTACTS = {
  consents: ['marketing'],
  everyMinutes: 15,
  mapping: {
    firstname: 'firstName',
    lastname: 'lastName',
    phone: { from: 'mobilePhone', transforms: ['e164'] },
  },
};

const ACTIVITIES = {
  stream: 'appointments',
  contacts: 'contacts',
  mapping: { title: { value: 'Visit' }, status: 'status' },
};

/** @param given changes of the parts for CRMs */
export function openCrmWorld(
  redis: { connect(): RedisClient },
  given: { contacts?: CrmChoice; activities?: CrmChoice; calendar?: boolean } = {},
): CrmWorld {
  const contacts = createModelTarget({ batchSize: 100 });
  const activities = createModelTarget({ batchSize: 100 });
  const calendar = createModelTarget();
  const parts = {
    contacts: crmSchema.parse({ ...CONTACTS, ...given.contacts }),
    activities: crmSchema.parse({ ...ACTIVITIES, ...given.activities }),
  };
  const targets = [
    { id: 'contacts', model: contacts, configuration: { crm: parts.contacts } },
    { id: 'activities', model: activities, configuration: { crm: parts.activities } },
    ...(given.calendar === true ? [{ id: 'doctor', model: calendar }] : []),
  ];
  return { contacts, activities, calendar, ...openTenantWorld(redis, createModelClinic(), targets) };
}

/** A patient who consented to messages. */
export function patientOf(id: string, changes: Partial<Patient> = {}): Patient {
  return {
    id,
    firstName: 'Anna',
    lastName: `Verdi ${id}`,
    email: 'family@example.org',
    phone: null,
    mobilePhone: '333 123 4567',
    language: 'it',
    consents: { marketing: true },
    isActive: true,
    taxCode: null,
    birthDate: null,
    gender: null,
    address: null,
    updatedAt: null,
    ...changes,
  };
}

/** What a model of a CRM holds: values of its objects' properties. */
export function held(model: ModelTarget): CrmItem['properties'][] {
  return model.objects().map(({ item }) => (item as unknown as CrmItem).properties);
}

/** Keys of the contacts that objects belong to. */
export function joined(model: ModelTarget): (string | null)[] {
  return model.objects().map(({ item }) => (item as unknown as CrmItem).contactKey);
}

/** The vendor's. */
export const HOST = 'dav.example';
export const CLINIC_HOST = 'clinic.example';
export const SIGNALS = { stop: NEVER, abort: NEVER };
export const CLINICS = 20;
export const CYCLE_EVERY_MS = 5 * MINUTE_MS;

/** Scope of a failure when a host is down. */
type Failure = 'whole' | 'each';

/** A clinic with one calendar. */
export interface Clinic {
  tenant: OpenTenant;
  clinic: ModelClinic;
  model: ModelTarget;
  outages: Outages;
}

/** An outage, with controls for tests. */
export interface OutageWorld {
  clinics: Clinic[];
  clock: { now: number };
  /** The vendor's host, and that of the clinics. */
  isOut: { vendor: boolean; clinic: boolean };
  /** Wait that the vendor's answers name. */
  namedWaitMs: number | null;
  /** Log lines at the usual level: the message, with its data. */
  lines: [message: string, data: object][];
  /** Calls of the vendor that failed. */
  refused: number;
  /**
   * Advances the time in steps, with due lanes and cycles, until the condition holds.
   * @returns the elapsed time
   */
  runUntil(isSo: () => boolean, atMostMs: number): Promise<number>;
}

/** Clinics, each with a separate process, whose calendars are at one host and whose systems are at another. */
export function openOutageWorld(
  redis: { connect(): RedisClient },
  how: Failure = 'whole',
  count = CLINICS,
): OutageWorld {
  const lanes = new Map<string, number>();
  const cycles = new Map<string, number>();
  const clock = { now: NOW };
  const lines: OutageWorld['lines'] = [];
  const note = (data: object, message: string) => void lines.push([message, data]);
  const log: Logger = { debug() {}, info: note, warn: note, error: note, child: () => log };
  const open = (_: unknown, index: number): Clinic => {
    const id = `clinic-${index}`;
    const clinic = createModelClinic();
    const model = createModelTarget();
    const client = redis.connect();
    const outages = openOutages(client, () => clock.now, { wake, log });
    const configured = { ...model, open: (tag: string) => heard(model.open(tag), world, outages, how) };
    const tenant = openTenant({
      ...{ id, redis: client, clinic, outages, log },
      clock: () => clock.now,
      targets: [{ model: configured }],
    });
    const list = clinic.readAppointments;
    clinic.readAppointments = async (question, signal) => {
      outages.heard(CLINIC_HOST, world.isOut.clinic ? 'failed' : 'answered');
      if (world.isOut.clinic) throw new MirrorError('away', { actor: 'remote', code: 'unavailable', retry: 'later' });
      return list(question, signal);
    };
    cycles.set(id, NOW + index * SECOND_MS);
    return { tenant, clinic, model, outages };
  };
  /** As the composition does it: any process has any tenant open. */
  async function wake({ tenant: id, target }: WaitingWork, host: string, delayMs: number): Promise<void> {
    const { tenant } = world.clinics.find((one) => one.tenant.id === id) as Clinic;
    if (target === null) cycles.set(id, clock.now + delayMs);
    else if (await endWait(tenant, target, host)) lanes.set(id, clock.now + delayMs);
  }
  const turn = async ({ tenant }: Clinic) => {
    if ((cycles.get(tenant.id) ?? 0) <= clock.now) {
      cycles.set(tenant.id, clock.now + CYCLE_EVERY_MS);
      await pullTenant(tenant, NEVER);
      const dueAt = await tenant.outbox.nextDueAt('doctor');
      if (dueAt !== null) lanes.set(tenant.id, dueAt);
    }
    if ((lanes.get(tenant.id) ?? Number.POSITIVE_INFINITY) > clock.now) return;
    lanes.delete(tenant.id);
    const { nextInMs } = await pushTarget(tenant, tenant.targets.get('doctor') as OpenTarget, SIGNALS);
    if (nextInMs !== null) lanes.set(tenant.id, clock.now + nextInMs);
  };
  const world: OutageWorld = {
    clinics: [],
    ...{ clock, lines, isOut: { vendor: false, clinic: false }, namedWaitMs: null, refused: 0 },
    async runUntil(isSo, atMostMs) {
      const since = clock.now;
      for (; !isSo() && clock.now - since < atMostMs; clock.now += SECOND_MS) {
        for (const one of world.clinics) await turn(one);
      }
      return clock.now - since;
    },
  };
  world.clinics = Array.from({ length: count }, open);
  return world;
}

/** A connector whose calls the host answers, or does not. */
function heard(connector: Connector, world: OutageWorld, outages: Outages, how: Failure): Connector {
  const { apply } = connector;
  return {
    ...connector,
    async apply(container, operations, signal) {
      const { namedWaitMs } = world;
      if (!world.isOut.vendor) {
        outages.heard(HOST, 'answered');
        return apply.call(connector, container, operations, signal);
      }
      world.refused += 1;
      outages.heard(HOST, namedWaitMs === null ? 'failed' : 'named-wait');
      const wait = namedWaitMs === null ? {} : { retryAfterMs: namedWaitMs };
      const error = new MirrorError('away', {
        actor: 'remote',
        code: 'server-error',
        retry: 'later',
        status: 503,
        ...wait,
      });
      if (how === 'whole') throw error;
      return operations.map(({ recordId }) => ({ recordId, result: 'failed', error }));
    },
  };
}

/** An appointment in each clinic. */
export function book(world: OutageWorld): void {
  for (const { clinic } of world.clinics) clinic.appointments.set('new', appointmentOf('new', { inHours: 48 }));
}

export function areInSync(world: OutageWorld): boolean {
  return world.clinics.every(({ model }) => model.objects().length === 1);
}
