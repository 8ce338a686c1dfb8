import type { LedgerEntry } from '../../core/model/reminders.ts';
import { HOUR_MS, type Instant, SECOND_MS } from '../../core/model/time.ts';
import type { Language } from '../../messages/message.ts';
import { LOCALES } from '../../messages/message.ts';
import type { ReminderContent } from './channels/channel.ts';
import {
  type ContentInput,
  contentOf,
  fieldValues,
  filled,
  findDisclosedFact,
  languageOf,
  namesAddress,
} from './content.ts';
import { dayOf } from './due.ts';
import { comparableAddress } from './places.ts';
import type { OpenReminders, RemindedTenant } from './ports.ts';
import { prepare, type Ready } from './prepare.ts';
import type { Step } from './steps.ts';
import type { Claim } from './store.ts';
import { CHANGE_TEXTS, VISITS_TEXTS } from './texts/texts.ts';

/** Reminders due within this time are sent with an earlier one of the same day. Project choice: one morning. */
const TOGETHER_MS = 4 * HOUR_MS;
/** Time after which the first reminder of a message looks again for the others, and the others look for the first. */
const LEADER_RETRY_MS = 10 * SECOND_MS;
const OTHER_RETRY_MS = 30 * SECOND_MS;
/** Visits in one message, and its length: two text messages of 153 characters (3GPP TS 23.040 section 9.2.3.24.1), if the channel takes it. */
const MOST_VISITS = 5;
const MOST_CHARACTERS = 306;

/** A claimed reminder, ready for delivery. */
export interface Member {
  claim: Claim;
  ready: Ready;
}

/** One message about one or several visits, the claimed reminder first. */
interface GroupMessage {
  members: readonly [Member, ...Member[]];
  ready: Ready;
}

/**
 * Finds other visits of the recipient for the same message, and claims and prepares their reminders: reminders of one rule and one day, or
 * due corrections. The earliest reminder collects the others, so that two workers do not send two messages.
 * @returns the step instead of a message while another worker has one of the reminders
 */
export async function gather(
  tenant: RemindedTenant,
  reminders: OpenReminders,
  main: Member,
  signal: AbortSignal,
): Promise<GroupMessage | Step> {
  const { claim, ready } = main;
  const alone: GroupMessage = { members: [main], ready };
  const { entry } = claim;
  const { recipient, rule, channel } = ready;
  if (!rule.grouped.includes(entry.channel) || channel.deduplicates || recipient === null) return alone;
  const now = tenant.clock();
  const others = (await reminders.ledger.ofRecipient(recipient))
    .filter((one) => isCompanion(reminders, one, entry, now))
    .sort(byDueTime);
  const isFirst = others.every((one) => byDueTime(entry, one) < 0 || one.wakeAt > now + OTHER_RETRY_MS);
  if (!isFirst) return { wakeAt: now + OTHER_RETRY_MS, code: null, notSent: true };
  const members: [Member, ...Member[]] = [main];
  for (const { id } of others.slice(0, MOST_VISITS - 1)) {
    const other = await reminders.ledger.claim(id);
    if (other === null) continue;
    if ('busyMs' in other) {
      for (const member of members.slice(1)) await release(reminders, member.claim);
      return { wakeAt: now + LEADER_RETRY_MS, code: null, notSent: true };
    }
    const prepared = reminders.name(other.entry) === id && other.entry.state === 'planned';
    const also = prepared ? await prepare(tenant, reminders, other, { signal, early: true }) : null;
    const isAlike = also !== null && 'reminder' in also && also.recipient === recipient && isSameLocation(also, ready);
    const longer = isAlike ? [...members.map((member) => member.ready), also] : [];
    if (isAlike && isSendable(longer)) members.push({ claim: other, ready: also });
    else await release(reminders, other);
  }
  if (members.length === 1) return alone;
  const content = contentOfGroup(members.map((member) => member.ready.input));
  return { members, ready: { ...ready, reminder: { ...ready.reminder, content } } };
}

