import { timingSafeEqual } from 'node:crypto';
import { asMirrorError, type MirrorError } from '../../core/model/errors.ts';
import type { Appointment } from '../../core/model/records.ts';
import type { Answer, LedgerEntry } from '../../core/model/reminders.ts';
import type { Lookup } from '../../core/model/snapshots.ts';
import { HOUR_MS, type Instant, SECOND_MS } from '../../core/model/time.ts';
import { isShared } from '../../core/model/visits.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import type { Installation } from '../../operator/control/installation.ts';
import { reportDamaged } from '../../state/damaged.ts';
import type { AnswerDirectory, AnswerLink } from './answer-store.ts';
import type { OpenAnswers, OpenReminders, RemindedTenant } from './ports.ts';

/**
 * Message of an answer page:
 * - `ask`: the appointment with its buttons; `ask-again`: the previous page was too old or forged
 * - `confirmed`, `cancelled`: done now; `was-confirmed`, `was-cancelled`: done earlier
 * - `moved`, `over`, `gone`: the appointment moved, began or ended, or was deleted
 * - `expired`: the link's appointment has begun; `unknown`: unknown link
 * - `too-late`: too late to cancel online; `not-offered`: the clinic requires a telephone call
 * - `busy`: a concurrent request performs an answer; `limited`: too many requests
 * - `away`: the clinic did not answer, and no change is known; `refused`: the clinic refused the answer
 */
export type AnswerWord =
  | 'ask'
  | 'ask-again'
  | 'confirmed'
  | 'cancelled'
  | 'was-confirmed'
  | 'was-cancelled'
  | 'moved'
  | 'over'
  | 'gone'
  | 'expired'
  | 'unknown'
  | 'too-late'
  | 'not-offered'
  | 'busy'
  | 'limited'
  | 'away'
  | 'refused';

/** A page for a patient. */
export interface AnswerPage {
  says: AnswerWord;
  /** Null if the link has no valid appointment. */
  about: { clinic: string; phone: string | null; startAt: Instant; zone: string; language: 'it' | 'en' } | null;
  /** Buttons with the proof of their page; null without possible answers. */
  form: { answers: Answer[]; proof: string } | null;
}

/** Form data of a button. */
export interface PostedAnswer {
  answer: string;
  proof: string;
}

/** Pages behind reminder links. `caller` is the client of the request, for limits. */
export interface AnswerServices {
  /** Shows the page without changes or clinic queries, because link scanners open links. @throws for Redis errors */
  show(token: string, caller: string): Promise<AnswerPage>;
  /** Performs a patient's answer. @throws for Redis errors */
  take(token: string, provided: PostedAnswer, caller: string): Promise<AnswerPage>;
}

const TOKEN = /^[\w-]{22}$/;
/** Lifetime of an opened page. */
const PAGE_LIFE_MS = HOUR_MS;
/** Longest time for the clinic while a patient waits. The claim on the answer lasts longer. */
const CLINIC_MS = 40 * SECOND_MS;
const OVER = ['arrived', 'in_progress', 'completed', 'no_show'];

/** Data of a valid link. */
interface Asked {
  tenant: RemindedTenant;
  clinic: ReturnType<AnswerParts['clinicOf']>;
  reminders: OpenReminders;
  answers: OpenAnswers;
  entry: LedgerEntry;
  link: AnswerLink;
  about: NonNullable<AnswerPage['about']>;
}

/** Parts of the pages, supplied by `main.ts`. */
export interface AnswerParts {
  installation: Installation;
  directory: AnswerDirectory;
  /** Returns the clinic of a tenant, with limits for a waiting user. */
  clinicOf(tenant: { id: string }): Pick<ClinicSource, 'readAppointment' | 'setStatus'>;
}

/** Creates the pages. */
export function createAnswerServices(parts: AnswerParts): AnswerServices {
  const { installation } = parts;
  return {
    async show(token, caller) {
      const asked = await find(parts, token, caller);
      return 'says' in asked ? asked : ask(asked, 'ask', installation.clock());
    },
    async take(token, { answer, proof }, caller) {
      const asked = await find(parts, token, caller);
      if ('says' in asked) return asked;
      const now = installation.clock();
      if (!isShown(asked, proof, now)) return ask(asked, 'ask-again', now);
      if (answer !== 'confirmed' && answer !== 'cancelled') return ask(asked, 'ask-again', now);
      const refusal = offered(asked, now)[answer];
      if (refusal !== null) return page(refusal, asked);
      return carryOut(installation, asked, answer);
    },
  };
}

/** Returns the reminder of a token, or the page without answers. */
async function find(
  { installation, directory, clinicOf }: AnswerParts,
  token: string,
  caller: string,
): Promise<Asked | AnswerPage> {
  const link = TOKEN.test(token) ? await directory.find(token) : null;
  if (link === null) return bare('unknown');
  // Uses the tenant id in the state, which may differ from the present id in the file.
  const outline = [...installation.outlines].find(([id, { formerly }]) => (formerly ?? id) === link.tenant);
  const tenant = outline === undefined ? undefined : installation.tenants.get(outline[0]);
  if (tenant?.reminders?.answers == null) return bare('unknown');
  const { reminders } = tenant;
  const { ledger, answers } = reminders;
  const entry = await ledger.read(link.reminder);
  if (entry === null || answers === null) return bare('unknown');
  if (!answers.isOurs(token, link) || reminders.name(entry) !== link.reminder) {
    reportDamaged(link.tenant, 'reminders');
    return bare('unknown');
  }
  const now = installation.clock();
  // Links stay in mailboxes for years, so an expired link shows no patient or appointment data.
  if (now >= entry.startAt) return bare('expired');
  if (!(await answers.store.admit(entry.id, caller, now))) return bare('limited');
  const { configuration } = tenant;
  const { file } = reminders;
  const { startAt, zone } = entry;
  const { language } = configuration;
  const about = { clinic: file.sender ?? configuration.name, phone: file.phone ?? null, startAt, zone, language };
  const asked = { tenant, clinic: clinicOf(tenant), reminders, answers, entry, link, about };
  return entry.answer === null ? asked : page(`was-${entry.answer.is}`, asked);
}

