import fc from 'fast-check';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { StreamName } from '../../src/core/model/items.ts';
import type { Link } from '../../src/core/model/operations.ts';
import { atOnce } from '../../src/core/model/pieces.ts';
import { HOLD_KINDS, type Hold, type PendingChange, type PlannedChange } from '../../src/core/model/plan.ts';
import type { Appointment, Invoice, Patient } from '../../src/core/model/records.ts';
import type { Completeness, Snapshot } from '../../src/core/model/snapshots.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import type { Confirmations } from '../../src/domain/absence.ts';
import { indexByAgenda } from '../../src/domain/agenda-index.ts';
import type { ClinicShown, ContactsInput, CycleInput, TargetInput } from '../../src/domain/cycle-input.ts';
import { listedIn, snapshotOf as snapshotFor, windowRead } from '../../src/domain/mapping-sources.ts';
import { planTargets } from '../../src/domain/plan-targets.ts';
import { type Confirmation, nothingMissing } from '../../src/engine/absence.ts';
import { absentCandidates } from '../../src/engine/diff.ts';
import { crmSchema } from '../../src/settings/crm-schema.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTarget } from '../tenant/open-tenant.ts';
import { patientOf } from '../tenant/world.ts';
import { appointmentOf, EMPTY_DIRECTORY, NOW } from './arbitraries.ts';

const PHONE = { from: 'mobilePhone', transforms: ['e164'] };
const VISITS = { title: { value: 'Visit' }, status: 'status' };
const crm = (part: object) => ({ crm: crmSchema.parse(part) });
/** Targets of all kinds; the mapping of `worked` may fail. */
const CONFIGURATIONS = {
  doctor: { agendas: ['a1'] },
  clinic: { title: 'code' },
  contacts: crm({ consents: ['marketing'], mapping: { firstname: 'firstName', phone: PHONE } }),
  activities: crm({ stream: 'appointments', contacts: 'contacts', mapping: VISITS }),
  worked: crm({ stream: 'appointments', contacts: 'contacts', mapping: VISITS }),
  deals: crm({ stream: 'invoices', contacts: 'contacts', mapping: { name: 'number' } }),
} as const;
const TARGETS = Object.keys(CONFIGURATIONS);
const UNWORKED = new MirrorError('x', { actor: 'remote', code: 'mapping-failed', retry: 'later' });
const NONE_GONE = { cancelled: 0, excluded: 0, vanished: 0, released: 0, restored: 0 };

/** What the clinic shows at one time. */
export interface World {
  appointments: Appointment[];
  patients: Patient[];
  invoices: Invoice[];
}

/** Input of one cycle. The targets contain the written part of the earlier world. */
export interface CycleChoice {
  before: World;
  now: World;
  /** For each earlier change in order. */
  written: ('written' | 'edited' | 'removed' | 'waits' | 'sent' | 'not')[];
  /** For each absent record in order: the result of its individual fetch. */
  alone: ('found' | 'unusable' | 'vanished' | 'missedOnce' | 'held' | 'nothing')[];
  holds: { target: string; kind: Hold['kind']; state: Hold['state']; recordIds: string[] }[];
  pinned: string[];
  forgotten: string[];
  completeness: Completeness;
  reach: ClinicShown['reach'];
  isUncertain: boolean;
  restored: number;
  comparableUnder: number | null;
  firstRun: 'apply' | 'plan';
  /** The contacts are paused. */
  isResting: boolean;
  /** The mapping of `worked` fails. */
  isUnworked: boolean;
  /** Since the world before. */
  passedDays: number;
}

/** More than one piece of planning holds. */
const APPOINTMENTS = 70;

const ids = fc.nat(99).map(String);
const byId = <Entry extends { id: string }>(entries: fc.Arbitrary<Entry>, minLength = 5) =>
  fc.uniqueArray(entries, { selector: ({ id }) => id, minLength, maxLength: minLength + 15 });
const worlds: fc.Arbitrary<World> = fc.record({
  appointments: byId(
    fc
      .record({
        id: ids,
        inHours: fc.integer({ min: -400, max: 1_600 }),
        agendaId: fc.constantFrom('a1', 'a2'),
        patientId: fc.option(fc.nat(9).map(String)),
        status: fc.constantFrom('booked' as const, 'booked' as const, 'confirmed' as const, 'cancelled' as const),
      })
      .map(({ id, ...content }) => appointmentOf(id, content)),
    APPOINTMENTS,
  ),
  patients: byId(
    fc
      .record({
        id: fc.nat(9).map(String),
        consents: fc.record({ marketing: fc.nat(4).map((n) => n > 0) }),
        isActive: fc.boolean(),
        mobilePhone: fc.constantFrom('333 123 4567', 'none'),
      })
      .map(({ id, ...content }) => patientOf(id, content)),
  ),
  invoices: byId(
    fc
      .record({ id: ids, patientId: fc.option(fc.nat(9).map(String)), number: fc.constantFrom('1', '2') })
      .map(invoiceOf),
  ),
});

