import { timingSafeEqual } from 'node:crypto';
import type { Installation } from '../../control/installation.ts';
import type { ClinicSource, OpenTenant } from '../../jobs/tenant.ts';
import { asMirrorError, type MirrorError } from '../../model/errors.ts';
import type { Appointment } from '../../model/records.ts';
import type { Answer, LedgerEntry } from '../../model/reminders.ts';
import type { Lookup } from '../../model/snapshots.ts';
import { HOUR_MS, type Instant, SECOND_MS } from '../../model/time.ts';
import type { AnswerDirectory, AnswerLink } from '../../state/answers.ts';
import type { OpenAnswers, OpenReminders } from './ports.ts';

/**
 * What a page says to a patient:
 * - `ask`: the appointment, and what can be said of it; `ask-again` when the page before was too old or not ours;
 * - `confirmed`, `cancelled`: done now; `was-confirmed`, `was-cancelled`: it was so already;
 * - `moved`, `over`, `gone`: the appointment has another time, is over or under way, or is no more;
 * - `expired`: the link is of an appointment that has begun; `unknown`: no such link;
 * - `too-late`: it is too near to cancel it here; `not-offered`: the clinic wants to be called for this;
 * - `busy`: another request is carrying an answer out; `limited`: too many requests;
 * - `away`: the clinic did not answer, nothing is known to have changed; `refused`: it does not take this answer.
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
  /** Null when the link tells of no appointment, or no more. */
  about: { clinic: string; phone: string | null; startAt: Instant; zone: string; language: 'it' | 'en' } | null;
  /** Buttons, with the proof that they were shown; none when nothing can be said. */
  form: { answers: Answer[]; proof: string } | null;
}

/** What a button posts. */
export interface PostedAnswer {
  answer: string;
  proof: string;
}

/** The page behind the links in reminders. `caller` is the client that asks, for limits. */
export interface AnswerServices {
  /** Changes nothing and asks the clinic nothing: programs that check links open them too. @throws when Redis fails */
  show(token: string, caller: string): Promise<AnswerPage>;
  /** Carries a patient's answer out. @throws when Redis fails */
  take(token: string, provided: PostedAnswer, caller: string): Promise<AnswerPage>;
}

const TOKEN = /^[\w-]{22}$/;
/** How long a page that was opened may be used. */
const PAGE_LIFE_MS = HOUR_MS;
/** What a person waits for; the claim on the answer lasts longer. */
const CLINIC_MS = 40 * SECOND_MS;
const OVER = ['arrived', 'in_progress', 'completed', 'no_show'];

/** What stands behind a link that can be used. */
interface Asked {
  tenant: Pick<OpenTenant, 'configuration' | 'id' | 'log'>;
  clinic: ReturnType<AnswerParts['clinicOf']>;
  reminders: OpenReminders;
  answers: OpenAnswers;
  entry: LedgerEntry;
  link: AnswerLink;
  about: NonNullable<AnswerPage['about']>;
}

/** What the page works with; put together by `main.ts`. */
export interface AnswerParts {
  installation: Installation;
  directory: AnswerDirectory;
  /** The clinic of a tenant, for what a person waits for. */
  clinicOf(tenant: Pick<OpenTenant, 'id'>): Pick<ClinicSource, 'readAppointment' | 'setStatus'>;
}

/** Opens the page. */
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

