import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Await, AwaitHub, awaitOf, commandReader, type Moment, openRedisGate, operationOf } from './gates.ts';

const MOMENT: Moment = { service: null, write: false, skip: 0, side: 'before', fresh: false };

function at(name: string, isWrite = false): Await {
  const service = name.startsWith('redis') ? 'redis' : 'google';
  return { service, name, isWrite, pid: () => null };
}

describe('an await', () => {
  test('has a name without the record-specific parts', () => {
    expect(operationOf('GET', '/v2/tenants/tnt0000001/appointments/apt0000007?x=1')).toBe(
      'GET /v2/tenants/*/appointments/*',
    );
    expect(operationOf('POST', '/batch/calendar/v3')).toBe('POST /batch/calendar/v3');
  });

  test('of Redis has a name from its kinds of keys and its lane', () => {
    const settle = ['evalsha', 'abc', '3', 'cm:{aurora}:lease:lane-doctor-1', 'cm:{aurora}:outbox:doctor-1', '7:owner'];
    expect(awaitOf(settle, () => 1)).toMatchObject({ name: 'redis evalsha lease-lane+outbox', lane: 'doctor-1' });
    expect(awaitOf(['get', 'cm:{aurora}:lease:plan'], () => 1)).not.toHaveProperty('lane');
    expect(awaitOf(['bzpopmin', 'x'], () => 1)).toBeNull();
  });

  test('is hit as many times as requested, after the requested number of passes', () => {
    const hub = new AwaitHub();
    const snare = hub.lay({ moment: { ...MOMENT, service: 'google', write: true, skip: 1 }, times: 2 });
    const met = [at('redis get'), at('google a'), at('google b', true), at('google c', true), at('google d', true)];
    expect(met.map((one) => hub.meet(one) !== null)).toEqual([false, false, false, true, true]);
    expect(hub.meet(at('google e', true))).toBeNull();
    expect(snare.struck).toEqual(['google c', 'google d']);
  });

  test('that was never hit is preferred on request', () => {
    const hub = new AwaitHub();
    hub.lay({ moment: MOMENT, times: 1 });
    expect(hub.meet(at('google a'))).not.toBeNull();
    hub.lay({ moment: { ...MOMENT, fresh: true }, times: 1 });
    expect([at('google a'), at('google b')].map((one) => hub.meet(one) !== null)).toEqual([false, true]);
  });
});

test('commands are parsed from a stream with any division into chunks', () => {
  const word = fc.string({ maxLength: 12, unit: 'binary-ascii' }).filter((text) => text !== '');
  const command = fc.array(word, { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.array(command, { maxLength: 6 }), fc.array(fc.nat(40)), (commands, cuts) => {
      const bytes = Buffer.from(
        commands
          .map((words) => `*${words.length}\r\n${words.map((one) => `$${one.length}\r\n${one}\r\n`).join('')}`)
          .join(''),
        'latin1',
      );
      const read = commandReader();
      const found: string[][] = [];
      let from = 0;
      for (const cut of cuts) {
        found.push(...read(bytes.subarray(from, from + cut)));
        from += cut;
      }
      found.push(...read(bytes.subarray(from)));
      expect(found).toEqual(commands.map(([first = '', ...rest]) => [first.toLowerCase(), ...rest]));
    }),
  );
});

const commandOf = (...words: string[]) =>
  `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;

test('a delayed command arrives after its sender has given up', async () => {
  const got: string[] = [];
  const server = createServer((socket) => {
    socket.on('data', (chunk: Buffer) => void got.push(chunk.toString()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const hub = new AwaitHub();
  const gate = await openRedisGate({ port: () => (server.address() as AddressInfo).port, hub });
  onTestFinished(async () => {
    await gate.close();
    server.close();
  });
  const released = Promise.withResolvers<void>();
  const moment = { service: 'redis', write: true, skip: 0, side: 'before', fresh: false } as const;
  const snare = hub.lay({ moment, times: 1, strike: () => released.promise });
  const port = Number(new URL(gate.url).port);
  const client = connect(port, '127.0.0.1');
  client.write(commandOf('set', 'late', '1'));
  await snare.spent;
  client.destroy();
  await once(client, 'close');
  // When the later command has passed, the gate knows that the first sender is gone.
  const other = connect(port, '127.0.0.1');
  other.write(commandOf('set', 'other', '1'));
  await vi.waitFor(() => expect(got).toEqual([commandOf('set', 'other', '1')]));
  released.resolve();
  await vi.waitFor(() => expect(got).toEqual([commandOf('set', 'other', '1'), commandOf('set', 'late', '1')]));
  other.destroy();
});
