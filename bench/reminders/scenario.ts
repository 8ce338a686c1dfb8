import { seededRandom } from '../../sandbox/kit/random.ts';
import { allowedFor, instantOf, localText } from './local-time.ts';
import { AGENDAS, type PlannedRule, RULES, type TrueAppointment, type TruePatient } from './world-plan.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Events at the clinic and actions of patients, in order. */
export type Deed =
  | { at: number; do: 'save'; appointment: TrueAppointment }
  | { at: number; do: 'delete'; id: string }
  | { at: number; do: 'patient'; patient: TruePatient }
  /** Two records are one patient; the appointments go to the remaining record now, or when they are saved next. */
  | { at: number; do: 'merge'; id: string; into: string; withAppointments: boolean }
  /** A notice of the clinic: its appointments are read now. */
  | { at: number; do: 'read'; tenant: string }
  /** The patient answers a message with this word. */
  | { at: number; do: 'reply'; patientId: string; word: 'STOP' | 'BASTA' };

/** Everything that will happen. */
export interface Scenario {
  fromAt: number;
  toAt: number;
  days: number;
  deeds: Deed[];
}

/** Patients with one number. */
const MOST_IN_FAMILY = 3;

/** Probability of each change of an appointment; otherwise it is unchanged. */
const FATES: readonly [share: number, fate: Fate][] = [
  [0.08, 'moved'],
  [0.1, 'moved-under-another-id'],
  [0.03, 'moved-often'],
  [0.06, 'moved-shortly'],
  [0.06, 'moved-shortly-and-back'],
  [0.06, 'cancelled-after-sending'],
  [0.03, 'changes-agenda'],
  [0.04, 'moved-and-back'],
  [0.06, 'cancelled'],
  [0.03, 'cancelled-and-back'],
  [0.03, 'deleted'],
  [0.14, 'arrives-early'],
  [0.15, 'confirmed'],
];
type Fate =
  | 'moved-under-another-id'
  | 'moved-often'
  | 'moved-shortly'
  | 'moved-shortly-and-back'
  | 'cancelled-after-sending'
  | 'changes-agenda'
  | 'moved'
  | 'moved-and-back'
  | 'cancelled'
  | 'cancelled-and-back'
  | 'deleted'
  | 'arrives-early'
  | 'confirmed';

/** Draws some days from a seed. @param firstDay `2026-03-25`: the daemon starts on this day, and no appointments take place */
export function drawScenario(
  seed: number,
  { appointments: count, firstDay, days }: { appointments: number; firstDay: string; days: number },
): Scenario {
  const draw = drawer(seed);
  const fromAt = instantOf(firstDay, '00:00', 'UTC');
  const taken = new Set<string>();
  const patients = new Map<string, TruePatient>();
  const scenario: Scenario = { fromAt, toAt: fromAt + (days + 1) * DAY_MS, days, deeds: [] };
  const latest = new Map<string, Identity>();
  const agendaIds = Object.keys(AGENDAS);
  for (let index = 0; index < count; index += 1) {
    let agendaId = draw.one(agendaIds);
    const patient = patientOf(draw, scenario, patients, { serial: Math.floor(index / 2), agendaId });
    const household = patient.phone ?? patient.id;
    // Now and then a patient has two appointments within hours of each other; a family mostly comes together.
    const before = latest.get(household);
    const isNear = before !== undefined && draw.chance(before.patientId === patient.id ? 0.3 : 0.7);
    if (isNear && before.patientId !== patient.id) agendaId = before.agendaId;
    const identity = { id: `apt-${index}`, household, agendaId, patientId: patient.id, startAt: before?.startAt ?? 0 };
    const startAt = isNear ? nearStart(draw, identity, taken) : drawStart(draw, scenario, identity, taken);
    latest.set(household, { ...identity, startAt });
    drawHistory(draw, scenario, { ...identity, startAt }, taken);
  }
  scenario.deeds.sort((one, other) => one.at - other.at);
  return scenario;
}