function isCompanion({ rules }: OpenReminders, one: LedgerEntry, entry: LedgerEntry, now: Instant): boolean {
  if (one.id === entry.id || one.state !== 'planned' || one.channel !== entry.channel || one.startAt <= now)
    return false;
  if (rules.rules.get(one.rule)?.grouped.includes(one.channel) !== true) return false;
  if (entry.correction !== null) return one.correction !== null && one.dueAt <= now;
  const isSameDay = one.zone === entry.zone && dayOf(one.startAt, one.zone) === dayOf(entry.startAt, entry.zone);
  return one.correction === null && one.rule === entry.rule && isSameDay && one.dueAt <= now + TOGETHER_MS;
}

function byDueTime(one: LedgerEntry, other: LedgerEntry): number {
  return one.dueAt - other.dueAt || (one.id < other.id ? -1 : 1);
}

/** A list of times has one location and one language. */
function isSameLocation({ input: one }: Ready, { input: other }: Ready): boolean {
  if (
    languageOf(one.patient?.language ?? null, one.language) !==
    languageOf(other.patient?.language ?? null, other.language)
  )
    return false;
  return (
    one.correction != null ||
    comparableAddress(one.location?.address ?? null) === comparableAddress(other.location?.address ?? null)
  );
}

function isSendable(all: readonly Ready[]): boolean {
  const content = contentOfGroup(all.map(({ input }) => input));
  const isShort = content.text.length <= MOST_CHARACTERS;
  const fits = all.every(({ channel }) => channel.channel.fits?.(content) !== false);
  return isShort && fits && all.every(({ input }) => findDisclosedFact(content, input) === null);
}

/** Gives a reminder back to its own time. */
async function release({ ledger, alarms }: OpenReminders, claim: Claim): Promise<void> {
  const { id, wakeAt } = claim.entry;
  if (await ledger.postpone(claim, { wakeAt, code: null, notSent: claim.entry.state === 'planned' }))
    await alarms.set([{ id, wakeAt }]);
}

/** Returns one text about several visits: a reminder with all times, or a list of changes. Without link and calendar entry. */
function contentOfGroup(inputs: readonly ContentInput[]): ReminderContent {
  const [first] = inputs;
  if (first === undefined) throw new TypeError('a message has at least one visit');
  const inOrder = inputs.toSorted((one, other) => one.startAt - other.startAt);
  const single = contentOf(first);
  const { language } = single;
  const list = new Intl.ListFormat(LOCALES[language], { type: 'conjunction' });
  const all = inOrder.map((input) => fieldValues(input, language));
  const distinct = (values: readonly string[]) => list.format(new Set(values.filter((value) => value !== '')));
  const fields = {
    ...fieldValues(first, language),
    time: distinct(all.map(({ time }) => time)),
    firstName: distinct(all.map(({ firstName }) => firstName)),
    changes: inOrder.map((input) => changeOf(input, language)).join('; '),
  };
  const isCorrection = first.correction != null;
  const kind = first.file.phone === undefined ? 'withoutPhone' : 'withPhone';
  const shipped = (isCorrection ? CHANGE_TEXTS : VISITS_TEXTS)[language][kind];
  const own = isCorrection ? undefined : first.rule.texts?.[language];
  return {
    ...single,
    subject: filled(own?.subject ?? shipped.subject, fields),
    text: filled(own?.text ?? shipped.text, fields),
    calendarEntry: null,
    link: null,
  };
}

/** Returns one line of a list of changes. Names the address if the single message would name it. */
function changeOf(input: ContentInput, language: Language): string {
  const { correction, location } = input;
  const when = ({ startAt, zone }: { startAt: Instant; zone: string }) =>
    new Intl.DateTimeFormat(LOCALES[language], {
      ...{ timeZone: zone, weekday: 'short', day: '2-digit', month: '2-digit' },
      ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
    })
      .format(startAt)
      .replaceAll(',', '');
  const { moved, cancelled, at } = CHANGE_TEXTS[language];
  const sentTime = when(correction?.sentTime ?? input);
  if (correction?.kind === 'cancelled') return filled(cancelled, { told: sentTime });
  const now = when(input);
  const text = correction?.kind === 'moved' ? filled(moved, { told: sentTime, now }) : filled(at, { now });
  return namesAddress(input) ? `${text}, ${location?.address}` : text;
}
