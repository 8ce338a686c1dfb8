import { expect, test } from 'vitest';
import { reminderKeys } from '../../../src/features/reminders/keys.ts';
import { type ObservedVisit, openMessageLedger } from '../../../src/features/reminders/message-ledger.ts';
import { createProofSealer } from '../../../src/state/sealing.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis({ appendOnly: false });
const TENANT = 'studio-rossi';
const VISIT: ObservedVisit = {
  foundAt: 1,
  isNew: true,
  startAt: 5,
  agendaIds: ['a1'],
  treatmentId: null,
  goneAt: null,
};

function open() {
  return openMessageLedger(redis.connect(), TENANT, createProofSealer(Buffer.alloc(32, 7), TENANT));
}

test('watched appointments and the coverage of lists are kept until they are removed', async () => {
  const ledger = open();
  expect(await ledger.observed()).toEqual({ visits: new Map(), coveredUntilAt: 0 });
  await ledger.storeObserved(
    new Map<string, ObservedVisit>([
      ['one', VISIT],
      ['two', { ...VISIT, goneAt: 3 }],
    ]),
    9,
  );
  await ledger.storeObserved(new Map([['one', null]]), 9);
  expect(await ledger.observed()).toEqual({ visits: new Map([['two', { ...VISIT, goneAt: 3 }]]), coveredUntilAt: 9 });
});

test('messages follow to the other appointment in one step, but not during a delivery', async () => {
  const connection = redis.connect();
  const of = (id: string) => connection.smembers(reminderKeys.remindersOf(TENANT, id));
  await connection.sadd(reminderKeys.remindersOf(TENANT, 'one'), 'sent', 'dropped');
  await connection.hset(reminderKeys.reminder(TENANT, 'sent'), { state: 'sending' });
  await connection.hset(reminderKeys.reminder(TENANT, 'dropped'), { state: 'dropped' });
  await connection.zadd(reminderKeys.remindersTold(TENANT), 70, 'one');
  const ledger = open();
  expect(await ledger.follow('one', 'two')).toBe(false);
  await connection.hset(reminderKeys.reminder(TENANT, 'sent'), { state: 'sent' });
  expect(await ledger.follow('one', 'two')).toBe(true);
  expect([await of('one'), await of('two')]).toEqual([['dropped'], ['sent']]);
  expect(await connection.hget(reminderKeys.reminder(TENANT, 'sent'), 'movedTo')).toBe('two');
  expect(await connection.zrange(reminderKeys.remindersTold(TENANT), '0', '-1', 'WITHSCORES')).toEqual(['two', '70']);
});
