import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/model/errors.ts';
import { DAY_MS } from '../../../src/model/time.ts';
import { useRedis } from '../../support/redis.ts';
import { type Receiver, startReceiver } from '../reminders/channels/receiver.ts';
import { createTriggerWorld, invoice, report, type TriggerWorld, told } from './trigger-world.ts';

const redis = useRedis();
const BOTH = ['report.available', 'invoice.issued'];
let receiver: Receiver;
let world: TriggerWorld;
beforeEach(async () => {
  receiver = await startReceiver();
  world = worldWith();
});
afterEach(() => receiver.close());

function worldWith(file: object = {}, events = BOTH): TriggerWorld {
  return createTriggerWorld(redis.connect(), { portal: { url: `${receiver.url}/in`, events } }, file);
}
/** What is there is taken as told of. */
async function begin(): Promise<void> {
  world.documents.reports.set('old', report('old'));
  world.documents.invoices.set('old', invoice('old'));
  await world.turn();
  expect(receiver.taken).toEqual([]);
}
const add = (id: string, own: Parameters<typeof report>[1] = {}) => world.documents.reports.set(id, report(id, own));
const bill = (id: string, own: Parameters<typeof invoice>[1] = {}) =>
  world.documents.invoices.set(id, invoice(id, own));
const ids = () => told(receiver).map(({ data }) => data.reportId ?? data.invoiceId);
const endpoint = () => world.open().triggers!.store.endpoint('portal');

describe('a list', () => {
  test('that is not whole brings what is new in it, and tells nothing of what it lacks', async () => {
    await begin();
    world.documents.partial = true;
    world.documents.unlisted.add('old');
    add('r1');
    await world.turn();
    world.now += 100 * DAY_MS;
    await world.turn();
    world.now += 100 * DAY_MS;
    world.documents.unlisted.clear();
    await world.turn();
    expect(ids()).toEqual(['r1']);
  });

  test('that lies about what it lacks does not make old documents new', async () => {
    await begin();
    world.documents.unlisted.add('old');
    await world.turn();
    world.now += 80 * DAY_MS;
    await world.turn();
    world.documents.unlisted.clear();
    await world.turn();
    expect(ids()).toEqual([]);
  });

  test('that lacks a document for long lets its name be forgotten, so that what is kept is bounded', async () => {
    await begin();
    const known = () => world.open().triggers!.store.stored({ endpoint: 'portal', event: 'report.available' });
    world.documents.reports.delete('old');
    await world.turn();
    expect((await known()).size).toBe(1);
    world.now += 91 * DAY_MS;
    await world.turn();
    expect((await known()).size).toBe(0);
  });

  test('with far more new documents than usual closes the endpoint until a person looks', async () => {
    world = worldWith({ mostAtOnce: 3 });
    await begin();
    for (let count = 0; count < 4; count += 1) add(`r${count}`);
    await world.turn();
    await world.turn();
    expect(ids()).toEqual([]);
    expect((await endpoint()).closed).toMatchObject({ code: 'too-many-at-once' });
  });

  test('that may not be read switches its event off; the other goes on', async () => {
    await begin();
    const denied = { actor: 'authorization', code: 'missing-claim', retry: 'never', remedy: 'log in again' } as const;
    world.documents.errors.reports = new MirrorError('the login lacks a scope', denied);
    bill('i1');
    add('r1');
    await world.turn();
    expect(ids()).toEqual(['i1']);
    const { store } = world.open().triggers!;
    expect((await store.reading({ endpoint: 'portal', event: 'report.available' })).off).toMatchObject({
      code: 'missing-claim',
      remedy: 'log in again',
    });
    expect((await store.reading({ endpoint: 'portal', event: 'invoice.issued' })).off).toBeNull();
    world.documents.errors.reports = null;
    await world.turn();
    expect(ids()).toEqual(['i1', 'r1']);
  });
});
