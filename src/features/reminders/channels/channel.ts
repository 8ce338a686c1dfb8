import type { z } from 'zod';
import type { HostObserver, HttpClient } from '../../../http/client.ts';
import type { Logger } from '../../../log/logger.ts';
import { asMirrorError } from '../../../model/errors.ts';
import type { CorrectionKind } from '../../../model/reminders.ts';
import type { Clock, Instant } from '../../../model/time.ts';
import type { Purpose, Reach } from '../../../settings/outbound-schema.ts';
import type { SecretSchemas } from '../../../settings/secret-reference.ts';

/** One reminder, decided and ready to be handed over. Patient data: never logged, never kept. */
export interface Reminder {
  /** The same for every try of one reminder, unguessable, tells nothing: 32 characters of `[0-9a-v]`. */
  id: string;
  tenant: string;
  rule: string;
  appointment: { id: string; agendaId: string; startAt: Instant; endAt: Instant; zone: string };
  /** `phone` is E.164; what the clinic doesn't tell is null. */
  recipient: { patientId: string | null; email: string | null; phone: string | null };
  content: ReminderContent;
  /** What it corrects; absent or null for a reminder. */
  correction?: CorrectionKind | null;
}

/** What a person reads. */
export interface ReminderContent {
  language: 'it' | 'en';
  /** Name that the sender goes by; a neutral one where the clinic's own would tell of health. */
  sender: string;
  subject: string;
  text: string;
  /** For the .ics of an e-mail: null where the tenant's policy leaves it out. */
  calendarEntry: { title: string; location: string | null } | null;
  /** Address of the page where the patient confirms, and may cancel when `cancels`; null when the tenant does not offer it. */
  link: { url: string; cancels: boolean } | null;
}

/** What became of handing over one reminder. */
export type Delivery =
  | { result: 'sent'; reference: string | null }
  /** Not sent and never will be: the recipient opted out, the address can't be reached, the receiver is gone for good. */
  | { result: 'refused'; code: string; optedOut: boolean; channelGone: boolean }
  /** Surely not sent; to be tried again. */
  | { result: 'later'; code: string; retryAfterMs: number | null }
  /** May have been sent: no answer, or one that can't be read. */
  | { result: 'unknown'; code: string };

/** An opened channel. */
export interface ReminderChannel {
  /**
   * Hands one reminder over. Never throws for what the other side does with it.
   * @throws MirrorError `settings` when a person must mend something first; then it was surely not handed over
   */
  send(reminder: Reminder, signal: AbortSignal): Promise<Delivery>;
  /** What the other side reports to the callback address; absent where nothing is reported. */
  takeCallback?(callback: ChannelCallback): CallbackAnswer;
}

/** A request to a channel's callback address. */
export interface ChannelCallback {
  method: string;
  /** The query as it came, with its question mark; empty without one. */
  query: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}

/** What to answer to a callback, without a body, and what it tells. */
export interface CallbackAnswer {
  status: 204 | 400 | 403 | 405;
  /** Nothing unless the callback is proved to come from the other side. May be repeated and come out of order. */
  events: readonly ChannelEvent[];
}

/** What the other side or the patient tells after a reminder was handed over. */
export type ChannelEvent =
  | { kind: 'delivered'; reference: string }
  /** Handed over, but it did not reach the patient. */
  | { kind: 'failed'; reference: string; code: string }
  /** Wants no more: by E.164 number, or by the id of a reminder that was sent. */
  | { kind: 'opted-out'; who: { phone: string } | { reminderId: string } }
  /** Wants it again. Counts once for each message: one that is shown again would undo what the patient said since. */
  | { kind: 'opted-in'; who: { phone: string }; message: string };