type Draw = ReturnType<typeof drawer>;

function drawer(seed: number) {
  const random = seededRandom(seed);
  return {
    random,
    whole: (from: number, to: number) => from + Math.floor(random() * (to - from + 1)),
    one: <Value>(list: readonly Value[]) => list[Math.floor(random() * list.length)] as Value,
    chance: (share: number) => random() < share,
  };
}

/** Two appointments in a row are one patient's when their tenant is the same. */
function patientOf(
  draw: Draw,
  { deeds, fromAt, toAt }: Scenario,
  patients: Map<string, TruePatient>,
  of: { serial: number; agendaId: string },
): TruePatient {
  const tenant = AGENDAS[of.agendaId]?.tenant ?? '';
  const id = `${tenant}-${of.serial}`;
  const known = patients.get(id);
  if (known !== undefined) return known;
  const serial = String(of.serial * 2 + (tenant === 'harbour' ? 1 : 0)).padStart(6, '0');
  const relative = [...patients.values()].findLast((one) => one.tenant === tenant && one.phone !== null);
  const family = [...patients.values()].filter(({ phone }) => phone === relative?.phone).length;
  const isOfFamily = relative !== undefined && family < MOST_IN_FAMILY && draw.chance(0.4);
  const patient: TruePatient = {
    id,
    tenant,
    phone: isOfFamily ? relative.phone : draw.chance(0.97) ? `+39333${serial}0` : null,
    email: draw.chance(0.97) ? `p${serial}@patients.example` : null,
    language: draw.one(['it', 'en']),
    agreed: draw.chance(0.95),
    isActive: draw.chance(0.99),
  };
  patients.set(id, patient);
  const sometime = () => draw.whole(fromAt, toAt);
  deeds.push({ at: fromAt - 2 * DAY_MS, do: 'patient', patient });
  if (draw.chance(0.06))
    deeds.push({ at: sometime(), do: 'patient', patient: { ...patient, agreed: !patient.agreed } });
  if (draw.chance(0.06)) deeds.push({ at: sometime(), do: 'reply', patientId: id, word: draw.one(['STOP', 'BASTA']) });
  if (draw.chance(0.08)) {
    const at = sometime();
    merge(draw, deeds, at, id);
    if (draw.chance(0.3)) merge(draw, deeds, at + draw.whole(0, 2 * 24 * 60) * MINUTE_MS, `${id}-m`);
  }
  return patient;
}

/** The record with the same number that remains of both has the next name. */
function merge(draw: Draw, deeds: Deed[], at: number, id: string): void {
  deeds.push({ at, do: 'merge', id, into: `${id}-m`, withAppointments: draw.chance(0.7) });
}

/** A quarter of an hour between 07:00 and 21:45, never twice for one number. */
function drawStart(
  draw: Draw,
  { fromAt, days }: Scenario,
  { agendaId, household }: Pick<Identity, 'agendaId' | 'household'>,
  taken: Set<string>,
): number {
  for (;;) {
    const day = new Date(fromAt + draw.whole(1, days - 1) * DAY_MS).toISOString().slice(0, 10);
    const quarter = draw.whole(28, 87);
    const time = `${String(Math.floor(quarter / 4)).padStart(2, '0')}:${String((quarter % 4) * 15).padStart(2, '0')}`;
    const startAt = instantOf(day, time, AGENDAS[agendaId]?.zone ?? 'UTC');
    const name = `${household} ${day} ${time}`;
    if (taken.has(name)) continue;
    taken.add(name);
    return startAt;
  }
}

type Identity = Pick<TrueAppointment, 'id' | 'agendaId' | 'patientId' | 'startAt' | 'replaces'> & {
  /** What the visits of one number have in common. */
  household: string;
};