function bare(says: AnswerWord): AnswerPage {
  return { says, about: null, form: null };
}

function page(says: AnswerWord, { about }: Asked): AnswerPage {
  return { says, about, form: null };
}

function ask(asked: Asked, says: 'ask' | 'ask-again', now: Instant): AnswerPage {
  const { about, answers, entry } = asked;
  const { confirmed, cancelled } = offered(asked, now);
  const provided: Answer[] = [
    ...(confirmed === null ? ['confirmed' as const] : []),
    ...(cancelled === null ? ['cancelled' as const] : []),
  ];
  return { says, about, form: { answers: provided, proof: `${now}.${answers.proof(entry.id, now)}` } };
}

/** Returns for each answer null if offered, or the page with the reason. */
function offered({ reminders, entry }: Asked, now: Instant): Record<Answer, AnswerWord | null> {
  const { cancel = false, cancelUntilHours = 0 } = reminders.file.links ?? {};
  const isTooLate = now > entry.startAt - cancelUntilHours * HOUR_MS;
  return { confirmed: null, cancelled: cancel ? (isTooLate ? 'too-late' : null) : 'not-offered' };
}

/** Verifies that the daemon showed the page with these buttons recently. */
function isShown({ answers, entry }: Asked, proof: string, now: Instant): boolean {
  const [, written = '', provided = ''] = /^(\d{1,15})\.([\w-]{22})$/.exec(proof) ?? [];
  const shownAt = Number(written);
  if (written === '' || shownAt > now || now - shownAt > PAGE_LIFE_MS) return false;
  return timingSafeEqual(Buffer.from(provided), Buffer.from(answers.proof(entry.id, shownAt)));
}

/** Performs one answer at a time, and stores the answer after the clinic accepted the answer. */
async function carryOut(installation: Installation, asked: Asked, answer: Answer): Promise<AnswerPage> {
  const { tenant, entry, answers } = asked;
  const claim = await answers.store.begin(entry.id);
  if (claim === null) return page('busy', asked);
  let stored: { answer: Answer; at: Instant } | null = null;
  try {
    // A concurrent request may have finished before the claim.
    const before = (await asked.reminders.ledger.read(entry.id))?.answer ?? null;
    if (before !== null) return page(`was-${before.is}`, asked);
    const says = await sendToClinic(asked, answer);
    if (says === answer) stored = { answer, at: installation.clock() };
    tenant.log.info({ reminder: entry.id, answer, says }, 'patient answered a reminder');
    return page(says, asked);
  } finally {
    await answers.store.end(entry.id, claim, stored);
    // Requests a pull so that targets are updated immediately. If the request fails, the next cycle updates the targets.
    if (stored !== null) await installation.pullNow(tenant.id).catch(() => {});
  }
}

/** Sends the answer to the clinic, unless the appointment changed meanwhile. */
async function sendToClinic(asked: Asked, answer: Answer): Promise<AnswerWord> {
  const { tenant, clinic, entry } = asked;
  const signal = AbortSignal.timeout(CLINIC_MS);
  if (tenant.configuration.paused) return 'away';
  try {
    const hindrance = hindranceOf(asked, await clinic.readAppointment(entry.appointmentId, signal), answer);
    if (hindrance !== null) return hindrance;
    await clinic.setStatus(entry.appointmentId, answer, signal);
    return answer;
  } catch (error) {
    const failure = asMirrorError(error);
    const level = failure.actor === 'remote' ? 'warn' : 'error';
    tenant.log[level]({ reminder: entry.id, answer, error }, 'clinic did not accept an answer');
    return failure.ambiguous ? afterSilence(asked, answer) : wordOf(failure);
  }
}

/** Returns the page that prevents an answer, or null. */
function hindranceOf({ entry, link }: Asked, answerOf: Lookup<Appointment>, answer: Answer): AnswerWord | null {
  if (entry.movedTo !== null) return 'moved';
  if ('absent' in answerOf) return 'gone';
  if ('unusable' in answerOf) return 'refused';
  const { status, patientId, time } = answerOf.found;
  if (patientId !== link.patientId) return 'gone';
  if (isShared(answerOf.found)) return 'not-offered';
  if (status === 'cancelled') return 'was-cancelled';
  if (time.startAt !== entry.startAt) return 'moved';
  if (OVER.includes(status)) return 'over';
  return status === answer ? `was-${answer}` : null;
}

/** After a timeout, the appointment shows whether the answer was applied. */
async function afterSilence({ clinic, entry }: Asked, answer: Answer): Promise<AnswerWord> {
  try {
    const now = await clinic.readAppointment(entry.appointmentId, AbortSignal.timeout(10 * SECOND_MS));
    return 'found' in now && now.found.status === answer ? answer : 'away';
  } catch {
    return 'away';
  }
}

function wordOf({ actor, code }: MirrorError): AnswerWord {
  if (code === 'record-gone') return 'gone';
  // An administrator must fix a fault, or the clinic refused: a repeated attempt would not help the patient.
  return actor === 'remote' ? 'away' : 'refused';
}
