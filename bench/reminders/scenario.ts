import { seededRandom } from '../../sandbox/kit/random.ts';
import { allowedFor, instantOf, localText } from './local-time.ts';
import { AGENDAS, type PlannedRule, RULES, type TrueAppointment, type TruePatient } from './world-plan.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Events at the clinic and actions of patients, in order. */
export type Deed =
  | { at: number; do: 'save'; appointment: TrueAppointment }
  | { at: number; do: 'delete'; id: string }
  | { at: number; do: 'patient'; patient: TruePatient }
  /** The patient answers a message with this word. */
  | { at: number; do: 'reply'; patientId: string; word: 'STOP' | 'BASTA' };

/** Everything that will happen. */
export interface Scenario {
  fromAt: number;
  toAt: number;
  days: number;
  deeds: Deed[];
}

/** Probability of each change of an appointment; otherwise it is unchanged. */
const FATES: readonly [share: number, fate: Fate][] = [
  [0.08, 'moved'],
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
  const starts = new Map<string, number>();
  const agendaIds = Object.keys(AGENDAS);
  for (let index = 0; index < count; index += 1) {
    const agendaId = draw.one(agendaIds);
    const patient = patientOf(draw, scenario, patients, { serial: Math.floor(index / 2), agendaId });
    // Now and then a patient has two appointments within hours of each other.
    const before = starts.get(patient.id);
    const identity = { id: '', agendaId, patientId: patient.id, startAt: before ?? 0 };
    const startAt =
      before !== undefined && draw.chance(0.3)
        ? nearStart(draw, identity, taken)
        : drawStart(draw, scenario, agendaId, patient.id, taken);
    starts.set(patient.id, startAt);
    drawHistory(draw, scenario, { id: `apt-${index}`, agendaId, patientId: patient.id, startAt }, taken);
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
  const patient: TruePatient = {
    id,
    tenant,
    phone: draw.chance(0.97) ? `+39333${serial}0` : null,
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
  return patient;
}

/** A quarter of an hour between 07:00 and 21:45, never twice for one patient. */
function drawStart(
  draw: Draw,
  { fromAt, days }: Scenario,
  agendaId: string,
  patientId: string,
  taken: Set<string>,
): number {
  for (;;) {
    const day = new Date(fromAt + draw.whole(1, days - 1) * DAY_MS).toISOString().slice(0, 10);
    const quarter = draw.whole(28, 87);
    const time = `${String(Math.floor(quarter / 4)).padStart(2, '0')}:${String((quarter % 4) * 15).padStart(2, '0')}`;
    const startAt = instantOf(day, time, AGENDAS[agendaId]?.zone ?? 'UTC');
    const name = `${patientId} ${day} ${time}`;
    if (taken.has(name)) continue;
    taken.add(name);
    return startAt;
  }
}

type Identity = Pick<TrueAppointment, 'id' | 'agendaId' | 'patientId' | 'startAt'>;

function drawHistory(draw: Draw, scenario: Scenario, identity: Identity, taken: Set<string>): void {
  const { deeds, fromAt } = scenario;
  const { startAt, agendaId, patientId } = identity;
  const save = (at: number, own: Partial<TrueAppointment> = {}) => {
    const appointment: TrueAppointment = { ...identity, status: 'booked', updatedAt: at, ...own };
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
      save(at, { startAt: drawStart(draw, scenario, agendaId, patientId, taken) });
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

/** In the day before the start, when most reminders were sent. */
function afterSending(draw: Draw, startAt: number, bookedAt: number): number {
  return Math.max(bookedAt + MINUTE_MS, startAt - draw.whole(10, 20 * 60) * MINUTE_MS);
}

/** Some quarters of an hour away, never a time that the patient has. */
function nearStart(draw: Draw, { startAt, agendaId, patientId }: Identity, taken: Set<string>): number {
  for (;;) {
    const nearAt = startAt + draw.one([-1, 1]) * draw.whole(1, 8) * 15 * MINUTE_MS;
    const name = `${patientId} ${nameOf(nearAt, agendaId)}`;
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