function drawHistory(draw: Draw, scenario: Scenario, identity: Identity, taken: Set<string>): void {
  const { deeds, fromAt } = scenario;
  const { household, ...record } = identity;
  const { startAt, agendaId } = record;
  const save = (at: number, own: Partial<TrueAppointment> = {}) => {
    const appointment: TrueAppointment = { ...record, status: 'booked', updatedAt: at, ...own };
    deeds.push({ at, do: 'save', appointment });
  };
  // Most are booked long before, some shortly before they begin or before a reminder would be due.
  const bookedAt = draw.chance(0.75) ? fromAt - DAY_MS : Math.min(momentNear(draw, identity), startAt - 10 * MINUTE_MS);
  save(bookedAt);
  const fate = drawFate(draw);
  if (fate === null) return;
  const at = Math.max(bookedAt + MINUTE_MS, momentNear(draw, identity));
  const later = at + draw.whole(1, 40) * 5 * MINUTE_MS;
  switch (fate) {
    case 'moved':
    case 'moved-and-back':
      save(at, { startAt: drawStart(draw, scenario, identity, taken) });
      if (fate === 'moved-and-back') save(later);
      return;
    case 'cancelled':
    case 'cancelled-and-back':
      save(at, { status: 'cancelled' });
      if (fate === 'cancelled-and-back') save(later);
      return;
    case 'moved-shortly':
    case 'moved-shortly-and-back': {
      const reportedAt = afterSending(draw, startAt, bookedAt);
      save(reportedAt, { startAt: nearStart(draw, identity, taken) });
      if (fate === 'moved-shortly-and-back')
        save(Math.min(reportedAt + draw.whole(1, 24) * 15 * MINUTE_MS, startAt - MINUTE_MS));
      return;
    }
    case 'moved-under-another-id':
      rebook(draw, scenario, { identity, taken, save }, afterSending(draw, startAt, bookedAt));
      return;
    case 'moved-often':
      moveOften(draw, scenario, { identity, taken, save }, afterSending(draw, startAt, bookedAt));
      return;
    case 'cancelled-after-sending':
      save(afterSending(draw, startAt, bookedAt), { status: 'cancelled' });
      return;
    case 'changes-agenda':
      // Within one tenant and zone.
      if (agendaId === 'rome' || agendaId === 'milan') save(at, { agendaId: agendaId === 'rome' ? 'milan' : 'rome' });
      return;
    case 'deleted':
      deeds.push({ at, do: 'delete', id: identity.id });
      return;
    case 'arrives-early':
      save(Math.max(bookedAt + MINUTE_MS, startAt - draw.whole(5, 180) * MINUTE_MS), { status: 'arrived' });
      return;
    case 'confirmed':
      save(at, { status: 'confirmed' });
  }
}

/** What the history of one appointment is drawn with. */
interface Drawing {
  identity: Identity;
  taken: Set<string>;
  save(at: number, own?: Partial<TrueAppointment>): void;
}

/** The desk moves the visit several times within minutes or seconds, and the clinic gives notice of most moves. */
function moveOften(draw: Draw, scenario: Scenario, { identity, taken, save }: Drawing, firstAt: number): void {
  let at = firstAt;
  for (let moves = draw.whole(3, 6); moves > 0; moves -= 1) {
    save(at, { startAt: laterStart(draw, identity, taken, at) });
    if (draw.chance(0.7)) read(scenario, identity.agendaId, at + draw.whole(1, 20) * SECOND_MS);
    at += draw.chance(0.5) ? draw.whole(10, 60) * SECOND_MS : draw.whole(1, 8) * MINUTE_MS;
  }
  read(scenario, identity.agendaId, at);
}