/** Cycles over targets of all kinds in which anything may have happened. */
export const cycleChoices: fc.Arbitrary<CycleChoice> = fc.record({
  before: worlds,
  now: worlds,
  written: fc.array(fc.constantFrom('written', 'written', 'written', 'edited', 'removed', 'waits', 'sent', 'not'), {
    minLength: 1,
  }),
  alone: fc.array(fc.constantFrom('found', 'unusable', 'vanished', 'missedOnce', 'held', 'nothing'), {
    minLength: 1,
  }),
  holds: fc.array(
    fc.record({
      target: fc.constantFrom(...TARGETS),
      kind: fc.constantFrom(...HOLD_KINDS),
      state: fc.constantFrom('open', 'approved', 'rejected'),
      recordIds: fc.array(ids, { minLength: 1, maxLength: 40 }),
    }),
    { maxLength: 4 },
  ),
  pinned: fc.array(ids, { maxLength: 3 }),
  forgotten: fc.array(fc.nat(9).map(String), { maxLength: 2 }),
  completeness: fc.constantFrom<Completeness[]>(
    { completeness: 'complete' },
    { completeness: 'complete' },
    { completeness: 'partial', reason: 'page-cap' },
  ),
  reach: fc.constantFrom('whole', 'whole', 'near'),
  isUncertain: fc.nat(4).map((n) => n === 0),
  restored: fc.nat(12),
  comparableUnder: fc.constantFrom(null, 1, 2),
  firstRun: fc.constantFrom('apply', 'apply', 'plan'),
  isResting: fc.boolean(),
  isUnworked: fc.nat(4).map((n) => n === 0),
  passedDays: fc.constantFrom(0, 0, 5),
});

/** An unchanged complete list of a clinic with two patients, each with an appointment and an invoice. */
export function quiet(changes: Partial<CycleChoice> = {}): CycleChoice {
  const world: World = {
    appointments: ['1', '2'].map((id) => appointmentOf(id, { patientId: id })),
    patients: ['1', '2'].map((id) => patientOf(id)),
    invoices: ['1', '2'].map((id) => invoiceOf({ id, patientId: id, number: id })),
  };
  return {
    ...{
      before: world,
      now: world,
      written: ['written'],
      alone: ['nothing'],
      completeness: { completeness: 'complete' },
    },
    ...{ holds: [], pinned: [], forgotten: [], isUncertain: false, isResting: false, isUnworked: false, passedDays: 0 },
    ...{ reach: 'whole', restored: 0, comparableUnder: 2, firstRun: 'apply' },
    ...changes,
  };
}

/** An invoice of the day before yesterday. */
export function invoiceOf(content: Pick<Invoice, 'id' | 'patientId' | 'number'>): Invoice {
  const amounts = { currency: 'EUR', totalAmount: '80.50', paidAmount: null };
  return { ...content, ...amounts, documentType: 'Invoice', status: 'Issued', issueDate: '2026-06-20', doctors: [] };
}

function snapshotOf<Source extends { id: string }>(records: readonly Source[], completeness: Completeness) {
  const snapshot: Snapshot<Source> = {
    ...{ records: new Map(records.map((one) => [one.id, one])), unusable: [], unidentified: 0 },
    ...completeness,
  };
  return snapshot;
}

function shown(
  { appointments, patients, invoices }: World,
  { completeness, reach, passedDays }: CycleChoice,
): ClinicShown {
  const startedAt = NOW + passedDays * DAY_MS;
  const readAt = startedAt - HOUR_MS;
  const gone = new Map([['contacts', new Set(['departed'])]]);
  return {
    ...{ reach, startedAt, directory: EMPTY_DIRECTORY, clinic: { catalogue: 'c' } },
    snapshot: snapshotOf(appointments, completeness),
    streams: {
      patients: { snapshot: snapshotOf(patients, { completeness: 'complete' }), readAt, gone, merged: new Map() },
      invoices: { snapshot: snapshotOf(invoices, { completeness: 'complete' }), readAt },
      plannedBy: { patients: readAt - DAY_MS },
    },
  };
}

/** The same targets as another process would open them. */
function openTargets({ firstRun }: CycleChoice) {
  return TARGETS.map((id) => {
    const given = CONFIGURATIONS[id as keyof typeof CONFIGURATIONS];
    const configuration = { ...given, ...(id === 'clinic' && { firstRun }) };
    return openTarget('studio-rossi', { id, model: createModelTarget(), configuration });
  });
}

/** Planner input of one cycle. Each call creates new objects. */
export function cycleInputOf(choice: CycleChoice): CycleInput {
  const plain = { holds: [], pinned: [], isUncertain: false, isResting: false, isUnworked: false, passedDays: 0 };
  const first = assembled({ ...choice, ...plain, reach: 'whole', firstRun: 'apply' }, choice.before, new Map());
  const { plans } = atOnce(planTargets(first));
  const states = new Map(plans.map(({ target, permitted }) => [target.id, stateAfter([...permitted], choice.written)]));
  return assembled(choice, choice.now, states);
}