/** The reminder behind a token, or the page that says why there is nothing to answer. */
async function find(
  { installation, directory, clinicOf }: AnswerParts,
  token: string,
  caller: string,
): Promise<Asked | AnswerPage> {
  const link = TOKEN.test(token) ? await directory.find(token) : null;
  if (link === null) return bare('unknown');
  // By the name that its state has: the tenant's file may have another one by now.
  const outline = [...installation.outlines].find(([id, { formerly }]) => (formerly ?? id) === link.tenant);
  const tenant = outline === undefined ? undefined : installation.tenants.get(outline[0]);
  if (tenant?.reminders?.answers == null) return bare('unknown');
  const { reminders } = tenant;
  const { ledger, answers } = reminders;
  const entry = await ledger.read(link.reminder);
  if (entry === null || answers === null) return bare('unknown');
  if (!answers.isOurs(token, link) || reminders.name(entry) !== link.reminder) {
    tenant.log.error(
      { code: 'record-forged' },
      'an address in Redis, or its reminder, was not made by us: it opens nothing',
    );
    return bare('unknown');
  }
  const now = installation.clock();
  // A link stays in mailboxes for years: when its time is over it tells neither whose patient somebody was nor when.
  if (now >= entry.startAt) return bare('expired');
  if (!(await answers.store.admit(entry.id, answers.callerName(caller), now))) return bare('limited');
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

/** For each answer null when it is offered, or the page that says why not. */
function offered({ reminders, entry }: Asked, now: Instant): Record<Answer, AnswerWord | null> {
  const { cancel = false, cancelUntilHours = 0 } = reminders.file.links ?? {};
  const isTooLate = now > entry.startAt - cancelUntilHours * HOUR_MS;
  return { confirmed: null, cancelled: cancel ? (isTooLate ? 'too-late' : null) : 'not-offered' };
}

/** Whether the page with these buttons was shown by us, and not long ago. */
function isShown({ answers, entry }: Asked, proof: string, now: Instant): boolean {
  const [, written = '', provided = ''] = /^(\d{1,15})\.([\w-]{22})$/.exec(proof) ?? [];
  const shownAt = Number(written);
  if (written === '' || shownAt > now || now - shownAt > PAGE_LIFE_MS) return false;
  return timingSafeEqual(Buffer.from(provided), Buffer.from(answers.proof(entry.id, shownAt)));
}

/** One request at a time carries an answer out; the answer is kept when the clinic has it. */
async function carryOut(installation: Installation, asked: Asked, answer: Answer): Promise<AnswerPage> {
  const { tenant, entry, answers } = asked;
  const claim = await answers.store.begin(entry.id);
  if (claim === null) return page('busy', asked);
  let stored: { answer: Answer; at: Instant } | null = null;
  try {
    // Another request may have ended between the reading of the entry and the claim.
    const before = (await asked.reminders.ledger.read(entry.id))?.answer ?? null;
    if (before !== null) return page(`was-${before.is}`, asked);
    const says = await sendToClinic(asked, answer);
    if (says === answer) stored = { answer, at: installation.clock() };
    tenant.log.info({ reminder: entry.id, answer, says }, 'a patient answered a reminder');
    return page(says, asked);
  } finally {
    await answers.store.end(entry.id, claim, stored);
    // The targets follow at once; when that can't be asked for, they do with the next cycle.
    if (stored !== null) await installation.pullNow(tenant.id).catch(() => {});
  }
}

/** Tells the clinic, unless the appointment has changed meanwhile. */
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
    tenant.log[level]({ reminder: entry.id, answer, error }, 'the clinic did not take an answer');
    return failure.ambiguous ? afterSilence(asked, answer) : wordOf(failure);
  }
}

/** What stands in the way of an answer; null when nothing does. */
function hindranceOf({ entry, link }: Asked, answerOf: Lookup<Appointment>, answer: Answer): AnswerWord | null {
  if ('absent' in answerOf) return 'gone';
  if ('unusable' in answerOf) return 'refused';
  const { status, patientId, time } = answerOf.found;
  if (patientId !== link.patientId) return 'gone';
  if (status === 'cancelled') return 'was-cancelled';
  if (time.startAt !== entry.startAt) return 'moved';
  if (OVER.includes(status)) return 'over';
  return status === answer ? `was-${answer}` : null;
}

/** No answer came: the appointment itself tells whether it was done. */
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
  // A person must mend something, or the clinic's rules say no: trying again would not help the patient.
  return actor === 'remote' ? 'away' : 'refused';
}
