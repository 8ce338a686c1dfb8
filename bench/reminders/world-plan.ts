/** Clinics, patients and rules of a simulated fortnight. This file uses no code of the product. */

/** An agenda: the location of its appointments, by tenant and zone. */
export interface PlannedAgenda {
  tenant: string;
  zone: string;
}

/** Every agenda by its id. Tenants use Rome's time; a location with another zone uses its own. */
export const AGENDAS: Readonly<Record<string, PlannedAgenda>> = {
  rome: { tenant: 'studio-rossi', zone: 'Europe/Rome' },
  milan: { tenant: 'studio-rossi', zone: 'Europe/Rome' },
  'new-york': { tenant: 'harbour', zone: 'America/New_York' },
  sydney: { tenant: 'harbour', zone: 'Australia/Sydney' },
};

/** The tenants by their ids. */
export const TENANTS: readonly string[] = [...new Set(Object.values(AGENDAS).map(({ tenant }) => tenant))];

/** A channel as a judge knows it. */
export type ChannelName = 'text' | 'mail' | 'hook';

/** What a tenant promises: read by the judge, and written into the tenant's file for the product. */
export const PROMISE = {
  quiet: { from: '21:00', to: '08:00' },
  leadMinutes: 60,
  graceMinutes: 120,
  unreachableMinutes: 60,
  /** Corrections of one recipient in an hour; one more comes when the time did not change for this long. */
  correctionsPerHour: 2,
  stillMinutes: 10,
  /** A list has the visits whose reminder would follow within this time. */
  togetherMinutes: 240,
  /** A correction with a time replaces the reminder of that time that would follow within this time. */
  toldByCorrectionMinutes: 240,
  /** Only patients with this consent receive text messages. */
  consent: 'reminders',
} as const;

/** A rule: when, of which agendas, and by which channels. */
export interface PlannedRule {
  id: string;
  when: 'eve-at-six' | 'same-time-the-day-before' | 'two-hours-before';
  agendas: readonly string[];
  channels: readonly ChannelName[];
}

/** The rules of each tenant. */
export const RULES: readonly PlannedRule[] = [
  { id: 'eve', when: 'eve-at-six', agendas: Object.keys(AGENDAS), channels: ['text', 'mail'] },
  { id: 'same-time', when: 'same-time-the-day-before', agendas: ['rome', 'sydney'], channels: ['hook'] },
  { id: 'shortly', when: 'two-hours-before', agendas: ['milan', 'new-york'], channels: ['text'] },
];

/** An appointment in the clinic. */
export interface TrueAppointment {
  id: string;
  agendaId: string;
  patientId: string;
  startAt: number;
  status: 'booked' | 'confirmed' | 'arrived' | 'completed' | 'cancelled' | 'no_show';
  updatedAt: number;
  /** Appointment that this one replaces under another id: known to the judge, never told to the product. */
  replaces?: string;
  /** The list leaves it out, and the single request shows it as deleted. */
  isDeleted?: boolean;
}

/** A patient in the clinic. */
export interface TruePatient {
  id: string;
  tenant: string;
  phone: string | null;
  email: string | null;
  language: 'it' | 'en';
  agreed: boolean;
  isActive: boolean;
  /** The patient into whom this one was merged. */
  mergedInto?: string;
}

/** What a patient got, or what the receiver of webhooks took. */
export interface ReceivedMessage {
  channel: ChannelName;
  /** Empty for a line of a list of changes, which serves several rules. */
  rule: string;
  /** Telephone number or mail address of the recipient; for webhooks the id of the patient. */
  to: string;
  /** What it corrects; null for a reminder. A list of changes also tells a time `again`. */
  correction: 'moved' | 'cancelled' | 'again' | null;
  /** Local date and time that it speaks of, `29/03/2026 10:00`. */
  told: string;
  /** Another one is another message; webhooks repeat theirs, and each line of a list has that of the list. */
  messageId: string;
}

/** The patient who remains after all merges. */
export function remaining(patients: ReadonlyMap<string, TruePatient>, id: string): TruePatient | undefined {
  const patient = patients.get(id);
  return patient?.mergedInto === undefined ? patient : remaining(patients, patient.mergedInto);
}

/** One thing that happened, in the order in which it did. */
export type Happening =
  | { at: number; kind: 'appointment'; id: string; now: TrueAppointment | null }
  | { at: number; kind: 'patient'; id: string; now: TruePatient }
  | { at: number; kind: 'opt-out'; address: string }
  /** After a full read of a tenant's clinic: appointments and channels for which the product reports wrong information. */
  /** `strangers`: those listed because the patient is said to be another one. */
  | { at: number; kind: 'listing'; tenant: string; listed: readonly string[]; strangers?: readonly string[] }
  | { at: number; kind: 'message'; message: ReceivedMessage };
