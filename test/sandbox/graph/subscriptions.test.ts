import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { listen, type RunningServer } from '../../../sandbox/kit/listen.ts';
import { anEvent, DOCTOR, IMMUTABLE, startBench } from './support.ts';

const open: RunningServer[] = [];
const MINUTE_MS = 60_000;

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

interface Receiver {
  hook: string;
  lifecycle: string;
  received: { path: string; message: Record<string, unknown> }[];
  /** What it answers to notifications, one after the other; 202 when there are no more. */
  statuses: number[];
  /** How it answers the handshake. */
  handshake: { status: number; type: string; text: (token: string) => string };
  handshakes: string[];
}

async function startReceiver(): Promise<Receiver> {
  const app = fastify();
  const receiver: Receiver = {
    hook: '',
    lifecycle: '',
    received: [],
    statuses: [],
    handshake: { status: 200, type: 'text/plain; charset=utf-8', text: (token) => token },
    handshakes: [],
  };
  app.post<{ Params: { path: string } }>('/:path', (request, reply) => {
    const token = new URL(request.url, 'http://receiver').searchParams.get('validationToken');
    if (token !== null) {
      receiver.handshakes.push(token);
      const { status, type, text } = receiver.handshake;
      return reply.status(status).header('content-type', type).send(text(token));
    }
    const { value } = request.body as { value: Record<string, unknown>[] };
    receiver.received.push(...value.map((message) => ({ path: request.params.path, message })));
    return reply.status(receiver.statuses.shift() ?? 202).send();
  });
  const server = await listen(app);
  open.push(server);
  return Object.assign(receiver, { hook: `${server.url}/hook`, lifecycle: `${server.url}/lifecycle` });
}

function wanted(receiver: Receiver, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    changeType: 'created,updated,deleted',
    resource: `/users/${DOCTOR}/events`,
    notificationUrl: receiver.hook,
    lifecycleNotificationUrl: receiver.lifecycle,
    expirationDateTime: new Date(Date.now() + 24 * 60 * MINUTE_MS).toISOString(),
    clientState: 'secret',
    ...fields,
  };
}

