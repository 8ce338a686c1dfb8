import { createHash } from 'node:crypto';
import { DAY_MS, type Instant } from '../../core/model/time.ts';
import type { Language } from '../../messages/message.ts';
import { command, type Document, paragraph, time } from '../../operator/documents/document.ts';
import { namesIn } from '../../state/damaged.ts';
import type { RedisClient } from '../../state/redis.ts';
import { type Sealer, sealedTable } from '../../state/sealing.ts';
import { reminderKeys } from './keys.ts';
import type { AddressHash } from './opt-outs.ts';
import type { PatientReply, ReplyList } from './schemas.ts';
import { REPLIES } from './texts.ts';

/** Life of a reply: a weekend and a day. Project choice: long enough for the desk, short for health data. */
const LIFE_MS = 3 * DAY_MS;
/** Longest text message of a gateway, and the number of replies that a clinic can read in three days. */
const LONGEST_TEXT = 1_600;
const MOST_REPLIES = 1_000;

/** Replies of a tenant's patients, encrypted. */
export interface PatientReplies {
  /** Stores a reply. A repeated request changes nothing. Above a thousand replies, the newest are not stored. */
  add(reply: Omit<PatientReply, 'id'> & { message: string; recipient: AddressHash }): Promise<void>;
  /** Returns the replies of the last three days, oldest first. Removes older replies. */
  list(now: Instant): Promise<PatientReply[]>;
  lifeMs: number;
  /** Returns the replies of these recipients, with their end. */
  ofRecipients(
    recipients: ReadonlySet<AddressHash>,
    now: Instant,
  ): Promise<(Omit<PatientReply, 'id'> & { expiresAt: Instant })[]>;
  /** @returns whether the reply existed */
  end(id: string): Promise<boolean>;
}

/** Opens the replies of a tenant. The field contains the hash of the recipient, so that `forget` finds the replies of a patient. */
export function createPatientReplies(redis: RedisClient, tenant: string, sealer: Sealer): PatientReplies {
  const table = sealedTable<PatientReply>(reminderKeys.reminderReplies(tenant), { redis, sealer, kind: 'reminders' });
  const origin = { owner: tenant, kind: 'reminders' } as const;
  return {
    lifeMs: LIFE_MS,
    async add({ message, recipient, ...reply }) {
      if ((await redis.hlen(table.key)) >= MOST_REPLIES) return;
      const id = createHash('sha256').update(message).digest('hex').slice(0, 16);
      const text = reply.text.slice(0, LONGEST_TEXT);
      await table.add(JSON.stringify([recipient, id]), { ...reply, id, text });
      await redis.pexpire(table.key, LIFE_MS);
    },
    async list(now) {
      const all = await table.prune(({ at }) => at + LIFE_MS <= now);
      return [...all.values()].sort((one, other) => one.at - other.at);
    },
    async ofRecipients(recipients, now) {
      const all = [...(await table.prune(({ at }) => at + LIFE_MS <= now))];
      const own = all.filter(([field]) => recipients.has(namesIn(field, origin)[0] ?? ''));
      return own.map(([, { phone, text, at }]) => ({ phone, text, at, expiresAt: at + LIFE_MS }));
    },
    async end(id) {
      const fields = (await redis.hkeys(table.key)).filter((field) => namesIn(field, origin)[1] === id);
      return (await table.remove(fields)) > 0;
    },
  };
}

/** Renders the replies, and the command that deletes a reply. */
export function repliesDocument({ tenant, replies }: ReplyList, language: Language): Document {
  const { title, about, answered, none, headings, more } = REPLIES[language];
  const [first] = replies;
  if (first === undefined) return { title, blocks: [paragraph(about), { is: 'empty', text: none }] };
  const rows = replies.map(({ id, at, phone, text }) => ({ id: `reply-${id}`, cells: [time(at), phone, text, id] }));
  const table = { is: 'table', caption: title, headings, rows, most: { page: 300, terminal: 300 }, more } as const;
  const end = paragraph(answered, ' ', command(`clinic-mirror reminders answered ${tenant} ${first.id}`));
  return { title, blocks: [paragraph(about), table, end] };
}
