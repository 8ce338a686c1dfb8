import type { z } from 'zod';
import type { HostObserver, HttpClient } from '../../../core/http/client.ts';
import type { Logger } from '../../../core/log/logger.ts';
import { asMirrorError } from '../../../core/model/errors.ts';
import type { CorrectionKind } from '../../../core/model/reminders.ts';
import type { Clock, Instant } from '../../../core/model/time.ts';
import type { Purpose, Reach } from '../../../settings/outbound-schema.ts';
import type { SecretSchemas } from '../../../settings/secret-reference.ts';

/** A reminder ready for delivery. Patient data: never logged, never stored. */
export interface Reminder {
  /** Constant for every attempt, unguessable, without information: 32 characters of `[0-9a-v]`. */
  id: string;
  tenant: string;
  rule: string;
  appointment: { id: string; agendaId: string; startAt: Instant; endAt: Instant; zone: string };
  /** `phone` is E.164. Values missing in the clinic are null. */
  recipient: { patientId: string | null; email: string | null; phone: string | null };
  content: ReminderContent;
  /** Kind of correction; absent or null for a reminder. */
  correction?: CorrectionKind | null;
}

/** Content that the recipient reads. */
export interface ReminderContent {
  language: 'it' | 'en';
  /** Display name of the sender; neutral if the clinic's name would reveal health information. */
  sender: string;
  subject: string;
  text: string;
  /** Content of the .ics file in an e-mail; null if the tenant's policy omits the file. */
  calendarEntry: { title: string; location: string | null } | null;
  /** URL of the answer page, with cancellation if `cancels`; null if the tenant offers no answers. */
  link: { url: string; cancels: boolean } | null;
}

/** Result of delivering a reminder. */
export type Delivery =
  | { result: 'sent'; reference: string | null }
  /** Not sent permanently: opt-out, unreachable recipient, or closed receiver. */
  | { result: 'refused'; code: string; optedOut: boolean; channelGone: boolean }
  /** Certainly not sent; a retry follows. */
  | { result: 'later'; code: string; retryAfterMs: number | null }
  /** Possibly sent: no answer, or an unreadable answer. */
  | { result: 'unknown'; code: string };

/** An open channel. */
export interface ReminderChannel {
  /**
   * Delivers a reminder. Failures of the receiver are returned, not thrown.
   * @throws MirrorError `settings` if an operator must act first; the reminder was certainly not delivered
   */
  send(reminder: Reminder, signal: AbortSignal): Promise<Delivery>;
  /** Returns whether a text is short enough for one message; absent without a limit. */
  fits?(content: ReminderContent): boolean;
  /** Parses a report sent to the callback URL; absent without reports. */
  takeCallback?(callback: ChannelCallback): CallbackAnswer;
}

/** A request to a channel's callback URL. */
export interface ChannelCallback {
  method: string;
  /** Unchanged query with question mark, or empty. */
  query: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}

/** Answer to a callback, without a body, and its events. */
export interface CallbackAnswer {
  status: 204 | 400 | 403 | 405;
  /** Empty for an unverified callback. Events may repeat and arrive in any order. */
  events: readonly ChannelEvent[];
}

/** Event after the delivery of a reminder. */
export type ChannelEvent =
  | { kind: 'delivered'; reference: string }
  /** Accepted by the receiver, but not delivered to the patient. */
  | { kind: 'failed'; reference: string; code: string }
  /** Opt-out by E.164 number, or by the id of a sent reminder. */
  | { kind: 'opted-out'; who: { phone: string } | { reminderId: string } }
  /** Opt-in. Valid once per message, because a replayed message would override a later opt-out. */
  | { kind: 'opted-in'; who: { phone: string }; message: string }
  /** A reply that the clinic must read: patient data. `message`: the gateway's id, the same for a repeated request. */
  | { kind: 'replied'; who: { phone: string }; message: string; text: string };

/** Parameters of a channel. */
export interface ChannelContext<ChannelSettings> {
  settings: ChannelSettings;
  tenant: string;
  /** Callback URL; null without a public URL. */
  callbackUrl: string | null;
  /** Proves at the callback URL that the sender received the reminder. The id is not a proof. Safe in a query. */
  unsubscribeProof(reminderId: string): string;
  /** HTTP client limited to {@link ChannelModule.purpose}. */
  http: HttpClient;
  /** Network access for other protocols, with equal limits. */
  reach: Reach;
  /** Observes results of hosts for protocols other than HTTP. */
  heard: HostObserver;
  log: Logger;
  clock: Clock;
}

/** Export of a channel. */
export interface ChannelModule<ChannelSettings = unknown> {
  readonly kind: string;
  /** Purpose of connections to the configured host; null for no connections. */
  readonly purpose: Purpose | null;
  /** Required contact data of a recipient. */
  readonly needs: 'nothing' | 'email' | 'phone';
  /** Whether messages contain patient data although the channel needs no contact data; the patient is then read. Default: no. */
  readsPatient?(settings: ChannelSettings): boolean;
  /** The receiver recognises repeated ids, so a retry after an unclear answer is safe. If false, at most one attempt. */
  readonly deduplicates: boolean;
  /** Schema of the channel in the tenant file (strict). */
  settingsSchema(secrets: SecretSchemas): z.ZodType<ChannelSettings>;
  open(context: ChannelContext<ChannelSettings>): ReminderChannel;
}

const LABELS = {
  it: { confirm: 'Conferma', both: 'Conferma o disdici' },
  en: { confirm: 'Confirm', both: 'Confirm or cancel' },
} as const;

/** Returns the localised label of a reminder's link, or null. */
export function linkLabel({ language, link }: ReminderContent): string | null {
  return link === null ? null : LABELS[language][link.cancels ? 'both' : 'confirm'];
}

/** Returns the text with its link as plain text. */
export function textWithLink(content: ReminderContent): string {
  const { text, link } = content;
  return link === null ? text : `${text}\n${linkLabel(content)}: ${link.url}`;
}

/**
 * Returns the delivery result of a failed request: certainly or possibly not sent.
 * @throws MirrorError `settings`, unchanged: not sent
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
/** Extension table (section 6.2.1.1): two inseparable septets. */
const EXTENDED = new Set('\f^{}\\[~]|€');
/** Septets or UCS-2 units in a single message, and in each part of a longer message (section 9.2.3.24.1 of TS 23.040). */
const GSM = { alone: 160, part: 153 };
const UCS2 = { alone: 70, part: 67 };

/** Encoding of a text, and number of billed messages. */
interface Segments {
  encoding: 'GSM-7' | 'UCS-2';
  count: number;
}

/** Counts the messages of a text. A character is never split, so a part may have unused units. */
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