describe('a subscription', () => {
  it('validates both URLs, then notifies of each change', async () => {
    const { call, sandbox } = await startBench();
    const receiver = await startReceiver();
    const made = await call('POST', '/subscriptions', wanted(receiver), IMMUTABLE);
    expect(made.status).toBe(201);
    expect(receiver.handshakes).toHaveLength(2);
    expect(receiver.handshakes[0]).toMatch(/\+.*%/);
    const { id } = (await call('POST', '/me/events', anEvent(), IMMUTABLE)).body;
    await call('PATCH', `/me/events/${id}`, { subject: 'x' });
    await call('DELETE', `/me/events/${id}`);
    await sandbox.notificationsSettled();
    const changes = receiver.received.map(({ message }) => message.changeType);
    expect(changes.sort()).toEqual(['created', 'deleted', 'updated']);
    expect(receiver.received[0]).toMatchObject({
      path: 'hook',
      message: {
        subscriptionId: made.body.id,
        clientState: 'secret',
        tenantId: sandbox.tenantId,
        resourceData: { id, '@odata.type': '#Microsoft.Graph.Event' },
      },
    });
  });

  it('notifies only of its change types', async () => {
    const { call, sandbox } = await startBench();
    const receiver = await startReceiver();
    const calendar = sandbox.createCalendar(DOCTOR, 'Clinic');
    const resource = `me/calendars/${calendar}/events`;
    expect((await call('POST', '/subscriptions', wanted(receiver, { resource, changeType: 'created' }))).status).toBe(
      201,
    );
    sandbox.addByHand(DOCTOR, 'default', anEvent());
    const { id } = sandbox.addByHand(DOCTOR, calendar, anEvent());
    sandbox.editByHand(DOCTOR, id, { subject: 'x' });
    await sandbox.notificationsSettled();
    expect(receiver.received).toHaveLength(1);
  });

  it.each<[string, Partial<Receiver['handshake']>]>([
    ['another status', { status: 202 }],
    ['another type', { type: 'application/json' }],
    ['a token that is still encoded', { text: encodeURIComponent }],
  ])('is refused when the handshake is answered with %s', async (_what, handshake) => {
    const { call, sandbox } = await startBench();
    const receiver = await startReceiver();
    Object.assign(receiver.handshake, handshake);
    expect(await call('POST', '/subscriptions', wanted(receiver))).toMatchObject({
      status: 400,
      code: 'ValidationError',
    });
    expect(sandbox.subscriptions()).toEqual([]);
  });

  it('is refused without an answer in time', async () => {
    const { call } = await startBench({ handshakeTimeoutMs: 50 });
    const receiver = await startReceiver();
    const silent = fastify();
    silent.post('/', () => new Promise(() => {}));
    const server = await listen(silent);
    open.push(server);
    for (const notificationUrl of ['http://127.0.0.1:9/hook', 'https://outside.example/hook', server.url]) {
      const refused = await call('POST', '/subscriptions', wanted(receiver, { notificationUrl }));
      expect(refused).toMatchObject({ status: 400, code: 'ValidationError' });
    }
  });

  it.each<[string, Record<string, unknown>, number]>([
    ['a long clientState', { clientState: 'x'.repeat(129) }, 400],
    ['an unknown change', { changeType: 'created,moved' }, 400],
    ['another resource', { resource: '/me/messages' }, 400],
    ['an unknown mailbox', { resource: '/users/nobody@clinic.example/events' }, 404],
    ['a time that is over', { expirationDateTime: '2020-01-01T00:00:00Z' }, 400],
    ['too long a life', { expirationDateTime: new Date(Date.now() + 10_081 * MINUTE_MS).toISOString() }, 400],
  ])('is refused with %s', async (_what, fields, status) => {
    const { call } = await startBench();
    expect((await call('POST', '/subscriptions', wanted(await startReceiver(), fields))).status).toBe(status);
  });

  it('exists once for a resource and its changes', async () => {
    const { call } = await startBench();
    const receiver = await startReceiver();
    expect((await call('POST', '/subscriptions', wanted(receiver))).status).toBe(201);
    const again = wanted(receiver, { resource: 'me/events', changeType: 'deleted,updated,created' });
    expect((await call('POST', '/subscriptions', again)).status).toBe(409);
  });

  it('lives at least 45 minutes, is renewed, and ends', async () => {
    let now = Date.now();
    const { call, sandbox } = await startBench({ now: () => now, accessTokenLifetimeMs: 86_400_000 });
    const receiver = await startReceiver();
    const soon = (minutes: number) => new Date(now + minutes * MINUTE_MS).toISOString();
    const made = await call('POST', '/subscriptions', wanted(receiver, { expirationDateTime: soon(5) }));
    expect(made.body.expirationDateTime).toBe(soon(45));
    const path = `/subscriptions/${made.body.id}`;
    expect((await call('PATCH', path, { expirationDateTime: soon(60) })).body.expirationDateTime).toBe(soon(60));
    expect((await call('PATCH', path, { lifecycleNotificationUrl: receiver.lifecycle })).status).toBe(400);
    expect((await call('POST', `${path}/reauthorize`)).status).toBe(204);
    expect((await call('GET', '/subscriptions')).body.value).toHaveLength(1);
    now += 60 * MINUTE_MS;
    expect((await call('GET', path)).status).toBe(404);
    expect((await call('PATCH', path, { expirationDateTime: soon(60) })).status).toBe(404);
    sandbox.addByHand(DOCTOR, 'default', anEvent());
    await sandbox.notificationsSettled();
    expect(receiver.received).toEqual([]);
  });

  it('does not cover a mailbox that is only shared with the signed-in user', async () => {
    const { as, sandbox } = await startBench();
    const person = 'assistant@clinic.example';
    sandbox.addMailbox(person);
    sandbox.shareMailbox(DOCTOR, person);
    const token = sandbox.issueAccessToken(person, { scopes: ['Calendars.ReadWrite.Shared'] });
    const resource = `users/${DOCTOR}/events`;
    const answer = await as(token)('POST', '/subscriptions', { ...wanted(await startReceiver()), resource });
    expect(answer).toMatchObject({ status: 403, code: 'ExtensionError' });
  });

  it('belongs to its application, which may delete it', async () => {
    const applications = [{ clientSecret: 's' }, { clientId: 'other', clientSecret: 's' }];
    const { call, as, sandbox } = await startBench({ applications });
    const made = await call('POST', '/subscriptions', wanted(await startReceiver()));
    const path = `/subscriptions/${made.body.id}`;
    expect((await as(sandbox.issueAppToken('other'))('DELETE', path)).status).toBe(404);
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await call('DELETE', path)).status).toBe(404);
  });
});

describe('notifications', () => {
  it('come again after a failure', async () => {
    const { call, sandbox } = await startBench();
    const receiver = await startReceiver();
    await call('POST', '/subscriptions', wanted(receiver));
    receiver.statuses.push(503, 500);
    sandbox.addByHand(DOCTOR, 'default', anEvent());
    await sandbox.notificationsSettled();
    expect(receiver.received).toHaveLength(3);
  });

  it('are lost on demand', async () => {
    const { call, sandbox } = await startBench();
    const receiver = await startReceiver();
    await call('POST', '/subscriptions', wanted(receiver));
    sandbox.faults.add({ times: 1, fault: { kind: 'lost-notification' } });
    sandbox.addByHand(DOCTOR, 'default', anEvent());
    sandbox.addByHand(DOCTOR, 'default', anEvent());
    await sandbox.notificationsSettled();
    expect(receiver.received).toHaveLength(1);
  });

  it('of its lifecycle are sent to the lifecycle URL', async () => {
    const { call, sandbox } = await startBench();
    const receiver = await startReceiver();
    const { id } = (await call('POST', '/subscriptions', wanted(receiver))).body;
    for (const event of ['missed', 'reauthorizationRequired', 'subscriptionRemoved'] as const) {
      sandbox.sendLifecycleEvent(id, event);
      await sandbox.notificationsSettled();
      expect(receiver.received.at(-1)).toMatchObject({
        path: 'lifecycle',
        message: { subscriptionId: id, lifecycleEvent: event, clientState: 'secret' },
      });
    }
    expect((await call('GET', `/subscriptions/${id}`)).status).toBe(404);
    expect(() => sandbox.sendLifecycleEvent(id, 'missed')).toThrow();
  });
});
