import { expect, test } from 'vitest';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { reminderKeys } from '../../../src/features/reminders/keys.ts';
import { createPatientReplies, repliesDocument } from '../../../src/features/reminders/replies.ts';
import { createProofSealer } from '../../../src/state/sealing.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';

function open() {
  const connection = redis.connect();
  const replies = createPatientReplies(connection, TENANT, createProofSealer(new Uint8Array(32).fill(7), TENANT));
  const add = (message: string, recipient: string, at = NOW) =>
    replies.add({ message, recipient: recipient as never, at, phone: '+39333', text: `text of ${message}` });
  return { connection, replies, add };
}

test('a reply is kept once for three days, the oldest first', async () => {
  const { replies, add } = open();
  await add('second', 'hash-1', NOW + 1);
  await add('first', 'hash-2');
  await add('first', 'hash-2');
  expect((await replies.list(NOW + 2)).map(({ text }) => text)).toEqual(['text of first', 'text of second']);
  expect(await replies.list(NOW + 3 * DAY_MS)).toMatchObject([{ text: 'text of second' }]);
});

test('the replies of a patient are found by the hash of the number, also beside a damaged field', async () => {
  const { connection, replies, add } = open();
  await add('mine', 'hash-1');
  await add('other', 'hash-2');
  await connection.hset(reminderKeys.reminderReplies(TENANT), 'damaged field', 'x');
  const own = await replies.ofRecipients(new Set(['hash-1' as never]), NOW);
  expect(own).toEqual([{ phone: '+39333', text: 'text of mine', at: NOW, expiresAt: NOW + replies.lifeMs }]);
});

test('an ended reply is gone, and another one stays', async () => {
  const { replies, add } = open();
  await add('one', 'hash-1');
  await add('two', 'hash-1', NOW + 1);
  const [one] = await replies.list(NOW + 1);
  expect(await replies.end(one!.id)).toBe(true);
  expect(await replies.end(one!.id)).toBe(false);
  expect((await replies.list(NOW)).map(({ text }) => text)).toEqual(['text of two']);
});

test('the document shows each reply, or that there is none', () => {
  const reply = { id: 'r1', at: NOW, phone: '+39333', text: 'Running late' };
  expect(JSON.stringify(repliesDocument({ replies: [reply] } as never, 'en'))).toContain('Running late');
  expect(JSON.stringify(repliesDocument({ replies: [] } as never, 'it'))).toContain('"is":"empty"');
});