function stateAfter(changes: readonly PlannedChange[], written: CycleChoice['written']): TargetInput['state'] {
  const links = new Map<string, Link>();
  const pending = new Map<string, PendingChange>();
  for (const [index, { recordId, reason, wanted }] of changes.entries()) {
    if (wanted.want === 'absent') continue;
    const { fingerprint, startAt, endAt } = wanted;
    const done = written[index % written.length];
    if (done === 'written' || done === 'edited' || done === 'removed') {
      const drift = done === 'written' ? null : done;
      const object = { versionTag: null, idAttempt: 0, remoteId: null, drift };
      links.set(recordId, { recordId, fingerprint, startAt, endAt, ...object });
    } else if (done !== 'not') {
      const tries = { attempts: 0, lastError: null, sent: done === 'sent', parked: false };
      const times = { startAt, endAt, enqueuedAt: NOW - 2 * DAY_MS, dueAt: NOW };
      pending.set(recordId, { recordId, reason, want: 'present', fingerprint, ...tries, ...times });
    }
  }
  return { links, pending };
}

/** As the engine's `missingFrom`, without its reading. */
function missingFrom(
  clinicReading: ClinicShown,
  target: TargetInput['target'],
  state: TargetInput['state'],
  pinned: ReadonlySet<string>,
) {
  const snapshot = snapshotFor(clinicReading, target);
  if (snapshot?.completeness !== 'complete') return [];
  const isListed = listedIn(snapshot);
  const absent = absentCandidates(state, windowRead(target, clinicReading), isListed);
  return [...new Set([...absent, ...[...pinned].filter((id) => !isListed(id))])];
}

function assembled(choice: CycleChoice, world: World, states: ReadonlyMap<string, TargetInput['state']>): CycleInput {
  const clinicReading = shown(world, choice);
  const opened = openTargets(choice).map((target) => {
    const state = states.get(target.id) ?? { links: new Map(), pending: new Map() };
    const pinned = new Set(target.crm === null ? choice.pinned : []);
    const absent = choice.reach === 'near' ? [] : missingFrom(clinicReading, target, state, pinned);
    return { target, state, pinned, absent };
  });
  const missingOf = (stream: StreamName) =>
    new Set(opened.flatMap(({ target, absent }) => (target.stream === stream ? absent : [])));
  const read = <Source extends { id: string }>(stream: StreamName, before: readonly Source[]) =>
    readAlone(missingOf(stream), before, choice.alone);
  const confirmations: Confirmations = {
    appointments: read('appointments', choice.before.appointments),
    patients: read('patients', choice.before.patients),
    invoices: read('invoices', choice.before.invoices),
  };
  const inputs = opened.map(({ target, state, pinned, absent }): TargetInput => {
    const isUnworked = choice.isUnworked && target.id === 'worked';
    return {
      ...{ target: isUnworked ? withoutMapping(target) : target, state, pinned, absent, toConfirm: absent },
      stored: {
        firstRunApprovedAt: null,
        comparableUnder: choice.comparableUnder,
        refusedThere: {},
        withheldBefore: new Set(),
      },
      gone: { hour: { ...NONE_GONE, vanished: 1 }, week: { ...NONE_GONE, vanished: 2, released: 3 } },
      restorations: new Map([...state.links.keys()].map((id) => [id, choice.restored])),
      recent: new Map(),
    };
  });
  const isResting = ({ target }: ContactsInput) => choice.isResting && target.id === 'contacts';
  const times = { linkCount: 9, createdAt: NOW - DAY_MS, decidedAt: null, expiresAt: NOW + DAY_MS };
  return {
    ...{
      clinicReading,
      confirmations,
      now: clinicReading.startedAt,
      byAgenda: indexByAgenda(clinicReading.snapshot.records),
    },
    rescheduleWithinMs: 10 * MINUTE_MS,
    isForgotten: (patientId) => choice.forgotten.includes(patientId),
    isUncertain: choice.isUncertain,
    configVersion: { number: 2, isOurs: true },
    holds: choice.holds.map((hold, index) => ({ id: `h${index}`, ...hold, ...times })),
    locale: { language: 'en', zone: 'Europe/Rome' },
    targets: inputs.filter((input) => !isResting(input)),
    unplannedContacts: new Map(inputs.filter(isResting).map((input) => [input.target.id, input])),
  };
}

/** A target whose mapping fails. */
function withoutMapping(target: ReturnType<typeof openTarget>): TargetInput['target'] {
  const map = () => {
    throw UNWORKED;
  };
  return target.crm === null ? target : { ...target, crm: { ...target.crm, mapping: { ...target.crm.mapping, map } } };
}

function readAlone<Source extends { id: string }>(
  missing: ReadonlySet<string>,
  before: readonly Source[],
  outcomes: CycleChoice['alone'],
): Confirmation<Source> {
  const confirmation = nothingMissing<Source>();
  for (const [index, id] of [...missing].entries()) {
    const outcome = outcomes[index % outcomes.length] ?? 'nothing';
    const record = before.find((one) => one.id === id);
    confirmation.sampled.add(id);
    if (outcome === 'found') confirmation.found.push(...(record === undefined ? [] : [record]));
    else if (outcome !== 'nothing') confirmation[outcome].add(id);
  }
  return confirmation;
}
