import type { ClinicSandbox, SandboxTenant, TrueAppointment, TruePatient } from '../../../sandbox/clinic/index.ts';
import { seededRandom } from '../../../sandbox/kit/random.ts';
import { History } from '../judge/history.ts';

/** Everything that people do at one clinic passes here, so that its state is known as of every time. */
export interface ClinicDesk {
  readonly tenantId: string;
  readonly agendaIds: readonly string[];
  readonly user: { username: string; password: string };
  readonly history: History;
  /** Appointments that are neither cancelled nor deleted and have not begun. */
  ahead(): TrueAppointment[];
  /** Does something and notes what the clinic holds then. */
  do<Result>(what: (clinic: ClinicSandbox) => Result): Result;
  /** A new patient comes, with a name that nobody else has, and is booked. */
  book(agendaId: string, start: number, end?: number): TrueAppointment;
  /** A day's work in small: the same for a seed while its data is the same. */
  work(seed: number, pieces: number): void;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const SLOT_MS = 30 * MINUTE_MS;
/** So many patients share an address. */
const FAMILY = 4;
/** Every so many patients don't consent to the keeping of data in a CRM. */
const WITHOUT_CONSENT_EVERY = 9;

/**
 * Opens the desk of a clinic and fills its agendas.
 * @param options.mark begins the surname of every patient there
 * @param options.lateMs no two clinics begin at the same minute, else their rows could be told apart by names alone
 */
export function openClinicDesk(
  clinic: ClinicSandbox,
  { id: tenantId, agendas, user }: SandboxTenant,
  { mark, perAgenda, lateMs }: { mark: string; perAgenda: number; lateMs: number },
): ClinicDesk {
  const history = new History(clinic, tenantId);
  const agendaIds = agendas.map(({ id }) => id);
  let people = 0;
  const today = Math.floor(clinic.clock() / DAY_MS) * DAY_MS;
  const register = (): TruePatient => {
    const patient = clinic.registerPatient(tenantId);
    people += 1;
    const number = String(people).padStart(4, '0');
    const granted = people % WITHOUT_CONSENT_EVERY !== 0;
    clinic.plant(tenantId, 'patients', patient.id, {
      lastName: `${mark}${number}`,
      email:
        people <= FAMILY ? `family.${mark.toLowerCase()}@example.com` : `${number}.${mark.toLowerCase()}@example.com`,
      phone: `+39 333 ${mark.length}${number}00`,
      consents: { ...patient.details.consents, privacy: { granted, date: null } },
    });
    return patient;
  };
  const desk: ClinicDesk = {
    tenantId,
    agendaIds,
    user,
    history,
    ahead: () =>
      [...clinic.appointments(tenantId)].filter(
        ({ deleted, status, start }) =>
          !deleted && (status === 'Booked' || status === 'Confirmed') && start > clinic.clock() + DAY_MS,
      ),
    do(what) {
      try {
        return what(clinic);
      } finally {
        history.note(Date.now());
      }
    },
    book: (agendaId, start, end = start + SLOT_MS) =>
      desk.do(() => clinic.book(tenantId, { agendaId, patientId: register().id, start, end })),
    work(seed, pieces) {
      const random = seededRandom(seed);
      for (let piece = 0; piece < pieces; piece += 1) workOnce(desk, random, today);
    },
  };
  for (const agendaId of agendaIds) {
    // Two lie behind, the others ahead, each at a time of its own.
    for (let index = 0; index < perAgenda; index += 1) {
      const day = index < 2 ? -2 - index : 1 + index * 3;
      desk.book(agendaId, today + day * DAY_MS + 8 * 60 * MINUTE_MS + index * SLOT_MS + lateMs);
    }
  }
  return desk;
}

function workOnce(desk: ClinicDesk, random: () => number, today: number): void {
  const ahead = desk.ahead();
  const one = ahead[Math.floor(random() * ahead.length)];
  const agendaId = desk.agendaIds[Math.floor(random() * desk.agendaIds.length)] ?? '';
  const start = today + (2 + Math.floor(random() * 40)) * DAY_MS + (14 + Math.floor(random() * 8) / 2) * 60 * MINUTE_MS;
  const kind = random();
  if (one === undefined || kind < 0.3) return void desk.book(agendaId, start);
  desk.do((clinic) => {
    if (kind < 0.65) clinic.move(desk.tenantId, one.id, { start, end: start + SLOT_MS });
    else if (kind < 0.75) clinic.move(desk.tenantId, one.id, { agendaId, start, end: start + SLOT_MS });
    else if (kind < 0.85) clinic.cancel(desk.tenantId, one.id);
    else if (kind < 0.92) clinic.remove(desk.tenantId, one.id, 'hard');
    else changePatient(clinic, desk.tenantId, one.patientId ?? '', random);
  });
}

/** A new telephone number, or the consent goes or comes. */
function changePatient(clinic: ClinicSandbox, tenantId: string, id: string, random: () => number): void {
  const patient = [...clinic.patients(tenantId)].find((each) => each.id === id);
  if (patient === undefined) return;
  const { consents } = patient.details;
  const granted = consents.privacy?.granted !== true;
  const digits = String(Math.floor(random() * 10_000_000)).padStart(7, '0');
  const change =
    random() < 0.6 ? { phone: `+39 347 ${digits}` } : { consents: { ...consents, privacy: { granted, date: null } } };
  clinic.plant(tenantId, 'patients', id, change);
}