/** What a channel is given. */
export interface ChannelContext<ChannelSettings> {
  settings: ChannelSettings;
  tenant: string;
  /** Where the other side may report back; null without a public address. */
  callbackUrl: string | null;
  /** Proves at the callback address that whoever wants no more got this reminder; its id is no proof. Safe in a query. */
  unsubscribeProof(reminderId: string): string;
  /** Reaches what {@link ChannelModule.purpose} allows. */
  http: HttpClient;
  /** The same, for what does not speak HTTP. */
  reach: Reach;
  /** Told what a host did with what does not speak HTTP. */
  heard: HostObserver;
  log: Logger;
  clock: Clock;
}

/** A channel's one export. */
export interface ChannelModule<ChannelSettings = unknown> {
  readonly kind: string;
  /** For what it connects to the address in its settings; null: it connects to none. */
  readonly purpose: Purpose | null;
  /** What a recipient must have. */
  readonly needs: 'nothing' | 'email' | 'phone';
  /** Whether what it sends tells of the patient although it needs no address: then the patient is read. Left out: it doesn't. */
  readsPatient?(settings: ChannelSettings): boolean;
  /** The other side knows a repeated id, so an unclear answer may be followed by another try; else it is at most one. */
  readonly deduplicates: boolean;
  /** Schema of its part of the tenant file (strict). */
  settingsSchema(secrets: SecretSchemas): z.ZodType<ChannelSettings>;
  open(context: ChannelContext<ChannelSettings>): ReminderChannel;
}

const LABELS = {
  it: { confirm: 'Conferma', both: 'Conferma o disdici' },
  en: { confirm: 'Confirm', both: 'Confirm or cancel' },
} as const;

/** The word for a reminder's link, in its language; null when it has none. */
export function linkLabel({ language, link }: ReminderContent): string | null {
  return link === null ? null : LABELS[language][link.cancels ? 'both' : 'confirm'];
}

/** The text with its link below, as plain text. */
export function textWithLink(content: ReminderContent): string {
  const { text, link } = content;
  return link === null ? text : `${text}\n${linkLabel(content)}: ${link.url}`;
}

/**
 * What a request that brought no whole answer means for a reminder: surely not sent, or perhaps.
 * @throws MirrorError `settings`, as it came: nothing was sent
 */
export function deliveryOfFailure(error: unknown): Delivery {
  const failure = asMirrorError(error);
  if (failure.actor === 'settings') throw failure;
  const { code, ambiguous, retryAfterMs = null } = failure;
  if (failure.actor === 'remote' && !ambiguous) return { result: 'later', code, retryAfterMs };
  return { result: 'unknown', code };
}

/** GSM 03.38 basic characters (3GPP TS 23.038 section 6.2.1), one septet each. */
const BASIC = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
/** The extension table (section 6.2.1.1): two septets that stay together. */
const EXTENDED = new Set('\f^{}\\[~]|€');
/** Septets, or units of UCS-2, in a message alone and in each part of a longer one (section 9.2.3.24.1 of TS 23.040). */
const GSM = { alone: 160, part: 153 };
const UCS2 = { alone: 70, part: 67 };

/** How a text travels, and in how many messages, each of which is paid. */
interface Segments {
  encoding: 'GSM-7' | 'UCS-2';
  count: number;
}

/** Counts the messages that a text becomes. A character is never cut in two, so a part may stay short of full. */
export function segmentsOf(text: string): Segments {
  const characters = [...text];
  const isGsm = characters.every((each) => BASIC.has(each) || EXTENDED.has(each));
  const limits = isGsm ? GSM : UCS2;
  const sizes = characters.map((each) => (isGsm ? (EXTENDED.has(each) ? 2 : 1) : each.length));
  const whole = sizes.reduce((sum, size) => sum + size, 0);
  return { encoding: isGsm ? 'GSM-7' : 'UCS-2', count: whole <= limits.alone ? 1 : partsOf(sizes, limits.part) };
}

function partsOf(sizes: readonly number[], limit: number): number {
  let parts = 1;
  let used = 0;
  for (const size of sizes) {
    if (used + size > limit) {
      parts += 1;
      used = 0;
    }
    used += size;
  }
  return parts;
}
