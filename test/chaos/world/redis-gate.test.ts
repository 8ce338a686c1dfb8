import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { AwaitHub } from './awaits.ts';
import { openRedisGate } from './redis-gate.ts';

const commandOf = (...words: string[]) =>
  `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;

test('a command that is held up arrives after its sender has given up', async () => {
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
  // What comes later has passed: by then the gate knows that the sender is gone.
  const other = connect(port, '127.0.0.1');
  other.write(commandOf('set', 'other', '1'));
  await vi.waitFor(() => expect(got).toEqual([commandOf('set', 'other', '1')]));
  released.resolve();
  await vi.waitFor(() => expect(got).toEqual([commandOf('set', 'other', '1'), commandOf('set', 'late', '1')]));
  other.destroy();
});
