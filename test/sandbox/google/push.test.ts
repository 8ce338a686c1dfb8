import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { listen, type RunningServer } from '../../../sandbox/kit/listen.ts';
import { anEvent, startBench } from './support.ts';

const open: RunningServer[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

interface Receiver {
  address: string;
  received: Record<string, unknown>[];
  /** What it answers, one after the other; 204 when there are no more. */
  statuses: number[];
}

async function startReceiver(): Promise<Receiver> {
  const received: Record<string, unknown>[] = [];
  const statuses: number[] = [];
  const app = fastify();
  app.post('/hook', (request, reply) => {
    received.push(request.headers);
    return reply.status(statuses.shift() ?? 204).send();
  });
  const server = await listen(app);
  open.push(server);
  return { address: `${server.url}/hook`, received, statuses };
}

describe('a watch', () => {
  it('is answered with a sync message first, then one for each change, until it is stopped', async () => {
    const { call, events, sandbox } = await startBench();
    const { address, received } = await startReceiver();
    const channel = { id: 'channel-1', type: 'web_hook', address, token: 'secret' };
    const opened = await call('POST', `${events}/watch`, channel);
    expect(opened.body).toMatchObject({ kind: 'api#channel', id: 'channel-1', resourceId: expect.any(String) });
    expect(Number(opened.body.expiration)).toBeGreaterThan(Date.now() + 6 * 86_400_000);
    await sandbox.notificationsSettled();
    await call('POST', events, anEvent());
    await sandbox.notificationsSettled();
    expect(received).toMatchObject([
      { 'x-goog-resource-state': 'sync', 'x-goog-message-number': '1', 'x-goog-channel-token': 'secret' },
      {
        'x-goog-resource-state': 'exists',
        'x-goog-channel-id': 'channel-1',
        'x-goog-resource-id': opened.body.resourceId,
        'content-length': '0',
      },
    ]);
    expect(Number(received[1]?.['x-goog-message-number'])).toBeGreaterThan(1);

    const stop = { id: 'channel-1', resourceId: opened.body.resourceId };
    expect((await call('POST', '/channels/stop', { ...stop, resourceId: 'other' })).status).toBe(404);
    expect((await call('POST', '/channels/stop', stop)).status).toBe(204);
    expect((await call('POST', '/channels/stop', stop)).status).toBe(404);
    await call('POST', events, anEvent());
    await sandbox.notificationsSettled();
    expect(received).toHaveLength(2);
  });

  it('ends when its time is over', async () => {
    let now = Date.now();
    const { call, events, sandbox, calendarId } = await startBench({ now: () => now });
    const { address, received } = await startReceiver();
    await call('POST', `${events}/watch`, { id: 'short', type: 'web_hook', address, params: { ttl: '60' } });
    expect(sandbox.channels()).toMatchObject([{ id: 'short', calendarId }]);
    now += 60_000;
    sandbox.addByHand(calendarId, anEvent());
    await sandbox.notificationsSettled();
    expect(received).toHaveLength(1);
    expect(sandbox.channels()).toEqual([]);
  });

  it('is notified again after a server error, and not after a refusal', async () => {
    const { call, events, sandbox } = await startBench();
    const { address, received, statuses } = await startReceiver();
    statuses.push(503, 503, 204, 403);
    await call('POST', `${events}/watch`, { id: 'flaky', type: 'web_hook', address });
    await sandbox.notificationsSettled();
    expect(received).toHaveLength(3);
    await call('POST', events, anEvent());
    await sandbox.notificationsSettled();
    expect(received).toHaveLength(4);
  });

  it('loses messages on demand', async () => {
    const { call, events, sandbox } = await startBench();
    const { address, received } = await startReceiver();
    await call('POST', `${events}/watch`, { id: 'lossy', type: 'web_hook', address });
    sandbox.faults.add({ fault: { kind: 'lost-notification' } });
    await call('POST', events, anEvent());
    await sandbox.notificationsSettled();
    expect(received).toHaveLength(1);
  });

  it.each([
    [{ id: undefined }, 'required'],
    [{ id: 'x'.repeat(65) }, 'invalid'],
    [{ type: 'mail' }, 'invalid'],
    [{ token: 'x'.repeat(257) }, 'invalid'],
    [{ address: 'http://outside.example/hook' }, 'push.webhookUrlNotHttps'],
    [{ expiration: '1000' }, 'invalid'],
  ])('is refused with %j', async (fields, reason) => {
    const { call, events } = await startBench();
    const channel = { id: 'channel', type: 'web_hook', address: 'http://127.0.0.1:9/hook', ...fields };
    expect(await call('POST', `${events}/watch`, channel)).toMatchObject({ status: 400, reason });
  });

  it('requires a unique id', async () => {
    const { call, events } = await startBench();
    const { address } = await startReceiver();
    const channel = { id: 'twice', type: 'web_hook', address };
    expect((await call('POST', `${events}/watch`, channel)).status).toBe(200);
    expect(await call('POST', `${events}/watch`, channel)).toMatchObject({ status: 400, reason: 'channelIdNotUnique' });
  });
});