/** The visit gets another id: the old one is cancelled or deleted and a new one booked, in either order, read between them or not. */
function rebook(draw: Draw, scenario: Scenario, { identity, taken, save }: Drawing, at: number): void {
  const { deeds } = scenario;
  const { id, agendaId, patientId, startAt } = identity;
  const gapMs = draw.whole(0, 8 * 60) * SECOND_MS;
  const [goneAt, newAt] = draw.chance(0.5) ? [at, at + gapMs] : [at + gapMs, at];
  const way = draw.one(['cancelled', 'deleted', 'hidden'] as const);
  if (way === 'deleted') deeds.push({ at: goneAt, do: 'delete', id });
  else save(goneAt, { status: 'cancelled', isDeleted: way === 'hidden' });
  if (draw.chance(0.15)) merge(draw, deeds, at + Math.floor(gapMs / 2), patientId);
  if (draw.chance(0.5)) read(scenario, agendaId, at + Math.floor(gapMs / 2));
  if (draw.chance(0.7)) read(scenario, agendaId, at + gapMs + draw.whole(0, 60) * SECOND_MS);
  const isSameTime = draw.chance(0.15) && startAt > newAt;
  const next = isSameTime ? startAt : laterStart(draw, identity, taken, newAt);
  const { household: _, ...record } = { ...identity, id: `${id}-r`, startAt: next, replaces: id };
  deeds.push({ at: newAt, do: 'save', appointment: { ...record, status: 'booked', updatedAt: newAt } });
  if (draw.chance(0.3)) {
    const later = afterSending(draw, next, Math.max(goneAt, newAt) + 15 * MINUTE_MS);
    const again = { ...record, status: 'booked', updatedAt: later } as const;
    const own = draw.chance(0.5)
      ? { startAt: laterStart(draw, identity, taken, later) }
      : { status: 'cancelled' as const };
    deeds.push({ at: later, do: 'save', appointment: { ...again, ...own } });
  }
}

function read({ deeds }: Scenario, agendaId: string, at: number): void {
  deeds.push({ at, do: 'read', tenant: AGENDAS[agendaId]?.tenant ?? '' });
}

/** A free start near the old one, at least half an hour away. */
function laterStart(draw: Draw, identity: Identity, taken: Set<string>, at: number): number {
  const startAt = nearStart(draw, identity, taken);
  if (startAt > at + 30 * MINUTE_MS) return startAt;
  return laterStart(draw, { ...identity, startAt: startAt + draw.whole(1, 4) * 60 * MINUTE_MS }, taken, at);
}

/** In the day before the start, when most reminders were sent. */
function afterSending(draw: Draw, startAt: number, bookedAt: number): number {
  return Math.max(bookedAt + MINUTE_MS, startAt - draw.whole(10, 20 * 60) * MINUTE_MS);
}

/** Some quarters of an hour away, never a time that the patient has. */
function nearStart(draw: Draw, { startAt, agendaId, household }: Identity, taken: Set<string>): number {
  for (;;) {
    const nearAt = startAt + draw.one([-1, 1]) * draw.whole(1, 8) * 15 * MINUTE_MS;
    const name = `${household} ${nameOf(nearAt, agendaId)}`;
    if (taken.has(name)) continue;
    taken.add(name);
    return nearAt;
  }
}

/** Local day and time, the key of occupied starts. */
function nameOf(startAt: number, agendaId: string): string {
  const [date = '', time = ''] = localText(startAt, AGENDAS[agendaId]?.zone ?? 'UTC').split(' ');
  return `${date.split('/').reverse().join('-')} ${time}`;
}

function drawFate(draw: Draw): Fate | null {
  let rest = draw.random();
  for (const [share, fate] of FATES) {
    if (rest < share) return fate;
    rest -= share;
  }
  return null;
}

/** Often within minutes of a reminder's time, on either side: there the races are. */
function momentNear(draw: Draw, { startAt, agendaId }: Identity): number {
  const rules = RULES.filter(({ agendas }) => agendas.includes(agendaId));
  const allowed = allowedFor(draw.one<PlannedRule>(rules), startAt, AGENDAS[agendaId]?.zone ?? 'UTC');
  const dueAt = allowed?.fromAt ?? startAt;
  const aroundMs = draw.one([2 * MINUTE_MS, 90 * MINUTE_MS, 36 * HOUR_MS]);
  return draw.chance(0.1) ? dueAt : dueAt + draw.whole(-aroundMs, Math.floor(aroundMs / 4));
}
